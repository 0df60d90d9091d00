"""Runs whose planner asks a model on a real server: the books are the server's, and nothing secret stays behind."""

import asyncio
import json
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from prompt_reading import ReadingModel, reading
from servers import Fault, ModelServer

from deep_research import DeepResearch, RunStatus, SearchResult
from deep_research.models import Message, ModelCall
from deep_research.models.base import Reply, StopReason, TokenUsage
from deep_research.models.model_pool import ModelPool
from deep_research.models.probe import Sky
from deep_research.phases.planning.handoff import PlannerOutput
from deep_research.phases.synthesis.handoff import SynthesizerOutput
from deep_research.state.events import ModelReserved, ModelSettled, Written
from deep_research.testing import ScriptedSearch, scripted_agents
from deep_research.testing.models import ScriptedProvider

QUESTION = "What is known of towers?"
CANARY = "sk-canary-5f0e1d2c3b4a59687766"


class Planner:
    """Plans with its model, in as many calls as it is told to make side by side."""

    uses_model = True
    deterministic = False

    def __init__(self, calls=1):
        self.calls = calls

    async def __call__(self, handoff, model):
        calls = (
            ModelCall(
                system="Plan.", messages=(Message(content=f"{handoff.original_query} ({n})"),), max_output=300
            )
            for n in range(self.calls)
        )
        answers = await asyncio.gather(*(model.object(call, PlannerOutput) for call in calls))
        return answers[0].value


def plan(served):
    """What is asked for: the plan, or the smallest thing that fits a probe."""
    if "sky" in served.text:
        return {"colour": "blue", "seen": ["the sun"]}
    return {
        "research_brief": "What is known of towers, old and new, and how they were built.",
        "sub_queries": [
            {"query": "old towers", "rationale": "r", "priority": 1},
            {"query": "new towers", "rationale": "r", "priority": 2},
        ],
    }


def engine(server, tmp_path, planner=None, **more):
    agents = {**scripted_agents(without=["gatherer"]), "planner": planner or Planner()}
    return DeepResearch(
        model=f"openai-compatible:m@{server.base_url}/v1",
        agents=agents,
        search=[ScriptedSearch()],
        data_dir=tmp_path,
        **more,
    )


def test_the_books_of_a_run_are_the_bill_of_the_server(tmp_path):
    faults = [Fault("429-after-0", skip=1, times=2)]
    with ModelServer(plan, faults=faults) as server, engine(server, tmp_path, Planner(3)) as research:
        result = research.run(QUESTION)
        events = research.events(result.research_id)
        stored = research.result(result.research_id)
    assert result.status is RunStatus.COMPLETED
    usage, bill = result.usage, server.billed
    assert (usage.input_tokens, usage.cached_tokens) == (bill.input, bill.cached)
    assert usage.output_tokens == bill.output
    assert usage.model_calls == len(server.log)
    assert usage.failed_model_calls == 2
    reserved = [e.reservation for e in events if isinstance(e, ModelReserved)]
    settled = [e for e in events if isinstance(e, ModelSettled)]
    assert {r.call_id for r in reserved} == {s.call_id for s in settled}
    assert len({r.call_id for r in reserved}) == len(reserved) == len(server.log)
    assert sum(s.tokens.total for s in settled) == usage.input_tokens + usage.output_tokens
    assert stored.usage == usage


def test_the_bound_that_is_set_aside_is_never_below_the_bill(tmp_path):
    with ModelServer(plan) as server, engine(server, tmp_path) as research:
        result = research.run(QUESTION)
        events = research.events(result.research_id)
    held = {e.reservation.call_id: e.reservation for e in events if isinstance(e, ModelReserved)}
    for settled in (e for e in events if isinstance(e, ModelSettled)):
        assert settled.tokens.input <= held[settled.call_id].input_tokens
        assert settled.tokens.output <= held[settled.call_id].output_tokens


def test_the_second_run_does_not_ask_again_what_the_model_can_do(tmp_path):
    with ModelServer(plan) as server:
        for expected in (2, 3):
            with engine(server, tmp_path) as research:
                research.run(QUESTION)
            assert len(server.log) == expected


@pytest.mark.timed
def test_runs_on_several_loops_share_an_engine(tmp_path):
    with ModelServer(plan) as server, engine(server, tmp_path) as research:
        results = []
        threads = [
            threading.Thread(target=lambda: results.append(asyncio.run(research.arun(QUESTION))))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        results.append(research.run(QUESTION))
    assert [result.status for result in results] == [RunStatus.COMPLETED] * 4


@pytest.mark.timed
def test_a_request_in_flight_when_a_run_was_interrupted_stays_charged(tmp_path):
    arrived = threading.Event()

    async def answer(served):
        if "sky" in served.text or arrived.is_set():
            return plan(served)
        arrived.set()
        return await asyncio.Event().wait()

    with ModelServer(answer) as server:
        with engine(server, tmp_path) as research:
            handle = research.start(QUESTION)
            assert arrived.wait(300)
        with engine(server, tmp_path) as research:
            result = research.resume(handle.research_id)
            events = research.events(result.research_id)
    assert result.status is RunStatus.COMPLETED
    reserved = [e.reservation for e in events if isinstance(e, ModelReserved)]
    settled = {e.call_id for e in events if isinstance(e, ModelSettled)}
    (lost,) = [r for r in reserved if r.call_id not in settled]
    assert result.usage.model_calls == len(reserved) == 3
    assert not result.usage.tokens_known
    assert result.usage.input_tokens >= lost.input_tokens
    assert len({r.call_id for r in reserved}) == 3


@pytest.mark.timed
def test_a_run_that_is_cancelled_in_a_request_ends_with_it_charged(tmp_path):
    arrived = threading.Event()

    async def answer(served):
        if "sky" in served.text:
            return plan(served)
        arrived.set()
        return await asyncio.Event().wait()

    with ModelServer(answer) as server, engine(server, tmp_path) as research:
        handle = research.start(QUESTION)
        assert arrived.wait(300)
        handle.cancel()
        result = handle.result(300)
    assert (result.status, result.reason) == (RunStatus.ABORTED, "cancelled")
    assert result.usage.model_calls == 2
    assert result.state.reservations == ()


@pytest.mark.timed
@pytest.mark.parametrize("fault", [(), ("401",), ("500",), ("html-200",), ("reset",), ("429-after-3600",)])
def test_the_key_is_in_no_byte_that_a_run_leaves_behind(tmp_path, monkeypatch, caplog, fault):
    monkeypatch.setenv("OPENAI_BASE_URL", "placeholder")
    caplog.set_level("DEBUG")
    with ModelServer(plan, faults=[Fault(kind, times=None) for kind in fault], key=CANARY) as server:
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.base_url}/v1")
        agents = {**scripted_agents(without=["gatherer"]), "planner": Planner()}
        with DeepResearch(
            model="openai-compatible:m",
            agents=agents,
            search=[ScriptedSearch()],
            data_dir=tmp_path,
            record_models=tmp_path / "record.jsonl",
            operation_timeout=300.0,
        ) as research:
            result = research.run(QUESTION)
            told = [repr(event) for event in research.events(result.research_id)]
    ends = {(): RunStatus.COMPLETED, ("401",): RunStatus.ABORTED}
    assert result.status is ends.get(fault, RunStatus.PARKED)
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert CANARY.encode() not in kept
    assert CANARY not in result.model_dump_json() + "".join(told) + caplog.text
    assert server.log  # it was really asked


class Unclosed(ScriptedProvider):
    """A provider of someone's own that never lets go of its connections."""

    async def aclose(self):
        await asyncio.Event().wait()


@pytest.mark.timed
def test_connections_that_do_not_close_keep_no_run(tmp_path, monkeypatch):
    monkeypatch.setattr("deep_research.research.runner.RELEASE_WAIT_SECONDS", 0.01)
    agents = {**scripted_agents(without=["gatherer"]), "planner": Planner()}
    provider = Unclosed(lambda call: plan(SimpleNamespace(text=call.messages[-1].content.lower())))
    research = DeepResearch(model=provider, agents=agents, search=[ScriptedSearch()], data_dir=tmp_path)

    async def journey():
        async with asyncio.timeout(300):
            return await research.arun(QUESTION)

    assert asyncio.run(journey()).status is RunStatus.COMPLETED


@pytest.mark.timed
def test_a_run_whose_connections_hang_at_its_cancellation_is_let_go_of_first(tmp_path):
    arrived = threading.Event()

    async def answer(call):
        if "sky" in call.messages[-1].content:
            return plan(SimpleNamespace(text="sky"))
        arrived.set()
        return await asyncio.Event().wait()

    agents = {**scripted_agents(without=["gatherer"]), "planner": Planner()}
    research = DeepResearch(
        model=Unclosed(answer), agents=agents, search=[ScriptedSearch()], data_dir=tmp_path
    )

    async def journey():
        task = asyncio.create_task(research.arun(QUESTION))
        await asyncio.to_thread(arrived.wait, 300)
        task.cancel()
        await asyncio.wait({task}, timeout=0.5)
        task.cancel()  # whoever waits has no more patience
        await asyncio.wait({task}, timeout=300)
        (run,) = await research.alist()
        return run

    assert asyncio.run(journey()).status is RunStatus.INTERRUPTED


CORPUS = Path(__file__).parents[2] / "docs" / "examples" / "corpus"
KEEPERS = "Who kept the light at Boston, and what became of him?"


def answered(served):
    """As a good model would, from what stands in the prompt; small questions of probes with the smallest answer."""
    if "sky" in served.text:
        return {"colour": "blue", "seen": ["the sun"]}
    said = served.messages[-1]["content"]
    told = said.partition("JSON schema:\n")[2]
    return reading(said, served.schema or (json.loads(told) if told else None))


async def probed(name):
    pool = ModelPool()
    await pool.language_model([name]).object(ModelCall(messages=(Message(content="sky"),)), Sky)
    await pool.aclose()


@pytest.mark.parametrize("abilities", [{"schema", "tools", "json", "stream", "usage"}, {"stream", "usage"}])
def test_a_recorded_run_is_replayed_to_the_same_report_without_a_request(tmp_path, abilities):
    record = tmp_path / "answers.jsonl"
    own = {"corpus": CORPUS, "store": "memory"}
    with ModelServer(answered, abilities=abilities) as server:
        name = f"openai-compatible:m@{server.base_url}/v1"
        asyncio.run(probed(name))  # what the model cannot do is known before the record begins
        with DeepResearch(model=name, record_models=record, **own) as research:
            first = research.run(KEEPERS)
        asked = len(server.log)
        with DeepResearch(model=f"replay:{record}", **own) as research:
            again = research.run(KEEPERS)
        assert len(server.log) == asked
    assert first.status is RunStatus.COMPLETED
    assert again.status is RunStatus.COMPLETED, again.message
    assert first.usage.model_calls > 3
    assert again.report == first.report
    assert again.usage.cost_usd == 0


class Writer:
    """Writes a report with its model, as a text."""

    uses_model = True
    deterministic = False
    name = "writer"

    async def __call__(self, handoff, model):
        call = ModelCall(messages=(Message(content="Write."),), max_output=300, label="report")
        return SynthesizerOutput(report=(await model.text(call)).value)


REPORT = "# Towers\n\n## Summary\n\n" + "The towers of the town were built one after another. " * 8


def test_a_text_is_streamed_to_who_watches_and_asked_for_whole_where_nobody_does(tmp_path):
    def answer(served):
        return plan(served) if served.schema else REPORT

    async def pieces(research):
        return [event async for event in research.stream(QUESTION) if isinstance(event, Written)]

    agents = {**scripted_agents(without=["gatherer"]), "synthesizer": Writer()}
    with ModelServer(answer) as server:
        options = {"model": f"openai-compatible:m@{server.base_url}/v1", "agents": agents, "judge": "off"}
        with DeepResearch(search=[ScriptedSearch()], data_dir=tmp_path, **options) as research:
            research.run(QUESTION)
            assert [served.stream for served in server.log] == [False]
            told = asyncio.run(pieces(research))
            assert server.log[-1].stream
    assert "".join(note.text for note in told) == REPORT
    assert {note.label for note in told} == {"report"}


class Halving(ReadingModel):
    """Writes half a character into findings, as JSON names it, and into texts, as it is."""

    def answer(self, call):
        said = super().answer(call)
        if call.form:
            return said.replace('"content": "', '"content": "\\ud800 ')
        return said.replace("tower", "\ud800 tower")

    async def send(self, call, on_text=None):
        text = self.answer(call)
        if on_text is not None:
            on_text(text)
        return Reply(text=text, stop=StopReason.END, usage=TokenUsage(input=10, output=10))


def test_half_a_character_in_what_a_model_wrote_ends_no_run(tmp_path):
    def found(request):
        told = [f"What is known of towers is that tower {n} was built in the year {n}." for n in range(3)]
        return [SearchResult(address=f"{request.query}/{text}", title="Towers", text=text) for text in told]

    async def run(research):
        return [event async for event in research.stream(QUESTION)]

    with DeepResearch(model=Halving(), search=[ScriptedSearch(found)], data_dir=tmp_path) as research:
        told = [event for event in asyncio.run(run(research)) if isinstance(event, Written)]
        result = research.result(research.list()[0].research_id)
    assert result.status is RunStatus.COMPLETED
    assert any("\ufffd What" in finding.content for finding in result.findings)
    assert "\ufffd tower" in result.report
    assert "\ufffd" in "".join(note.text for note in told)
    assert result.model_dump_json()
