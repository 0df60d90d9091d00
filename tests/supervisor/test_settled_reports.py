"""A later report of which nothing is open needs no critic."""

import pytest
from orm_light import BUILT, F1, FINDINGS, TEXTS, state

from deep_research.report.checking import checked_claims
from deep_research.state.question_parts import AnswerStatus, PartVerdict
from deep_research.supervisor.iteration import is_settled

CLAIMS = checked_claims(f"# T\n\n## S\n\n{BUILT[:-1]} {F1}.\n", state(), TEXTS)
ANSWERED = PartVerdict(
    part_id="part-1", verdict=AnswerStatus.ANSWERED, finding_ids=(FINDINGS[0].id,), claim_ids=(CLAIMS[0].id,)
)
SETTLED = {"iteration": 2, "gaps": (), "claims": CLAIMS, "verdicts": (ANSWERED,)}


def test_a_later_report_that_answers_all_is_settled():
    assert is_settled(state(**SETTLED))


OPEN = {
    "the first report": {"iteration": 1},
    "an open gap": {"gaps": state().gaps},
    "a claim that nothing carries": {"claims": (CLAIMS[0].model_copy(update={"is_marked": True}),)},
    "a part that is not answered": {
        "verdicts": (ANSWERED.model_copy(update={"verdict": AnswerStatus.PARTLY}),)
    },
    "a part that the report does not tell of": {"verdicts": (ANSWERED.model_copy(update={"claim_ids": ()}),)},
}


@pytest.mark.parametrize("more", OPEN.values(), ids=OPEN)
def test_what_is_open_is_looked_at(more):
    assert not is_settled(state(**SETTLED | more))
