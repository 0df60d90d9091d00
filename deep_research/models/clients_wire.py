"""Reading what a service sends: JSON, server-sent events, lines of JSON, and none of it to be trusted.

The SDKs' own types hold whatever came, checked or not, and lose what they do not know, so the plain data is read.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Protocol

from deep_research.errors import ModelError
from deep_research.models.base import ModelCall
from deep_research.models.characters import whole_characters
from deep_research.models.clients_errors import foreign_errors, malformed

MOST_BYTES = 32 * 1024 * 1024  # of one answer; a longer one is no answer
MOST_TOKENS = 1_000_000_000  # of one request; a larger figure is none
_SECONDS_TO_DRAIN = 0.1


class Body(Protocol):
    """A response of either HTTP stack, of which nothing has been read."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    def aiter_bytes(self) -> AsyncIterator[bytes]: ...


@asynccontextmanager
async def opened(opening: Any, *, model: str) -> AsyncIterator[Body]:
    """The response to one request of an SDK (its ``with_streaming_response``): nothing but the head was read."""
    with foreign_errors(model):
        response = await opening.__aenter__()
    try:
        yield response.http_response
    finally:
        await opening.__aexit__(None, None, None)


def is_stream(body: Body) -> bool:
    """Whether a streamed answer came: servers that cannot stream send it whole, and gateways send pages."""
    media = _media(body)
    return media != "application/json" and "html" not in media


async def whole(body: Body, *, model: str) -> Any:
    """The JSON of a body."""
    read = bytearray()
    async for piece in _pieces(body, model):
        read += piece
    return _parsed(bytes(read), f"the answer is no JSON ({_media(body)})", model)


async def events(body: Body, *, model: str) -> AsyncGenerator[Any]:
    """The data of each server-sent event, to the end of the stream or ``[DONE]``."""
    data: list[bytes] = []
    lines = _lines(body, model)
    async for line in lines:
        if line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif not line and data:
            event, data = b"\n".join(data), []
            if event.startswith(b"[DONE]"):
                await drain(lines)
                return
            yield _parsed(event, "an event of the stream is no JSON", model)


async def json_lines(body: Body, *, model: str) -> AsyncGenerator[Any]:
    """Each line as data; one that was not ended was cut."""
    async for line in _lines(body, model):
        if line:
            yield _parsed(line, "a line of the stream is no JSON", model)


async def drain(rest: AsyncIterator[Any]) -> None:
    """Reads on after the end of an answer, for a moment, since only a body that was read leaves a connection for the
    next request. The answer is complete, so nothing that goes wrong here matters."""
    with suppress(TimeoutError, ModelError):
        async with asyncio.timeout(_SECONDS_TO_DRAIN):
            async for _ in rest:
                pass


async def _lines(body: Body, model: str) -> AsyncGenerator[bytes]:
    """Split at line feeds alone: the stacks' own splitting breaks JSON at characters that may stand in its strings."""
    rest: list[bytes] = []
    async for piece in _pieces(body, model):
        first, *more = piece.split(b"\n")
        rest.append(first)
        for line in more:
            yield b"".join(rest).removesuffix(b"\r")
            rest = [line]


async def _pieces(body: Body, model: str) -> AsyncGenerator[bytes]:
    size = 0
    with foreign_errors(model):
        async for piece in body.aiter_bytes():
            size += len(piece)
            if size > MOST_BYTES:
                raise malformed(f"the answer has more than {MOST_BYTES} bytes", model=model)
            yield piece


def _media(body: Body) -> str:
    return body.headers.get("content-type", "").partition(";")[0].strip().lower()


def _parsed(data: bytes, problem: str, model: str) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise malformed(problem, model=model) from None


def turns(call: ModelCall) -> list[dict[str, str]]:
    """The messages of a call, the system's first, in characters that can be sent."""
    said = [("system", call.system)] if call.system else []
    said += [(message.role, message.content) for message in call.messages]
    return [{"role": role, "content": whole_characters(content)} for role, content in said]


# Data of any shape


def record(value: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    return found


def records(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def text(value: Any) -> str:
    return whole_characters(value) if isinstance(value, str) else ""


def is_count(value: Any) -> bool:
    """Whether a service said how many: null, a text or a figure that nothing has is not said."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS


def number(value: Any) -> int:
    found: int = value if is_count(value) else 0
    return found
