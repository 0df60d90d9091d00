"""The events of a run as a stream of server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress

from fastapi.sse import KEEPALIVE_COMMENT

from deep_research.errors import DeepResearchError, UsageError
from deep_research.logs import describe_error, get_log
from deep_research.protocol import ProtocolAdapter
from deep_research.research.live_run import LIVE, Item
from deep_research.research.run_summary import RunSummary
from deep_research.server.problems import RequestRefused
from deep_research.server.service import Service
from deep_research.state import ParkedKind, RunStatus
from deep_research.state.events import Event

LOOK_SECONDS = 0.5  # between looks at a run that waits for a worker
PING_SECONDS = 15.0  # between signs of life of a stream on which nothing happens
RETRY = b"retry: 500\n\n"  # milliseconds for a client to come back, when the server stops
MAX_SEQ = 2**53
MAX_AHEAD = 100  # events that wait for a client; notes beyond what waits behind them are lost to it
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
KEEPALIVE: bytes = KEEPALIVE_COMMENT


def sequence_number(*texts: str | None) -> int:
    """The number of an event that a client names: the first text that is given, 0 without one. Raises `UsageError`."""
    text = next((each for each in texts if each is not None), "0")
    if not (text.isascii() and text.isdigit() and len(text) < 17 and int(text) <= MAX_SEQ):
        raise UsageError(
            "The number of an event is a whole number from 0.",
            hint="Send the id of the last event that you saw, or none.",
        )
    return int(text)


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
        if not _goes_on(await service.engine.summary(research_id)):
            return
        await asyncio.sleep(LOOK_SECONDS)


def _goes_on(run: RunSummary) -> bool:
    """Whether a worker will go on with a run that nobody works on."""
    if run.status is RunStatus.PARKED:
        return run.parked_kind is ParkedKind.SHUTDOWN
    return run.status in LIVE or (run.status is RunStatus.INTERRUPTED and run.priority is not None)


async def watched(
    service: Service, user: str | None, research_id: str, after: int = 0
) -> AsyncGenerator[Sequence[Item]]:
    """What is recorded in a run after a sequence number, and what comes, until it ends or waits for its owner. It comes
    in batches, of which an empty one says that nothing happened for `PING_SECONDS`. It counts as an open stream. Raises
    `ServerStops`, and as `DeepResearch.live`."""
    with service.streams.opened(user):
        pump = _Pump(_lasting(service, research_id, after))
        closing = asyncio.create_task(service.closing.wait())
        closing.add_done_callback(lambda _: pump.news.set())
        try:
            while not pump.is_over:
                items = await pump.take()
                if closing.done():
                    raise ServerStops
                if items or not pump.is_over:
                    yield items
            pump.raise_for_error()
        finally:
            closing.cancel()
            await pump.close()


async def until_ended(service: Service, user: str | None, research_id: str, seconds: float) -> None:
    """Wait until a run ends or waits for its owner, until the server stops, or for ``seconds``."""
    with suppress(TimeoutError, ServerStops):
        async with asyncio.timeout(seconds):
            async with aclosing(watched(service, user, research_id)) as batches:
                async for _ in batches:
                    pass


class _Pump:
    """Takes what happens in a run as it comes, a little ahead of a client that takes it more slowly."""

    def __init__(self, items: AsyncGenerator[Item]) -> None:
        self._items = items
        self._ahead: list[Item] = []
        self._room = asyncio.Event()
        self._task = asyncio.create_task(self._run())
        self.news = asyncio.Event()
        self._task.add_done_callback(lambda _: self.news.set())

    @property
    def is_over(self) -> bool:
        """Whether all items were taken and no further one comes."""
        return self._task.done() and not self._ahead

    async def take(self) -> list[Item]:
        """Those that have come since, as soon as there are some; none after `PING_SECONDS`, or where no more comes."""
        if not (self._ahead or self._task.done()):
            with suppress(TimeoutError):
                async with asyncio.timeout(PING_SECONDS):
                    await self.news.wait()
        items, self._ahead = self._ahead, []
        self.news.clear()
        self._room.set()
        return items

    def raise_for_error(self) -> None:
        """Raises what ended the run of items."""
        self._task.result()

    async def _run(self) -> None:
        async with aclosing(self._items) as items:
            async for item in items:
                self._ahead.append(item)
                self.news.set()
                if len(self._ahead) >= MAX_AHEAD:
                    self._room.clear()
                    await self._room.wait()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


async def event_stream(
    service: Service,
    user: str | None,
    research_id: str,
    after: int,
    frame: Callable[[Item], bytes],
) -> AsyncIterator[bytes]:
    """The events of a run after a sequence number, and those that come, as bytes of ``text/event-stream``.

    A recorded event has its sequence number for an ``id``; notes, which nobody keeps, have none. After the last event
    comes ``end`` with the status of the run, on which a client closes. When the server stops, the stream ends with
    ``retry`` alone; a client goes on with its ``Last-Event-ID`` then, where it left. ``frame`` writes an event.
    """
    try:
        async with aclosing(watched(service, user, research_id, after)) as batches:
            async for items in batches:
                yield b"".join(map(frame, items)) or KEEPALIVE
        status = (await service.engine.summary(research_id)).status
        yield b'event: end\ndata: {"status":"%s"}\n\n' % status.encode()
    except ServerStops:
        yield RETRY
    except DeepResearchError as error:  # too late for a status: the client comes again, and has it then
        log.warning("stream_failed", run=research_id, error=describe_error(error))
        yield RETRY


def event_frame(item: Item) -> bytes:
    """An event as a client receives it. JSON is one line."""
    event = item.event
    if isinstance(event, Event):
        return b"id: %d\nevent: %s\ndata: %s\n\n" % (event.seq, event.name.encode(), item.json)
    return b"event: %s\ndata: %s\n\n" % (event.type.encode(), item.json)


def protocol_frame(research_id: str) -> Callable[[Item], bytes]:
    """Writes events in the types of `deep_research.protocol`. Of those that are made of one event the last has its
    number, so that a client goes on behind all of them."""
    adapter = ProtocolAdapter(research_id)

    def frame(item: Item) -> bytes:
        frames = [
            b"event: %s\ndata: %s\n\n" % (message["event"].encode(), json.dumps(message).encode())
            for message in adapter.adapt(item.event)
        ]
        if frames and isinstance(item.event, Event):
            frames[-1] = b"id: %d\n" % item.event.seq + frames[-1]
        return b"".join(frames)

    return frame
