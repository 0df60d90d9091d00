"""The events of a run as a stream of server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Any

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event

from deep_research.errors import DeepResearchError, UsageError
from deep_research.logs import get_log, told
from deep_research.research.live_run import LIVE, Item
from deep_research.research.runs import RunSummary
from deep_research.server.problems import RequestRefused
from deep_research.server.service import Service
from deep_research.state import ParkedKind, RunStatus
from deep_research.state.events import Event

LOOK_SECONDS = 0.5  # between looks at a run that waits for a worker
PING_SECONDS = 15.0  # between signs of life of a stream on which nothing happens
RETRY_MS = 500  # for a client to come back, when the server stops
MAX_SEQ = 2**53
log = get_log("server")


def sequence_number(*texts: str | None) -> int:
    """The number of an event that a client names: the first text that is given, 0 without one. Raises `UsageError`."""
    text = next((each for each in texts if each is not None), "0")
    if not (text.isascii() and text.isdigit() and len(text) < 17 and int(text) <= MAX_SEQ):
        raise UsageError(
            "The number of an event is a whole number from 0.",
            hint="Send the id of the last event that you saw, or none.",
        )
    return int(text)


KEEPALIVE: bytes = KEEPALIVE_COMMENT


class ServerStops(RequestRefused):
    """The server ends its streams."""

    def __init__(self) -> None:
        super().__init__(503, "closing", "The server stops.", "Take the stream up again in a moment.")


async def _lasting(service: Service, research_id: str, after: int) -> AsyncGenerator[Item]:
    """As `DeepResearch.live`, also while a run waits for the next worker: after its own died, or parked it to end."""
    while True:
        async with aclosing(service.engine.live(research_id, after)) as items:
            async for item in items:
                if isinstance(item.event, Event):
                    after = item.event.seq
                yield item
        if not _goes_on(await service.engine.astatus(research_id)):
            return
        await asyncio.sleep(LOOK_SECONDS)


def _goes_on(run: RunSummary) -> bool:
    """Whether a worker will go on with a run that nobody works on."""
    if run.status is RunStatus.PARKED:
        return run.parked_kind is ParkedKind.SHUTDOWN
    return run.status in LIVE or (run.status is RunStatus.INTERRUPTED and run.priority is not None)


async def watched(
    service: Service, user: str | None, research_id: str, after: int = 0
) -> AsyncGenerator[Item | None]:
    """What is recorded in a run after a sequence number, and what comes, until it ends or parks; None for each
    `PING_SECONDS` in which nothing happens. It counts as an open stream. Raises `ServerStops`, and as
    `DeepResearch.live`."""
    live = _lasting(service, research_id, after)
    closing = asyncio.ensure_future(service.closing.wait())
    pending: asyncio.Future[Item] | None = None
    with service.streams.opened(user):
        try:
            while True:
                pending = pending or asyncio.ensure_future(anext(live))
                waited: set[asyncio.Future[Any]] = {pending, closing}
                await asyncio.wait(waited, timeout=PING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if closing.done():
                    raise ServerStops
                if not pending.done():
                    yield None
                    continue
                try:
                    item = pending.result()
                except StopAsyncIteration:
                    return
                pending = None
                yield item
        finally:
            closing.cancel()
            if pending is not None:
                pending.cancel()
                with suppress(asyncio.CancelledError, StopAsyncIteration, DeepResearchError):
                    await pending
            await live.aclose()


async def event_stream(
    service: Service, user: str | None, research_id: str, after: int
) -> AsyncIterator[bytes]:
    """The events of a run after a sequence number, and those that come, as bytes of ``text/event-stream``.

    A recorded event has its sequence number for an ``id``; notes of progress, which nobody keeps, have none. After the
    last event comes ``end`` with the status of the run, on which a client closes. When the server stops, the stream ends
    with ``retry`` alone; a client goes on with its ``Last-Event-ID`` then, where it left.
    """
    try:
        async with aclosing(watched(service, user, research_id, after)) as items:
            async for item in items:
                yield KEEPALIVE if item is None else _frame(item)
        status = (await service.engine.astatus(research_id)).status
        yield format_sse_event(data_str=json.dumps({"status": status}), event="end")
    except ServerStops:
        yield format_sse_event(data_str=None, retry=RETRY_MS)
    except DeepResearchError as error:  # too late for a status: the client comes again, and is told then
        log.warning("stream_failed", run=research_id, error=told(error))
        yield format_sse_event(data_str=None, retry=RETRY_MS)


def _frame(item: Item) -> bytes:
    """JSON has no line breaks, so that it is one line of a frame."""
    event = item.event
    head = f"event: {event.name}\nid: {event.seq}" if isinstance(event, Event) else f"event: {event.type}"
    return f"{head}\ndata: ".encode() + item.json + b"\n\n"
