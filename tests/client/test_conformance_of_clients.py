"""An engine and the clients of a server do the same: one suite for all three."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from server_process import PATIENCE, ServerProcess, server

from deep_research import Budget, DeepResearch, RunStatus
from deep_research.client import AsyncClient, Client
from deep_research.errors import (
    DeepResearchError,
    MemoryNotFoundError,
    RepeatedKeyError,
    RunNotFoundError,
    RunStateError,
    UnknownNameError,
    UsageError,
)
from deep_research.research.operations import OPERATIONS
from deep_research.state.events import Event
from deep_research.testing import ScriptedSearch, scripted_agents

pytestmark = pytest.mark.timed

QUESTION = "What is known of towers?"
NO_RUN = "deepres-0123456789ab"
ABSENT = {
    "work": "The process of the server works.",
    "wake": "The worker of the server wakes runs.",
    "drain": "The server drains when its process is asked to end.",
    "skipped": "It names files of the server's machine.",
}


class Waited:
    """An `AsyncClient`, of which every verb is waited for."""

    def __init__(self, address: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._client = AsyncClient(address)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        verb = getattr(self._client, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            result = verb(*args, **kwargs)
            if inspect.isasyncgen(result):
                return self._loop.run_until_complete(_listed(result))
            return self._loop.run_until_complete(result)

        return call

    def close(self) -> None:
        self._loop.run_until_complete(self._client.aclose())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()


async def _listed(events: Any) -> list[Any]:
    return [event async for event in events]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with server(tmp_path_factory.mktemp("home")) as process:
        yield process


@pytest.fixture(params=["engine", "client", "async client"])
def research(request: pytest.FixtureRequest, served: ServerProcess, tmp_path: Path) -> Iterator[Any]:
    if request.param == "engine":
        agents = scripted_agents(without=["gatherer"])
        made: Any = DeepResearch(search=[ScriptedSearch()], agents=agents, data_dir=tmp_path / "home")
    else:
        made = (Client if request.param == "client" else Waited)(served.address)
    yield made
    made.close()


def worked(research: Any, run_id: str) -> Any:
    """The result of a submitted run; a server works by itself."""
    if isinstance(research, DeepResearch):
        research.work(once=True)
    until = time.monotonic() + PATIENCE
    while not research.status(run_id).status.is_final and time.monotonic() < until:
        time.sleep(0.05)
    return research.result(run_id)


@pytest.mark.parametrize("verb", sorted(OPERATIONS))
def test_every_verb_is_one_of_the_clients_or_has_a_reason_for_none(verb: str) -> None:
    for kind in (Client, AsyncClient):
        assert hasattr(kind, verb) is (verb not in ABSENT), kind
    if verb in ABSENT:
        assert ABSENT[verb]
        return
    own = inspect.signature(getattr(AsyncClient, verb)).parameters
    engines = inspect.signature(getattr(DeepResearch, f"a{verb}")).parameters
    left_out = {"resume": {"shared_budget"}, "verify": {"progress"}, "waiting": {"user"}}.get(verb, set())
    assert set(engines) - set(own) == left_out
    assert set(own) - set(engines) == ({"research_id"} if verb == "text" else set())


def test_a_run_to_its_end(research: Any, tmp_path: Path) -> None:
    result = research.run(QUESTION, max_iterations=1, budget=Budget(max_searches=9), session_id="s")
    assert result.status is RunStatus.COMPLETED
    run_id = result.research_id
    assert research.result(run_id) == result
    assert result.raise_for_status() is result
    assert result.state.options.max_iterations == 1
    assert result.state.options.budget.max_searches == 9
    summary = research.status(run_id)
    assert (summary.status, summary.session_id, summary.query) == (RunStatus.COMPLETED, "s", QUESTION)
    assert (summary.answers, summary.notices) == (result.answers, result.notices)
    assert all(answer.text for answer in summary.answers)
    assert research.report(run_id) == result.report
    assert run_id in str(research.report(run_id, "json"))
    events = research.events(run_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert research.events(run_id, after=3) == events[3:]
    if not isinstance(research, DeepResearch):
        assert [e for e in research.follow(run_id) if isinstance(e, Event)] == list(events)
    source = next(each for each in result.sources if each.content_hash)
    of_run = () if isinstance(research, DeepResearch) else (run_id,)
    assert research.text(*of_run, source).startswith(source.snippet[:10])
    assert research.verify(run_id).holds
    manifest = research.pack(run_id, tmp_path / "run.zip")
    assert manifest.research_id == run_id
    with pytest.raises(UsageError):
        research.pack(run_id, tmp_path / "run.zip")
    assert run_id in [run.research_id for run in research.list()]
    research.delete(run_id)
    with pytest.raises(RunNotFoundError):
        research.status(run_id)


def test_a_submitted_run_is_queued_once_for_its_key(research: Any) -> None:
    key = f"key-{time.time_ns()}"
    run_id = research.submit(QUESTION, idempotency_key=key, priority=3)
    assert research.submit(QUESTION, idempotency_key=key) == run_id
    with pytest.raises(RepeatedKeyError) as refused:
        research.submit("What else?", idempotency_key=key)
    assert refused.value.data["research_id"] == run_id
    assert worked(research, run_id).status is RunStatus.COMPLETED
    assert research.status(run_id).priority == 3


def test_lists_are_filtered_and_paged(research: Any) -> None:
    session = f"session-{time.time_ns()}"
    later = "2999-01-01"
    ids = [research.submit(QUESTION, not_before=later, session_id=session) for _ in range(3)]
    listed = [run.research_id for run in research.list(session=session)]
    assert listed == ids[::-1]
    first = research.list(session=session, limit=2)
    assert [run.research_id for run in first] == listed[:2]
    for after in (first[-1], first[-1].research_id):
        assert [run.research_id for run in research.list(session=session, after=after)] == listed[2:]
    assert [run.status for run in research.list(session=session, status="queued")] == [RunStatus.QUEUED] * 3
    for run_id in ids:
        assert research.cancel(run_id).status is RunStatus.ABORTED


def test_a_run_is_steered_paused_and_resumed(research: Any) -> None:
    run_id = research.submit(QUESTION, not_before="2999-01-01")
    research.steer(run_id, "Mind the keepers.")
    research.pause(run_id)
    result = research.resume(run_id)
    assert result.status is RunStatus.COMPLETED
    assert "Mind the keepers." in [guidance.text for guidance in result.state.guidance]


def test_a_plan_is_approved_by_an_answer(research: Any) -> None:
    result = research.run(QUESTION, approve_plan=True)
    assert result.status is RunStatus.PARKED
    run_id = result.research_id
    (waiting,) = (each for each in research.waiting() if each.research_id == run_id)
    assert waiting.kind == "plan"
    assert waiting.about["sub_queries"]
    answered = research.answer(run_id, "approve")
    assert answered.status is RunStatus.COMPLETED


def test_what_is_remembered_is_added_changed_taken_along_and_forgotten(research: Any) -> None:
    user = f"ann-{time.time_ns()}"
    assert research.memory_list(user_id=user) == []
    first = research.memory_add("preferences", " Short reports, please. ", user_id=user)
    assert (first.text, first.kind, first.user_id) == ("Short reports, please.", "preferences", user)
    more = [research.memory_add("profile", f"Keeper of lighthouse {n}.", user_id=user) for n in range(4)]
    listed = research.memory_list(user_id=user)
    assert listed == [*more[::-1], first]
    assert research.memory_list(user_id=user, kinds="preferences") == [first]
    assert research.memory_list(user_id=user, kinds=["profile"], limit=3) == more[:0:-1]
    for after in (listed[1], listed[1].id):
        assert research.memory_list(user_id=user, after=after) == listed[2:]
    edited = research.memory_edit(first.id, "Long reports, please.", user_id=user)
    assert edited == first.model_copy(update=dict.fromkeys(("text", "words"), "Long reports, please."))
    assert research.memory_show(first.id, user_id=user) == edited
    exported = research.memory_export(user_id=user)
    assert (exported.user_id, list(exported.entries)) == (user, [*more[::-1], edited])
    assert research.memory_forget(first.id, user_id=user) == 1
    assert research.memory_forget([more[0].id, more[1].id, "mem-no"], user_id=user) == 2
    assert research.memory_forget(kinds="episodes", user_id=user) == 0
    assert research.memory_forget(everything=True, user_id=user) == 2
    assert research.memory_list(user_id=user) == []


def test_an_estimate_starts_no_run(research: Any) -> None:
    before = len(research.list())
    assert research.estimate(QUESTION).iterations.high >= 1
    assert len(research.list()) == before


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda r: r.status(NO_RUN), RunNotFoundError),
        (lambda r: r.result(NO_RUN), RunNotFoundError),
        (lambda r: r.events(NO_RUN), RunNotFoundError),
        (lambda r: r.cancel(NO_RUN), RunNotFoundError),
        (lambda r: r.steer(NO_RUN, "x"), RunNotFoundError),
        (lambda r: r.delete(NO_RUN), RunNotFoundError),
        (lambda r: r.status("../runs"), RunStateError),
        (lambda r: r.status(3), RunStateError),
        (lambda r: r.report(NO_RUN, "pdf"), UnknownNameError),
        (lambda r: r.submit(" "), UsageError),
        (lambda r: r.submit("x" * 30_000), UsageError),
        (lambda r: r.submit(QUESTION, priority=1_000), UsageError),
        (lambda r: r.submit(QUESTION, not_before="soon"), UsageError),
        (lambda r: r.submit(QUESTION, corpora=["nope"]), UnknownNameError),
        (lambda r: r.submit(QUESTION, max_iterations=99), DeepResearchError),
        (lambda r: r.submit(QUESTION, max_iteration=2), DeepResearchError),
        (lambda r: r.memory_show("mem-no"), MemoryNotFoundError),
        (lambda r: r.memory_show("../runs"), MemoryNotFoundError),
        (lambda r: r.memory_show(r.memory_add("profile", "x", user_id="bob").id), MemoryNotFoundError),
        (lambda r: r.memory_edit("mem-no", "x"), MemoryNotFoundError),
        (lambda r: r.memory_forget("mem-no"), MemoryNotFoundError),
        (lambda r: r.memory_list(after="mem-no"), MemoryNotFoundError),
        (lambda r: r.memory_list(limit=0), UsageError),
        (lambda r: r.memory_list(kinds="dreams"), UsageError),
        (lambda r: r.memory_add("dreams", "x"), UsageError),
        (lambda r: r.memory_add("episodes", "x"), UsageError),
        (lambda r: r.memory_add("profile", " "), UsageError),
        (lambda r: r.memory_add("profile", "x" * 2_001), UsageError),
        (lambda r: r.memory_add("profile", 3), UsageError),
        (lambda r: r.memory_add("profile", "\ud800"), UsageError),
        (lambda r: r.memory_forget(), UsageError),
        (lambda r: r.memory_forget("mem-no", everything=True), UsageError),
        (lambda r: r.list(limit=0), UsageError),
        (lambda r: r.list(status="done"), UsageError),
        (lambda r: r.steer(r.submit(QUESTION, not_before="2999-01-01")), UsageError),
        (lambda r: r.answer(r.submit(QUESTION, not_before="2999-01-01"), "x"), RunStateError),
    ],
)
def test_wrong_use_is_the_same_error(research: Any, call: Any, error: type[Exception]) -> None:
    with pytest.raises(error) as refused:
        call(research)
    assert "\n" not in str(refused.value)
