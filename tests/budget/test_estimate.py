"""What a run may take: figures of the ends, caps, prices. That real runs lie between them is in tests/research."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.budget.estimate import Dollars, Range, Standing, estimate
from deep_research.budget.request_bounds import AGAIN, Kind, Kinds, Scale
from deep_research.models.profiles import Price
from deep_research.state import Budget, DeepResearchPhase, ModelRole

SCALE = Scale(iterations=3, sub_queries=5, sources=5, reading=100_000, batch=20_000, text=600_000)
PRICE = Price(input=2, output=10)


def kind(role=ModelRole.ANALYZER, room=150_000, output=4_000, price=PRICE, model="m"):
    return Kind(role=role, model=model, room=room, output=output, price=price)


def kinds(**others):
    usual = {
        "plan": kind(ModelRole.PLANNER),
        "read": kind(),
        "merge": kind(),
        "write": kind(ModelRole.SYNTHESIZER),
        "refine": kind(ModelRole.REFINER),
        "advise": kind(ModelRole.SUPERVISOR),
    }
    return Kinds(**usual | others)


def test_without_a_model_only_searches_are_made_and_nothing_is_paid():
    made = estimate(SCALE, Kinds())
    assert (made.phases, made.model_calls, made.cost_usd) == ((), Range(), Dollars())
    assert made.searches == Range(low=1, high=AGAIN * 15)
    assert made.notes == (
        "No language model is configured: the extractive agents do the work, and cost nothing.",
    )


def test_a_first_look_and_the_calls_of_a_critique_are_estimated():
    looking = estimate(replace(SCALE, first_look=1), kinds())
    assert looking.searches.high == estimate(SCALE, kinds()).searches.high + 1
    with_revision = kinds(revise=kind(ModelRole.SYNTHESIZER))
    more, less = (estimate(SCALE, each) for each in (with_revision, replace(with_revision, critique=False)))
    assert more.model_calls.high > less.model_calls.high
    assert more.model_calls.low > less.model_calls.low


def test_the_request_about_doubtful_sources_is_estimated_once_in_each_round():
    more, less = (estimate(SCALE, kinds(**each)) for each in ({"decide": kind()}, {}))
    assert more.model_calls.high - less.model_calls.high == AGAIN * SCALE.iterations
    assert more.model_calls.low == less.model_calls.low


def test_the_sums_are_those_of_the_phases():
    made = estimate(SCALE, kinds())
    for name in ("model_calls", "input_tokens", "output_tokens"):
        assert getattr(made, name) == sum((getattr(p, name) for p in made.phases), Range())
    assert made.cost_usd.high == pytest.approx(sum(p.cost_usd.high for p in made.phases))
    assert made.cost_usd.low == pytest.approx((made.input_tokens.low * 2 + made.output_tokens.low * 10) / 1e6)
    assert made.cost_usd.high == pytest.approx(
        (made.input_tokens.high * 2 + made.output_tokens.high * 10) / 1e6
    )


def test_an_unknown_price_makes_dollars_unknown_and_is_named():
    made = estimate(SCALE, kinds(refine=kind(ModelRole.REFINER, price=None, model="mine:x")))
    assert (made.cost_usd, made.unpriced) == (None, ("mine:x",))
    assert [p.cost_usd is None for p in made.phases] == [
        p.phase is DeepResearchPhase.REFINEMENT for p in made.phases
    ]
    assert any(note.startswith("The price of mine:x is not known") for note in made.notes)


@pytest.mark.parametrize(
    ("budget", "standing", "said"),
    [
        (
            Budget(max_usd=0.0001),
            Standing.BELOW,
            "is below the low end: the report will be written from less.",
        ),
        (Budget(max_usd=1), Standing.WITHIN, "The cap max_usd of 1 may be reached"),
        (Budget(max_usd=1_000), Standing.ABOVE, None),
        (Budget(max_tokens=200), Standing.BELOW, "The cap max_tokens of 200 is below"),
        (Budget(max_usd=0.1), Standing.WITHIN, "is less than a single request may take (0.23)"),
        (Budget(max_tokens=2_000), Standing.WITHIN, "is less than a single request may take (100,000)"),
        (Budget(max_tokens=200_000), Standing.WITHIN, "The cap max_tokens of 200,000 may"),
        (Budget(max_model_calls=2), Standing.BELOW, "max_model_calls of 2 is below"),
        (Budget(max_searches=0), Standing.BELOW, "max_searches of 0 is below"),
        (Budget(max_searches=4), Standing.WITHIN, "max_searches of 4 may be reached"),
        (Budget(max_searches=100), Standing.ABOVE, None),
    ],
)
def test_each_cap_is_held_against_the_ends(budget, standing, said):
    made = estimate(replace(SCALE, budget=budget), kinds())
    assert [cap.standing for cap in made.caps] == [standing]
    noted = [note for note in made.notes if note.startswith("The cap ")]
    assert [said in note for note in noted] == ([True] if said else [])
    assert made.notes[-1].startswith("This is an estimate. The caps of a run hold whatever it says")


@pytest.mark.timed
def test_it_is_said_when_nothing_stops_the_spending():
    assert "none is set" in estimate(SCALE, kinds()).notes[-1]
    assert "none is set" not in estimate(replace(SCALE, budget=Budget(max_usd=9)), kinds()).notes[-1]
    assert any(
        "max_seconds is 60" in n
        for n in estimate(replace(SCALE, budget=Budget(max_seconds=60)), kinds()).notes
    )


@pytest.mark.parametrize("critique", [False, True])
def test_one_iteration_has_a_refinement_only_where_the_report_is_looked_at(critique):
    made = estimate(replace(SCALE, iterations=1), kinds(critique=critique))
    assert (DeepResearchPhase.REFINEMENT in {phase.phase for phase in made.phases}) is critique


def test_no_prompt_is_larger_than_its_window():
    small = kind(room=1_000)
    (read,) = estimate(SCALE, Kinds(read=small)).phases
    assert read.input_tokens.high == read.model_calls.high * 1_000


def test_the_searches_that_are_allowed_decide_how_much_is_read():
    few = estimate(replace(SCALE, budget=Budget(max_searches=1)), kinds())
    assert few.input_tokens.high < estimate(SCALE, kinds()).input_tokens.high / 2
    none = estimate(replace(SCALE, budget=Budget(max_searches=0)), kinds())
    assert all(phase.input_tokens.high < 100_000 for phase in none.phases)


def test_pages_are_counted_where_the_web_is_read():
    assert estimate(SCALE, Kinds()).fetches == Range()
    assert estimate(replace(SCALE, pages=True), Kinds()).fetches == Range(high=150)
    assert estimate(replace(SCALE, pages=True, budget=Budget(max_fetches=7)), Kinds()).fetches.high == 7


amounts = st.integers(1, 200_000)


@given(
    scale=st.builds(
        Scale,
        iterations=st.integers(1, 10),
        sub_queries=st.integers(2, 20),
        sources=st.integers(1, 50),
        searched_again=st.integers(0, 3),
        pages=st.booleans(),
        prompt=amounts,
        reading=amounts,
        batch=st.integers(0, 20_000),
        text=amounts,
        budget=st.builds(Budget, max_searches=st.none() | st.integers(0, 30)),
    ),
    room=st.integers(0, 200_000),
    output=st.integers(1, 10_000),
    long=st.booleans(),
    always=st.booleans(),
)
def test_the_low_end_is_never_above_the_high_one(scale, room, output, long, always):
    one = kind(room=room, output=output)
    parts = {"outline": one, "section": one, "frame": one, "sections": 10} if long else {"write": one}
    made = estimate(
        scale,
        Kinds(
            plan=one, read=one, merge=one, refine=one, repair=one, advise=one, advise_always=always, **parts
        ),
    )
    for part in (made, *made.phases):
        for both in (part.model_calls, part.input_tokens, part.output_tokens, part.cost_usd):
            assert 0 <= both.low <= both.high
    assert made.fetches.low <= made.fetches.high


def test_more_of_anything_is_never_estimated_as_less():
    for more in (
        {"iterations": 4},
        {"sub_queries": 6},
        {"sources": 6},
        {"reading": 200_000},
        {"prompt": 100},
    ):
        larger, usual = estimate(replace(SCALE, **more), kinds()), estimate(SCALE, kinds())
        assert larger.input_tokens.high >= usual.input_tokens.high
        assert larger.model_calls.high >= usual.model_calls.high
