"""A process that ends parks its runs: on SIGTERM at the command line, with `drain` in a service."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from witness import Witness, WitnessedSearch

from deep_research import DeepResearch, RunStatus
from deep_research.errors import RunStateError, UsageError
from deep_research.state import ParkedKind
from deep_research.store import MemoryStore, SQLiteStore, Store
from deep_research.testing import FakeClock, ScriptedSearch, scripted_agents

pytestmark = pytest.mark.timed

BOUND = 300.0
MakeStore = Callable[[], Store]


@pytest.fixture(params=["memory", "sqlite"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    if request.param == "memory":
        return MemoryStore
    return lambda: SQLiteStore(tmp_path / "runs.db", control_interval=0.005)


class Held:
    """Searches of which each waits until it may go on."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()
        self.search = ScriptedSearch(before=self.wait)

    async def wait(self, _: Any) -> None:
        await self.go_on.wait()

    async def asked(self, count: int) -> None:
        while len(self.search.requests) < count:
            await asyncio.sleep(0.001)


def made(store: Store, search: ScriptedSearch, **more: Any) -> DeepResearch:
    agents = scripted_agents(sub_queries=5, without=["gatherer"])
    return DeepResearch(
        store=store, clock=FakeClock(), agents=agents, search=[search], max_concurrent=1, **more
    )


def test_a_drained_engine_parks_its_runs_before_their_next_units_and_they_are_woken(make_store):
    async def check() -> None:
        store, held = make_store(), Held()
        async with asyncio.timeout(BOUND):
            engine = made(store, held.search)
            handles = [await engine.astart(f"Who kept light {n}?") for n in range(3)]
            await held.asked(3)
            draining = asyncio.create_task(engine.adrain(BOUND))
            await asyncio.sleep(0)
            held.go_on.set()
            assert await draining == 3
            for handle in handles:
                result = await handle.aresult()
                assert (result.status, result.state.parking.kind) == (
                    RunStatus.PARKED,
                    ParkedKind.SHUTDOWN,
                )
            assert len(held.search.requests) == 3  # no further unit began
            await engine.aclose()
            next_search = ScriptedSearch()
            async with made(store, next_search) as another:
                woken = await another.awake()
                assert {result.status for result in woken} == {RunStatus.COMPLETED}
                assert len(woken) == 3
                spent = sum(result.usage.searches for result in woken)
                assert len(held.search.requests) + len(next_search.requests) == spent
        store.close()

    asyncio.run(check())


def test_what_does_not_come_to_the_end_of_a_unit_is_interrupted_and_resumable(make_store):
    async def check() -> None:
        store, held = make_store(), Held()
        async with asyncio.timeout(BOUND), made(store, held.search) as engine:
            handle = await engine.astart("Who?")
            await held.asked(1)
            assert await engine.adrain(0) == 0
            with pytest.raises(RunStateError, match="interrupted"):
                await handle.aresult()
            assert (await engine.astatus(handle.research_id)).status is RunStatus.INTERRUPTED
            held.go_on.set()
            assert (await engine.aresume(handle.research_id)).status is RunStatus.COMPLETED
        store.close()

    asyncio.run(check())


def test_a_run_that_waits_for_a_slot_or_begins_while_it_drains_is_parked_as_well(make_store):
    async def check() -> None:
        store, held = make_store(), Held()
        async with asyncio.timeout(BOUND), made(store, held.search, max_active_runs=1) as engine:
            first = await engine.astart("Who?")
            await held.asked(1)
            waits = await engine.astart("Who else?")
            draining = asyncio.create_task(engine.adrain(BOUND))
            late = await engine.astart("And who?")
            held.go_on.set()
            assert await draining == 2
            for handle in (first, waits, late):
                assert (await handle.aresult()).status is RunStatus.PARKED
            assert len(held.search.requests) == 1
        store.close()

    asyncio.run(check())


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan"), "5", True, None])
def test_drain_takes_a_time(tmp_path, seconds):
    with DeepResearch(data_dir=tmp_path, search=[ScriptedSearch()]) as engine:
        with pytest.raises(UsageError, match="number of seconds"):
            engine.drain(seconds)
        assert engine.drain(0) == 0


# The command line, in a process of its own

CLI = (
    f"import sys; sys.path.append({str(Path(__file__).parents[1])!r})"
    + """
import asyncio
from pathlib import Path
from deep_research import DeepResearch
from deep_research.interfaces.cli.main import main
from deep_research.testing import scripted_agents
from witness import WitnessedSearch

folder = Path(sys.argv.pop(1))

async def wait(request):
    if len(search.requests) == 2:
        (folder / "inside").touch()
        while not (folder / "go_on").exists():
            await asyncio.sleep(0.005)

search = WitnessedSearch(before=wait, witness=folder / "witness")

def engine(**given):
    return DeepResearch(search=[search], agents=scripted_agents(sub_queries=5, without=["gatherer"]), **given)

sys.exit(main(engine=engine))
"""
)


def started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", CLI, str(folder), *arguments, "--data-dir", str(folder / "runs")]
    return subprocess.Popen(
        [*command, "--set", "max_concurrent=1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def searches(folder: Path) -> Counter[str]:
    return Counter(call.unit for call in Witness(folder / "witness").calls())


async def _there(path: Path) -> None:
    async with asyncio.timeout(BOUND):
        while not path.exists():
            await asyncio.sleep(0.005)


def stored(folder: Path) -> DeepResearch:
    return DeepResearch(
        data_dir=folder / "runs",
        search=[WitnessedSearch(witness=folder / "witness")],
        agents=scripted_agents(sub_queries=5, without=["gatherer"]),
    )


def test_sigterm_parks_the_run_and_wake_goes_on_with_it(tmp_path):
    process = started(tmp_path, "run", "Who kept the light?")
    try:
        asyncio.run(_there(tmp_path / "inside"))
        process.send_signal(signal.SIGTERM)
        (tmp_path / "go_on").touch()
        out, err = process.communicate(timeout=BOUND)
    finally:
        process.kill()
    assert (process.returncode, out) == (143, ""), err
    last = err.splitlines()[-1]
    assert last.startswith("Parked: the run waits for another process")
    assert "deep-research resume deepres-" in last
    with stored(tmp_path) as engine:
        (waiting,) = engine.waiting()
        assert waiting.kind is ParkedKind.SHUTDOWN
        assert len(searches(tmp_path)) == 2
        (result,) = engine.wake()
        assert result.status is RunStatus.COMPLETED
    assert searches(tmp_path).total() == result.usage.searches


def test_beside_json_a_run_that_sigterm_parked_is_told_as_json(tmp_path):
    process = started(tmp_path, "run", "Who kept the light?", "--json")
    try:
        asyncio.run(_there(tmp_path / "inside"))
        process.send_signal(signal.SIGTERM)
        (tmp_path / "go_on").touch()
        out, _ = process.communicate(timeout=BOUND)
    finally:
        process.kill()
    assert process.returncode == 143
    assert json.loads(out)["status"] == "parked"


def test_a_second_sigterm_ends_at_once_and_the_run_goes_on_where_it_was(tmp_path):
    process = started(tmp_path, "run", "Who kept the light?")
    try:
        asyncio.run(_there(tmp_path / "inside"))
        process.send_signal(signal.SIGTERM)
        # The first has to arrive as one of its own: signals of one number are not counted.
        while not _handled(process):
            pass
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=BOUND)
    finally:
        process.kill()
    assert process.returncode == 143
    with stored(tmp_path) as engine:
        (run,) = engine.list()
        assert run.status is RunStatus.INTERRUPTED
        assert engine.resume(run.research_id).status is RunStatus.COMPLETED


def _handled(process: subprocess.Popen[str]) -> bool:
    """Whether no signal waits for the process any more."""
    said = Path(f"/proc/{process.pid}/status").read_text()
    waiting = [line.split()[1] for line in said.splitlines() if line.startswith(("SigPnd", "ShdPnd"))]
    return all(int(mask, 16) == 0 for mask in waiting)


def test_ctrl_c_interrupts_as_before(tmp_path):
    process = started(tmp_path, "run", "Who kept the light?")
    try:
        asyncio.run(_there(tmp_path / "inside"))
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=BOUND)
    finally:
        process.kill()
    assert process.returncode == 130
    assert "Interrupted; run deepres-" in err.splitlines()[-1]
    with stored(tmp_path) as engine:
        assert [run.status for run in engine.list()] == [RunStatus.INTERRUPTED]


def test_at_the_command_line_a_run_goes_on_under_more_money(tmp_path):
    (tmp_path / "go_on").touch()
    first = started(tmp_path, "run", "Who kept the light?", "--max-searches", "2")
    _, err = first.communicate(timeout=BOUND)
    assert first.returncode == 0, err
    with stored(tmp_path) as engine:
        (run,) = engine.list()
    refused = started(tmp_path, "resume", run.research_id, "--max-searches", "2")
    _, err = refused.communicate(timeout=BOUND)
    assert refused.returncode == 2
    assert "not larger in anything that was reached: max_searches 2" in err.splitlines()[-1]
    more = started(tmp_path, "resume", run.research_id, "--max-searches", "50")
    out, err = more.communicate(timeout=BOUND)
    assert more.returncode == 0, err
    assert out.startswith("#")
    with stored(tmp_path) as engine:
        result = engine.result(run.research_id)
    assert searches(tmp_path).total() == result.usage.searches > 2
    assert set(searches(tmp_path).values()) == {1}
