"""A capability of another service, over HTTP: a state goes there as LangServe sends it, and comes back with an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from deep_research.capabilities.agent_state import AgentState
from deep_research.capabilities.capability import (
    AgentMessage,
    Capability,
    CapabilityAnswer,
    CapabilityRequest,
)
from deep_research.capabilities.offers import CapabilityOffer
from deep_research.client.connection import Connection, Response
from deep_research.errors import CapabilityError, DeepResearchError, UsageError

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
            raise self._error(f"failed: {error.problem}") from error
        try:
            return answer_of(output, request, run_id)
        except (ValueError, UsageError) as error:
            raise self._error(f"gave an answer that cannot be used: {error}") from None

    async def _ask(self, connection: Connection, request: CapabilityRequest) -> tuple[Any, str | None]:
        """The state that came back, and the id of the run that was said to work on it."""
        headers = {"idempotency-key": request.key, "prefer": "respond-async"}
        content = {"input": request.state, "config": {}, "kwargs": {}}
        response = await connection.exchange("POST", self._path, content=content, headers=headers)
        answer, run_id, pause = self._json(response), None, FIRST_POLL_SECONDS
        while response.status == 202:
            run_id = _text(answer.get("run_id"))
            where = self._own_path(response.headers.get("location") or _text(answer.get("location")) or "")
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_POLL_SECONDS)
            response = await connection.exchange("GET", where)
            answer = self._json(response)
        metadata = answer.get("metadata")
        answered = _text(metadata.get("run_id")) if isinstance(metadata, Mapping) else None
        if run_id is not None and answered not in (None, run_id):
            raise self._error("gave the answer of another run")
        return answer.get("output", answer), answered or run_id

    def _json(self, response: Response) -> dict[str, Any]:
        try:
            answer = json.loads(response.body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            kind = response.headers.get("content-type", "no type").partition(";")[0][:40]
            raise self._error(f"answered with what is no JSON object ({kind})")
        return answer

    def _own_path(self, location: str) -> str:
        """Where the answer will be, on the same server: a token goes nowhere else."""
        parts = urlsplit(location)
        if parts.scheme or parts.netloc or not parts.path.startswith("/"):
            raise self._error("names no place of its own for its answer")
        return parts.path

    def _error(self, what: str) -> CapabilityError:
        return CapabilityError(
            f"'{self.name}' at {self.place} {what}.", hint="Look at that service.", place=self.place
        )


def answer_of(output: Any, request: CapabilityRequest, run_id: str | None = None) -> CapabilityAnswer:
    """What a state that came back adds to the one that was sent. A service may give all messages, or the new ones alone;
    of the new ones those of an agent are taken. Raises `ValueError` for what is no state, has no new message of an agent,
    or has one that was there before."""
    if not isinstance(output, dict):
        raise ValueError("it is no state")
    try:
        state = AgentState.model_validate(output)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))[:80]}: {first['msg'][:120]}") from None
    ids = [_text(each.get("id")) for each in output["messages"]]
    known = {message.id for message in request.messages} - {None}
    start = _echoed([(each.sender, each.text) for each in state.messages], request)
    added = []
    for message, message_id in list(zip(state.messages, ids, strict=True))[start:]:
        if message_id in known and message.sender != "user":
            raise ValueError("it has the message of an earlier answer")
        if message.sender == "assistant":
            message.check_readable()
            own_id = message_id or (run_id if len(ids) - start == 1 else None)
            added.append(AgentMessage(type="ai", content=message.text, id=own_id))
    if not added:
        raise ValueError("it has no new message of an agent")
    return CapabilityAnswer(messages=tuple(added), context=state.context or {})


def _echoed(messages: Sequence[tuple[str, str]], request: CapabilityRequest) -> int:
    """How many of the messages are those that were sent, which stand before the new ones."""
    sent = [
        ("user" if message.type == "human" else "assistant", message.content) for message in request.messages
    ]
    return len(sent) if list(messages[: len(sent)]) == sent else 0


def _text(value: Any) -> str | None:
    return value[:200] if isinstance(value, str) and value else None
