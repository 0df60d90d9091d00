"""Lines of stdin, read without holding up the loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading

_PIECE_BYTES = 65_536
MAX_LINE_BYTES = 1_000_000


class InputLines:
    """The lines of stdin, one after the other. Each piece is read in a thread of its own that nobody waits for, so that
    Ctrl-C ends the command at once."""

    def __init__(self) -> None:
        self._read = b""
        self._is_at_end = False

    async def next(self) -> str | None:
        """The next line without its end; None at the end of the input. Of one that is longer than `MAX_LINE_BYTES` the
        rest is the next line."""
        while b"\n" not in self._read and not self._is_at_end and len(self._read) < MAX_LINE_BYTES:
            piece = await self._piece()
            self._read += piece
            self._is_at_end = not piece
        if not self._read:
            return None
        line, _, self._read = self._read.partition(b"\n")
        if len(line) > MAX_LINE_BYTES:
            line, self._read = line[:MAX_LINE_BYTES], line[MAX_LINE_BYTES:] + self._read
        return line.decode("utf-8", "replace").rstrip("\r")

    async def _piece(self) -> bytes:
        loop = asyncio.get_running_loop()
        read: asyncio.Future[bytes] = loop.create_future()

        def deliver(piece: bytes) -> None:
            if not read.done():
                read.set_result(piece)

        def wait() -> None:
            try:
                piece = os.read(sys.stdin.fileno(), _PIECE_BYTES)
            except (OSError, ValueError, AttributeError):  # the terminal is gone, or there is no stdin
                piece = b""
            with contextlib.suppress(RuntimeError):  # the command has ended meanwhile
                loop.call_soon_threadsafe(deliver, piece)

        threading.Thread(target=wait, name="input-line", daemon=True).start()
        return await read
