"""The split of a cap: never above it, more from phase to phase, what is left rolls on, the report's part is kept."""

import asyncio
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from spending import request, state

from deep_research.budget.estimate import INPUT, report_cost, report_output
from deep_research.budget.spend_ledger import Allowance, Share, reserve, share
from deep_research.models.profiles import Price, Profile
from deep_research.state import AgentDecision, DeepResearchPhase, Gap, Parking, Spent, TokenUsage, Usage
from deep_research.state import events as ev
from deep_research.state.reducer import Fold
from deep_research.testing import FakeClock, MemoryJournal

PLANNING, GATHERING, ANALYSIS, SYNTHESIS, REFINEMENT = DeepResearchPhase
IN_ORDER = (PLANNING, ANALYSIS, SYNTHESIS, REFINEMENT)
DOLLARS = st.floats(0, 1_000, allow_nan=False)
TOKENS = st.integers(0, 10_000_000)
AMOUNTS = st.one_of(st.tuples(DOLLARS, DOLLARS, DOLLARS), st.tuples(TOKENS, TOKENS, TOKENS))
ROUNDS = st.integers(1, 10)


def shares(cap, began, report, iterations):
    return [share(phase, cap=cap, began=began, report=report, iterations=iterations) for phase in IN_ORDER]


@pytest.mark.parametrize(
    ("phase", "part"), [(PLANNING, 10), (GATHERING, 50), (ANALYSIS, 50), (SYNTHESIS, 85), (REFINEMENT, 100)]
)
def test_of_an_iterations_part_so_many_hundredths_may_be_spent_by_the_end_of_a_phase(phase, part):
    ceiling = share(phase, cap=3_400, began=100, report=300, iterations=3).ceiling
    assert ceiling == 100 + 1_000 * part / 100 + (300 if phase in (SYNTHESIS, REFINEMENT) else 0)


def test_in_the_last_iteration_the_synthesis_has_what_a_refinement_would_have():
    assert share(SYNTHESIS, cap=3_400, began=100, report=300, iterations=1).ceiling == 3_400
    assert share(ANALYSIS, cap=3_400, began=100, report=300, iterations=1).ceiling == 100 + 3_000 * 0.5


@given(AMOUNTS, ROUNDS)
def test_no_share_is_above_the_cap_and_none_is_less_than_that_of_the_phase_before(amounts, iterations):
    cap, began, report = amounts
    made = shares(cap, began, report, iterations)
    assert all(each.ceiling <= each.first <= cap for each in made)
    for before, after in pairwise(made):
        assert before.ceiling <= after.ceiling
        assert before.first <= after.first


@given(AMOUNTS, ROUNDS)
def test_until_the_report_is_written_what_it_needs_is_kept_but_never_more_than_half(amounts, iterations):
    cap, began, report = amounts
    assume(began <= cap)
    kept = reserve(cap - began, report)
    assert 0 <= kept <= min(report, (cap - began) / 2)
    assert kept == report or 2 * kept >= cap - began - 1
    firsts = [each.first for each in shares(cap, began, report, iterations)]
    assert firsts == [cap - kept, cap - kept, cap, cap]


@given(AMOUNTS, st.integers(2, 10), st.floats(0, 1))
def test_what_an_iteration_leaves_rolls_on_to_the_next(amounts, iterations, part):
    """Who spent less in one iteration may spend no less up to the end of the next, and more in it."""
    cap, began, report = amounts
    assume(began < cap)
    *_, last = shares(cap, began, report, iterations)
    thrifty = began + (last.ceiling - began) * part
    frugal, lavish = (
        shares(cap, spent, report, iterations - 1)[1].ceiling - spent for spent in (thrifty, last.ceiling)
    )
    assert frugal >= lavish - 1e-6 * cap


def test_all_of_a_cap_can_be_spent_by_the_end_of_the_last_iteration():
    spent = 0.0
    for left in (3, 2, 1):
        spent = shares(10.0, spent, 1.0, left)[-1].ceiling
    assert spent == 10.0


def test_one_request_that_is_left_is_not_kept_for_the_report():
    assert [reserve(left, 1) for left in (0, 1, 2, 3)] == [0, 0, 1, 1]
    assert reserve(1.0, 1.0) == 0.5


def test_what_is_read_again_leaves_the_next_report_all_that_it_needs():
    assert [reserve(left, 1, again=True) for left in (0, 1, 2)] == [0, 1, 1]
    made = [share(phase, cap=5, began=4, report=1, iterations=2, again=True) for phase in IN_ORDER]
    assert [each.first for each in made] == [4, 4, 5, 5]


@pytest.mark.parametrize(
    ("spent", "each", "requests"),
    [(0, 10, 5), (0, 50, 1), (0, 60, 1), (0, 81, 0), (45, 10, 1), (80, 10, 0), (90, 1, 0), (0, 0, None)],
)
def test_a_share_has_room_for_so_many_requests_and_for_the_first_where_that_fits_at_all(
    spent, each, requests
):
    assert Share(ceiling=50, first=80).requests(spent, each) == requests


def test_who_shortens_has_half_of_what_the_share_had_when_the_pass_began_and_no_first_request():
    read = folded(started(ANALYSIS), reserved(1), settled(1), max_tokens=1_000, max_model_calls=3).state
    read = read.model_copy(update={"phase_spent": Spent(model_calls=1, tokens=40)})
    whole = Allowance.of(read, ANALYSIS, Spent())
    half = whole.beside_agent(read)
    for name, spent in (("max_tokens", 40), ("max_model_calls", 1)):
        ceiling = spent + (whole.shares[name].ceiling - spent) / 2
        assert half.shares[name] == Share(ceiling=ceiling, first=ceiling)
    assert (whole.answers, half.answers) == (0, None)


# What a report takes


def test_a_report_takes_what_its_words_need_within_what_the_model_can_do():
    large = Profile(context=200_000, output=64_000, price=Price(input=1.0, output=10.0))
    assert report_output(1_000, large) == 5_300
    assert report_output(1_000, Profile(context=200_000, output=4_000)) == 4_000
    assert report_output(1_000, Profile(context=9_000, output=9_000)) == 3_000
    assert report_output(100, Profile(context=600, output=600)) == 256
    cost = report_cost(1_000, large)
    assert (cost.model_calls, cost.tokens) == (1, INPUT + 5_300)
    assert cost.cost_usd == pytest.approx((INPUT + 53_000) / 1e6)
    assert report_cost(1_000, Profile()).cost_usd is None


# From the log


def reserved(number, phase=ANALYSIS, tokens=100):
    asked = request(tokens, 0.25, call_id=f"call-{number}", role="analyzer", phase=phase)
    return ev.ModelReserved(reservation=asked)


def settled(number, tokens=40, failed=False):
    outcome, used = "transient" if failed else "end", TokenUsage(input=tokens)
    return ev.ModelSettled(
        call_id=f"call-{number}", outcome=outcome, failed=failed, tokens=used, cost_usd=0.125
    )


def started(phase, iteration=1):
    decision = AgentDecision(agent="supervisor", action="dispatch", rationale="", timestamp=FakeClock()())
    return ev.PhaseStarted(phase=phase, iteration=iteration, decision=decision)


def folded(*events, **caps):
    journal = MemoryJournal(state(iterations=3, **caps), clock=FakeClock())
    asyncio.run(journal.record(*events))
    return journal


def test_the_log_says_what_was_spent_when_the_phase_and_the_iteration_began():
    journal = folded(
        started(ANALYSIS),
        reserved(1),
        settled(1),
        started(SYNTHESIS),
        reserved(2, SYNTHESIS),
        settled(2, 60),
        started(REFINEMENT),
        reserved(3, REFINEMENT),
        ev.IterationStarted(iteration=2, sub_queries=()),
        started(ANALYSIS, 2),
    )
    reached = journal.state
    # The third request is under way yet: it counts with all that was set aside for it.
    spent = Spent(model_calls=3, tokens=40 + 60 + 100, cost_usd=0.5)
    assert reached.iteration_spent == spent == reached.phase_spent
    assert reached.phase_answers == 1  # of the analysis before
    again = Fold(state(iterations=3))
    for event in journal.events:
        again.apply(event)
    assert again.snapshot() == reached


def test_a_phase_that_is_done_again_is_counted_anew():
    journal = folded(started(ANALYSIS), reserved(1), settled(1), reserved(2), settled(2, failed=True))
    assert (journal.state.phase_spent, journal.state.phase_answers) == (Spent(), 0)
    asyncio.run(journal.record(ev.PhaseRetried(phase=ANALYSIS, attempt=1)))
    assert journal.state.phase_spent == Spent(model_calls=2, tokens=80, cost_usd=0.25)
    assert journal.state.phase_answers == 1


def test_a_report_without_an_open_gap_has_what_further_iterations_would_have():
    report = Spent(tokens=100)
    journal = folded(started(SYNTHESIS), max_tokens=1_000)
    assert Allowance.of(journal.state, SYNTHESIS, report).shares["max_tokens"].ceiling == 1_000
    gap = Gap(id="gap-1", description="What it cost", priority=1, iteration=1)
    open_gap = journal.state.model_copy(update={"gaps": (gap,)})
    assert Allowance.of(open_gap, SYNTHESIS, report).shares["max_tokens"].ceiling == 900 / 3 * 0.85 + 100


def test_the_shares_of_a_resumed_run_are_those_it_had():
    journal = folded(started(ANALYSIS), reserved(1), settled(1), max_tokens=1_000, max_usd=2.0)
    before = Allowance.of(journal.state, ANALYSIS, Spent(tokens=300, cost_usd=0.1))
    parked = ev.RunParked(parking=Parking(waiting_for="a model"))
    asyncio.run(journal.record(reserved(2), parked, ev.RunResumed()))
    assert Allowance.of(journal.state, ANALYSIS, Spent(tokens=300, cost_usd=0.1)) == before
    assert set(before.shares) == {"max_tokens", "max_usd"}
    assert before.answers == 0
    assert Allowance.of(journal.state, SYNTHESIS, Spent()).answers is None


def test_what_is_unknown_or_unspent_has_no_share_and_costs_nothing():
    unknown = state(max_usd=1.0, iteration_spent=Spent(cost_usd=None))
    assert Allowance.of(unknown, ANALYSIS, Spent()).shares == {}
    assert Spent.of(Usage()).by_cap == {"max_model_calls": 0, "max_tokens": 0, "max_usd": 0.0}
