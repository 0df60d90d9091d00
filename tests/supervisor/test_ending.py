"""Why a run ends without an answer: what it could do no more of is named, and whose budget it was."""

import pytest

from deep_research.state import (
    AbortReason,
    DeepResearchPhase,
    DeepResearchState,
    Limit,
    Notice,
    ValidationResult,
)
from deep_research.supervisor.termination import blocked

NOTHING = ValidationResult(valid=False, blocking=("Nothing was found.",))


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["max_searches"], "The budget did not allow more searches."),
        (["max_fetches", "max_searches"], "The budget did not allow more pages or searches."),
        (["max_tokens:analysis", "max_usd"], "The budget did not allow more requests to models."),
        (["max_seconds"], "The budget did not allow more time."),
        (
            ["shared:max_usd"],
            "A budget that is shared with other runs did not allow more requests to models.",
        ),
        (
            ["shared:max_searches", "max_fetches"],
            "The budget did not allow more pages."
            " A budget that is shared with other runs did not allow more searches.",
        ),
    ],
)
def test_of_a_run_that_its_caps_ended_it_is_said_what_there_was_no_more_of(names, said):
    state = DeepResearchState(query="q", limits=tuple(Limit(name=name, message="m") for name in names))
    reason, message = blocked(state, DeepResearchPhase.GATHERING, NOTHING)
    assert reason is AbortReason.BUDGET
    assert message == f"Nothing was found. {said}"


def test_notices_are_no_matter_of_the_budget():
    state = DeepResearchState(query="q", notices=(Notice(name="pages", message="m"),))
    reason, message = blocked(state, DeepResearchPhase.ANALYSIS, NOTHING)
    assert (reason, message) == (AbortReason.NO_EVIDENCE, "Nothing was found.")
