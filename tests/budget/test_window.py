"""The room of a call: what of a window is kept free, how hard the model of a role thinks and what room that takes."""

import pytest

from deep_research.budget.tokens import Reasoning, Window
from deep_research.models.base import Effort, Message, ModelCall
from deep_research.models.profiles import Profile
from deep_research.setting_fields import bounds, value_at
from deep_research.settings import Settings
from deep_research.settings.groups import WindowSettings
from deep_research.state import ModelRole

OVERHEADS = {
    "direct-api": 10_000,
    "gemini-cli": 20_000,
    "codex": 30_000,
    "cursor": 40_000,
    "claude-code": 60_000,
}


@pytest.mark.parametrize("runtime", OVERHEADS)
def test_each_environment_keeps_its_overhead_free(runtime):
    window = Window.of(200_000, 8_000, runtime=runtime, margin=0.15)
    assert window.most == 200_000 - 8_000 - OVERHEADS[runtime]
    assert window.input == int(window.most * 0.85)


@pytest.mark.parametrize(
    ("context", "output", "runtime", "most"),
    [
        (8_192, 2_048, "direct-api", 5_735),  # a small local model is left most of its window
        (4_000, 8_000, "direct-api", 4_000 - 2_000 - 200),  # an answer never takes more than half
        (32_000, 8_000, "claude-code", 0),  # there is no room where the surroundings take it all
    ],
)
def test_what_is_left_of_a_window_follows_from_its_size_and_surroundings(context, output, runtime, most):
    assert Window.of(context, output, runtime=runtime, margin=0).most == most


DEFAULTS = {
    "window.enabled": True,
    "window.safety_margin": 0.15,
    "window.runtime_overhead": None,  # by environment: 10,000 of an API that is called directly
    "window.allow_dropping": False,
    "window.model_tokens": {},
    "summarization.model": (),
    "summarization.timeout": 60.0,
    "summarization.cache": True,
    "content_archive.enabled": False,
    "content_archive.ttl_hours": 168.0,
    "content_archive.dir": None,
}


def test_the_options_on_tokens_have_the_defaults_of_the_spec():
    settings = Settings()
    assert {name: value_at(settings, name) for name in DEFAULTS} == DEFAULTS
    # of a window, nothing would be left at 1
    assert bounds(WindowSettings.model_fields["safety_margin"]) == "between 0 and 0.9"


# Thinking

LARGE = Profile(context=200_000, output=32_000)
CALL = ModelCall(messages=(Message(content="Which ship?"),), max_output=2_500)
USUAL = {
    **dict.fromkeys(("planner", "supervisor", "refiner"), "high"),
    **dict.fromkeys(("synthesizer", "judge", "task_agent"), "medium"),
    **dict.fromkeys(("analyzer", "reviewer", "summarizer"), "low"),
}


@pytest.mark.parametrize(
    ("wanted", "efforts"),
    [
        ({}, USUAL),
        ({"all": "medium"}, dict.fromkeys(USUAL, "medium")),
        ({"all": "low", "judge": "high"}, {"planner": "low", "judge": "high"}),
    ],
)
def test_an_effort_is_what_is_wanted_else_what_is_usual(wanted, efforts):
    reasoning = Reasoning(effort=wanted)
    assert {role: reasoning.effort_of(ModelRole(role)) for role in efforts} == efforts


def test_an_effort_of_the_call_goes_before():
    asked = CALL.model_copy(update={"effort": Effort.HIGH, "thinking": 0})
    made = Reasoning(effort={"all": "low"}).call(ModelRole.PLANNER, asked, LARGE)
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
