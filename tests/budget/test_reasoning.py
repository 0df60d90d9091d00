"""How hard the model of a role thinks, and what room its answers have for that."""

import pytest

from deep_research.budget.window import Reasoning
from deep_research.models.base import Effort, Message, ModelCall
from deep_research.models.profiles import Profile
from deep_research.state import ModelRole

LARGE = Profile(context=200_000, output=32_000)
CALL = ModelCall(messages=(Message(content="Which ship?"),), max_output=2_500)


@pytest.mark.parametrize(
    ("wanted", "efforts"),
    [
        (
            {},
            {
                "planner": "high",
                "supervisor": "high",
                "refiner": "high",
                "synthesizer": "medium",
                "judge": "medium",
                "task_agent": "medium",
            },
        ),
        ({}, {"analyzer": "low", "reviewer": "low", "summarizer": "low"}),
        ({"all": "medium"}, {"planner": "medium", "analyzer": "medium"}),
        ({"all": "low", "judge": "high"}, {"planner": "low", "judge": "high"}),
    ],
)
def test_an_effort_is_what_is_wanted_else_what_is_usual(wanted, efforts):
    reasoning = Reasoning(effort=wanted)
    assert {role: reasoning.effort_of(ModelRole(role)) for role in efforts} == efforts


def test_an_effort_of_the_call_goes_before():
    made = Reasoning(effort={"all": "low"}).call(
        ModelRole.PLANNER, CALL.model_copy(update={"effort": Effort.HIGH, "thinking": 0}), LARGE
    )
    assert (made.effort, made.thinking) == (Effort.HIGH, 0)


@pytest.mark.parametrize(
    ("thinking", "profile", "most"),
    [
        ({}, LARGE, 2_500),
        ({"all": 8_000}, LARGE, 10_500),
        ({"all": 8_000, "planner": 0}, LARGE, 2_500),
        ({"planner": 90_000}, LARGE, 32_000),  # the longest answer that it has
        ({"planner": 90_000}, Profile(context=12_000, output=12_000), 4_000),  # a third of its window
        ({"planner": 90_000}, Profile(context=4_000, output=1_000), 2_500),  # as it was asked for
    ],
)
def test_the_cap_of_an_answer_grows_by_what_is_for_thinking(thinking, profile, most):
    assert Reasoning(thinking=thinking).call(ModelRole.PLANNER, CALL, profile).max_output == most
