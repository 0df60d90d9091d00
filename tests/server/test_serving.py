"""The life of a server's process: what it does when it starts, and when it is asked to end."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import time
from pathlib import Path

import pytest
from server_process import PATIENCE, server

from deep_research import DeepResearch
from deep_research.errors import UsageError
from deep_research.server.serving import ServerOptions, serve
from deep_research.server.token_file import TokenFile, add_token

pytestmark = pytest.mark.timed

QUESTION = {"query": "Who built Bell Rock?"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_asked_to_end_ends_its_streams_and_parks_its_runs(
    tmp_path: Path, number: signal.Signals
) -> None:
    with server(tmp_path / "home", pause=600, drain_seconds=0.5) as process, process.client() as client:
        run_id = client.post("/v1/runs", json=QUESTION).json()["research_id"]
        with client.stream("GET", f"/v1/runs/{run_id}/events") as stream:
            process.wait_for_report()
            process.signal(number)
            *_, last = [line for line in stream.iter_lines() if line]
            assert last == "retry: 500"
        code, err = process.wait()
        assert (code, err) == (0, "")
    with DeepResearch(data_dir=tmp_path / "home", local_only=True) as engine:
        assert engine.status(run_id).status in ("parked", "interrupted")


def test_a_server_says_that_it_is_not_ready_while_its_runs_are_parked(tmp_path: Path) -> None:
    with server(tmp_path / "home", pause=600, drain_seconds=600) as process, process.client() as client:
        run_id = client.post("/v1/runs", json=QUESTION).json()["research_id"]
        process.wait_for_report()
        with client.stream("GET", f"/v1/runs/{run_id}/events") as stream:
            process.signal(signal.SIGTERM)
            assert "retry: 500" in stream.iter_lines()
        ready = client.get("/readyz")
        assert (ready.status_code, ready.json()) == (503, {"status": "closing"})
        assert client.get("/healthz").status_code == 200
        again = client.get(f"/v1/runs/{run_id}/events")
        assert (again.status_code, again.headers["retry-after"]) == (503, "2")
        process.signal(signal.SIGTERM)
        code, _ = process.wait()
        assert code == 128 + signal.SIGTERM


def test_a_server_takes_up_what_another_left(tmp_path: Path) -> None:
    with server(tmp_path / "home", pause=600) as process, process.client() as client:
        run_id = client.post("/v1/runs", json=QUESTION).json()["research_id"]
        process.wait_for_report()
        process.signal(signal.SIGKILL)
        process.wait()
    with server(tmp_path / "home", pause=0.01) as process, process.client() as client:
        seen: list[str] = []
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:  # comes again, as a browser does
            last = {"last-event-id": seen[-1]} if seen else {}
            answer = client.get(f"/v1/runs/{run_id}/events", headers=last)
            if answer.status_code == 204:
                break
            time.sleep(0.05)
            seen += [
                line.removeprefix("id: ") for line in answer.text.splitlines() if line.startswith("id: ")
            ]
        log = client.get(f"/v1/runs/{run_id}/events", headers={"accept": "application/json"}).json()
        assert [int(each) for each in seen] == [event["seq"] for event in log["data"]]
        assert client.get(f"/v1/runs/{run_id}").json()["status"] == "completed"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org", ""])
def test_a_server_without_tokens_is_for_this_machine_alone(host: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs tokens"):
        ServerOptions(host=host).check()
    with pytest.raises(UsageError, match="needs tokens"):  # a proxy hands it on
        ServerOptions(allowed_hosts=[host]).check()
    path = tmp_path / "tokens.jsonl"
    add_token(path, "alice")
    ServerOptions(host=host, allowed_hosts=[host], tokens=TokenFile(path)).check()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_needs_no_tokens(host: str) -> None:
    ServerOptions(host=host).check()


def test_a_port_that_is_taken_is_wrong_use(engine: DeepResearch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        options = ServerOptions(port=taken.getsockname()[1])
        with pytest.raises(UsageError, match="Cannot listen"):
            asyncio.run(serve(engine, options))


def test_a_server_whose_worker_cannot_work_ends(engine: DeepResearch) -> None:
    with pytest.raises(UsageError, match="concurrency"):
        asyncio.run(serve(engine, ServerOptions(port=0, concurrency=0)))


def test_the_log_has_neither_queries_nor_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP_RESEARCH_LOG_LEVEL", "debug")
    monkeypatch.setenv("DEEP_RESEARCH_LOG_FORMAT", "json")
    path = tmp_path / "tokens.jsonl"
    token = add_token(path, "alice")
    with server(tmp_path / "home", tokens=str(path)) as process, process.client() as client:
        client.get("/v1/runs?text=canary-query", headers={"authorization": f"Bearer {token}"})
        client.get("/v1/runs?text=canary-query", headers={"x-api-key": "canary-token"})
        client.get("/canary-path")
        process.signal(signal.SIGTERM)
        _, err = process.wait()
    requests = [json.loads(line) for line in err.splitlines() if '"request"' in line]
    assert {(each["route"], each["status"]) for each in requests} >= {("/v1/runs", 200), ("/v1/runs", 401)}
    assert "canary" not in err
    assert token not in err
