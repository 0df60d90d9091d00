"""How far the findings answer the parts of a question and fill its gaps, by code."""

import pytest
from phases.builders import finding

from deep_research.phases.analysis.weighed_evidence import fills, part_of, verdicts, with_lacking
from deep_research.retrieval.parsed_question import may_hold, question_parts
from deep_research.state import (
    AnswerStatus,
    ConfidenceLevel,
    DeepResearchState,
    Gap,
    PartVerdict,
    QuestionPart,
    Source,
)
from deep_research.state.events import EvidenceWeighed
from deep_research.state.identity import gap_id
from deep_research.text.language import vocabulary

QUESTION = "Who built the tower of Skerryvore, and how much did it cost?"
LIGHT = Source(id="src-1", sub_query_id="subq-1", title="The Skerryvore lighthouse")
STATE = DeepResearchState(query=QUESTION, sources=(LIGHT,))
WHO, COST = question_parts(QUESTION)
NO, PARTLY, YES = AnswerStatus.NOT_FOUND, AnswerStatus.PARTLY, AnswerStatus.ANSWERED
GUESS = ConfidenceLevel.SPECULATION


def said(content, part=None, confidence=ConfidenceLevel.LOW):
    return finding(1, content, confidence=confidence, source_ids=("src-1",), part_id=part)


@pytest.mark.parametrize(
    ("findings", "found"),
    [
        ([], (NO, NO)),
        ([said("Alan Stevenson built it.", WHO.id)], (YES, NO)),
        # of the kind that is asked for, or only near to it
        ([said("It cost a great deal.", COST.id)], (NO, PARTLY)),
        ([said("It cost £90,000.", COST.id)], (NO, YES)),
        # a guess answers nothing for sure
        ([said("Alan Stevenson built it.", WHO.id, GUESS)], (PARTLY, NO)),
        # of whose words it has most, where nobody says which part it serves
        ([said("The cost of the tower was £90,000.")], (NO, YES)),
    ],
)
def test_a_part_is_answered_by_a_finding_of_the_kind_that_it_expects(findings, found):
    assert tuple(v.verdict for v in verdicts((WHO, COST), findings, STATE)) == found


def test_a_part_whose_name_nothing_has_is_not_answered_and_one_never_named_is_looked_for():
    question = "How tall is the Lindesnes lighthouse?"
    state = STATE.model_copy(update={"query": question})
    (verdict,) = verdicts(question_parts(question), [said("The tower is 48 metres tall.")], state)
    assert verdict.verdict is NO
    of_two, of_one = (STATE.model_copy(update={"parts": parts}) for parts in ((WHO, COST), (WHO,)))
    assert part_of("part-unknown", None, "It cost a great deal.", of_two) == COST.id
    assert part_of(None, None, "Anything.", of_one) == WHO.id


@pytest.mark.parametrize(
    ("description", "content", "filled"),
    [
        ("Not found: how much did it cost", "It cost £90,000.", True),
        ("Not found: how much did it cost", "Its cost is not known.", False),
        ("What the tower is built of", "It is built of gneiss.", True),
    ],
)
def test_a_gap_is_filled_by_what_it_asks_for(description, content, filled):
    assert fills(said(content), Gap(id="gap-1", description=description), STATE) is filled


def test_a_gap_is_open_again_when_nothing_answers_its_part_any_more():
    lacking = "Not found: Who built it"
    gap = Gap(id=gap_id(lacking), description=lacking, addressed=True, resolution="Evidence was found.")
    part = QuestionPart(id="part-1", text="Who built it")
    event = EvidenceWeighed(verdicts=(PartVerdict(part_id="part-1", verdict=NO),))
    (again,) = with_lacking(event, DeepResearchState(query="q", parts=(part,), gaps=(gap,))).gaps
    assert (again.addressed, again.resolution) == (False, None)


@pytest.mark.parametrize(
    ("kind", "text", "may"),
    [
        ("number", "three of them", True),
        ("number", "none is told", False),
        ("date", "in May", True),
        ("date", "long ago", False),
        ("person", "Stevenson built it.", True),
        ("person", "The tower was built of stone.", False),
        ("person", "all in lower case", True),
        ("reason", "anything", True),
    ],
)
def test_what_cannot_hold_an_answer_of_a_kind(kind, text, may):
    assert may_hold(kind, text, vocabulary("en"), frozenset({"tower"})) is may
