"""The supervisor's own model: when it thinks, where its advice goes, and that nobody waits for it or fails by it."""

import asyncio
import json
import threading

import pytest
from prompt_reading import ReadingModel

from deep_research import DeepResearch, RunStatus
from deep_research.errors import BudgetError
from deep_research.models.failures import Verdict, failure
from deep_research.state.events import DecisionMade, GuidanceGiven
from deep_research.testing import ScriptedSearch

QUESTION = "What is said about the tower of the reef?"
ADVICE = "Look at figures first."  # what the reading model always advises


class Reader(ReadingModel):
    """``blocked`` times its plan is none; ``reflecting`` is awaited, or raised, when the supervisor is asked."""

    def __init__(self, *, blocked=0, reflecting=None):
        super().__init__()
        self.blocked, self.reflecting = blocked, reflecting

    async def send(self, call, on_text=None):
        if call.system.startswith("You supervise"):
            if isinstance(self.reflecting, BaseException):
                self.calls.append(call)
                raise self.reflecting
            if self.reflecting is not None:
                await self.reflecting()
        return await super().send(call, on_text)

    def answer(self, call):
        text = super().answer(call)
        if call.system.startswith("You plan research") and self.blocked > 0:
            self.blocked -= 1
            plan = json.loads(text)
            return json.dumps({**plan, "sub_queries": [{"query": " "}]})
        return text

    def asked(self, start):
        return [call.messages[-1].content for call in self.calls if call.system.startswith(start)]


def engine(tmp_path, model, **more):
    places = {"data_dir": tmp_path, "store": "memory"}
    return DeepResearch(model=[model], search=[ScriptedSearch()], **places, **more)


def researched(tmp_path, model, **more):
    with engine(tmp_path, model, **more) as research:
        result = research.run(QUESTION)
        return result, research.events(result.research_id)


@pytest.mark.parametrize(("when", "blocked"), [("never", 1), ("on_failure", 0)])
def test_nobody_is_asked_never_or_on_failure_where_nothing_failed(tmp_path, when, blocked):
    result, _ = researched(tmp_path, model := Reader(blocked=blocked), reflection=when)
    assert result.status is RunStatus.COMPLETED
    assert model.asked("You supervise") == []


def test_on_failure_its_advice_reaches_the_next_attempt(tmp_path):
    result, events = researched(tmp_path, model := Reader(blocked=1), reflection="on_failure")
    assert result.status is RunStatus.COMPLETED
    (reflected,) = model.asked("You supervise")
    assert "The plan has no question." in reflected
    first, second = model.asked("You plan research")
    assert ADVICE not in first
    assert ADVICE in second
    (made,) = [e for e in events if isinstance(e, DecisionMade) and e.decision.action == "reflect"]
    assert made.decision.outputs["guidance"] == ADVICE


def test_always_it_is_shown_what_the_owner_wants_and_figures_and_its_advice_reaches_a_later_phase(tmp_path):
    model = Reader()
    result, events = researched(tmp_path, model, reflection="always", system_prompt="We are a museum.")
    assert result.status is RunStatus.COMPLETED
    told = model.asked("You supervise")
    assert len(told) >= 3
    assert all("We are a museum." in said and QUESTION in said for said in told)
    assert "Findings: " in told[-1]
    pages = [source.title for source in result.sources] + [finding.content for finding in result.findings]
    assert pages
    assert not [page for page in pages if any(page in said for said in told)], "nothing that pages say"
    given = [e.guidance for e in events if isinstance(e, GuidanceGiven)]
    assert any(guidance.origin == "supervisor" for guidance in given)
    assert ADVICE in model.asked("You write the report")[0]


@pytest.mark.parametrize(
    "error",
    [
        failure(Verdict.PARK, "come back tomorrow", model="m", retry_after=3_600),
        failure(Verdict.FATAL, "no such model", model="m", status=404),
        failure(Verdict.REFUSAL, "no", model="m"),
        BudgetError("The cap was reached."),
        ZeroDivisionError("a provider of one's own"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.parametrize("when", ["always", "on_failure"])
def test_its_failure_harms_nothing(tmp_path, error, when):
    model = Reader(blocked=1, reflecting=error)
    result, _ = researched(tmp_path, model, reflection=when)
    assert result.status is RunStatus.COMPLETED
    assert result.report_metadata.writer == "synthesizer"
    assert model.asked("You supervise")


@pytest.mark.timed
def test_a_run_that_is_stopped_does_not_wait_for_advice(tmp_path):
    """The model never answers: only the cancellation ends its thinking."""
    asked = threading.Event()

    async def never():
        asked.set()
        await asyncio.Event().wait()

    model = Reader(reflecting=never)
    with engine(tmp_path, model, reflection="always") as research:
        handle = research.start(QUESTION)
        assert asked.wait(300)
        handle.cancel()
        result = handle.result()
    assert result.status is RunStatus.ABORTED
    assert result.reason == "cancelled"
    assert result.state.reservations == ()


def test_what_it_is_shown_fits_a_small_window(tmp_path):
    profiles = tmp_path / "models.toml"
    profiles.write_text('["reading:m"]\ncontext = 8192\noutput = 4096\n')
    model = Reader()
    with engine(tmp_path, model, model_file=profiles, reflection="always") as research:
        research.run("Why is the tower round? " * 400)
    for call in model.calls:
        said = call.system + call.messages[-1].content
        assert len(said) / 3 + call.max_output < 8_192
