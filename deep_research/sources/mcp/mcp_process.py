"""A server that is started here: messages of JSON-RPC over its stdin and stdout, one a line.

The process has a minimal environment, works in the user's home folder and heads a process group of its own, which is
killed when the connection ends, when its loop is gone, or with this process. Its stderr goes nowhere.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from deep_research.errors import RemoteError
from deep_research.logs import get_log
from deep_research.models.clients import read_json
from deep_research.unpacking import BodyError

MAX_MESSAGE_BYTES = 5_000_000  # of one message of the server
CHUNK_BYTES = 64 << 10
MAX_VALUES = 250_000  # in one that is none of the protocol
MAX_WAITING = 64  # messages to a server that reads none
END_SECONDS = 1.0  # for the server to end by itself once its stdin is closed
TERM_SECONDS = 0.5  # after SIGTERM
WATCH_SECONDS = 0.1  # between looks whether the process is there
# What of this environment every server gets; nothing in it is a key.
INHERITED = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
NO_MESSAGE = "its answer is no message of the protocol"
log = get_log("mcp")

_Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[_Incoming], MemoryObjectSendStream[SessionMessage]]


def environment_of(env: Mapping[str, str], variables: Sequence[str]) -> dict[str, str]:
    """The environment of a server: of ours the `INHERITED` variables and those that are named, and ``env`` over it."""
    ours = {name: os.environ[name] for name in (*INHERITED, *variables) if name in os.environ}
    return ours | dict(env)


@asynccontextmanager
async def process_streams(
    command: Sequence[str], env: Mapping[str, str], on_end: Callable[[str], None]
) -> AsyncIterator[Streams]:
    """The messages of a new process, and where those to it are put. ``on_end`` is called when nothing more comes, with a
    reason where that is not the process's end. Raises `RemoteError` where it cannot be started."""
    home = Path.home()
    try:
        process = await _started(
            asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=dict(env),
                cwd=home if home.is_dir() else "/",
                start_new_session=True,
                limit=CHUNK_BYTES,
            )
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no command"
        raise RemoteError(
            f"The command cannot be started: {reason}.", hint="Check command and PATH."
        ) from None
    # No await before the try: who is cancelled there would leave the process.
    kill = weakref.finalize(process, _kill_group, process.pid, os.getpid())
    incoming, received = anyio.create_memory_object_stream[_Incoming](0)
    to_send, outgoing = anyio.create_memory_object_stream[SessionMessage](MAX_WAITING)
    tasks = [
        asyncio.create_task(_read(process, incoming, on_end)),
        asyncio.create_task(_write(process, outgoing, on_end)),
        asyncio.create_task(_watch(process, incoming, on_end)),
    ]
    try:
        yield received, to_send
    finally:
        try:
            for task in tasks:
                task.cancel()
            for stream in (to_send, outgoing, incoming, received):
                stream.close()
            await _wait_for_end(process)
        finally:
            kill()
            await _reaped(process)


async def _started(start: Coroutine[Any, Any, asyncio.subprocess.Process]) -> asyncio.subprocess.Process:
    """The process, or none where the wait for it is cancelled: asyncio would kill it alone, and leave its children."""
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        _kill_group(process.pid, os.getpid())
        await _reaped(process)
        raise


async def _read(
    process: asyncio.subprocess.Process,
    incoming: MemoryObjectSendStream[_Incoming],
    on_end: Callable[[str], None],
) -> None:
    """Each line that is a message, until there is none or one that is too long."""
    assert process.stdout is not None
    line = bytearray()
    with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
        while chunk := await process.stdout.read(CHUNK_BYTES):
            *whole, rest = chunk.split(b"\n")
            for end in whole:
                line += end
                if (message := _message(line)) is not None:
                    await incoming.send(message)
                line.clear()
            line += rest
            if len(line) > MAX_MESSAGE_BYTES:
                on_end(f"it sent a message of more than {MAX_MESSAGE_BYTES:,} bytes")
                break
    on_end("")
    incoming.close()


def _message(line: bytearray) -> SessionMessage | None:
    """None for what is no message: some servers print other lines as well. One that names a request answers it all the
    same, so that nobody waits for another."""
    if not line.strip():
        return None
    try:
        return _parsed(bytes(line))
    except (ValueError, RecursionError):
        log.debug("no_message", bytes=len(line))
    try:
        value = read_json(line, values=MAX_VALUES)
        number = value["id"] if "method" not in value else None
        # JavaScript writes half characters where it cuts a text within an emoji.
        mended = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    except (BodyError, LookupError, TypeError, ValueError, RecursionError):
        return None
    try:
        return _parsed(mended)
    except (ValueError, RecursionError):
        return _failed(number) if isinstance(number, int | str) else None


def _parsed(line: bytes) -> SessionMessage:
    return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))


def _failed(number: int | str) -> SessionMessage:
    error = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message=NO_MESSAGE)
    return SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=error))


async def _write(
    process: asyncio.subprocess.Process,
    outgoing: MemoryObjectReceiveStream[SessionMessage],
    on_end: Callable[[str], None],
) -> None:
    assert process.stdin is not None
    with suppress(anyio.ClosedResourceError, OSError):
        async for message in outgoing:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            process.stdin.write(line.encode() + b"\n")
            await process.stdin.drain()
    on_end("")


async def _watch(
    process: asyncio.subprocess.Process,
    incoming: MemoryObjectSendStream[_Incoming],
    on_end: Callable[[str], None],
) -> None:
    """Ends the messages with the process: a child of it may hold its stdout open."""
    while process.returncode is None:  # noqa: ASYNC110 - `Process.wait` also waits for the pipes
        await asyncio.sleep(WATCH_SECONDS)
    await asyncio.sleep(WATCH_SECONDS)  # what it wrote last is read
    on_end("")
    incoming.close()


async def _wait_for_end(process: asyncio.subprocess.Process) -> None:
    """Gives the process a while to end by itself."""
    assert process.stdin is not None
    process.stdin.close()
    if await _is_gone(process, END_SECONDS):
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
    await _is_gone(process, TERM_SECONDS)


async def _reaped(process: asyncio.subprocess.Process) -> None:
    """Lets go of a process that was killed. One of another session may hold its stdout open, so its end is not waited
    for."""
    await _is_gone(process, END_SECONDS)
    transport = getattr(process, "_transport", None)  # nothing public closes it
    if transport is not None:
        transport.close()


async def _is_gone(process: asyncio.subprocess.Process, seconds: float) -> bool:
    """`Process.wait` also waits for the end of the pipes, which a child of the process may hold."""
    deadline = asyncio.get_running_loop().time() + seconds
    while process.returncode is None:
        if asyncio.get_running_loop().time() >= deadline:
            return False
        await asyncio.sleep(0.01)
    return True


def _kill_group(group: int, owner: int) -> None:
    """Whatever the server started has no reason to go on without it. A fork of ours that ends does not own it."""
    if os.getpid() == owner:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
