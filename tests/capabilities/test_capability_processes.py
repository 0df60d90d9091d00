"""Agents and their supervisor as processes: the example of the docs, and kills at random moments."""

from __future__ import annotations

import os
import random
import re
import select
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from deep_research.capabilities import CapabilityPlan, PlanFolder, PlanStatus
from deep_research.store.factory import DATABASE
from deep_research.store.sqlite import SQLiteStore

pytestmark = [pytest.mark.timed, pytest.mark.slow]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PATIENCE = 300.0  # seconds, on a machine that stands still
PLANS = 20
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("DEEP_RESEARCH_")}


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Process:
    """A process that can be killed and started again with the same arguments."""

    def __init__(
        self, *argv: str, environment: dict[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        path = os.pathsep.join([str(ROOT), *(entry or os.getcwd() for entry in sys.path)])
        self._environment = {**ENVIRONMENT, "PYTHONPATH": path, **(environment or {})}
        self._argv, self._cwd = argv, cwd
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *self._argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self._environment,
            cwd=self._cwd,
        )

    def first_line(self) -> str:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        line = self._process.stdout.readline() if ready else ""
        assert line, self.output()[1]
        return line.strip()

    def output(self) -> tuple[str, str]:
        return self._process.communicate(timeout=PATIENCE)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def ended(*processes: Process) -> Iterator[None]:
    try:
        yield
    finally:
        for process in processes:
            process.kill()


def wait_for(url: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            httpx.get(f"{url}/capabilities", trust_env=False).raise_for_status()
            return
        except httpx.HTTPError:
            assert time.monotonic() < deadline, f"{url} did not begin to listen"
            time.sleep(0.05)


def test_the_three_processes_of_the_docs_work_together(tmp_path):
    page = (ROOT / "docs" / "capabilities.md").read_text(encoding="utf-8")
    ports = {"8001": str(free_port()), "8002": str(free_port())}
    page = re.sub("|".join(ports), lambda match: ports[match[0]], page)
    blocks = {match[1]: match[0] for match in re.finditer(r"# (\w+)\.py\n.*?(?=```)", page, re.DOTALL)}
    (researcher,) = re.findall(r"^deep-research (researcher .*)$", page, re.MULTILINE)
    assert sum(block.count("\n") for block in blocks.values()) + 1 <= 40
    for name, block in blocks.items():
        (tmp_path / f"{name}.py").write_text(block)
    environment = {"DEEP_RESEARCH_HOME": str(tmp_path / "home")}
    urls = [f"http://127.0.0.1:{port}" for port in ports.values()]
    environment["RESEARCHER_SERVICE_URL"] = urls[0]  # in place of port 8001
    first = Process("-m", "deep_research", *researcher.split(), environment=environment, cwd=tmp_path)
    second = Process("count_words.py", cwd=tmp_path)
    with ended(first, second):
        for url in urls:
            wait_for(url)
        printed, error = Process("assist.py", environment=environment, cwd=tmp_path).output()
    assert "198.49 feet (60.5 metres)" in printed, error
    assert re.search(r"^\d+ words$", printed, re.MULTILINE)


def told(plan: CapabilityPlan) -> list[tuple[str | None, str]]:
    """What a plan came to, without the ids."""
    return [(message.name, message.content.replace(plan.id, "PLAN")) for message in plan.messages]


def test_twenty_plans_of_three_processes_that_are_killed_end_as_the_undisturbed_one(tmp_path):
    seed = int(os.environ.get("SEED") or random.randrange(10**6))
    print("SEED", seed)
    chance = random.Random(seed)
    home, log = tmp_path / "researcher", tmp_path / "calls"
    home.mkdir()
    port = free_port()
    given = f'{{"routes": "researcher", "port": {port}, "witness": "{tmp_path / "witness"}"}}'
    researcher = Process(str(ROOT / "tests" / "server" / "scripted_server.py"), str(home), given)
    counter = Process(str(HERE / "counting_service.py"), str(free_port()), str(log), "0.3")
    environment = {"RESEARCHER_SERVICE_URL": researcher.first_line()}
    service = counter.first_line()

    def supervisor(number: int) -> Process:
        folder = tmp_path / f"plan-{number}"
        return Process(str(HERE / "plan_process.py"), str(folder), service, environment=environment)

    kills = {"supervisor": 0, "researcher": 0, "counter": 0}
    with ended(researcher, counter):
        began = time.monotonic()
        undisturbed = CapabilityPlan.model_validate_json(supervisor(0).output()[0])
        seconds = time.monotonic() - began
        assert undisturbed.status is PlanStatus.COMPLETED
        for number in range(1, PLANS + 1):
            process = supervisor(number)
            plans = PlanFolder(tmp_path / f"plan-{number}")
            victim = chance.choice(sorted(kills))
            time.sleep(chance.uniform(0.25, 0.85) * seconds)
            if process.is_running:
                kills[victim] += 1
                if victim == "supervisor":
                    process.kill()
                    kept = [plans.read(plan_id) for plan_id in plans.ids()]
                    calls = log.read_text().splitlines()
                    process.start()
                    output, error = process.output()
                    for plan in kept:
                        after = log.read_text().splitlines()[len(calls) :]
                        again = [key for key in after if key.startswith(f"{plan.id}-1")]
                        assert not (again and "count_words" in plan.completed), "its answer was kept"
                else:
                    other = researcher if victim == "researcher" else counter
                    other.kill()
                    other.start()
                    other.first_line()
                    output, error = process.output()
            else:
                output, error = process.output()
            for _ in range(
                5
            ):  # a service may need longer than it was waited for, or be down when it is looked for
                if output and CapabilityPlan.model_validate_json(output).status is PlanStatus.COMPLETED:
                    break
                assert output or "Unknown capability" in error, error
                output, error = supervisor(number).output()
            plan = CapabilityPlan.model_validate_json(output)
            assert plan.status is PlanStatus.COMPLETED, plan.message
            assert told(plan) == told(undisturbed)
    print("kills", kills)
    store = SQLiteStore(home / DATABASE)
    try:
        assert len(store.runs()) == PLANS + 1, "no call started a second run"
    finally:
        store.close()
