"""The events of a run as a stream of server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event

from deep_research.errors import DeepResearchError, UsageError
from deep_research.logs import get_log, told
from deep_research.server.service import Service
from deep_research.state.events import Event, Progress, encode

PING_SECONDS = 15.0  # between signs of life of a stream on which nothing happens
RETRY_MS = 500  # for a client to come back, when the server stops
MAX_SEQ = 2**53
# A server-sent event, as OpenAPI describes one.
EVENT_SCHEMA = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "The number of a recorded event; notes have none."},
        "event": {"type": "string", "description": "The type of the event, or `end`."},
        "data": {"type": "string", "description": "The event as JSON."},
        "retry": {"type": "integer", "minimum": 0},
    },
}
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


async def event_stream(
    service: Service, user: str | None, research_id: str, after: int
) -> AsyncIterator[bytes]:
    """The events of a run after a sequence number, and those that come, as bytes of ``text/event-stream``.

    A recorded event has its sequence number for an ``id``; notes of progress, which nobody keeps, have none. After the
    last event comes ``end`` with the status of the run, on which a client closes. When the server stops, the stream ends
    with ``retry`` alone; a client goes on with its ``Last-Event-ID`` then, where it left.
    """
    follow = service.engine.follow(research_id, after)
    closing = asyncio.ensure_future(service.closing.wait())
    pending: asyncio.Future[Event | Progress] | None = None
    with service.streams.opened(user):
        try:
            while True:
                pending = pending or asyncio.ensure_future(anext(follow))
                waited: set[asyncio.Future[Any]] = {pending, closing}
                await asyncio.wait(waited, timeout=PING_SECONDS, return_when=asyncio.FIRST_COMPLETED)
                if closing.done():
                    yield format_sse_event(data_str=None, retry=RETRY_MS)
                    return
                if not pending.done():
                    yield KEEPALIVE_COMMENT
                    continue
                try:
                    event = pending.result()
                except StopAsyncIteration:
                    break
                pending = None
                yield _frame(event)
            status = (await service.engine.astatus(research_id)).status
            yield format_sse_event(data_str=json.dumps({"status": status}), event="end")
        except DeepResearchError as error:  # too late for a status: the client comes again, and is told then
            log.warning("stream_failed", run=research_id, error=told(error))
            yield format_sse_event(data_str=None, retry=RETRY_MS)
        finally:
            closing.cancel()
            if pending is not None:
                pending.cancel()
                with suppress(asyncio.CancelledError, StopAsyncIteration, DeepResearchError):
                    await pending
            await follow.aclose()


def _frame(event: Event | Progress) -> bytes:
    if isinstance(event, Event):
        return format_sse_event(data_str=encode(event).decode(), event=event.name, id=str(event.seq))
    return format_sse_event(data_str=event.model_dump_json(), event=event.type)
