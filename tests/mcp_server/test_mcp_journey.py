"""One journey through all the tools, over each transport and in both eras of the protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp import Client
from mcp_server_process import (
    PATIENCE,
    TOWER,
    connected,
    connected_to,
    data,
    refusal,
    scripted,
    until_reached,
)
from server_process import server

from deep_research.mcp_server.research_tools import TOOLS
from deep_research.server.token_file import add_token

pytestmark = pytest.mark.timed

PAUSE = 600  # seconds that the first report takes, which is never written


@asynccontextmanager
async def client_over(transport: str, home: Path, mode: str) -> AsyncIterator[Client]:
    if transport == "stdio":
        async with connected(scripted(home, {"pause": PAUSE}), mode) as client:
            yield client
        return
    tokens = home / "tokens.jsonl"
    token = add_token(tokens, "ann", role="runner")
    with server(home, pause_once=PAUSE, tokens=str(tokens)) as process:
        async with connected_to(process.address, token, mode) as client:
            yield client


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_client_starts_steers_cancels_and_reads_over_any_transport(tmp_path, transport, mode):
    async def journey() -> None:
        notes: list[tuple[float, str]] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            notes.append((progress, message or ""))

        async with client_over(transport, tmp_path, mode) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == set(TOOLS)
            started = await data(client, "research_start", question=TOWER, max_usd=0.5, max_tokens=900)
            assert {"max_usd": 0.5, "max_tokens": 900}.items() <= started["budget"].items()
            run_id = started["research_id"]
            await until_reached(tmp_path)
            steered = await data(client, "research_steer", research_id=run_id, text="Also the keepers.")
            assert steered["status"] == "running"
            cancelled = await data(client, "research_cancel", research_id=run_id)
            assert cancelled["status"] == "aborted"

            call = client.call_tool("research", {"question": TOWER}, progress_callback=on_progress)
            result = await asyncio.wait_for(call, PATIENCE)
            found = result.structured_content
            assert found["status"] == "completed"
            assert notes[0] == (1, f"Run {found['research_id']}")
            assert [number for number, _ in notes] == sorted({number for number, _ in notes})
            status = await data(client, "research_status", research_id=found["research_id"], wait_seconds=5)
            assert status["status"] == "completed"
            report = await data(client, "research_report", research_id=found["research_id"])
            assert report["report"] == found["report"]
            (resource,) = (await client.list_resources()).resources
            (content,) = (await client.read_resource(resource.uri)).contents
            assert content.text == report["report"]["text"]
            listed = (await data(client, "research_list"))["runs"]
            assert [run["research_id"] for run in listed] == [found["research_id"], run_id]
            source = report["sources"][0]["source_id"]
            text = await data(client, "source_text", research_id=found["research_id"], source_id=source)
            assert text["text"]
            assert "No run" in await refusal(client, "research_status", research_id="deepres-000000000000")

    asyncio.run(journey())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_a_plan_is_approved_over_any_transport(tmp_path, transport, mode):
    async def journey() -> None:
        async with client_over(transport, tmp_path, mode) as client:
            parked = await data(client, "research", question=TOWER, approve_plan=True)
            assert parked["status"] == "parked"
            run_id = parked["research_id"]
            assert "Give an answer" in await refusal(client, "research_answer", research_id=run_id)
            going = await data(client, "research_answer", research_id=run_id, answer="approve", wait=False)
            assert going["status"] != "parked"
            await until_reached(tmp_path)
            cancelled = await data(client, "research_cancel", research_id=run_id)
            assert cancelled["status"] == "aborted"
            done = await data(client, "research_answer", research_id=run_id)
            assert done["status"] == "completed"

    asyncio.run(journey())
