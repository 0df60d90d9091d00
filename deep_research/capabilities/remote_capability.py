"""A capability of another service, over HTTP: a state goes there as LangServe sends it, and comes back with an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import httpx

from deep_research.addresses import is_same_server
from deep_research.capabilities.agent_state import sender_of
from deep_research.capabilities.capability import (
    AgentMessage,
    Capability,
    CapabilityAnswer,
    CapabilityRequest,
)
from deep_research.capabilities.offers import CapabilityOffer
from deep_research.client.connection import Connection, Response
from deep_research.errors import CapabilityError, ConfigurationError, DeepResearchError, UsageError

MAX_ANSWER_BYTES = 4 << 20
CALL_SECONDS = 3_600.0
FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 0.1, 10.0


class RemoteCapability(Capability):
    """One offer of a service. A call waits at most ``seconds``; where the service can tell, it asks from time to time
    instead of waiting on one connection. A service that cannot be reached for a while is tried again with the same
    Idempotency-Key, so that it starts nothing twice."""

    def __init__(
        self,
        offer: CapabilityOffer,
        connect: Callable[[], Connection],
        place: str,
        *,
        seconds: float = CALL_SECONDS,
    ) -> None:
        self.name = offer.name
        self.description = offer.description
        self.read_only = offer.read_only
        self.keywords = tuple(offer.keywords)
        self.place = place
        self._path = offer.invoke
        self._connect = connect
        self._seconds = seconds

    async def invoke(self, request: CapabilityRequest) -> CapabilityAnswer:
        """Raises `CapabilityError`."""
        try:
            async with asyncio.timeout(self._seconds), self._connect() as connection:
                output, run_id = await self._ask(connection, request)
        except TimeoutError:
            raise self._error(f"did not answer within {self._seconds:g} seconds") from None
        except CapabilityError:
            raise
        except DeepResearchError as error:
            refused = isinstance(error, UsageError | ConfigurationError)
            raise self._error(f"failed: {error.problem}", refused=refused) from error
        try:
            return answer_of(output, request, run_id)
        except ValueError as error:
            raise self._error(f"gave an answer that cannot be used: {error}") from None

    async def _ask(self, connection: Connection, request: CapabilityRequest) -> tuple[Any, str | None]:
        """The state that came back, and the id of the run that was said to work on it."""
        headers = {"idempotency-key": request.key, "prefer": "respond-async"}
        content = {"input": request.state, "config": {}, "kwargs": {}}
        response = await connection.exchange("POST", self._path, content=content, headers=headers)
        answer, run_id, pause = self._json(response), None, FIRST_POLL_SECONDS
        while response.status == 202:
            run_id = _text(answer.get("run_id"))
            where = self._own_address(
                response.headers.get("location") or _text(answer.get("location")) or "", response.url
            )
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_POLL_SECONDS)
            response = await connection.exchange("GET", where)
            answer = self._json(response)
        metadata = answer.get("metadata")
        answer_run_id = _text(metadata.get("run_id")) if isinstance(metadata, Mapping) else None
        if run_id is not None and answer_run_id not in (None, run_id):
            raise self._error("gave the answer of another run")
        return answer.get("output", answer), answer_run_id or run_id

    def _json(self, response: Response) -> dict[str, Any]:
        try:
            answer = json.loads(response.body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            kind = response.headers.get("content-type", "no type").partition(";")[0][:40]
            raise self._error(f"answered with what is no JSON object ({kind})")
        return answer

    def _own_address(self, location: str, url: str) -> str:
        """Where the answer will be, on the same server: a token goes nowhere else."""
        try:
            where = httpx.URL(url).join(location)
        except (httpx.InvalidURL, ValueError):
            where = httpx.URL("")
        if not location or not is_same_server(str(where), url):
            raise self._error("names no place of its own for its answer")
        return str(where)

    def _error(self, what: str, *, refused: bool = False) -> CapabilityError:
        return CapabilityError(
            f"'{self.name}' at {self.place} {what}.",
            hint="Check that service.",
            place=self.place,
            refused=refused,
        )


def answer_of(output: Any, request: CapabilityRequest, run_id: str | None = None) -> CapabilityAnswer:
    """What a state that came back adds to the one that was sent. A service may give all messages, or the new ones alone;
    of the new ones those of an agent are taken, and nothing but the messages and the context is looked at. Raises
    `ValueError` for what is no state, has no new message of an agent, or has one that was there before."""
    messages = output.get("messages") if isinstance(output, dict) else None
    if not isinstance(messages, list) or not all(isinstance(each, dict) for each in messages):
        raise ValueError("it has no messages")
    context = output.get("context")
    if not isinstance(context, dict | None):
        raise ValueError("its context is no object")
    known_ids = {message.id for message in request.messages} - {None}
    start = _echoed([(sender_of(each), _content(each)) for each in messages], request)
    added: list[AgentMessage] = []
    for message in messages[start:]:
        message_id = _text(message.get("id"))
        if sender_of(message) != "assistant":
            continue
        if message_id in known_ids:
            raise ValueError("it has the message of an earlier answer")
        added.append(AgentMessage(type="ai", content=_content(message) or "", id=message_id))
    if not added or _content(messages[-1]) is None:
        raise ValueError("it has no new message of an agent that is text")
    if added[-1].id is None and len(added) == 1:
        added[-1] = added[-1].model_copy(update={"id": run_id})
    return CapabilityAnswer(messages=tuple(added), context=context or {})


def _content(message: Mapping[str, Any]) -> str | None:
    """The text of a message; None for one that has something else. Raises `ValueError` for text that is none."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    text = "\n".join(each for each in texts if isinstance(each, str))
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it holds characters that are no text") from None
    return text if any(isinstance(each, str) for each in texts) else None


def _echoed(messages: Sequence[tuple[str, str | None]], request: CapabilityRequest) -> int:
    """How many of the messages are those that were sent, which stand before the new ones."""
    earlier = [
        ("user" if message.type == "human" else "assistant", message.content) for message in request.messages
    ]
    return len(earlier) if list(messages[: len(earlier)]) == earlier else 0


def _text(value: Any) -> str | None:
    if (
        not isinstance(value, str)
        or not value
        or any(0xD800 <= ord(character) <= 0xDFFF for character in value)
    ):
        return None
    return value[:200]
