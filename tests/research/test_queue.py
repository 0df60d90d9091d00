"""Submitted runs wait in the store until a worker takes them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from deep_research import DeepResearch, Park, RunStatus, SharedBudget, SupervisorHooks
from deep_research.errors import RepeatedKeyError, UsageError
from deep_research.research import run_worker
from deep_research.state import events as ev
from deep_research.store import MemoryStore, SQLiteStore, Store
from deep_research.testing import ScriptedSearch, scripted_agents

pytestmark = pytest.mark.timed

QUESTION = "What is known of towers?"


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "runs.db")
    yield made
    made.close()


def engine(store: Store, **more: Any) -> DeepResearch:
    agents = scripted_agents(without=["gatherer"])
    return DeepResearch(**{"search": [ScriptedSearch()], "agents": agents, "store": store, **more})


def test_a_submitted_run_waits_for_a_worker(store: Store) -> None:
    with engine(store) as client:
        run_id = client.submit(QUESTION, user_id="ann", max_iterations=1)
        assert client.status(run_id).status is RunStatus.QUEUED
        assert [event.name for event in client.events(run_id)] == ["run.created"]
        assert client.wake() == []
    with engine(store) as worker:
        assert worker.work(once=True) == 1
        result = worker.result(run_id)
        assert result.status is RunStatus.COMPLETED
        assert result.state.options.max_iterations == 1
        assert [e.by for e in worker.events(run_id) if isinstance(e, ev.RunResumed)] == ["worker"]
        assert worker.work(once=True) == 0


@pytest.mark.parametrize(
    ("given", "same"),
    [
        ({}, True),
        ({"priority": 5}, True),  # the run has its place already
        ({"max_iterations": 2}, RepeatedKeyError),
        ({"query": "What else?"}, RepeatedKeyError),
        ({"query": f"  {QUESTION}\n"}, True),
        ({"user_id": "bob"}, False),
        ({"idempotency_key": "key-2"}, False),
        ({"idempotency_key": None}, False),
    ],
    ids=str,
)
def test_a_key_stands_for_one_question_of_one_user(store: Store, given: dict[str, Any], same: Any) -> None:
    first = {"query": QUESTION, "idempotency_key": "key-1", "user_id": "ann"}
    with engine(store) as client:
        run_id = client.submit(**first)
        if same is RepeatedKeyError:
            with pytest.raises(RepeatedKeyError, match="with another question or other options") as refused:
                client.submit(**{**first, **given})
            assert refused.value.data["research_id"] == run_id
        else:
            assert (client.submit(**{**first, **given}) == run_id) is same
        assert len(client.list()) == 2 - (same is not False)


def test_a_key_is_kept_when_the_run_has_ended_and_free_when_it_is_deleted(store: Store) -> None:
    with engine(store) as client:
        run_id = client.submit(QUESTION, idempotency_key="key")
        client.work(once=True)
        assert client.submit(QUESTION, idempotency_key="key") == run_id
        assert client.status(run_id).status is RunStatus.COMPLETED
        client.delete(run_id)
        assert client.submit("What else?", idempotency_key="key") == run_id
        assert client.status(run_id).status is RunStatus.QUEUED


def test_many_who_submit_one_key_at_once_get_one_run(tmp_path: Path) -> None:
    stores = [SQLiteStore(tmp_path / "runs.db") for _ in range(8)]
    stores[0].open()
    ids: list[str] = []
    start = threading.Barrier(len(stores))

    def submit(store: Store) -> None:
        with engine(store) as client:
            start.wait()
            ids.append(client.submit(QUESTION, idempotency_key="key"))

    threads = [threading.Thread(target=submit, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ids) == len(stores)
    assert len(set(ids)) == len(stores[0].runs()) == 1
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    "given",
    [
        {"priority": 101},
        {"priority": "high"},
        {"not_before": "tomorrow"},
        {"not_before": 3},
        {"idempotency_key": ""},
        {"idempotency_key": "k" * 256},
        {"idempotency_key": "a\nb"},
        {"shared_budget": SharedBudget(max_usd=1.0)},
        {"query": " "},
    ],
    ids=lambda given: f"{next(iter(given.items()))}"[:40],
)
def test_what_cannot_be_queued_is_refused_in_one_line(given: dict[str, Any]) -> None:
    with engine(MemoryStore()) as client:
        with pytest.raises(Exception, match=r"\S") as refused:
            client.submit(**{"query": QUESTION, **given})
        assert "\n" not in str(refused.value)
        assert client.list() == []


@pytest.mark.parametrize("count", [0, True, "2", 1.5])
def test_a_worker_needs_a_number_of_runs(count: Any) -> None:
    with engine(MemoryStore()) as worker, pytest.raises(UsageError, match="whole number from 1"):
        worker.work(count)


def test_a_run_waits_for_its_time(store: Store) -> None:
    with engine(store) as client:
        later = client.submit(QUESTION, not_before=datetime.now(UTC) + timedelta(hours=1))
        client.submit("What else?", not_before="2020-01-01T00:00")
        assert client.work(once=True) == 1
        assert client.status(later).status is RunStatus.QUEUED
        assert client.status(later).not_before is not None


def test_a_worker_works_on_several_runs_at_once_and_on_no_more(store: Store) -> None:
    active, most = 0, 0

    async def count(_: object) -> None:
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0.01)
        active -= 1

    with engine(store, search=[ScriptedSearch(before=count)], max_concurrent=1) as client:
        for number in range(6):
            client.submit(f"What is tower {number}?")
        assert client.work(2, once=True) == 6
        assert most == 2
        assert {run.status for run in client.list()} == {RunStatus.COMPLETED}


def test_a_queued_run_can_be_steered_paused_and_cancelled(store: Store) -> None:
    with engine(store) as client:
        steer, pause, cancel = (client.submit(f"What of {n}?") for n in range(3))
        client.steer(steer, "Mind the keepers.")
        client.pause(pause)
        assert client.cancel(cancel).status is RunStatus.ABORTED
        assert client.work(once=True) == 2
        assert "Mind the keepers." in [g.text for g in client.result(steer).state.guidance]
        assert client.status(pause).parked_kind == "pause"
        assert client.resume(pause).status is RunStatus.COMPLETED


def test_a_paused_run_that_is_resumed_by_hand_does_not_pause_again(store: Store) -> None:
    with engine(store) as client:
        run_id = client.submit(QUESTION)
        client.pause(run_id)
        assert client.resume(run_id).status is RunStatus.COMPLETED


class Asks(SupervisorHooks):
    def before_phase(self, state: Any, phase: Any) -> Park | None:
        return Park("which tower is meant") if phase == "gathering" and not state.answers else None


def test_a_worker_goes_on_with_a_run_that_was_answered(store: Store) -> None:
    with engine(store, hooks=Asks()) as client:
        run_id = client.submit(QUESTION)
        assert client.work(once=True) == 1
        assert client.status(run_id).status is RunStatus.PARKED
        assert client.work(once=True) == 0
        client.answer(run_id, "The northern one.", run=False)
        assert client.work(once=True) == 1
        assert client.result(run_id).status is RunStatus.COMPLETED


def test_a_run_that_is_set_up_otherwise_here_is_aborted_and_says_why(store: Store) -> None:
    with engine(store) as client:
        run_id = client.submit(QUESTION)
    with engine(store, reflection="always") as worker:
        assert worker.work(once=True) == 1
        status = worker.status(run_id)
        assert (status.status, status.reason) == (RunStatus.ABORTED, "config")
        assert "another set-up" in str(status.message)
        assert worker.resume(run_id, setup="new").status is RunStatus.COMPLETED


def test_a_run_whose_workers_die_again_and_again_is_given_up() -> None:
    store = MemoryStore()
    with engine(store) as worker:
        run_id = worker.submit(QUESTION)
        held = store._runs[run_id]
        held.row = replace(held.row, claims=run_worker.MAX_CLAIMS)
        assert worker.work(once=True) == 1
        status = worker.status(run_id)
        assert (status.status, status.reason) == (RunStatus.ABORTED, "error")
        assert status.message == f"{run_worker.MAX_CLAIMS} workers died while they worked on it."
        assert worker.resume(run_id).status is RunStatus.COMPLETED


def test_a_run_whose_log_is_damaged_holds_up_no_other() -> None:
    store = MemoryStore()
    with engine(store) as worker:
        damaged, whole = worker.submit("What is lost?", priority=9), worker.submit(QUESTION)
        store._runs[damaged].events[0] = replace(store._runs[damaged].events[0], body=b"{")
        assert worker.work(once=True) == 2
        assert worker.status(whole).status is RunStatus.COMPLETED
        assert worker.status(damaged).status is RunStatus.QUEUED
        assert not store.run(damaged).owned(store.now())


def test_a_worker_that_drains_parks_its_runs_for_the_next_one(store: Store) -> None:
    reached, go_on = threading.Event(), threading.Event()

    async def hang(_: object) -> None:
        reached.set()
        while not go_on.is_set():
            await asyncio.sleep(0.005)

    async def journey() -> str:
        async with engine(store, search=[ScriptedSearch(before=hang)]) as first:
            work = asyncio.create_task(first.awork(1))
            run_id = await first.asubmit(QUESTION)
            waits = await first.asubmit("What else?")
            assert await asyncio.to_thread(reached.wait, 60)
            asyncio.get_running_loop().call_later(0.02, go_on.set)
            assert await first.adrain(60) == 1
            assert await work == 1
            assert (await first.astatus(run_id)).parked_kind == "shutdown"
            assert (await first.astatus(waits)).status is RunStatus.QUEUED
        return run_id

    asyncio.run(journey())
    with engine(store) as second:
        assert second.work(once=True) == 2
        assert {run.status for run in second.list()} == {RunStatus.COMPLETED}


def test_a_worker_takes_what_is_submitted_while_it_waits(store: Store) -> None:
    async def journey() -> None:
        async with engine(store) as client:
            work = asyncio.create_task(client.awork(2))
            await asyncio.sleep(0)
            run_id = await client.asubmit(QUESTION)
            async with asyncio.timeout(120):
                kinds = [event.name async for event in client.follow(run_id) if isinstance(event, ev.Event)]
            assert kinds[-1] == "run.completed"
            await client.aclose()
            assert await work == 1

    asyncio.run(journey())
