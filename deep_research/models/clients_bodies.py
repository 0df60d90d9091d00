"""What services send, of models and of searches, within bounds that hold in both HTTP stacks, whoever reads it: also
the SDKs, which read the bodies of errors and know no bound."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any, cast

from deep_research.unpacking import BodyError, RefusedBodyError, Unpacked

MOST_LEFT = 10_000  # pieces that may have come of a body before its connection was closed
MOST_ERROR_BYTES = 256 * 1024  # of the body of an error, of which a line is shown
# What to do about an answer whose body cannot be used.
STRANGE = "Is the address that of the service? What stands before it may pack its answers, or answer itself."
_BEGINNERS = (b",", b"[", b"{")

Hook = Callable[[Any], Awaitable[None]]


def bounded(most: int, *, values: int | None = None) -> Hook:
    """A hook for the responses of an httpx or httpx2 client: whoever reads a body gets it unpacked, and at most ``most``
    bytes of it; of an error `MOST_ERROR_BYTES`. ``values``: how many there may be in its JSON, for SDKs that read it
    themselves. Else `BodyError` is raised."""

    async def hook(response: Any) -> None:
        sent = response.stream
        is_error = response.status_code >= 400
        stream_of: Any = type(sent)
        response.stream = _kind_of(stream_of)(
            sent,
            response.headers.pop("content-encoding", ""),
            min(most, MOST_ERROR_BYTES) if is_error else most,
            values,
            (response.status_code if is_error else 0, dict(response.headers)),
        )

    return hook


def read_json(body: bytes | bytearray, *, values: int) -> Any:
    """The JSON of a body that has at most so many ``values``: each takes up to 175 bytes of memory. Raises
    `BodyError`."""
    if _values(body) > values:
        raise _too_many(values)
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise BodyError("no JSON") from None


class _Bounded:
    """A stream of bytes in front of that of a stack. ``told``: the status of an error and its headers, for whom the
    body fails."""

    def __init__(
        self, sent: Any, coding: str, most: int, values: int | None, told: tuple[int, dict[str, str]]
    ) -> None:
        self._sent = sent
        self._coding = coding
        self._most = most
        self._left = values
        self._values = values
        self._told = told

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        sent = aiter(self._sent)
        over = False
        try:
            body = Unpacked(self._coding, self._most)
            async for piece in sent:
                for made in body.pieces(piece):
                    self._count(made)
                    yield made
                    await asyncio.sleep(0)  # what unpacks to much must not hold the loop
            over = True
            body.end()
        except BodyError as error:
            error.status, error.headers = self._told
            raise
        finally:
            if not over:
                await self._close(sent)

    async def aclose(self) -> None:
        await self._sent.aclose()

    async def _close(self, sent: AsyncIterator[bytes]) -> None:
        """Ends a stream of which not all was read. Each of the generators that a stack reads through ends when the one
        below it does, and none closes it: closed from above they would be left to the garbage collection, which may come
        when their loop is gone. Below all of them is a connection: once it is closed, what is read from it is what had
        come before, and then an error that ends them all."""
        await self.aclose()  # an SDK that stumbles over the body of an error leaves it open
        with suppress(Exception):  # it is the end that is wanted, whichever it is
            for _ in range(MOST_LEFT):
                if await anext(sent, None) is None:
                    break

    def _count(self, made: bytes) -> None:
        if self._left is not None and self._values is not None:
            self._left -= _values(made)
            if self._left < 0:
                raise _too_many(self._values)


@lru_cache(maxsize=8)
def _kind_of(stream: Any) -> Callable[..., Any]:
    """The same as a stream of the stack that a stream is of: each takes those of its own alone, and neither has to be
    imported for it."""
    base = next(kind for kind in stream.__mro__ if kind.__name__ == "AsyncByteStream")
    return cast("Callable[..., Any]", type("BoundedStream", (_Bounded, base), {}))


def _values(data: bytes | bytearray) -> int:
    """About how many values there are in JSON: marks within its texts are counted as well, so at least so many."""
    return sum(map(data.count, _BEGINNERS))


def _too_many(most: int) -> RefusedBodyError:
    return RefusedBodyError(f"one of more than {most:,} values")
