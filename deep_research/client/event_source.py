"""The events of a run from a server, as they happen, across cuts of the connection."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass

import httpx

from deep_research.client.connection import Connection, _PassingError, _unreadable
from deep_research.errors import LogDamagedError, RemoteError
from deep_research.state import events as ev

MAX_FRAME_BYTES = 64 << 20
MAX_TRIES = 30  # in a row without an event, before a stream is given up
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.2, 5.0
READ_SECONDS = 60.0  # a server gives a sign of life every 15
_NOTES = {
    kind.model_fields["type"].default: kind for kind in (ev.Progress, ev.Written, ev.Started, ev.Missed)
}


@dataclass(slots=True)
class _Frame:
    event: str = ""
    data: str = ""
    retry: int | None = None


async def follow_events(
    connection: Connection, path: str, after: int = 0
) -> AsyncGenerator[ev.Event | ev.Progress]:
    """Everything after an event, until the server says that the run ended or waits. A cut stream is taken up behind the
    last event that came, at most `MAX_TRIES` times in a row without one. Raises as `Connection.json`."""
    failures, pause = 0, FIRST_PAUSE_SECONDS
    while True:
        failure: RemoteError | None = None
        try:
            async with connection.stream(
                "GET", path, headers={"accept": "text/event-stream", "last-event-id": str(after)}
            ) as response:
                if response.status_code == 204:
                    return
                async with aclosing(_frames(response)) as frames:
                    async for frame in frames:
                        if frame.event == "end":
                            return
                        if frame.retry is not None:
                            pause = min(max(frame.retry / 1000, 0.01), MAX_PAUSE_SECONDS)
                        event = _event_of(frame)
                        if isinstance(event, ev.Event):
                            if event.seq <= after:  # a server that repeats itself
                                continue
                            after, failures, pause = event.seq, 0, FIRST_PAUSE_SECONDS
                        if event is not None:
                            yield event
        except _PassingError as error:
            failure = error.error if isinstance(error.error, RemoteError) else RemoteError(str(error.error))
        failures += 1
        if failures >= MAX_TRIES:
            raise failure or RemoteError(
                "The server keeps ending the stream.", hint="Check the run with `status`."
            )
        await asyncio.sleep(pause)
        pause = min(2 * pause, MAX_PAUSE_SECONDS)


async def _frames(response: httpx.Response) -> AsyncGenerator[_Frame]:
    frame = _Frame()
    async with aclosing(_lines(response)) as lines:
        async for line in lines:
            if not line:
                yield frame
                frame = _Frame()
                continue
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                frame.event = value
            elif name == "data":
                frame.data = f"{frame.data}\n{value}" if frame.data else value
            elif name == "retry" and value.isdecimal() and len(value) < 9:
                frame.retry = int(value)


async def _lines(response: httpx.Response) -> AsyncGenerator[str]:
    """Lines of a stream, each within `MAX_FRAME_BYTES`."""
    rest = bytearray()
    async for piece in response.aiter_bytes():
        rest += piece
        *whole, last = rest.split(b"\n")
        rest = bytearray(last)
        if len(rest) > MAX_FRAME_BYTES:
            raise RemoteError("An event of the server is too large.", hint="See the log of the server.")
        for line in whole:
            yield line.rstrip(b"\r").decode("utf-8", "replace")


def _event_of(frame: _Frame) -> ev.Event | ev.Progress | None:
    if not frame.data:
        return None
    kind = _NOTES.get(frame.event)
    try:
        if kind is not None:
            return kind.model_validate_json(frame.data)
        return event_of(json.loads(frame.data))
    except (ValueError, RecursionError):
        raise _unreadable() from None


def event_of(body: object) -> ev.Event:
    """A recorded event from its JSON. Raises `RemoteError` for anything else, `StoreVersionError` for one of a newer
    version."""
    if not isinstance(body, dict) or not isinstance(body.get("version"), int):
        raise _unreadable()
    try:
        return ev.decode(str(body.get("type")), body["version"], json.dumps(body).encode())
    except LogDamagedError:
        raise _unreadable() from None


async def drain(events: AsyncIterator[ev.Event | ev.Progress]) -> None:
    """Take events until there are no more."""
    async for _ in events:
        pass
