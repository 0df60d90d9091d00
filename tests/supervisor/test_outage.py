"""When a model cannot be asked: the run waits, gives up, or goes on without; and nothing finished is asked again."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from prompt_reading import ReadingModel

from deep_research import Budget, DeepResearch, RunStatus
from deep_research.budget.spend_ledger import limit_of, share_of
from deep_research.errors import AgentError, BudgetError, WindowError
from deep_research.models.failures import TOO_LONG, Verdict, failure
from deep_research.state import Limit
from deep_research.supervisor.termination import (
    RETRY_SECONDS,
    FailureAction,
    failure_action,
    is_spent,
    parking_for,
)
from deep_research.testing import ScriptedSearch

QUESTION = "What is said about the tower of the reef?"
NOW = datetime(2026, 1, 1, tzinfo=UTC)
AGENTS = {
    "planning": "You plan research",
    "analysis": "You read sources",
    "synthesis": "You write the report",
}


def of(verdict, **more):
    return failure(verdict, "it went wrong", model="m", **more)


GIVE_UP, FALL_BACK, PARK = FailureAction.GIVE_UP, FailureAction.FALL_BACK, FailureAction.PARK
WAYS = [  # what goes wrong, and what is done where a run may be parked and where not
    *((of(verdict), PARK, FALL_BACK) for verdict in (Verdict.PARK, Verdict.TRANSIENT)),
    (of(Verdict.FATAL), GIVE_UP, GIVE_UP),
    (of(Verdict.FATAL, hint=TOO_LONG), FALL_BACK, FALL_BACK),
    *(
        (of(verdict), FALL_BACK, FALL_BACK)
        for verdict in (Verdict.MALFORMED, Verdict.LENGTH, Verdict.REFUSAL, Verdict.INCOMPLETE)
    ),
    *((kind("it went wrong"), FALL_BACK, FALL_BACK) for kind in (WindowError, BudgetError, AgentError)),
]


@pytest.mark.parametrize(("error", "parking", "otherwise"), WAYS, ids=lambda value: str(value)[:40])
def test_what_is_done_follows_from_what_went_wrong(error, parking, otherwise):
    assert [failure_action(error, parks=parks) for parks in (True, False)] == [parking, otherwise]


@pytest.mark.parametrize(
    ("asked", "waits"), [(900.0, 900.0), (None, RETRY_SECONDS), (0.0, RETRY_SECONDS), (-5.0, RETRY_SECONDS)]
)
def test_a_parked_run_says_when_to_come_back(asked, waits):
    parking = parking_for(of(Verdict.PARK, retry_after=asked), NOW)
    assert parking.until == NOW + timedelta(seconds=waits)
    assert "it went wrong" in parking.waiting_for


@pytest.mark.parametrize(
    ("cap", "said"), [(2_000_000, "of 2,000,000 "), (0.5, "of 0.5 "), (3, "of 3 "), (None, "max_tokens was")]
)
def test_a_cap_is_told_in_plain_figures(cap, said):
    limit = limit_of(BudgetError("spent", cap="max_tokens", limit=cap, used=1))
    assert said in limit.message
    assert limit_of(WindowError("too long")) is None


def test_a_share_that_is_used_up_is_told_in_one_line_and_is_no_cap_that_was_reached():
    error = BudgetError("spent", cap="max_tokens", share="analysis", limit=50, used=40)
    limit = share_of(error)
    assert (limit.name, limit.cap, limit.usage) == ("max_tokens:analysis", 50, 40)
    told = "The analysis used its share of max_tokens; the rest of it was done without a model."
    assert limit.message == told
    assert limit_of(error) is None
    assert not is_spent((limit,))
    assert share_of(BudgetError("spent", cap="max_tokens", limit=50, used=40)) is None


def test_a_shared_cap_is_told_as_such():
    limit = limit_of(BudgetError("spent", cap="max_usd", limit=0.5, used=0.4, shared=True))
    assert limit.message.startswith("The shared cap max_usd of 0.5 was reached")
    assert (limit.name, limit.of_cap, limit.is_shared) == ("shared:max_usd", "max_usd", True)
    assert is_spent((limit,))


def test_only_caps_on_models_say_that_another_round_is_no_use():
    assert is_spent((Limit(name="max_usd", message="m"),))
    assert not is_spent((Limit(name="max_searches", message="m"), Limit(name="max_seconds", message="m")))


class Faulty(ReadingModel):
    """Fails with ``error`` where the agent ``at`` asks, as long as ``broken``."""

    def __init__(self, at="", error=None):
        super().__init__()
        self.at, self.error, self.broken = at, error, error is not None

    async def send(self, call, on_text=None):
        if self.broken and call.system.startswith(self.at):
            self.calls.append(call)
            raise self.error
        return await super().send(call, on_text)

    def times(self, start):
        return sum(call.system.startswith(start) for call in self.calls)


def engine(tmp_path, model, **fields):
    return DeepResearch(model=[model], search=[ScriptedSearch()], data_dir=tmp_path, **fields)


@pytest.mark.parametrize("phase", AGENTS)
def test_an_outage_parks_and_the_run_goes_on_where_it_was(tmp_path, phase):
    model = Faulty(AGENTS[phase], of(Verdict.PARK, retry_after=3_600.0))
    with engine(tmp_path, model) as research:
        parked = research.run(QUESTION)
        assert parked.status is RunStatus.PARKED
        assert parked.state.phase == phase
        assert parked.state.parking.until > datetime.now(UTC) + timedelta(minutes=50)
        earlier = {start: model.times(start) for name, start in AGENTS.items() if name != phase}
        model.broken = False
        result = research.resume(parked.research_id)
    assert result.status is RunStatus.COMPLETED
    assert result.report_metadata.writer == "synthesizer"
    for name, start in AGENTS.items():
        if list(AGENTS).index(name) < list(AGENTS).index(phase):
            assert model.times(start) == earlier[start]


@pytest.mark.parametrize("phase", AGENTS)
@pytest.mark.parametrize("verdict", [Verdict.PARK, Verdict.REFUSAL, Verdict.MALFORMED])
def test_without_a_model_the_extractive_agent_does_it_and_it_is_said(tmp_path, phase, verdict, monkeypatch):
    monkeypatch.setattr("deep_research.models.retry.FIRST_WAIT", 0.01)
    model = Faulty(AGENTS[phase], of(verdict))
    with engine(tmp_path, model, on_outage="extractive") as research:
        result = research.run(QUESTION)
    role = {"planning": "planner", "analysis": "analyzer", "synthesis": "synthesizer"}[phase]
    assert result.status is RunStatus.COMPLETED
    assert f"The {role} could not do its work" in result.report
    assert result.findings


@pytest.mark.parametrize("phase", AGENTS)
@pytest.mark.parametrize("choice", ["park", "extractive"])
def test_a_wrong_key_or_name_ends_the_run_at_once(tmp_path, phase, choice):
    model = Faulty(AGENTS[phase], of(Verdict.FATAL, status=401, hint="Check the API key."))
    with engine(tmp_path, model, on_outage=choice) as research:
        result = research.run(QUESTION)
    assert (result.status, result.reason) == (RunStatus.ABORTED, "config")
    assert model.times(AGENTS[phase]) == (1 if phase != "analysis" else model.times(AGENTS[phase]))


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_a_reached_cap_falls_back_tells_the_limit_and_stops_iterating(tmp_path, calls):
    class Gaps(ReadingModel):
        def answer(self, call):
            text = super().answer(call)
            if call.form is not None and call.form.name == "Reading":
                read = json.loads(text)
                return json.dumps({**read, "gaps": [{"description": "What the tower cost in all"}]})
            return text

    model = Gaps()
    with engine(tmp_path, model, max_iterations=3, budget=Budget(max_model_calls=calls)) as research:
        result = research.run(QUESTION)
    assert result.status is RunStatus.COMPLETED
    assert len(model.calls) == calls
    names = {limit.name for limit in result.limits}
    if calls == 2:  # the second call is kept for the report
        assert "max_model_calls:analysis" in names
        assert "The analysis used its share of max_model_calls" in result.report
        assert result.report_metadata.writer == "synthesizer"
        return
    assert "max_model_calls" in names
    if calls == 1:  # with the third call the report was written, and nothing of it is missing
        assert "The cap max_model_calls of 1 was reached" in result.report
    assert result.iterations == 1
    assert len(result.report) > 100
