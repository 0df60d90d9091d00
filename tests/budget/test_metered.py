"""The models of a run: checked against the window, reserved, sent, settled and logged, request by request."""

import asyncio
import itertools
from dataclasses import replace
from unittest.mock import AsyncMock

import pytest
from spending import request, state

from deep_research.budget.metered import ModelRoles
from deep_research.errors import AgentError, BudgetError, ConfigurationError, ModelError, WindowError
from deep_research.limits import Gates
from deep_research.models import Message, ModelCall, ModelProvider, Reply, StopReason, TokenUsage
from deep_research.models.failures import Verdict, failure
from deep_research.models.model_pool import ModelPool, Shared
from deep_research.models.profiles import Price, Profile
from deep_research.models.retry import Persistence
from deep_research.models.structured import Abilities
from deep_research.state import Budget, DeepResearchPhase, ModelRole, RunOptions, Spent
from deep_research.state.events import RunAborted, RunResumed
from deep_research.state.phases import AbortReason
from deep_research.testing import MemoryJournal

PLANNING = DeepResearchPhase.PLANNING
USED = TokenUsage(input=100, cache_read=20, output=10, reasoning=4)
PRICE = Price(input=1.0, cache_read=0.5, output=10.0)


async def outcome_of(told):
    """What is told, raised or awaited."""
    if callable(told):
        told = await told()
    if isinstance(told, Exception):
        raise told
    return told


class Provider(ModelProvider):
    service = "test"

    def __init__(self, *outcomes, model="m", counted=None):
        super().__init__(model)
        self.outcomes, self.counted = list(outcomes), counted
        self.counts, self.calls = 0, []

    async def send(self, call, on_text=None):
        self.calls.append(call)
        text = await outcome_of(self.outcomes.pop(0) if self.outcomes else "fine")
        return Reply(text=text, stop=StopReason.END, usage=USED, request_id="r" * 500)

    async def count(self, call):
        self.counts += 1
        return await outcome_of(self.counted)


async def never(*_):
    await asyncio.Event().wait()


def failed(told, **more):
    return failure(Verdict.TRANSIENT, told, model="m", **more)


def run_models(provider, *, profile=None, budget=None, **roles):
    journal = MemoryJournal(state(options=RunOptions(budget=budget or Budget())))
    chain = provider if isinstance(provider, list) else [provider]
    profiles = {"test:": profile or Profile(context=10_000, output=1_000, price=PRICE)}
    common, persistence = Shared(Gates(), Abilities()), Persistence(sleep=AsyncMock())
    pool = ModelPool(profiles=profiles, common=common, persistence=persistence)
    made = ModelRoles(pool=pool, chain=chain, **roles)
    return made.of_run(journal), journal


def call(text="a question", output=500):
    return ModelCall(messages=(Message(content=text),), max_output=output)


def ask(models, *calls, role=ModelRole.PLANNER, phase=PLANNING, steered=False):
    async def journey():
        return [await models.model(role, phase, steered=steered).text(each) for each in calls]

    return asyncio.run(journey())


def names(journal):
    """Of the events of requests, short."""
    return [event.name.removeprefix("model.") for event in journal.events]


def set_aside(journal):
    """The tokens of the first prompt."""
    return journal.events[0].reservation.input_tokens


def test_a_request_is_reserved_before_it_is_sent_and_settled_after():
    provider = Provider()

    async def look():
        assert names(journal) == ["reserved"]
        return "fine"

    provider.outcomes.append(look)
    models, journal = run_models(provider)
    (answer,) = ask(models, call())
    assert answer.value == "fine"
    assert names(journal) == ["reserved", "settled"]
    reserved, settled = journal.events
    assert reserved.reservation.output_tokens == 500
    assert reserved.reservation.input_tokens > len("a question")
    assert (settled.outcome, settled.tokens, settled.failed) == ("end", USED, False)
    assert len(settled.request_id) == 200
    assert settled.cost_usd == pytest.approx((80 * 1.0 + 20 * 0.5 + 10 * 10.0) / 1e6)
    assert reserved.reservation.cost_usd >= settled.cost_usd


def test_the_books_of_a_run_are_the_sum_of_its_requests_by_role_phase_and_model():
    models, journal = run_models(Provider())
    ask(models, call(), call())
    ask(models, call(), role=ModelRole.ANALYZER, phase=DeepResearchPhase.ANALYSIS)
    usage = journal.state.usage
    assert (usage.model_calls, usage.input_tokens, usage.cached_tokens) == (3, 300, 60)
    assert (usage.output_tokens, usage.reasoning_tokens, usage.tokens_known) == (30, 12, True)
    rows = [(row.role, row.phase, row.calls) for row in usage.models]
    assert rows == [("analyzer", "analysis", 1), ("planner", "planning", 2)]
    assert usage.cost_usd == pytest.approx(sum(row.cost_usd for row in usage.models))
    assert sum((row.tokens for row in usage.models), TokenUsage()) == USED + USED + USED


def test_a_failed_request_that_took_nothing_costs_nothing_and_one_that_may_have_is_charged_at_its_most():
    models, journal = run_models(Provider(failed("busy"), failed("gone", maybe_billed=True)))
    ask(models, call())
    settled = journal.events[1::2]
    assert [event.outcome for event in settled] == ["transient", "transient", "end"]
    assert [event.failed for event in settled] == [True, True, False]
    assert [event.tokens.total > 500 for event in settled] == [False, True, False]
    assert settled[0].cost_usd == 0
    usage = journal.state.usage
    assert (usage.model_calls, usage.failed_model_calls, usage.tokens_known) == (3, 2, False)


def test_what_was_said_of_a_broken_answer_is_a_floor():
    said = TokenUsage(input=9_000, output=1, is_known=False)
    models, journal = run_models(Provider(failed("cut", usage=said)))
    ask(models, call())
    tokens = journal.events[1].tokens
    assert (tokens.input, tokens.output, tokens.is_known) == (9_000, 500, False)


@pytest.mark.parametrize(
    "provider", [Provider(), Provider(counted=failed("busy"))], ids=["of no count", "that cannot count now"]
)
def test_a_prompt_that_does_not_fit_the_window_is_never_sent(provider):
    models, journal = run_models(provider)
    with pytest.raises(WindowError, match="does not fit the"):
        ask(models, call("x" * 30_000))
    assert not provider.calls
    assert not journal.events


def test_the_service_counts_what_nearly_fills_the_window_and_where_bytes_would_pass_a_cap():
    provider = Provider(counted=3_000)
    models, journal = run_models(provider)
    ask(models, call("x" * 20_000), call("short"))
    assert (provider.counts, set_aside(journal)) == (1, 3_000)
    models, journal = run_models(Provider(counted=150), budget=Budget(max_tokens=700))
    ask(models, call("x" * 600))
    assert set_aside(journal) == 150


@pytest.mark.parametrize("counted", [ValueError("own bug"), "many", -3, 0, None, never])
def test_whatever_a_provider_of_ones_own_counts_the_run_goes_on(monkeypatch, counted):
    monkeypatch.setattr("deep_research.budget.metered.COUNT_SECONDS", 0.01)
    models, journal = run_models(Provider(counted=counted))
    ask(models, call("x" * 20_000))
    assert set_aside(journal) > 20_000


def test_a_cap_in_dollars_needs_every_price_before_anything_is_spent():
    models, _ = run_models(Provider(), profile=Profile(context=10_000))
    models.roles.check(Budget(max_tokens=10))
    with pytest.raises(ConfigurationError, match="price of 'test:m', which is unknown"):
        models.roles.check(Budget(max_usd=1.0))
    priced, _ = run_models(Provider())
    priced.roles.check(Budget(max_usd=1.0))


async def test_a_request_that_is_cancelled_stays_charged_with_what_was_set_aside():
    models, journal = run_models(Provider(never))
    task = asyncio.create_task(models.model(ModelRole.PLANNER, PLANNING).text(call()))
    while not journal.events:
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert names(journal) == ["reserved"]
    held = journal.events[0].reservation
    assert journal.state.reservations == (held,)
    assert models.spend.ledger.tokens == held.tokens.total  # this process knows at once
    await journal.record(RunAborted(reason=AbortReason.CANCELLED, message="", phase=PLANNING, iteration=1))
    assert journal.state.usage.input_tokens == held.input_tokens  # the log when the run ends
    assert journal.state.reservations == ()
    await journal.record(RunResumed())
    assert journal.state.usage.model_calls == 1  # and not a second time


def test_a_fallback_is_logged_and_told_in_the_limits():
    first, second = Provider(failure(Verdict.FATAL, "no key", model="m"), model="one"), Provider(model="two")
    models, journal = run_models([first, second])
    (answer,) = ask(models, call())
    assert answer.value == "fine"
    assert names(journal) == ["reserved", "settled", "fell_back", "reserved", "settled"]
    (notice,) = journal.state.notices
    assert notice.message == "For the planner, test:one gave no usable answer and test:two was asked."


def test_a_wait_is_told_with_the_time_when_it_is_over():
    busy = failure(Verdict.TRANSIENT, "too many requests", model="test:m", retry_after=20.0)
    models, journal = run_models(Provider(busy))
    models.roles.pool.persistence = replace(models.roles.pool.persistence, chance=lambda: 0.0)
    # The gate would wait as well: this is about what is told.
    models.roles.pool.common.gates.gate("test", at_once=16).clock = itertools.count(step=30).__next__
    ask(models, call())
    note = journal.notes[0]
    assert note.message == "waiting 20 s: test:m: too many requests"
    assert note.until is not None


def test_a_role_has_its_own_chain_or_that_of_all():
    own, shared = Provider(model="own"), Provider(model="shared")
    models, _ = run_models(shared, by_role={ModelRole.ANALYZER: [own]})
    assert models.model(ModelRole.ANALYZER, PLANNING).name == "test:own"
    assert models.model(ModelRole.PLANNER, PLANNING).name == "test:shared"


def test_a_role_without_a_model_is_told_in_one_line():
    models, _ = run_models([])
    with pytest.raises(AgentError, match="The role planner has no model"):
        models.model(ModelRole.PLANNER, PLANNING)


def test_what_may_be_sent_follows_from_the_models_window():
    models, _ = run_models(Provider(), margin=0.5)
    assert models.model(ModelRole.PLANNER, PLANNING).room(2_000) == (10_000 - 1_000 - 500) // 2


def test_an_error_of_the_log_passes_and_nothing_stays_set_aside():
    provider = Provider()
    models, journal = run_models(provider)

    journal.record = AsyncMock(side_effect=ModelError("the disk is full"))
    with pytest.raises(ModelError, match="the disk is full"):
        ask(models, call())
    assert not models.spend.ledger.reservations
    assert not provider.calls


# The shares of phases


def test_a_phase_keeps_to_its_share_and_is_told_so_and_who_is_not_steered_has_all_that_the_caps_allow():
    provider = Provider()
    models, _ = run_models(provider, budget=Budget(max_model_calls=9))
    with pytest.raises(BudgetError) as caught:
        ask(models, call(), call(), call(), steered=True)
    assert len(provider.calls) == 1  # the first is allowed whatever the share
    assert (caught.value.data["cap"], caught.value.data["share"]) == ("max_model_calls", "planning")
    models, _ = run_models(unsteered := Provider(), budget=Budget(max_model_calls=3))
    ask(models, call(), call(), call(), steered=False)
    assert len(unsteered.calls) == 3


IDLE = {"asked": frozenset({ModelRole.ANALYZER})}  # nobody writes the report


def at_analysis(spent=Spent(), profile=None, iteration=3, asked=None, **caps):  # noqa: B008
    roles = {} if asked is None else {"asked": asked}
    models, journal = run_models(Provider(), budget=Budget(**caps), profile=profile, **roles)
    fields = {"phase": DeepResearchPhase.ANALYSIS, "iteration": iteration, "phase_spent": spent}
    return models.roles.of_run(MemoryJournal(journal.state.model_copy(update=fields)))


def affordable(models, **more):
    return models.affordable(ModelRole.ANALYZER, DeepResearchPhase.ANALYSIS, 80, 20, **more)


# In the last iteration half of what the report leaves may be spent by the end of the analysis.
AFFORDABLE = {
    "no cap": (IDLE, None),
    "tokens": (IDLE | {"max_tokens": 2_000}, 10),
    "tokens of which some are spent": (IDLE | {"max_tokens": 2_000, "spent": Spent(tokens=250)}, 7),
    "the least of two caps": (IDLE | {"max_tokens": 2_000, "max_model_calls": 8}, 4),
    "the first whatever the share": (IDLE | {"max_tokens": 150}, 1),
    "too little for one": (IDLE | {"max_tokens": 99}, 0),
    "dollars": (IDLE | {"max_usd": 6.1 * (80 * PRICE.input + 20 * PRICE.output) / 1e6}, 3),
    "a report is to be written": ({"max_model_calls": 9}, 4),
    "nobody was asked": ({"max_model_calls": 9, "asked": frozenset()}, 4),
    "a third of the other half": ({"max_tokens": 2_000, "iteration": 1}, 1),
    "the next report goes first": ({"max_tokens": 2_000}, 0),
}


@pytest.mark.parametrize(("fields", "requests"), AFFORDABLE.values(), ids=AFFORDABLE)
def test_how_many_requests_a_phase_can_afford_follows_from_caps_what_was_spent_and_the_report(
    fields, requests
):
    assert affordable(at_analysis(**fields)) == requests


def test_dollars_are_not_capped_where_a_price_is_unknown():
    with pytest.raises(ConfigurationError, match="price of"):
        affordable(at_analysis(max_usd=1.0, profile=Profile(context=10_000)))


def test_it_can_be_told_which_cap_has_room_for_how_many():
    def by_cap(models, role=ModelRole.ANALYZER):
        return models.affordable_by_cap(role, DeepResearchPhase.ANALYSIS, 80, 20)

    models = at_analysis(max_tokens=2_000, max_model_calls=8, **IDLE)
    assert by_cap(models) == {"max_tokens": 10, "max_model_calls": 4}
    assert by_cap(models, ModelRole.SUMMARIZER) == {"max_tokens": 5, "max_model_calls": 2}
    assert by_cap(at_analysis(**IDLE)) == {}
    free = Profile(context=10_000, price=Price(input=0.0, output=0.0))
    assert by_cap(at_analysis(max_usd=1.0, profile=free, **IDLE)) == {}
    one_left = at_analysis(max_model_calls=2, spent=Spent(model_calls=1), **IDLE)
    assert by_cap(one_left, ModelRole.SUMMARIZER) == {"max_model_calls": 0}  # it is never the first


def test_what_was_spent_since_the_phase_began_is_not_there_by_now():
    models = at_analysis(max_model_calls=8, asked=frozenset())
    of_analysis = {"role": "analyzer", "phase": DeepResearchPhase.ANALYSIS}
    in_flight = tuple(request(1, None, call_id=name, **of_analysis) for name in "12")
    begun = models.journal.state.model_copy(update={"reservations": in_flight})
    resumed = models.roles.of_run(MemoryJournal(begun))
    assert (affordable(resumed), affordable(resumed, now=True)) == (4, 2)


def test_where_no_model_writes_the_report_nothing_is_kept_for_it():
    for provider, roles, calls in ((Provider(), IDLE, 0), ([], {}, 0), (Provider(), {}, 1)):
        models, _ = run_models(provider, **roles)
        assert models.roles.report_cost(800).model_calls == calls


WIDE = Profile(context=50_000, output=8_000, price=PRICE)


@pytest.mark.parametrize(("cap", "asked"), [(20_000, 6_000), (5_000, 3_000), (3_000, 1_500)])
def test_where_the_longest_answer_cannot_be_paid_a_shorter_one_is_asked_for(cap, asked):
    provider = Provider()
    models, journal = run_models(provider, profile=WIDE, budget=Budget(max_tokens=cap))
    ask(models, call(output=6_000))
    assert [sent.max_output for sent in provider.calls] == [asked]
    assert journal.events[0].reservation.output_tokens == asked
    assert journal.events[0].reservation.tokens.total <= cap


def test_an_answer_that_would_be_too_short_to_be_read_is_not_asked_for():
    models, journal = run_models(Provider(), profile=WIDE, budget=Budget(max_tokens=1_000))
    with pytest.raises(BudgetError, match="max_tokens"):
        ask(models, call(output=6_000))
    assert not journal.events
