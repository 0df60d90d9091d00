"""A server that is killed again and again: every run ends, nothing that was committed is done again, and every listener
gets the whole log."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest
from kills import commits, copied
from server_process import PATIENCE, ServerProcess
from witness import Witness

from deep_research import DeepResearch, RunStatus
from deep_research.state import events as ev
from deep_research.store.factory import DATABASE

pytestmark = pytest.mark.timed

QUESTIONS = "Who kept light {}?"


class Place:
    """A store with its witness, and the servers over it, one after the other on one port."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.copy = folder / "copy"
        self.witness = Witness(folder / "calls")
        self.server = self._start(0)

    def _start(self, port: int) -> ServerProcess:
        return ServerProcess(self.home, witness=str(self.witness.path), concurrency=8, port=port)

    def kill(self) -> None:
        self.server.signal(signal.SIGKILL)
        self.server.wait()

    def restart(self) -> None:
        self.server = self._start(self.server.port)

    def submit(self, runs: int) -> dict[str, str]:
        """The questions of so many runs, by their ids."""
        with self.server.client() as client:
            return {
                client.post("/v1/runs", json={"query": question}).json()["research_id"]: question
                for question in (QUESTIONS.format(number) for number in range(runs))
            }

    def wait(self, ids: dict[str, str]) -> None:
        until = time.monotonic() + PATIENCE
        with self.server.client() as client:
            while time.monotonic() < until:
                page = client.get("/v1/runs", params={"status": "completed", "limit": 200}).json()
                if {run["research_id"] for run in page["data"]} >= set(ids):
                    return
                time.sleep(0.1)
        raise AssertionError("runs do not end")

    def committed(self) -> set[str]:
        """The units of all runs that the store holds by now, named as the witness names them."""
        with closing(sqlite3.connect(copied(self.home / DATABASE, self.copy))) as db:
            assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            rows = db.execute(
                "SELECT run_id, type, version, body FROM events ORDER BY run_id, seq"
            ).fetchall()
        logs: dict[str, list[ev.Event]] = {}
        for run_id, kind, version, body in rows:
            logs.setdefault(run_id, []).append(ev.decode(kind, version, body))
        units = set()
        for log in logs.values():
            created = log[0]
            assert isinstance(created, ev.RunCreated)
            for _, unit in commits(log):
                units.add(unit if unit.startswith("search:") else f"{created.query}|{unit}")
        return units

    def calls(self) -> list[str]:
        return [call.unit for call in self.witness.calls()]

    def wait_for_calls(self, count: int) -> None:
        """Until the witness has seen so many calls, the last of which are still in flight."""
        until = time.monotonic() + PATIENCE
        while len(self.calls()) < count:
            assert time.monotonic() < until, "no work is done"
            time.sleep(0.005)


@contextmanager
def place(folder: Path) -> Iterator[Place]:
    folder.mkdir()
    made = Place(folder)
    try:
        yield made
    finally:
        made.server.close()


@pytest.mark.parametrize(
    ("runs", "kills"), [(6, 3), pytest.param(20, 10, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_runs_end_and_nothing_committed_is_done_again(tmp_path: Path, runs: int, kills: int) -> None:
    with place(tmp_path / "undisturbed") as whole:
        whole.wait(whole.submit(runs))
        wanted = Counter(whole.calls())
    assert set(wanted.values()) == {1}
    chance = random.Random(runs)
    at = sorted(chance.sample(range(1, len(whole.calls())), kills))
    seen = 0
    in_flight = 0
    done: list[tuple[int, set[str]]] = []
    with place(tmp_path / "killed") as killed:
        ids = killed.submit(runs)
        for count in at:
            killed.wait_for_calls(count)
            killed.kill()
            calls, committed = killed.calls(), killed.committed()
            in_flight += len(set(calls[seen:]) - committed)
            seen = len(calls)
            done.append((seen, committed))
            killed.restart()
        killed.wait(ids)
        calls = killed.calls()
    for count, committed in done:
        assert not committed & set(calls[count:])
    assert set(calls) == set(wanted)
    assert len(calls) - len(wanted) <= in_flight
    assert in_flight
    with DeepResearch(data_dir=killed.home, local_only=True) as research:
        for run_id in ids:
            assert research.status(run_id).status is RunStatus.COMPLETED
            names = Counter(event.name for event in research.events(run_id))
            assert names["run.completed"] == 1
    print(f"{runs} runs, {kills} kills: {len(calls) - len(wanted)} calls more, {in_flight} were in flight")


async def listen(address: str, run_id: str, chance: random.Random, numbers: list[int]) -> int:
    """Add the ``numbers`` of the events that a client gets, which leaves and comes back as it likes. Gives how often it
    left."""
    left = 0
    async with httpx.AsyncClient(base_url=address, timeout=PATIENCE, trust_env=False) as client:
        while True:
            last = {"last-event-id": str(numbers[-1])} if numbers else {}
            leaves = chance.randint(1, 12) if chance.random() < 0.5 else 0
            try:
                async with client.stream("GET", f"/v1/runs/{run_id}/events", headers=last) as response:
                    if response.status_code == 204:
                        return left
                    async for line in response.aiter_lines():
                        if line.startswith("id: "):
                            numbers.append(int(line[4:]))
                        elif line == "event: end":
                            return left
                        if leaves and len(numbers) % 13 == leaves and not line:
                            left += 1
                            break
            except httpx.TransportError:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("runs", "listeners"), [(3, 12), pytest.param(10, 50, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_every_listener_gets_the_whole_log_across_two_kills(
    tmp_path: Path, runs: int, listeners: int
) -> None:
    async def journey(served: Place) -> list[tuple[str, list[int]]]:
        ids = list(await asyncio.to_thread(served.submit, runs))
        chance = random.Random(listeners)
        of_runs = [ids[number % runs] for number in range(listeners)]
        heard: list[list[int]] = [[] for _ in of_runs]
        tasks = [
            asyncio.create_task(listen(served.server.address, run_id, random.Random(number), heard[number]))
            for number, run_id in enumerate(of_runs)
        ]
        async with asyncio.timeout(PATIENCE):
            for _ in range(2):
                more = sum(map(len, heard)) + chance.randint(1, 3 * listeners)
                while sum(map(len, heard)) < more and not all(task.done() for task in tasks):
                    await asyncio.sleep(0.005)
                await asyncio.to_thread(served.kill)
                await asyncio.to_thread(served.restart)
            left = sum(await asyncio.gather(*tasks))
        print(f"{listeners} listeners left {left} times")
        assert left
        return list(zip(of_runs, heard, strict=True))

    with place(tmp_path / "place") as served:
        heard = asyncio.run(journey(served))
        home = served.home
    with DeepResearch(data_dir=home, local_only=True) as research:
        for run_id, numbers in heard:
            assert numbers == [event.seq for event in research.events(run_id)]
            assert research.status(run_id).status is RunStatus.COMPLETED
