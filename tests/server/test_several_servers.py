"""Several servers on one store, and servers that are killed: every run ends once, and nothing is done twice."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from server_process import PATIENCE, ServerProcess, server

from deep_research import DeepResearch, RunStatus

pytestmark = pytest.mark.timed


def wait_until_ended(process: ServerProcess, runs: list[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    with process.client() as client:
        while time.monotonic() < deadline:
            if all(client.get(f"/v1/runs/{run_id}").json()["status"] == "completed" for run_id in runs):
                return
            time.sleep(0.1)
    pytest.fail("runs do not end")


def check_logs(home: Path, runs: list[str]) -> None:
    """Each run completed once, and none of its sub-queries was searched twice."""
    with DeepResearch(data_dir=home, local_only=True) as engine:
        for run_id in runs:
            assert engine.status(run_id).status is RunStatus.COMPLETED
            events = engine.events(run_id)
            assert [event.seq for event in events] == list(range(1, len(events) + 1))
            names = Counter(event.name for event in events)
            assert names["run.completed"] == names["report.written"] == 1
            searched = [event.sub_query_id for event in events if event.name == "sub_query.completed"]
            assert len(searched) == len(set(searched)) > 0


def test_one_key_is_one_run_whichever_server_is_asked_and_how_often(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with server(home) as one, server(home) as two, one.client() as first, two.client() as second:

        def post(number: int) -> str:
            client = (first, second)[number % 2]
            answer = client.post(
                "/v1/runs", json={"query": "Who built Bell Rock?"}, headers={"idempotency-key": "k"}
            )
            assert answer.status_code == 202, answer.text
            run_id: str = answer.json()["research_id"]
            return run_id

        with ThreadPoolExecutor(20) as pool:
            (run_id,) = set(pool.map(post, range(40)))
        assert [run["research_id"] for run in second.get("/v1/runs").json()["data"]] == [run_id]
        wait_until_ended(one, [run_id])
    check_logs(home, [run_id])


def test_two_servers_share_the_work_and_a_listener_of_one_sees_the_run_of_the_other(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with (
        server(home, concurrency=1, pause=0.05) as one,
        server(home, concurrency=1, pause=0.05) as two,
        one.client() as client,
        two.client() as other,
    ):
        runs = [
            client.post("/v1/runs", json={"query": f"Who built light {n}?"}).json()["research_id"]
            for n in range(6)
        ]
        for run_id in runs:
            for each in (client, other):
                text = each.get(f"/v1/runs/{run_id}/events").text
                numbers = [int(line[4:]) for line in text.splitlines() if line.startswith("id: ")]
                assert numbers == list(range(1, len(numbers) + 1))
                assert 'event: end\ndata: {"status":"completed"}' in text
    check_logs(home, runs)


def test_runs_end_however_often_their_server_is_killed(tmp_path: Path) -> None:
    home, chance = tmp_path / "home", random.Random(7)
    runs: list[str] = []
    for _ in range(5):
        with server(home, pause=0.1) as process, process.client() as client:
            for number in range(2):
                try:
                    answer = client.post("/v1/runs", json={"query": f"Who built light {len(runs)}.{number}?"})
                except httpx.TransportError:
                    break
                runs.append(answer.json()["research_id"])
            time.sleep(chance.uniform(0, 0.5))
            process.signal(signal.SIGKILL)
            process.wait()
    with server(home, pause=0.1) as process:
        wait_until_ended(process, runs)
    check_logs(home, runs)
