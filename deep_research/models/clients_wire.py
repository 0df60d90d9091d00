"""Reading what a service sends: JSON, server-sent events, lines of JSON, and none of it to be trusted.

The SDKs' own types hold whatever came, checked or not, and lose what they do not know, so the plain data is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, Protocol, cast

from deep_research.errors import ModelError
from deep_research.models.base import Message, ModelCall, TokenUsage
from deep_research.models.characters import whole_characters
from deep_research.models.clients import STRANGE, read_json
from deep_research.models.clients_errors import foreign_errors, malformed, unusable
from deep_research.models.failures import Verdict, failure
from deep_research.patterns import regex
from deep_research.unpacking import BodyError, RefusedBodyError

# A stream has hundreds of bytes to a token, nearly all of them around it, and none of it is kept but the text.
MAX_ANSWER_BYTES = 32 * 1024 * 1024  # of one answer
MAX_PIECE_BYTES = 4 * 1024 * 1024  # bytes of what is read as one piece of JSON
MAX_VALUES = 150_000  # of that
MAX_TEXT_CHARS = 3_000_000  # characters of a text that comes in pieces
MAX_PIECES = 400_000
MAX_TOKENS = 20_000_000  # of one request; a larger figure is none
_DIGITS = regex(r"\d{1,12}(?:\.0{1,12})?")
DONE = "[DONE]"  # how a stream of chat completions says that it is over
_SECONDS_TO_DRAIN = 0.1


class Body(Protocol):
    """A response of either HTTP stack, of which nothing has been read."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def stream(self) -> Any: ...  # of bytes; each stack has a type of its own


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
    is_whole = media.endswith("json") and not media.endswith("ndjson")
    return not is_whole and "html" not in media


def is_events(body: Body) -> bool:
    """Returns True for server-sent events, which some gateways send whatever is asked for."""
    return _media(body) == "text/event-stream"


async def whole(body: Body, *, model: str) -> Any:
    """The JSON of a body."""
    read = bytearray()
    async with aclosing(_pieces(body, model)) as pieces:
        async for piece in pieces:
            read += piece
            _within(len(read), model)
    return _parsed(read, f"the answer is no JSON ({_media(body)})", model)


async def error_data(body: Body, *, model: str) -> Any:
    """The JSON of the body of an error, or its text."""
    read = bytearray()
    async with aclosing(_pieces(body, model)) as pieces:
        async for piece in pieces:
            read += piece
    try:
        return read_json(read, values=MAX_VALUES)
    except BodyError:
        return read.decode("utf-8", "replace")


async def events(body: Body, *, model: str, silence: float) -> AsyncGenerator[Any]:
    """The data of each server-sent event, to the end of the stream or `DONE`, which is the last. ``silence``: seconds
    without a byte after which the stream is given up; what keeps a connection alive without saying anything are bytes
    too."""
    data = bytearray()
    async with aclosing(_lines(body, model, silence)) as lines:
        async for line in lines:
            if line.startswith(b"data:"):
                data += line[5:].removeprefix(b" ") + b"\n"
                _within(len(data), model)
                if data.startswith(DONE.encode()):
                    await drain(lines)
                    yield DONE
                    return
            elif not line and data:
                event, data = data[:-1], bytearray()
                yield _parsed(event, "an event of the stream is no JSON", model)


async def json_lines(body: Body, *, model: str, silence: float) -> AsyncGenerator[Any]:
    """Each line as data; one that was not ended was cut. ``silence`` as in `events`."""
    async with aclosing(_lines(body, model, silence)) as lines:
        async for line in lines:
            if line:
                yield _parsed(line, "a line of the stream is no JSON", model)


async def drain(rest: AsyncIterator[Any]) -> None:
    """Reads on after the end of an answer, for a moment, since only a body that was read leaves a connection for the
    next request. The answer is complete, so nothing that goes wrong here matters."""
    with suppress(TimeoutError, ModelError):
        async with asyncio.timeout(_SECONDS_TO_DRAIN):
            async for _ in rest:  # its opener closes it
                pass


async def _lines(body: Body, model: str, silence: float) -> AsyncGenerator[bytes]:
    """Split at line feeds alone: the stacks' own splitting breaks JSON at characters that may stand in its strings."""
    rest = bytearray()
    async with aclosing(_pieces(body, model, silence)) as pieces:
        async for piece in pieces:
            first, *more = piece.split(b"\n")
            rest += first
            for line in more:
                yield bytes(rest).removesuffix(b"\r")
                rest = bytearray(line)
            _within(len(rest), model)
    if rest.endswith(DONE.encode()):  # what else is not ended was cut
        yield bytes(rest)


async def _pieces(body: Body, model: str, silence: float | None = None) -> AsyncGenerator[bytes]:
    """The body as it comes, within the bounds that `bounded` has set it. It is read from that stream itself: what the
    stacks put around it leaves generators behind when it is not read to its end."""
    async with aclosing(cast("AsyncGenerator[bytes]", aiter(body.stream))) as stream:
        while True:
            with foreign_errors(model):
                try:
                    async with asyncio.timeout(silence) as limit:
                        piece = await anext(stream, None)
                except TimeoutError:
                    if not limit.expired():
                        raise
                    problem = f"not a byte of the answer within {silence:g} s"
                    raise failure(Verdict.TRANSIENT, problem, model=model, maybe_billed=True) from None
            if piece is None:
                return
            yield piece


def _within(size: int, model: str) -> None:
    if size > MAX_PIECE_BYTES:
        raise unusable(RefusedBodyError(f"longer than {MAX_PIECE_BYTES:,} bytes in one piece"), model=model)


def _media(body: Body) -> str:
    return body.headers.get("content-type", "").partition(";")[0].strip().lower()


def _parsed(data: bytes | bytearray, problem: str, model: str) -> Any:
    try:
        return read_json(data, values=MAX_VALUES)
    except RefusedBodyError as error:
        raise unusable(error, model=model) from None
    except BodyError:
        raise malformed(problem, model=model, hint=STRANGE) from None


class AnswerText:
    """The text of an answer as it comes in pieces. Raises `ModelError` for one that no model writes."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._pieces: list[str] = []
        self._size = 0

    def add(self, piece: str) -> None:
        self._size += len(piece)
        if self._size > MAX_TEXT_CHARS or len(self._pieces) >= MAX_PIECES:
            raise unusable(RefusedBodyError(f"longer than {MAX_TEXT_CHARS:,} characters"), model=self._model)
        if piece:
            self._pieces.append(piece)

    def __bool__(self) -> bool:
        return bool(self._pieces)

    def __str__(self) -> str:
        return "".join(self._pieces)


def turns(call: ModelCall) -> list[dict[str, str]]:
    """The messages of a call, the system's first, in characters that can be sent."""
    said = [("system", call.system)] if call.system else []
    said += [(message.role, message.content) for message in call.messages]
    return [{"role": role, "content": whole_characters(content)} for role, content in said]


def without_system(call: ModelCall) -> ModelCall:
    """The call with the system text at the head of the first turn of the user, for models that know no such role. Turns
    of one role that follow each other are one then, as such models want it."""
    turns: list[Message] = [Message(content=call.system)] if call.system else []
    for message in call.messages:
        if turns and turns[-1].role == message.role and not any(map(_has_calls, (turns[-1], message))):
            joined = f"{turns[-1].content}\n\n{message.content}"
            turns[-1] = message.model_copy(update={"content": joined})
        else:
            turns.append(message)
    return call.model_copy(update={"system": "", "messages": tuple(turns)})


def _has_calls(message: Message) -> bool:
    """Whether a turn has more than its content, which stays a turn of its own."""
    return bool(message.outputs or message.calls or message.native)


# Data of any shape


def record(value: Any) -> Mapping[str, Any]:
    found: Mapping[str, Any] = value if isinstance(value, Mapping) else {}
    return found


def records(value: Any) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def text(value: Any) -> str:
    return whole_characters(value) if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """Returns the figure of a service as a number: some write whole ones as decimals or as texts. None for what is no
    figure: null, a part of one, or more than anything has."""
    if isinstance(value, str) and _DIGITS.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, float) and value.is_integer():  # no infinity is, nor what is no number
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value <= MAX_TOKENS else None


def number(value: Any) -> int:
    return count(value) or 0


def usage_from(
    prompt: Any, answer: Any, *, cached: Any = 0, written: Any = 0, reasoning: Any = 0, settled: bool = True
) -> TokenUsage:
    """The tokens of a request, from figures of any type. No prompt has none: a service that says so does not count. One
    that says that more came from a cache than there was counts that on top."""
    from_cache = number(cached) + number(written)
    return TokenUsage(
        input=number(prompt) + (from_cache if from_cache > number(prompt) else 0),
        cache_read=number(cached),
        cache_write=number(written),
        output=number(answer),
        reasoning=number(reasoning),
        is_known=settled and bool(number(prompt)) and count(answer) is not None,
    )
