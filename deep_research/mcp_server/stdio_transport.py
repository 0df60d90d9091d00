"""Messages of JSON-RPC over two file descriptors, one a line.

Reading and writing happen in threads of their own that end with the process: a client that neither writes nor reads
keeps nobody from ending it.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager
from queue import SimpleQueue
from typing import Any

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from deep_research.mcp_server.standard_streams import Wire

MAX_MESSAGE_BYTES = 4 << 20  # of one message of the client
CHUNK_BYTES = 64 << 10

_Incoming = SessionMessage | Exception
_Streams = tuple[MemoryObjectReceiveStream[_Incoming], MemoryObjectSendStream[SessionMessage]]


class _LineError(ValueError):
    """A line that is no message: the code of JSON-RPC for it, and the id of what was asked, where there is one."""

    def __init__(self, code: int, problem: str, request: mcp_types.RequestId | None = None) -> None:
        super().__init__(problem)
        self.code = code
        self.request = request


@asynccontextmanager
async def message_streams(wire: Wire, on_end: Callable[[], None]) -> AsyncIterator[_Streams]:
    """The messages of the client, until it closes its end, and where those for it are put. ``on_end`` is called before
    the messages end. A line that is no message, or is longer than `MAX_MESSAGE_BYTES`, is answered here with an error of
    JSON-RPC."""
    incoming, received = anyio.create_memory_object_stream[_Incoming](0)
    to_send, outgoing = anyio.create_memory_object_stream[SessionMessage](0)

    def end() -> None:
        on_end()
        incoming.close()

    replies = to_send.clone()
    of_reader = (wire.input, incoming, replies, end, asyncio.get_running_loop())
    reader = threading.Thread(target=_read, args=of_reader, name="mcp-stdin", daemon=True)
    writer = _Writer(wire.output)
    reader.start()
    sending = asyncio.create_task(_send(outgoing, writer, end))
    try:
        yield received, to_send
    finally:
        to_send.close()
        replies.close()
        await asyncio.wait({sending}, timeout=1.0)  # what was answered last is on its way
        sending.cancel()
        received.close()
        writer.close()


def _read(
    descriptor: int,
    incoming: MemoryObjectSendStream[_Incoming],
    replies: MemoryObjectSendStream[SessionMessage],
    end: Callable[[], None],
    loop: asyncio.AbstractEventLoop,
) -> None:
    """In a thread: a message is read when the one before is taken."""
    try:
        for line in _lines(descriptor):
            try:
                sending = incoming.send(_parsed(line))
            except _LineError as error:
                sending = replies.send(_error_reply(error))
            asyncio.run_coroutine_threadsafe(sending, loop).result()
    except (OSError, RuntimeError, CancelledError, anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # the server ends, or its stdin is gone: either way nothing more is read
    finally:
        try:
            loop.call_soon_threadsafe(end)
        except RuntimeError:  # the loop is closed
            return


def _lines(descriptor: int) -> Iterator[bytes]:
    """The lines, each cut after `MAX_MESSAGE_BYTES` and a byte; white space alone is none."""
    line, is_long = bytearray(), False
    while chunk := os.read(descriptor, CHUNK_BYTES):
        *whole, rest = chunk.split(b"\n")
        for end in whole:
            line += end
            if line.strip():
                yield bytes(line[: MAX_MESSAGE_BYTES + 1])
            line.clear()
            is_long = False
        if not is_long:
            line += rest
            is_long = len(line) > MAX_MESSAGE_BYTES


def _parsed(line: bytes) -> SessionMessage:
    """Raises `_LineError`."""
    if len(line) > MAX_MESSAGE_BYTES:
        raise _LineError(mcp_types.INVALID_REQUEST, f"A message has at most {MAX_MESSAGE_BYTES:,} bytes.")
    try:
        return _message(line)
    except ValidationError:
        pass  # it may be one with half characters
    try:
        content = json.loads(line.decode("utf-8", "replace"))
        mended = _mended(content)
    except (ValueError, RecursionError):
        raise _LineError(mcp_types.PARSE_ERROR, "This line is no JSON.") from None
    try:
        return _message(mended)
    except ValidationError:
        problem = "This line is no message of JSON-RPC 2.0."
        raise _LineError(mcp_types.INVALID_REQUEST, problem, _request_id(content)) from None


def _request_id(content: Any) -> mcp_types.RequestId | None:
    """The id under which the sender of a malformed request waits for an answer."""
    number = content.get("id") if isinstance(content, dict) and "method" in content else None
    return number if isinstance(number, int | str) and not isinstance(number, bool) else None


def _error_reply(error: _LineError) -> SessionMessage:
    data = mcp_types.ErrorData(code=error.code, message=str(error))
    return SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=error.request, error=data))


def _message(line: bytes) -> SessionMessage:
    return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))


def _mended(content: Any) -> bytes:
    """JSON with half characters replaced: JavaScript writes them where a text was cut within an emoji, and a request that
    is dropped for one leaves its sender waiting."""
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


async def _send(
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    writer: _Writer,
    end: Callable[[], None],
) -> None:
    """Until nothing more is to be sent. A client that reads no more is gone: nothing more comes from it either."""
    async with outgoing:
        async for message in outgoing:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            if not await writer.write(line.encode() + b"\n"):
                end()
                return


class _Writer:
    """Writes on a file descriptor in a thread of its own."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._queue: SimpleQueue[tuple[bytes, asyncio.Future[bool]] | None] = SimpleQueue()
        threading.Thread(target=self._work, name="mcp-stdout", daemon=True).start()

    async def write(self, line: bytes) -> bool:
        """Write all of it; False where the reader is gone."""
        future: asyncio.Future[bool] = self._loop.create_future()
        self._queue.put((line, future))
        return await future

    def close(self) -> None:
        self._queue.put(None)

    def _work(self) -> None:
        while (item := self._queue.get()) is not None:
            line, future = item
            is_written = self._write_all(line)
            try:
                self._loop.call_soon_threadsafe(_settle, future, is_written)
            except RuntimeError:  # the loop is closed
                return

    def _write_all(self, line: bytes) -> bool:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError:
            return False
        return True


def _settle(future: asyncio.Future[bool], is_written: bool) -> None:
    if not future.done():
        future.set_result(is_written)
