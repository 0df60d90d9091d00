"""Streams of events: notes without a number, listeners that leave, caps, and many listeners that come and go."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest
from every_event import every_event
from server_process import PATIENCE, server

from deep_research import DeepResearch
from deep_research.errors import QuotaError
from deep_research.research.live_run import Item
from deep_research.server.app import create_app
from deep_research.server.live_stream import event_frame, event_stream, protocol_frame
from deep_research.server.request_gate import RequestLimits
from deep_research.server.service import Service
from deep_research.server.streams import Streams
from deep_research.state import DeepResearchPhase
from deep_research.state.events import Missed, NoticeAdded, Progress, Written
from deep_research.state.records import Notice

pytestmark = pytest.mark.timed


def test_an_event_has_its_number_and_a_note_has_none() -> None:
    notice = NoticeAdded(seq=7, notice=Notice(name="bench", message="two\nlines\r\u2028and\u0085more"))
    lines = event_frame(Item(notice)).split(b"\n")
    assert lines[:2] == [b"id: 7", b"event: notice.added"]
    assert lines[2].startswith(b"data: {")
    assert lines[3:] == [b"", b""]
    phase = DeepResearchPhase.GATHERING
    for note in (
        Progress(phase=phase, message="x"),
        Written(phase=phase, text="a\nb"),
        Missed(phase=phase, count=3),
    ):
        lines = event_frame(Item(note)).split(b"\n")
        assert lines[0] == f"event: {note.type}".encode()
        assert (lines[1][:6], lines[2:]) == (b"data: ", [b"", b""])


def in_loop(work: Callable[[DeepResearch, Service], Coroutine[Any, Any, None]], engine: DeepResearch) -> None:
    asyncio.run(work(engine, create_app(engine).state.service))


def test_a_listener_that_leaves_is_no_longer_counted(engine: DeepResearch) -> None:
    async def work(engine: DeepResearch, service: Service) -> None:
        run_id = await engine.asubmit("Who built Bell Rock?")  # queued: nobody works on it
        before = asyncio.all_tasks()
        stream = event_stream(service, "alice", run_id, 0, event_frame)
        assert b"run.created" in await anext(stream)
        assert service.streams.count == 1
        await stream.aclose()  # type: ignore[attr-defined]
        assert service.streams.count == 0
        await asyncio.sleep(0)
        assert {task for task in asyncio.all_tasks() - before if not task.done()} == set()

    in_loop(work, engine)


def test_a_stream_ends_with_retry_when_the_server_stops(engine: DeepResearch) -> None:
    async def work(engine: DeepResearch, service: Service) -> None:
        run_id = await engine.asubmit("Who built Bell Rock?")
        stream = event_stream(service, None, run_id, 0, event_frame)
        await anext(stream)
        asyncio.get_running_loop().call_later(0.05, service.closing.set)
        rest = b"".join([chunk async for chunk in stream if chunk != b": ping\n\n"])
        assert rest == b"retry: 500\n\n"

    in_loop(work, engine)


def test_streams_are_capped_for_a_user_and_for_all() -> None:
    streams = Streams(most=3, most_of_user=2)
    with streams.opened("alice"), streams.opened("alice"):
        with pytest.raises(QuotaError):
            streams.check("alice")
        streams.check("bob")
        with streams.opened("bob"), pytest.raises(QuotaError):
            streams.check("carol")
    assert streams.count == 0


def test_a_stream_beyond_the_cap_is_429(engine: DeepResearch, client_of: Any) -> None:
    app = create_app(engine)
    app.state.service.streams = Streams(most=0)
    run_id = engine.submit("Who built Bell Rock?")
    answer = client_of(app).get(f"/v1/runs/{run_id}/events")
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "10")


def test_a_client_that_takes_nothing_holds_no_stream(engine: DeepResearch) -> None:
    app = create_app(engine, limits=RequestLimits(send_seconds=0.05))
    taken = []

    async def receive() -> Any:
        return await asyncio.Event().wait()

    async def send(message: Any) -> None:
        taken.append(message["type"])
        if message["type"] == "http.response.body":
            await asyncio.Event().wait()

    async def work() -> None:
        run_id = await engine.asubmit("Who built Bell Rock?")
        scope = {
            "type": "http",
            "method": "GET",
            "path": f"/v1/runs/{run_id}/events",
            "query_string": b"",
            "headers": [(b"host", b"localhost")],
        }
        async with asyncio.timeout(PATIENCE):
            await app(scope, receive, send)

    asyncio.run(work())
    assert taken == ["http.response.start", "http.response.body"]
    assert app.state.service.streams.count == 0


async def ids(client: httpx.AsyncClient, run_id: str, after: int) -> AsyncIterator[int | None]:
    """The numbers in one stream of a run; None after its end."""
    headers = {"last-event-id": str(after)} if after else {}
    async with client.stream("GET", f"/v1/runs/{run_id}/events", headers=headers) as answer:
        if answer.status_code == 204:
            yield None
        async for line in answer.aiter_lines():
            if line.startswith("id: "):
                yield int(line.removeprefix("id: "))
            elif line == "event: end":
                yield None


async def listen(client: httpx.AsyncClient, run_id: str, chance: random.Random) -> list[int]:
    """A listener that leaves at random and comes again, until the run has ended."""
    seen: list[int] = []
    while True:
        left = chance.randint(1, 12)
        async with aclosing(ids(client, run_id, seen[-1] if seen else 0)) as stream:  # type: ignore[type-var]
            async for number in stream:
                if number is None:
                    return seen
                seen.append(number)
                left -= 1
                if not left:
                    break


def test_every_listener_has_the_whole_log_however_often_it_leaves(tmp_path: Path) -> None:
    async def work(address: str) -> None:
        limits = httpx.Limits(max_connections=60)
        async with httpx.AsyncClient(
            base_url=address, timeout=PATIENCE, trust_env=False, limits=limits
        ) as client:
            runs = []
            for number in range(5):
                answer = await client.post("/v1/runs", json={"query": f"Who built light {number}?"})
                runs.append(answer.json()["research_id"])
            logs = await asyncio.gather(
                *(listen(client, run_id, random.Random(n)) for n in range(5) for run_id in runs)
            )
            for place, run_id in enumerate(runs):
                headers = {"accept": "application/json"}
                answer = await client.get(f"/v1/runs/{run_id}/events", headers=headers)
                log = [event["seq"] for event in answer.json()["data"]]
                assert log == list(range(1, len(log) + 1))
                for seen in logs[place :: len(runs)]:
                    assert seen == log
            for _ in range(1_000):
                if "deep_research_streams 0\n" in (await client.get("/metrics")).text:
                    break
                await asyncio.sleep(0.01)
            else:
                pytest.fail("streams stay open")

    with server(tmp_path / "home", pause=0.05) as process:
        asyncio.run(work(process.address))


def test_events_in_the_protocol_have_the_number_of_what_they_are_made_of_once() -> None:
    frame = protocol_frame("deepres-0123456789ab")
    numbers = []
    for number, event in enumerate(every_event(), start=1):
        text = frame(Item(event.model_copy(update={"seq": number}))).decode()
        numbers += [int(line[4:]) for line in text.splitlines() if line.startswith("id: ")]
        for line in text.splitlines():
            assert line.startswith(("event: on_", "data: {", "id: ")) or not line
    assert numbers == sorted(set(numbers))
