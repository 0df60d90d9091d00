"""The answer so far to each question of a run."""

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


def once(**fields: Any) -> dict[str, Any]:
    return {"sub_queries": (sub_query(0, **fields),)}


BROKEN = Abort(reason=AbortReason.ERROR, message="It broke.", phase=DeepResearchPhase.GATHERING, iteration=1)
CAPPED = Limit(name="max_searches", message="The cap was reached.", skipped=("tower 0",))
ONE, TWO = ("src-1",), ("src-1", "src-2")
OPEN, LACKING = AnswerState.OPEN, AnswerState.NOT_FOUND
REASONS: dict[str, tuple[dict[str, Any], AnswerState]] = {
    "Not searched yet.": (once(status=PENDING), OPEN),
    "Not searched: The cap was reached.": (once(status=PENDING) | {"limits": (CAPPED,)}, OPEN),
    "It broke.": (once(status=PENDING) | {"abort": BROKEN}, OPEN),
    "Its sources are still to be read.": (once(source_ids=ONE), AnswerState.SEARCHED),
    "The search found no source.": (once(), LACKING),
    "The one source that was read does not answer it.": (
        once(source_ids=ONE) | {"analyzed": frozenset(ONE)},
        LACKING,
    ),
    "None of 2 sources read answers it.": (once(source_ids=TWO) | {"analyzed": frozenset(TWO)}, LACKING),
    "No service.": (once(status=FAILED, error="No service."), AnswerState.FAILED),
    "The search failed.": (once(status=FAILED), AnswerState.FAILED),
}


@pytest.mark.parametrize("reason", REASONS)
def test_a_question_without_an_answer_says_why(reason: str) -> None:
    fields, reached = REASONS[reason]
    for answer in answers_so_far(state(**fields)):
        assert (answer.state, answer.reason, answer.text, answer.sentences) == (reached, reason, "", ())


@pytest.mark.parametrize("found", AnswerStatus)
def test_a_part_stands_as_it_was_weighed(found: AnswerStatus) -> None:
    plan = (sub_query(0, source_ids=("src-1",)), sub_query(1, FAILED, error="No service."))
    told = finding(1, part_id="part-1")
    answer, *_ = answers_so_far(state(sub_queries=plan, findings=(told,), verdicts=(verdict(1, found, 1),)))
    assert answer.state.value == found.value
    assert bool(answer.text) is (found is not AnswerStatus.NOT_FOUND)
    assert ("A search failed: No service." in answer.reason) is (found is not AnswerStatus.ANSWERED)


def test_a_sub_query_has_the_findings_of_its_own_and_else_those_of_its_sources() -> None:
    plan = (sub_query(0, source_ids=ONE), sub_query(1, source_ids=TWO, part_id="part-2"))
    told = (
        finding(1, sub_query_id="subq-0"),
        finding(2, part_id="part-2"),
        finding(3, part_id="part-1", source_ids=("src-2",)),
    )
    *_, first, second = answers_so_far(state(sub_queries=plan, findings=told))
    for number, answer in enumerate((first, second), 1):
        assert (answer.state, answer.text) == (AnswerState.FOUND, f"Fact {number} is told.")
        assert answer.source_ids == (f"src-{number}",)


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
    weighed = (verdict(1, AnswerStatus.ANSWERED, 1, 2),)
    (answer,) = answers_so_far(state(parts=(part,), findings=told, verdicts=weighed))
    assert answer.sentences[0].text == first


def test_of_a_passage_only_what_was_chosen_is_told() -> None:
    text = "The sea is cold. It is 40 metres tall. Fish live there."
    passage = Quote(source_id="src-1", quote=text, start=100, end=100 + len(text), content_hash="a" * 64)
    told = finding(1, text, quotes=(passage,), highlights=(Span(start=117, end=138),))
    (answer, _) = answers_so_far(state(findings=(told,), verdicts=(verdict(1, AnswerStatus.ANSWERED, 1),)))
    assert answer.text == "It is 40 metres tall."


@pytest.mark.parametrize(("judged", "first"), [({}, 1), ({"part-1": ("c",)}, 2)])
def test_claims_that_sources_support_come_first_where_a_judge_said_which_answer(
    judged: dict[str, tuple[str, ...]], first: int
) -> None:
    carried = {"verdict": ClaimVerdict.SUPPORTED, "code_verdict": ClaimVerdict.SUPPORTED, "checker": "code"}
    claim = Claim(id="claim-1", text="c", place=Span(start=0, end=1), finding_ids=("find-2",), **carried)
    answer, _ = answers_so_far(
        state(
            findings=(finding(1), finding(2)),
            claims=(claim,),
            verdicts=(verdict(1, AnswerStatus.ANSWERED, 1, 2, claim_ids=("claim-1",)),),
            part_judgements={part: PartJudgement(part_id=part, claims=c) for part, c in judged.items()},
        )
    )
    assert answer.sentences[0].text == f"Fact {first} is told."


def test_the_facts_of_a_task_are_told_before_its_phase_is_over() -> None:
    quote = Quote(source_id="src-7", quote="q", start=0, end=1, content_hash="a" * 64)
    facts = (KeyFact(content="Nobody says so."), KeyFact(content="Bell Rock is told of.", quotes=(quote,)))
    limits = TaskLimits(steps=1, seconds=0)
    task = Task(id="task-1", sub_query_id="subq-0", question="tower 0", limits=limits)
    task = TaskState(task=task, finding=TaskFinding(answer="Yes.", facts=facts))
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
