"""The sums of an estimate, and what is said of caps and prices. That real runs lie within it is in tests/research."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.assembly.usual_requests import HIGH, LOW, UsualRequests, Work
from deep_research.budget.estimate import Dollars, Range, Requests, RoleModel, Standing, estimate
from deep_research.models.profiles import Price
from deep_research.settings import Settings
from deep_research.settings.groups import ReadingSettings
from deep_research.state import Budget, DeepResearchPhase, ModelRole, RunOptions, TaskSettings

P, PRICE = DeepResearchPhase, Price(input=2, output=10)


def asked(role=ModelRole.ANALYZER, room=150_000, output=4_000, price=PRICE, model="m"):
    return RoleModel(role=role, model=model, room=room, output=output, price=price)


def made_of(*requests, budget=None, **more):
    """The same requests at both ends, twice as many at the high one."""
    high = [Requests(r.phase, r.role_model, 2 * r.calls, r.input, r.output) for r in requests]
    return estimate(
        requests,
        high,
        [r.role_model for r in requests],
        iterations=3,
        searches=Range(low=1, high=15),
        fetches=Range(high=more.get("fetches", 0)),
        budget=budget or Budget(),
    )


PLAN = Requests(P.PLANNING, asked(ModelRole.PLANNER), 1, 500, 100)
READ = Requests(P.ANALYSIS, asked(), 3, 10_000, 900)


def test_without_a_model_only_searches_are_made_and_nothing_is_paid():
    made = made_of()
    assert (made.phases, made.model_calls, made.cost_usd) == ((), Range(), Dollars())
    assert made.notes == (
        "No language model is configured: the extractive agents do the work, and cost nothing.",
    )


def test_the_sums_are_those_of_the_phases():
    made = made_of(PLAN, READ)
    assert [phase.phase for phase in made.phases] == [P.PLANNING, P.ANALYSIS]
    for name in ("model_calls", "input_tokens", "output_tokens"):
        assert getattr(made, name) == sum((getattr(p, name) for p in made.phases), Range())
    assert made.tokens == made.input_tokens + made.output_tokens
    for end in ("low", "high"):
        tokens_in, tokens_out = getattr(made.input_tokens, end), getattr(made.output_tokens, end)
        assert getattr(made.cost_usd, end) == pytest.approx((tokens_in * 2 + tokens_out * 10) / 1e6)


def test_what_is_set_aside_for_a_request_is_its_longest_answer_and_every_byte():
    (each,) = {READ.set_aside.tokens}
    assert each == 4 * 10_000 + 4_000
    assert made_of(READ).set_aside.tokens == 6 * each
    assert made_of(READ).set_aside.cost_usd == pytest.approx(6 * PRICE.most(40_000, 4_000))
    assert Requests.of(P.ANALYSIS, asked(room=1_000), 1, 9_000.0, 9_000.0).set_aside.tokens == 1_000 + 4_000


def test_an_unknown_price_makes_dollars_unknown_and_is_named():
    unknown = Requests(P.REFINEMENT, asked(ModelRole.REFINER, price=None, model="mine:x"), 1, 10, 10)
    made = made_of(PLAN, unknown)
    assert (made.cost_usd, made.unpriced, made.set_aside.cost_usd) == (None, ("mine:x",), None)
    assert [p.cost_usd is None for p in made.phases] == [False, True]
    assert any(note.startswith("The price of mine:x is not known") for note in made.notes)


@pytest.mark.parametrize(
    ("budget", "standing", "said"),
    [
        (Budget(max_usd=0.01), Standing.BELOW, "is below the low end: the report will be written from less."),
        (Budget(max_usd=0.13), Standing.WITHIN, "The cap max_usd of 0.13 may be reached"),
        (Budget(max_usd=1_000), Standing.ABOVE, None),
        (Budget(max_tokens=200), Standing.BELOW, "The cap max_tokens of 200 is below"),
        (Budget(max_tokens=34_000), Standing.WITHIN, "is less than a single request may take (44,000)"),
        (Budget(max_tokens=60_000), Standing.WITHIN, "The cap max_tokens of 60,000 may"),
        (Budget(max_model_calls=2), Standing.BELOW, "max_model_calls of 2 is below"),
        (Budget(max_searches=0), Standing.BELOW, "max_searches of 0 is below"),
        (Budget(max_searches=4), Standing.WITHIN, "max_searches of 4 may be reached"),
        (Budget(max_searches=100), Standing.ABOVE, None),
    ],
)
def test_each_cap_is_held_against_the_ends(budget, standing, said):
    made = made_of(PLAN, READ, budget=budget)
    assert [cap.standing for cap in made.caps] == [standing]
    noted = [note for note in made.notes if note.startswith("The cap ")]
    assert [said in note for note in noted] == ([True] if said else [])
    assert made.notes[-1].startswith("This is an estimate. The caps of a run hold whatever it says")


@pytest.mark.timed
def test_it_is_said_when_nothing_stops_the_spending():
    assert "none is set" in made_of(PLAN).notes[-1]
    assert "none is set" not in made_of(PLAN, budget=Budget(max_usd=9)).notes[-1]
    assert any("max_seconds is 60" in n for n in made_of(PLAN, budget=Budget(max_seconds=60)).notes)


AMOUNTS = st.integers(0, 200_000)
OPTIONS = st.builds(
    RunOptions,
    max_iterations=st.integers(1, 10),
    report_words=st.integers(100, 20_000),
    tasks=st.builds(TaskSettings, max_steps=st.integers(0, 100), max_retries=st.integers(0, 10)),
    clarify=st.sampled_from(["never", "when_unsure"]),
)
REFLECTION = st.sampled_from(["never", "on_failure", "always"])
SETTINGS = st.builds(
    Settings,
    revise_with_critic=st.booleans(),
    reading=st.builds(ReadingSettings, triage=st.booleans()),
    reflection=REFLECTION,
)
COUNTS = {"sources": 200, "call": 20_000, "prompt": 7_000, "tokens": 200_000, "cut": 200_000}
AMOUNTS_OF_WORK = {name: st.integers(0, most) for name, most in COUNTS.items()} | {
    "queries": st.integers(1, 20)
}
WORK = st.builds(Work, options=OPTIONS, settings=SETTINGS, **AMOUNTS_OF_WORK)


@given(WORK, st.sets(st.sampled_from(list(ModelRole))), AMOUNTS, st.integers(1, 10_000))
def test_the_low_end_is_never_above_the_high_one(work, roles, room, output):
    models = {role: asked(role, room=room, output=output) for role in roles}
    low, high = (list(UsualRequests(work, models, end)) for end in (LOW, HIGH))
    none = {"searches": Range(), "fetches": Range(), "budget": Budget()}
    made = estimate(low, high, list(models.values()), iterations=work.iterations, **none)
    for both in (made.model_calls, made.tokens, made.cost_usd):
        assert 0 <= both.low <= both.high
    assert all(r.input <= room and r.output <= output for r in (*low, *high))
