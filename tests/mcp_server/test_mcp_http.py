"""The tools over HTTP: who is let in, what each user reaches, and what becomes of runs whose client or server goes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from mcp_server_process import PATIENCE, TOWER, connected_to, data, refusal, until_reached
from server_process import server

from deep_research import DeepResearch
from deep_research.errors import StoreFullError, UsageError
from deep_research.mcp_server.http_exchange import transport_security
from deep_research.server.app import create_app
from deep_research.server.mcp_runs import user_error_line
from deep_research.server.streams import Streams
from deep_research.server.token_file import add_token

pytestmark = pytest.mark.timed

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
LONG = 600  # seconds that a report takes which nobody waits for
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPT = {"accept": "application/json, text/event-stream"}


def tokens_of(home: Path, **users: dict[str, Any]) -> dict[str, str]:
    """A token for each user, in the file that `server` is given."""
    return {name: add_token(home / "tokens.jsonl", name, **fields) for name, fields in users.items()}


@pytest.fixture
def client() -> Any:
    with DeepResearch(local_only=True) as engine:
        yield TestClient(create_app(engine), base_url="http://127.0.0.1", follow_redirects=False)


@pytest.mark.parametrize("version", [{}, {"mcp-protocol-version": "2026-07-28"}], ids=["legacy", "modern"])
@pytest.mark.parametrize("token", ["", "dr_unknown"])
def test_without_a_token_that_is_known_nothing_is_answered(tmp_path, version, token):
    tokens_of(tmp_path, ann={"role": "admin"})
    headers = {**ACCEPT, **version, **({"authorization": f"Bearer {token}"} if token else {})}
    with server(tmp_path, tokens=str(tmp_path / "tokens.jsonl")) as process, process.client() as client:
        answer = client.post("/mcp", json=CALL, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"].startswith("Bearer")


@MODES
def test_a_user_reaches_neither_the_runs_of_others_nor_what_his_role_forbids(tmp_path, mode):
    tokens = tokens_of(
        tmp_path,
        ann={"role": "runner", "user": "ann"},
        ann_reads={"role": "reader", "user": "ann"},
        bob={"role": "runner", "user": "bob"},
        root={"role": "admin", "user": "root"},
    )

    async def journey(address: str) -> None:
        async with connected_to(address, tokens["ann"], mode) as client:
            found = await data(client, "research", question=TOWER)
            run_id, source_id = found["research_id"], found["sources"][0]["source_id"]
        for name in ("ann_reads", "root"):
            async with connected_to(address, tokens[name], mode) as client:
                (run,) = (await data(client, "research_list"))["runs"]
                assert run["research_id"] == run_id
                assert (await data(client, "research_report", research_id=run_id))["report"] == found[
                    "report"
                ]
        async with connected_to(address, tokens["ann_reads"], mode) as client:
            for tool, more in (("research", {"question": TOWER}), ("research_start", {"question": TOWER})):
                assert "may not create runs" in await refusal(client, tool, **more)
            for tool in ("research_cancel", "research_answer", "research_steer"):
                assert "may not control runs" in await refusal(client, tool, research_id=run_id)
        async with connected_to(address, tokens["bob"], mode) as client:
            assert (await data(client, "research_list"))["runs"] == []
            assert (await client.list_resources()).resources == []
            calls: list[tuple[str, dict[str, Any]]] = [
                ("research_status", {}),
                ("research_status", {"wait_seconds": 60}),
                ("research_report", {}),
                ("research_answer", {"answer": "yes"}),
                ("research_steer", {"text": "Stop."}),
                ("research_cancel", {}),
                ("source_text", {"source_id": source_id}),
            ]
            for tool, more in calls:
                assert "No run" in await refusal(client, tool, research_id=run_id, **more), tool
            assert "No run" in await refusal(client, "research_list", after=run_id)
            for uri in (f"research://{run_id}/report", f"research://{run_id}/source/{source_id}"):
                with pytest.raises(Exception, match="No run"):
                    await client.read_resource(uri)

    with server(tmp_path, tokens=str(tmp_path / "tokens.jsonl")) as process:
        asyncio.run(journey(process.address))
        with process.client(headers={"x-api-key": tokens["ann"]}) as http:
            assert [run["user_id"] for run in http.get("/v1/runs").json()["data"]] == ["ann"]


def test_the_caps_of_a_user_and_of_the_server_hold_and_are_stated(tmp_path):
    tokens = tokens_of(tmp_path, ann={"max_open_runs": 1, "max_usd": 1.5})

    async def journey(address: str) -> None:
        async with connected_to(address, tokens["ann"]) as client:
            started = await data(client, "research_start", question=TOWER, max_usd=50.0, max_tokens=10**6)
            assert started["budget"]["max_usd"] == 1.5
            assert started["budget"]["max_tokens"] == 10**6
            for tool in ("research", "research_start"):
                assert "this token allows 1 at once" in await refusal(client, tool, question=TOWER)
            await data(client, "research_cancel", research_id=started["research_id"])
            parked = await data(client, "research", question=TOWER, approve_plan=True)
            answer = {"limits": {"max_usd": 2.0}}
            refused = await refusal(
                client, "research_answer", research_id=parked["research_id"], answer=answer
            )
            assert "1.5 dollars a run" in refused

    with server(tmp_path, tokens=str(tmp_path / "tokens.jsonl"), pause=LONG) as process:
        asyncio.run(journey(process.address))


@pytest.mark.parametrize("version", [{}, {"mcp-protocol-version": "2026-07-28"}], ids=["legacy", "modern"])
@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"host": "evil.example"}, 400, "host"),
        ({"host": "localhost:evil"}, 400, "host"),
        ({"host": "127.0.0.1.evil.example"}, 400, "host"),
        ({"origin": "http://evil.example"}, 403, "origin"),
        ({"origin": "http://localhost:3000"}, 403, "origin"),
        ({"origin": "null"}, 403, "origin"),
        ({"content-type": "text/plain"}, 415, "content_type"),
    ],
)
def test_a_page_of_another_site_reaches_no_tool(client, headers, status, code, version):
    answer = client.post("/mcp", content=json.dumps(CALL), headers={
        "content-type": "application/json", **ACCEPT, **version, **headers,
    })  # fmt: skip
    assert (answer.status_code, answer.json()["code"]) == (status, code)


def test_the_check_of_the_protocol_knows_the_hosts_of_the_server():
    security = transport_security(["127.0.0.1", "Example.org"])
    assert security.enable_dns_rebinding_protection
    assert security.allowed_hosts == ["127.0.0.1", "127.0.0.1:*", "example.org", "example.org:*"]
    assert "https://example.org:*" in security.allowed_origins
    assert not transport_security(["example.org", "*"]).enable_dns_rebinding_protection


@pytest.mark.parametrize("host", ["LocalHost", "127.0.0.1:8000", "[::1]:8000"])
def test_the_path_is_answered_as_it_stands_under_each_name_of_the_server(client, host):
    answer = client.post("/mcp", json=CALL, headers={**ACCEPT, "host": host})
    assert answer.status_code == 200
    assert '"research_start"' in answer.text


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_there_are_neither_sessions_nor_a_stream_of_their_own(client, method):
    answer = client.request(method, "/mcp", headers=ACCEPT)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("version", [{}, {"mcp-protocol-version": "2026-07-28"}], ids=["legacy", "modern"])
@pytest.mark.parametrize("body", [b"no JSON", b"[", b"[]", b"{}", b"[" * 100_000])
def test_a_body_that_is_no_message_is_refused(client, body, version):
    headers = {"content-type": "application/json", **ACCEPT, **version}
    answer = client.post("/mcp", content=body, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] < 0


def test_a_request_without_a_body_is_refused(client):
    answer = client.post("/mcp", headers=ACCEPT)
    assert (answer.status_code, answer.json()["code"]) == (400, "no_message")


def test_a_body_has_the_bounds_of_every_other_route(client):
    answer = client.post("/mcp", json={**CALL, "params": {"text": "x" * (1 << 20)}}, headers=ACCEPT)
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


WITHOUT_EXTRA = """
import sys
sys.modules["mcp"] = sys.modules["mcp_types"] = None
from fastapi.testclient import TestClient
from deep_research import DeepResearch
from deep_research.server.app import create_app
with DeepResearch(local_only=True) as engine:
    client = TestClient(create_app(engine), base_url="http://127.0.0.1")
    print(client.get("/healthz").status_code)
    answer = client.post("/mcp", json={"jsonrpc": "2.0"})
    print(answer.status_code, answer.json()["code"], answer.json()["hint"])
"""


def test_a_server_without_the_extra_says_how_to_have_it(tmp_path):
    env = {**os.environ, "DEEP_RESEARCH_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WITHOUT_EXTRA], capture_output=True, text=True, env=env
    )
    assert done.stdout.splitlines() == [
        "200",
        "501 missing_extra Its owner runs pip install 'deep-research[mcp]'.",
    ], done.stderr


@pytest.mark.parametrize("tool", ["research", "research_start"])
def test_a_server_that_stops_starts_no_run(client, tool):
    client.app.state.service.closing.set()
    params = {"name": tool, "arguments": {"question": TOWER}}
    answer = client.post("/mcp", json={**CALL, "method": "tools/call", "params": params}, headers=ACCEPT)
    assert "The server stops." in answer.text
    assert client.get("/v1/runs").json()["data"] == []


def test_a_user_with_too_many_streams_waits(client):
    client.app.state.service.streams = Streams(most=0)
    answer = client.post("/mcp", json=CALL, headers=ACCEPT)
    assert (answer.status_code, answer.json()["code"]) == (429, "quota")


def test_an_application_that_is_mounted_has_the_tools_too():
    with DeepResearch(local_only=True) as engine:
        parent = FastAPI()
        parent.mount("/research", create_app(engine))
        answer = TestClient(parent, base_url="http://127.0.0.1").post(
            "/research/mcp", json=CALL, headers=ACCEPT
        )
    assert answer.status_code == 200
    assert '"research_start"' in answer.text


def test_a_user_is_told_of_errors_without_what_is_of_the_server_alone():
    assert user_error_line(UsageError("It is wrong.", hint="Do it right.")) == "It is wrong. Do it right."
    full = user_error_line(StoreFullError("No room in /data/store.", hint="Empty /data."))
    assert full == "The server's disk is full. The server's log says more."
    assert user_error_line(RuntimeError("of inside")) == "The server failed. The server's log says more."


@MODES
def test_a_call_that_its_client_cancels_leaves_the_run_going(tmp_path, mode):
    async def journey(address: str) -> None:
        async with connected_to(address, mode=mode) as client:
            call = asyncio.create_task(client.call_tool("research", {"question": TOWER}))
            await until_reached(tmp_path)
            call.cancel()
            await asyncio.gather(call, return_exceptions=True)
            (run,) = (await data(client, "research_list"))["runs"]
            assert (await ended(client, run["research_id"]))["status"] == "completed"

    with server(tmp_path, pause=1) as process:
        asyncio.run(journey(process.address))
        process.signal(signal.SIGTERM)
        assert process.wait() == (0, "")


@pytest.mark.parametrize("version", ["", "2026-07-28"], ids=["legacy", "modern"])
def test_a_connection_that_is_cut_leaves_the_run_going(tmp_path, version):
    meta = {
        "progressToken": 1,
        "io.modelcontextprotocol/protocolVersion": version,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
    }
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "research", "arguments": {"question": TOWER}, "_meta": meta},
    }
    headers = {**ACCEPT, "mcp-method": "tools/call", "mcp-name": "research"}
    if version:
        headers["mcp-protocol-version"] = version

    async def journey(address: str) -> None:
        async with connected_to(address) as client:
            (run,) = (await data(client, "research_list"))["runs"]
            assert (await ended(client, run["research_id"]))["status"] == "completed"

    with server(tmp_path, pause=1) as process:
        with process.client() as http, http.stream("POST", "/mcp", json=message, headers=headers) as answer:
            assert answer.status_code == 200
            assert any("Run deepres-" in line for line in answer.iter_lines())
            process.wait_for_report()
        asyncio.run(journey(process.address))
        process.signal(signal.SIGTERM)
        assert process.wait() == (0, "")


async def ended(client: Any, run_id: str) -> dict[str, Any]:
    """Where a run stands once it has ended."""
    while True:
        status = await data(client, "research_status", research_id=run_id, wait_seconds=60)
        if status["status"] not in ("queued", "pending", "running"):
            return status


@MODES
@pytest.mark.parametrize("tool", ["research", "research_status"])
def test_a_server_that_is_ended_ends_its_calls_and_the_next_goes_on_with_the_run(tmp_path, mode, tool):
    async def journey(process: Any) -> str:
        async with connected_to(process.address, mode=mode) as client:
            run_id = ""
            if tool == "research":
                call = asyncio.create_task(client.call_tool("research", {"question": TOWER}))
            else:
                run_id = (await data(client, "research_start", question=TOWER))["research_id"]
                arguments = {"research_id": run_id, "wait_seconds": 60}
                call = asyncio.create_task(client.call_tool("research_status", arguments))
            await until_reached(tmp_path)
            process.signal(signal.SIGTERM)
            result = await asyncio.wait_for(call, PATIENCE)
            if tool == "research":
                assert result.is_error
                assert result.content[0].text.startswith("The server stops. Run 'deepres-")
                (run_id,) = re.findall("deepres-[0-9a-f]+", result.content[0].text)
            else:
                assert result.structured_content["status"] in ("running", "parked", "interrupted")
            return run_id

    async def next_journey(address: str, run_id: str) -> None:
        async with connected_to(address, mode=mode) as client:
            status = "parked"
            while status != "completed":  # its worker is yet to take it up
                status = (await data(client, "research_status", research_id=run_id, wait_seconds=5))["status"]

    with server(tmp_path, pause_once=LONG, drain_seconds=0.2) as process:
        run_id = asyncio.run(journey(process))
        assert process.wait() == (0, "")
    with server(tmp_path, pause_once=LONG) as process:
        asyncio.run(next_journey(process.address, run_id))


@MODES
def test_servers_over_one_store_answer_for_one_another(tmp_path, mode):
    async def journey(one: str, two: str) -> None:
        async with connected_to(one, mode=mode) as first, connected_to(two, mode=mode) as second:
            run_id = (await data(first, "research_start", question=TOWER))["research_id"]
            assert (await ended(second, run_id))["status"] == "completed"
            reports = [await data(each, "research_report", research_id=run_id) for each in (first, second)]
            assert reports[0] == reports[1]

    with server(tmp_path) as one, server(tmp_path) as two:
        asyncio.run(journey(one.address, two.address))


def test_no_answer_names_a_session_so_that_any_server_may_have_the_next_request(client):
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    first = client.post("/mcp", json={**CALL, "method": "initialize", "params": params}, headers=ACCEPT)
    assert first.status_code == 200
    assert "mcp-session-id" not in first.headers


def test_the_program_of_the_page_runs_as_it_stands(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text("utf-8")
    section = page.partition("## Over HTTP")[2]
    (code,) = re.findall(r"^```py\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    token = tokens_of(tmp_path, ann={"role": "runner"})["ann"]
    corpus = str(Path(__file__).parents[2] / "docs" / "examples" / "corpus")
    env = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    with server(tmp_path, tokens=str(tmp_path / "tokens.jsonl"), corpus=corpus) as process:
        code = code.replace("http://127.0.0.1:8000", process.address)
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={**env, "DEEP_RESEARCH_TOKEN": token},
        )
    assert done.returncode == 0, done.stderr
    assert "198.49 feet" in done.stdout


def test_a_token_in_the_other_header_is_taken_too(tmp_path):
    token = tokens_of(tmp_path, ann={"role": "reader"})["ann"]
    with server(tmp_path, tokens=str(tmp_path / "tokens.jsonl")) as process:
        url, headers = f"{process.address}/mcp", {**ACCEPT, "x-api-key": token}
        answer = httpx.post(url, json=CALL, headers=headers, timeout=PATIENCE, trust_env=False)
    assert answer.status_code == 200
