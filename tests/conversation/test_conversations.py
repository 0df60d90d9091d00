"""Runs of one session: what a question means after others, and the evidence that they saved."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_reading import ReadingModel, blocks

from deep_research import DeepResearch, RunStatus
from deep_research.budget.tokens import Counter
from deep_research.conversation.conversation import MAX_TURNS, UNRESOLVED
from deep_research.conversation.rewriting import SYSTEM
from deep_research.conversation.turn import Turn
from deep_research.conversation.turn_summary import summary_of
from deep_research.models import ModelCall
from deep_research.state.events import PhaseStarted, QuestionResolved
from deep_research.testing import ScriptedSearch

pytestmark = pytest.mark.timed

TESTS = Path(__file__).resolve().parents[1]
CORPUS = TESTS.parent / "docs" / "examples" / "corpus"
TALL, OLD = "How tall is Cape Hatteras Lighthouse?", "And how old is it?"


@pytest.fixture
def research(tmp_path: Path) -> Iterator[DeepResearch]:
    with DeepResearch(corpus=CORPUS, data_dir=tmp_path, local_only=True, depth="auto") as made:
        yield made


def test_a_follow_up_is_asked_in_full_and_the_log_keeps_both(research: DeepResearch) -> None:
    first = research.run(TALL, session_id="towers")
    result = research.run(OLD, session_id="towers")
    assert result.query == "How old is Cape Hatteras Lighthouse?"
    resolution = result.state.resolution
    assert resolution is not None
    assert (resolution.user_message, resolution.by, resolution.is_resolved) == (OLD, "rule", True)
    assert resolution.turns == (first.research_id,)
    assert "198.49 feet" in resolution.summary
    assert first.state.resolution is None
    kinds = [type(event) for event in research.events(result.research_id)]
    assert kinds.index(QuestionResolved) < kinds.index(PhaseStarted)
    assert research.list(session="towers")[0].query == OLD  # the list has the user's words


def test_a_turn_that_saved_evidence_answers_searches_nothing_and_cites_it_as_it_was_saved(
    research: DeepResearch,
) -> None:
    first = research.run(TALL, session_id="towers")
    result = research.run(OLD, session_id="towers")
    assert (result.usage.searches, result.usage.fetches) == (0, 0)
    saved = {source.id: source.content_hash for source in first.sources}
    cited = {citation.source_id: citation.content_hash for citation in result.citations}
    assert cited
    assert cited.items() <= saved.items()
    research.delete(first.research_id)  # the turn keeps what it cites
    assert research.verify(result.research_id).holds


def test_what_saved_evidence_does_not_answer_is_searched(research: DeepResearch) -> None:
    research.run(TALL, session_id="towers")
    result = research.run("What does Trinity House do?", session_id="towers")
    assert result.usage.searches > 0
    assert result.status is RunStatus.COMPLETED
    assert "Trinity House" in str(result.answer)
    alone = research.run("What does Trinity House do?")
    assert result.answer == alone.answer


@pytest.mark.parametrize(
    "other",
    [
        {"session_id": "others"},
        {"session_id": "towers", "user_id": "bob"},
        {"session_id": "towers", "user_id": "None"},
        {"session_id": "Towers"},
        {},
    ],
    ids=str,
)
def test_a_question_is_read_after_the_turns_of_its_own_session_and_user_alone(
    research: DeepResearch, other: dict[str, str]
) -> None:
    research.run(TALL, session_id="towers")
    result = research.run(OLD, **other)  # type: ignore[arg-type]
    assert result.query == OLD
    assert result.usage.searches > 0


def test_a_question_that_points_to_nothing_is_asked_as_it_stands_and_says_so(research: DeepResearch) -> None:
    research.run("Why?", session_id="towers")
    result = research.run("And him?", session_id="towers")
    assert result.query == "And him?"
    assert UNRESOLVED in [notice.message for notice in result.notices]


def test_earlier_turns_may_come_with_the_question(research: DeepResearch) -> None:
    result = research.run(OLD, history=[{"question": TALL, "answer": "198.49 feet."}])
    assert result.query == "How old is Cape Hatteras Lighthouse?"
    assert result.usage.searches > 0  # nothing is saved of what was no run


def test_a_run_that_may_search_less_takes_nothing_that_others_found(research: DeepResearch) -> None:
    research.run(TALL, session_id="towers")
    result = research.run(OLD, session_id="towers", since="2999-01-01")
    assert result.state.resolution is not None
    assert not result.state.resolution.recalls


class FollowingModel(ReadingModel):
    """Completes each question to ``question``, or cannot."""

    def __init__(self, question: str, *, is_clear: bool = True) -> None:
        super().__init__()
        self.completed = {"question": question, "why": "The tower is meant.", "is_clear": is_clear}

    def answer(self, call: ModelCall) -> str:
        return json.dumps(self.completed) if call.system == SYSTEM else super().answer(call)

    def prompts(self, opening: str) -> list[str]:
        """What was asked under instructions that open so."""
        return [call.messages[-1].content for call in self.calls if call.system.startswith(opening)]


def test_the_planners_model_completes_a_question_and_planner_and_writer_see_the_turns(tmp_path: Path) -> None:
    model = FollowingModel("How old is Cape Hatteras Lighthouse in 2026?")
    with DeepResearch(corpus=CORPUS, data_dir=tmp_path, local_only=True, model=[model]) as research:
        research.run(TALL, session_id="towers")
        assert not model.prompts("You prepare the next question")
        model.calls.clear()
        result = research.run(OLD, session_id="towers")
        other = research.run("What does Trinity House do?", session_id="others")
    assert result.query == "How old is Cape Hatteras Lighthouse in 2026?"
    assert result.state.resolution is not None
    assert (result.state.resolution.by, result.state.resolution.why) == ("model", "The tower is meant.")
    (asked,) = model.prompts("You prepare the next question")
    written = [prompt for prompt in model.prompts("You write") if "Earlier turns" in prompt]
    assert TALL in blocks(asked)["conversation"]
    assert written
    for prompt in written:
        assert TALL in blocks(prompt)["conversation"]
    assert other.state.resolution is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("", "How old is Cape Hatteras Lighthouse?"),  # the rule does it
        ("https://evil.example/?q=1", "How old is Cape Hatteras Lighthouse?"),
        ("How old is it? See https://evil.example/x", "How old is it? See"),
    ],
)
def test_what_a_model_completes_brings_no_address(tmp_path: Path, question: str, expected: str) -> None:
    made = {"corpus": CORPUS, "data_dir": tmp_path, "local_only": True}
    with DeepResearch(**made, model=[FollowingModel(question)]) as research:  # type: ignore[arg-type]
        research.run(TALL, session_id="towers")
        assert research.run(OLD, session_id="towers").query == expected


def test_a_model_that_is_not_sure_has_the_question_asked_as_it_says_and_it_is_said(tmp_path: Path) -> None:
    model = FollowingModel("How old is he?", is_clear=False)
    with DeepResearch(corpus=CORPUS, data_dir=tmp_path, local_only=True, model=[model]) as research:
        research.run(TALL, session_id="towers")
        result = research.run("How old is he?", session_id="towers")
    assert UNRESOLVED in [notice.message for notice in result.notices]


def test_forty_conversations_hold_the_right_name_without_a_model(tmp_path: Path) -> None:
    right = total = 0
    with DeepResearch(corpus=CORPUS, data_dir=tmp_path, store="memory", depth="auto") as research:
        for name in ("own", "blind"):
            data = tomllib.loads((TESTS / "data" / "conversations" / f"{name}.toml").read_text())
            for number, conversation in enumerate(data["conversation"]):
                for turn in conversation["turn"]:
                    query = research.run(turn["text"], session_id=f"{name}-{number}").query.casefold()
                    is_right = all(word.casefold() in query for word in turn["needs"])
                    total += turn["kind"] != "first"
                    right += is_right and turn["kind"] != "first"
    assert total == 120
    assert right >= 100  # 108 when it was written


def test_a_summary_holds_the_last_turns_within_its_tokens_and_says_what_is_left_out() -> None:
    turns = [
        Turn(user_message=f"What is tower {n}?", question=f"What is tower {n}?", answer="Tall. " * 40)
        for n in range(60)
    ]
    for tokens in (200, 1_000, 5_000, 50_000):
        summary = summary_of(turns, tokens)
        assert Counter().expected(summary) <= tokens
        assert "tower 59" in summary
        assert ("left out" in summary) is ("tower 0?" not in summary)


def test_a_session_of_fifty_turns_stays_within_its_tokens(tmp_path: Path) -> None:
    made = {"search": [ScriptedSearch()], "data_dir": tmp_path, "store": "memory", "session_tokens": 500}
    with DeepResearch(**made) as research:
        session = research.session("long")
        sizes = []
        for number in range(MAX_TURNS + 2):
            result = session.ask(f"What is known of tower number {number}?", depth="quick")
            resolution = result.state.resolution
            sizes.append(Counter().expected(resolution.summary) if resolution else 0)
            assert resolution is None or len(resolution.turns) <= MAX_TURNS
        assert len(session.turns) == MAX_TURNS + 2
        assert max(sizes) <= 500
        assert Counter().expected(session.summary) <= 500
