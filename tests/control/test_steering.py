"""Steering acts at the next unit: on what is searched, on the steps of tasks, on what is read and on what is written."""

import asyncio
import json
import time

import pytest
from prompt_reading import ReadingModel, prompt_of

from deep_research import DeepResearch, SearchResult
from deep_research.state import SubQueryStatus
from deep_research.state.events import RunSteered
from deep_research.testing import ScriptedSearch
from deep_research.testing.doubles import page, results

pytestmark = pytest.mark.timed

QUESTION = "What is known of the keepers of the light?"
MARKER = "Mind the zanzibar lens above all."
BOUND = 20.0


class Planned(ReadingModel):
    """Plans so many searches, and speaks before it answers what ``before`` says."""

    def __init__(self, before=None, searches=3):
        super().__init__()
        self.before, self.searches = before, searches

    async def send(self, call, on_text=None):
        if self.before is not None:
            await self.before(call)
        return await super().send(call, on_text)

    def answer(self, call):
        fields = (call.form.json_schema.get("properties") or {}) if call.form else {}
        if "sub_queries" in fields:
            queries = [
                {"query": f"keepers of light number {n}", "rationale": "", "priority": 1}
                for n in range(self.searches)
            ]
            return json.dumps({"research_brief": "b", "sub_queries": queries})
        return super().answer(call)


def steered(research, **steer):
    """Steers and waits until that is in the log: it arrives at the first look after it."""

    async def say():
        (run,) = await research.alist()
        await research.asteer(run.research_id, **steer)
        until = time.monotonic() + BOUND
        while time.monotonic() < until:
            if any(isinstance(e, RunSteered) for e in await research.aevents(run.research_id)):
                return
            await asyncio.sleep(0.005)
        raise AssertionError("the steer is not in the log")

    return say()


def engine(**more):
    made = {
        "store": "memory",
        "max_iterations": 1,
        "revise_with_critic": False,
        "reflection": "never",
        "max_concurrent": 1,
    }
    return DeepResearch(**{**made, **more})


def speaking_search(spoken, when=0, **steer):
    """A search before whose ``when``-th answer somebody speaks."""

    async def before(request):
        if len(search.requests) - 1 == when and not spoken:
            spoken.append(request.query)
            await steered(search.engine, **steer)

    search = ScriptedSearch(lambda request: results(request.query, 2), before=before)
    return search


def run_with(search, **more):
    with engine(search=[search], **more) as research:
        search.engine = research
        return research.run(QUESTION), research


@pytest.mark.parametrize("gathering", ["search", "agents"])
def test_a_sub_query_that_is_dropped_is_not_searched(gathering):
    spoken = []

    async def before(request):
        if request.query != QUESTION and not spoken and "number 0" in request.query:
            spoken.append(request.query)
            (run,) = await search.engine.alist()
            state = await search.engine._state(run.research_id)
            last = state.pending_sub_queries()[-1]
            await steered(search.engine, drop_sub_query=last.id)

    search = ScriptedSearch(lambda request: results(request.query, 2), before=before)
    result, _ = run_with(search, model=Planned(), gathering=gathering, tasks={"max_retries": 0})
    assert spoken
    assert not any("number 2" in request.query for request in search.requests)
    assert [s.status for s in result.state.sub_queries][-1] is SubQueryStatus.SUPERSEDED


def test_a_text_becomes_a_search_before_the_phase_ends_without_a_model():
    spoken = []
    search = speaking_search(spoken, text="Also consider the Zanzibar lens.")
    result, _ = run_with(search)
    assert any("Zanzibar" in request.query for request in search.requests)
    assert any(s.origin == "steer" for s in result.state.sub_queries)


def test_only_what_was_published_since_a_day_is_searched_from_then_on():
    spoken = []
    search = speaking_search(spoken, when=1, since="2020-01-01")
    result, _ = run_with(search, model=Planned())
    since = [str(request.filters.since) for request in search.requests if "number" in request.query]
    assert since == ["None", "2020-01-01", "2020-01-01"]
    assert str(result.state.options.since) == "2020-01-01"


@pytest.mark.parametrize("gathering", ["search", "agents"])
def test_when_nothing_more_is_to_be_searched_the_report_is_written_from_what_there_is(gathering):
    spoken = []

    async def before(request):
        if "number 0" in request.query and not spoken:
            spoken.append(request.query)
            await steered(search.engine, stop_searching=True)

    search = ScriptedSearch(lambda request: results(request.query, 2), before=before)
    result, _ = run_with(
        search, model=Planned(), gathering=gathering, max_iterations=3, tasks={"max_retries": 2}
    )
    assert [r.query for r in search.requests if "number" in r.query] == [spoken[0]]
    assert (result.status, result.iterations) == ("completed", 1)
    assert result.report


def spoken_before(wanted):
    """What a model is asked after somebody spoke, as it was asked for the first time for what ``wanted`` tells."""
    spoken = []

    async def before(call):
        if not spoken and wanted(call):
            spoken.append(len(model.calls))
            await steered(model.engine, text=MARKER)

    model = Planned(before)
    return model, spoken


def fields_of(call):
    return (call.form.json_schema.get("properties") or {}) if call.form else {}


PLACES = {
    "the next step of a task": (
        lambda call: "calls" in fields_of(call), "calls", {"gathering": "agents", "tasks": {"max_retries": 0}},
    ),
    "the next reading": (
        lambda call: "quality_updates" in fields_of(call), "quality_updates",
        {"reading": {"sections": False, "tokens": 1_000_000}},
    ),
    "the sections of the report after it is planned": (
        lambda call: "sections" in fields_of(call), "alone, in about", {"report_words": 3_000},
    ),
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_what_is_said_reaches(place):
    wanted, field, more = PLACES[place]
    model, spoken = spoken_before(wanted)
    size = 60_000 if place == "the next reading" else 3_000
    search = ScriptedSearch(
        lambda r: [
            SearchResult(address=f"{r.query}/{n}", title=r.query, text=page(r.query, n, size=size))
            for n in range(4)
        ]
    )
    with engine(search=[search], model=model, max_sources_per_query=4, **more) as research:
        model.engine = research
        result = research.run(QUESTION)
    assert result.status == "completed"
    assert spoken
    after = [
        call
        for call in model.calls[spoken[0] + 1 :]
        if field in fields_of(call) or field in call.messages[-1].content
    ]
    assert after
    assert all(MARKER in prompt_of(call) for call in after)
    assert MARKER not in prompt_of(model.calls[spoken[0]])


def test_a_pause_parks_before_the_next_search_and_resuming_searches_only_the_rest():
    spoken = []

    async def before(request):
        if "number 0" in request.query and not spoken:
            spoken.append(request.query)
            (run,) = await search.engine.alist()
            await search.engine.apause(run.research_id)
            store = search.engine._parts.store
            until = time.monotonic() + BOUND
            while (
                not search.engine._runner._active[run.research_id].journal._halted
                and time.monotonic() < until
            ):
                await asyncio.sleep(0.005)
            assert store.pending_commands(run.research_id)  # used up with the word that parks it

    search = ScriptedSearch(lambda request: results(request.query, 2), before=before)
    with engine(search=[search], model=Planned()) as research:
        search.engine = research
        parked = research.run(QUESTION)
        assert (parked.status, parked.state.parking.kind) == ("parked", "pause")
        assert research._parts.store.pending_commands(parked.research_id) == []
        assert research.wake() == []
        result = research.resume(parked.research_id)
    assert result.status == "completed"
    assert sorted(r.query for r in search.requests if "number" in r.query) == [
        f"keepers of light number {n}" for n in range(3)
    ]
