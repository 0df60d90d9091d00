"""Why a run ends: what it could do no more of is named, and whose budget it was; which report needs no critic."""

import pytest
from orm_light import BUILT, F1, FINDINGS, TEXTS, state

from deep_research.report.checking import checked_claims
from deep_research.state import AbortReason, DeepResearchPhase, Limit, Notice, ValidationResult
from deep_research.state.question_parts import AnswerStatus, PartVerdict
from deep_research.supervisor.decisions import is_settled
from deep_research.supervisor.termination import blocked

NOTHING = ValidationResult(valid=False, blocking=("Nothing was found.",))


SHARED = "A budget that is shared with other runs did not allow more"


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["max_searches"], "The budget did not allow more searches."),
        (["max_fetches", "max_searches"], "The budget did not allow more pages or searches."),
        (["max_tokens:analysis", "max_usd"], "The budget did not allow more requests to models."),
        (["max_seconds"], "The budget did not allow more time."),
        (["shared:max_usd"], f"{SHARED} requests to models."),
        (["shared:max_searches", "max_fetches"], f"The budget did not allow more pages. {SHARED} searches."),
    ],
)
def test_of_a_run_that_its_caps_ended_it_is_said_what_there_was_no_more_of(names, said):
    ended = state(limits=tuple(Limit(name=name, message="m") for name in names))
    reason, message = blocked(ended, DeepResearchPhase.GATHERING, NOTHING)
    assert reason is AbortReason.BUDGET
    assert message == f"Nothing was found. {said}"


def test_notices_are_no_matter_of_the_budget():
    ended = state(notices=(Notice(name="pages", message="m"),))
    reason, message = blocked(ended, DeepResearchPhase.ANALYSIS, NOTHING)
    assert (reason, message) == (AbortReason.NO_EVIDENCE, "Nothing was found.")


# A later report of which nothing is open needs no critic

CLAIMS = checked_claims(f"# T\n\n## S\n\n{BUILT[:-1]} {F1}.\n", state(), TEXTS)
CARRIED = {"finding_ids": (FINDINGS[0].id,), "claim_ids": (CLAIMS[0].id,)}
ANSWERED = PartVerdict(part_id="part-1", verdict=AnswerStatus.ANSWERED, **CARRIED)
SETTLED = {"iteration": 2, "gaps": (), "claims": CLAIMS, "verdicts": (ANSWERED,)}


def test_a_later_report_that_answers_all_is_settled():
    assert is_settled(state(**SETTLED))


PARTLY = AnswerStatus.PARTLY
OPEN = {
    "the first report": {"iteration": 1},
    "an open gap": {"gaps": state().gaps},
    "a claim that nothing carries": {"claims": (CLAIMS[0].model_copy(update={"is_marked": True}),)},
    "a part that is not answered": {"verdicts": (ANSWERED.model_copy(update={"verdict": PARTLY}),)},
    "a part that the report does not tell of": {"verdicts": (ANSWERED.model_copy(update={"claim_ids": ()}),)},
}


@pytest.mark.parametrize("more", OPEN.values(), ids=OPEN)
def test_what_is_open_is_looked_at(more):
    assert not is_settled(state(**SETTLED | more))
