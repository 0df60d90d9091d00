"""The answer so far to each question of a run."""

from __future__ import annotations

from typing import Any

import pytest

from deep_research.report.answers_so_far import (
    MAX_REASON_CHARS,
    MAX_SENTENCE_CHARS,
    MAX_SENTENCES,
    answers_so_far,
)
from deep_research.state import (
    Abort,
    AbortReason,
    AnswerStatus,
    Claim,
    ClaimVerdict,
    ConfidenceLevel,
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    Limit,
    PartJudgement,
    PartVerdict,
    Quote,
    Span,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.answers import AnswerState
from deep_research.state.question_parts import QuestionPart
from deep_research.state.tasks import KeyFact, Task, TaskFinding, TaskLimits, TaskState

DONE, FAILED, PENDING = SubQueryStatus.COMPLETED, SubQueryStatus.FAILED, SubQueryStatus.PENDING
PARTS = (QuestionPart(id="part-1", text="How tall is it"), QuestionPart(id="part-2", text="Who built it"))


def state(**fields: Any) -> DeepResearchState:
    return DeepResearchState(**({"query": "How tall is it, and who built it?", "parts": PARTS} | fields))


def sub_query(number: int, status: SubQueryStatus = DONE, **fields: Any) -> SubQuery:
    return SubQuery(id=f"subq-{number}", query=f"tower {number}", index=number, status=status, **fields)


def finding(number: int, content: str = "", **fields: Any) -> Finding:
    known = {"confidence": ConfidenceLevel.MEDIUM, "source_ids": (f"src-{number}",), "relevance": 0.5}
    return Finding(id=f"find-{number}", content=content or f"Fact {number} is told.", **(known | fields))


def verdict(part: int, found: AnswerStatus, *findings: int, **fields: Any) -> PartVerdict:
    names = tuple(f"find-{number}" for number in findings)
    return PartVerdict(part_id=f"part-{part}", verdict=found, finding_ids=names, **fields)


def test_parts_come_first_then_the_sub_queries_that_ask_something_else() -> None:
    plan = (
        sub_query(0),
        sub_query(1).model_copy(update={"query": "who  built it"}),
        sub_query(2, SubQueryStatus.SUPERSEDED),
        sub_query(3, PENDING),
    )
    asked = [(a.question, a.part_id, a.sub_query_id) for a in answers_so_far(state(sub_queries=plan))]
    assert asked == [
        ("How tall is it", "part-1", None),
        ("Who built it", "part-2", "subq-1"),
        ("tower 0", None, "subq-0"),
        ("tower 3", None, "subq-3"),
    ]


def test_a_run_without_a_plan_asks_its_question() -> None:
    (answer,) = answers_so_far(state(parts=()))
    assert (answer.question, answer.state) == ("How tall is it, and who built it?", AnswerState.OPEN)
    assert answer.reason == "Not searched yet."


REASONS: list[tuple[str, dict[str, Any], AnswerState, str]] = [
    ("pending", {"sub_queries": (sub_query(0, PENDING),)}, AnswerState.OPEN, "Not searched yet."),
    (
        "over a cap",
        {
            "sub_queries": (sub_query(0, PENDING),),
            "limits": (Limit(name="max_searches", message="The cap was reached.", skipped=("tower 0",)),),
        },
        AnswerState.OPEN,
        "Not searched: The cap was reached.",
    ),
    (
        "the run ended before",
        {
            "sub_queries": (sub_query(0, PENDING),),
            "abort": Abort(
                reason=AbortReason.ERROR, message="It broke.", phase=DeepResearchPhase.GATHERING, iteration=1
            ),
        },
        AnswerState.OPEN,
        "It broke.",
    ),
    (
        "unread",
        {"sub_queries": (sub_query(0, source_ids=("src-1",)),)},
        AnswerState.SEARCHED,
        "Its sources are still to be read.",
    ),
    (
        "without a source",
        {"sub_queries": (sub_query(0),)},
        AnswerState.NOT_FOUND,
        "The search found no source.",
    ),
    (
        "one source read",
        {"sub_queries": (sub_query(0, source_ids=("src-1",)),), "analyzed": frozenset({"src-1"})},
        AnswerState.NOT_FOUND,
        "The one source that was read does not answer it.",
    ),
    (
        "two sources read",
        {
            "sub_queries": (sub_query(0, source_ids=("src-1", "src-2")),),
            "analyzed": frozenset({"src-1", "src-2"}),
        },
        AnswerState.NOT_FOUND,
        "None of 2 sources read answers it.",
    ),
    (
        "failed",
        {"sub_queries": (sub_query(0, FAILED, error="No service."),)},
        AnswerState.FAILED,
        "No service.",
    ),
    (
        "failed for nothing",
        {"sub_queries": (sub_query(0, FAILED),)},
        AnswerState.FAILED,
        "The search failed.",
    ),
]


@pytest.mark.parametrize(
    ("fields", "reached", "reason"), [r[1:] for r in REASONS], ids=[r[0] for r in REASONS]
)
def test_a_question_without_an_answer_says_why(
    fields: dict[str, Any], reached: AnswerState, reason: str
) -> None:
    for answer in answers_so_far(state(**fields)):
        assert (answer.state, answer.reason, answer.text, answer.sentences) == (reached, reason, "", ())


@pytest.mark.parametrize("found", AnswerStatus)
def test_a_part_stands_as_it_was_weighed(found: AnswerStatus) -> None:
    plan = (sub_query(0, source_ids=("src-1",)), sub_query(1, FAILED, error="No service."))
    answer, _ = answers_so_far(
        state(
            sub_queries=plan,
            findings=(finding(1, part_id="part-1"),),
            verdicts=(verdict(1, found, 1),),
        )
    )[:2]
    assert answer.state.value == found.value
    assert bool(answer.text) is (found is not AnswerStatus.NOT_FOUND)
    assert ("A search failed: No service." in answer.reason) is (found is not AnswerStatus.ANSWERED)


def test_a_sub_query_has_the_findings_of_its_own_and_else_those_of_its_sources() -> None:
    plan = (
        sub_query(0, source_ids=("src-1",)),
        sub_query(1, source_ids=("src-1", "src-2"), part_id="part-2"),
    )
    told = (
        finding(1, sub_query_id="subq-0"),
        finding(2, part_id="part-2"),
        finding(3, part_id="part-1", source_ids=("src-2",)),
    )
    *_, first, second = answers_so_far(state(sub_queries=plan, findings=told))
    assert (first.state, first.text, first.source_ids) == (AnswerState.FOUND, "Fact 1 is told.", ("src-1",))
    assert (second.state, second.text, second.source_ids) == (
        AnswerState.FOUND,
        "Fact 2 is told.",
        ("src-2",),
    )


def test_the_best_supported_findings_answer_in_at_most_three_sentences() -> None:
    told = (
        finding(1, confidence=ConfidenceLevel.LOW),
        finding(2, "Fact 2 is told. It is told twice.", confidence=ConfidenceLevel.HIGH),
        finding(3, source_ids=("src-3", "src-4")),
        finding(4),
        finding(5, relevance=0.01),
    )
    plan = (sub_query(0, source_ids=("src-1",)),)
    told = tuple(each.model_copy(update={"sub_query_id": "subq-0"}) for each in told)
    answer = answers_so_far(state(sub_queries=plan, findings=told))[-1]
    assert answer.text == "Fact 2 is told. It is told twice. Fact 3 is told."
    assert [each.source_ids for each in answer.sentences] == [("src-2",), ("src-2",), ("src-3", "src-4")]
    assert len(answer.sentences) == MAX_SENTENCES


@pytest.mark.parametrize(
    ("expects", "first"), [("number", "It is 40 metres tall."), ("", "It is a tall tower indeed.")]
)
def test_what_may_hold_the_kind_of_answer_comes_first(expects: str, first: str) -> None:
    part = QuestionPart(id="part-1", text="How tall is it", expects=expects)
    told = (finding(1, "It is a tall tower indeed."), finding(2, "It is 40 metres tall."))
    (answer,) = answers_so_far(
        state(
            query="How tall is it?",
            parts=(part,),
            findings=told,
            verdicts=(verdict(1, AnswerStatus.ANSWERED, 1, 2),),
        )
    )
    assert answer.sentences[0].text == first


def test_of_a_passage_only_what_was_chosen_is_told() -> None:
    text = "The sea is cold. It is 40 metres tall. Fish live there."
    passage = Quote(source_id="src-1", quote=text, start=100, end=100 + len(text), content_hash="a" * 64)
    told = finding(1, text, quotes=(passage,), highlights=(Span(start=117, end=138),))
    (answer, _) = answers_so_far(state(findings=(told,), verdicts=(verdict(1, AnswerStatus.ANSWERED, 1),)))
    assert answer.text == "It is 40 metres tall."


def test_claims_that_sources_support_come_first_where_a_judge_said_which_answer() -> None:
    claim = Claim(
        id="claim-1",
        text="c",
        place=Span(start=0, end=1),
        finding_ids=("find-2",),
        verdict=ClaimVerdict.SUPPORTED,
        code_verdict=ClaimVerdict.SUPPORTED,
        checker="code",
    )
    fields = {
        "findings": (finding(1), finding(2)),
        "claims": (claim,),
        "verdicts": (verdict(1, AnswerStatus.ANSWERED, 1, 2, claim_ids=("claim-1",)),),
    }
    (without, _), (judged, _) = (
        answers_so_far(state(**fields)),
        answers_so_far(
            state(**fields, part_judgements={"part-1": PartJudgement(part_id="part-1", claims=("c",))})
        ),
    )
    assert without.sentences[0].text == "Fact 1 is told."
    assert judged.sentences[0].text == "Fact 2 is told."


def test_the_facts_of_a_task_are_told_before_its_phase_is_over() -> None:
    quote = Quote(source_id="src-7", quote="q", start=0, end=1, content_hash="a" * 64)
    facts = (KeyFact(content="Nobody says so."), KeyFact(content="Bell Rock is told of.", quotes=(quote,)))
    task = TaskState(
        task=Task(
            id="task-1", sub_query_id="subq-0", question="tower 0", limits=TaskLimits(steps=1, seconds=0)
        ),
        finding=TaskFinding(answer="Yes.", facts=facts),
    )
    answer = answers_so_far(state(sub_queries=(sub_query(0, PENDING),), tasks=(task,)))[-1]
    assert (answer.text, answer.source_ids) == ("Bell Rock is told of.", ("src-7",))


@pytest.mark.parametrize("content", ["word " * 4_000, "x" * 20_000, "a. " * 9_000, "\n\x00\t", "…"])
def test_whatever_findings_hold_an_answer_is_short_and_of_one_line(content: str) -> None:
    plan = (sub_query(0), sub_query(1, FAILED, error=content))
    told = (finding(1, content, sub_query_id="subq-0"),)
    for answer in answers_so_far(state(sub_queries=plan, findings=told)):
        assert len(answer.sentences) <= MAX_SENTENCES
        assert all(0 < len(each.text) <= MAX_SENTENCE_CHARS for each in answer.sentences)
        assert len(answer.reason) <= MAX_REASON_CHARS
        assert "\n" not in answer.text + answer.reason
