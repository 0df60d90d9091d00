"""What both OpenAI formats share: a client per loop, one request, and strict schemas.

The SDK builds and sends the requests; what comes back is read as plain data by `clients_wire`, for the SDK's own types
hide what did not come as it should.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from functools import lru_cache
from typing import Any, cast
from urllib.parse import urlsplit

import httpx2
import openai
from pydantic import BaseModel, SecretStr

from deep_research.addresses import is_loopback
from deep_research.errors import ModelError
from deep_research.models.base import Form, ModelCall, ModelProvider, OnText, Reply, TokenUsage
from deep_research.models.clients import (
    CREDENTIAL_HEADERS,
    MAX_CONNECT_SECONDS,
    MAX_SILENCE_SHARE,
    UNPACKED,
    PerLoop,
    bounded,
    deadline,
    header_names,
    read_json,
    tls,
)
from deep_research.models.clients_errors import STREAM, SYSTEM, OptionalParams, foreign_errors, malformed
from deep_research.models.clients_wire import (
    MAX_ANSWER_BYTES,
    MAX_PIECE_BYTES,
    MAX_VALUES,
    Body,
    is_events,
    is_stream,
    opened,
    record,
    usage_from,
    whole,
    without_system,
)
from deep_research.models.error_bodies import told_window
from deep_research.models.failures import Verdict
from deep_research.unpacking import BodyError

KEY_VARIABLE = "OPENAI_API_KEY"
URL_VARIABLE = "OPENAI_BASE_URL"
HEADERS_VARIABLE = "OPENAI_CUSTOM_HEADERS"
OWN_URL = "https://api.openai.com/v1"

# Where llama.cpp, LM Studio and TGI say how large the window is that they serve.
WINDOW_PATHS = ("/props", "/api/v0/models", "/info")
_NOT_THERE = (400, 404, 405, 501)
_OWN_HEADERS = ("OpenAI-Organization", "OpenAI-Project")

# Strict schemas may not have these, whatever the SDK's helper leaves in; titles only cost tokens.
_NOT_STRICT = frozenset(
    ("default", "minLength", "maxLength", "uniqueItems", "discriminator", "examples", "title")
)


class OpenAIService(ModelProvider):
    """One request and its answer, plain or streamed; the formats say what is in them. ``is_stranger``: a server that
    no variable of OpenAI's names, whose business the organization, the project and the headers of others are not."""

    forms = ("schema", "tool")
    tells_window = True

    def __init__(
        self,
        model: str,
        *,
        key: str,
        base_url: str,
        optional: OptionalParams,
        is_stranger: bool = False,
    ) -> None:
        super().__init__(model)
        self.base_url = base_url
        self._key = SecretStr(key)
        others = header_names(HEADERS_VARIABLE)
        credentials = [name for name in others if name.lower() in CREDENTIAL_HEADERS]
        self._hidden = (*_OWN_HEADERS, *others) if is_stranger else credentials
        self._optional = optional
        self._clients = PerLoop(self._client, openai.AsyncOpenAI.close)

    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        stream = on_text is not None and self._optional.takes(STREAM)
        call = call if self._optional.takes(SYSTEM) else without_system(call)
        request = self._optional.granted(self._request(call, stream=stream))
        try:
            async with (
                deadline(call.timeout, model=self.name),
                self.opened(self._method(self._clients.here()), request, call.timeout) as body,
            ):
                if is_stream(body) if on_text is not None else is_events(body):
                    return await self._streamed(
                        body, call, on_text or _unheard, call.timeout * MAX_SILENCE_SHARE
                    )
                reply = self._reply(await whole(body, model=self.name), body, call)
        except ModelError as error:
            raise self._optional.learned(error, request, call) from None
        if on_text is not None and reply.text:
            on_text(reply.text)
        return reply

    def schema_of(self, answer: type[BaseModel]) -> dict[str, Any]:
        """A strict schema: nothing but the named fields, and all of them required. Those that may be null still may;
        for others with a default the model has to write a value."""
        return _strict(_parameters(answer))

    async def ask_window(self) -> tuple[int, int] | None:
        """Reads the list of models, then the places where servers that say nothing there have it."""
        parts = urlsplit(self.base_url)
        paths = () if parts.hostname == urlsplit(OWN_URL).hostname else WINDOW_PATHS
        elsewhere = (f"{parts.scheme}://{parts.netloc}{path}" for path in paths)
        for place in (f"{self.base_url}/models", *elsewhere):
            try:
                window = told_window(await self._model_data(place), self.model)
            except ModelError as error:
                if error.data.get("status") not in _NOT_THERE and error.verdict != Verdict.MALFORMED:
                    raise
                continue
            if window is not None:
                return window
        return None

    async def _model_data(self, place: str) -> Any:
        client = self._clients.here()
        with foreign_errors(self.name):
            response = await client.get(place, cast_to=httpx2.Response)
        if len(response.content) > MAX_PIECE_BYTES:
            raise malformed("the list of models is too long", model=self.name)
        try:
            return read_json(response.content, values=MAX_VALUES)
        except BodyError as error:
            raise malformed(f"what the server says of its models is {error}", model=self.name) from None

    async def aclose(self) -> None:
        await self._clients.aclose()

    def opened(
        self, method: Any, request: Mapping[str, Any], seconds: float
    ) -> AbstractAsyncContextManager[Body]:
        """The response to one request, of which nothing but the head was read."""
        timeout = openai.Timeout(seconds, connect=min(seconds, MAX_CONNECT_SECONDS))
        return opened(method(**request, timeout=timeout), model=self.name)

    @abstractmethod
    def _method(self, client: openai.AsyncOpenAI) -> Any:
        """What sends the request."""

    @abstractmethod
    def _request(self, call: ModelCall, *, stream: bool) -> dict[str, Any]: ...

    @abstractmethod
    def _reply(self, data: Any, body: Body, call: ModelCall) -> Reply:
        """A whole answer to a call read; of ``body`` the head."""

    @abstractmethod
    async def _streamed(self, body: Body, call: ModelCall, on_text: OnText, silence: float) -> Reply:
        """A streamed answer read; after so many seconds of ``silence`` it is given up."""

    def _client(self) -> openai.AsyncOpenAI:
        own = openai.DefaultAsyncHttpxClient(
            verify=tls(),
            follow_redirects=False,
            trust_env=not is_loopback(self.base_url),
            event_hooks={"response": [bounded(MAX_ANSWER_BYTES)]},
        )
        key, hidden = self._key.get_secret_value(), cast("str", openai.Omit())
        return openai.AsyncOpenAI(
            api_key=key,
            base_url=self.base_url,
            max_retries=0,
            http_client=own,
            # Given here, no header of the environment takes its place.
            default_headers=dict.fromkeys(self._hidden, hidden)
            | UNPACKED
            | {"Authorization": f"Bearer {key}"},
        )


def _unheard(_piece: str) -> None:
    """Nobody listens to a stream that was not asked for."""


def form_header(form: Form) -> dict[str, Any]:
    """What says which form it is, with its name as OpenAI takes names."""
    name = {"name": re.sub(r"[^a-zA-Z0-9_-]", "_", form.name)[:64], "strict": True}
    return name | ({"description": form.description} if form.description else {})


def request_id(body: Body) -> str | None:
    return body.headers.get("x-request-id")


def usage_of(data: Any, *, given: str, made: str) -> TokenUsage:
    """The tokens of a request; ``given`` and ``made`` are what a format calls those of prompts and of answers."""
    data = record(data)
    taken, spent = record(data.get(f"{given}_tokens_details")), record(data.get(f"{made}_tokens_details"))
    return usage_from(
        data.get(f"{given}_tokens"),
        data.get(f"{made}_tokens"),
        cached=taken.get("cached_tokens"),
        written=taken.get("cache_write_tokens"),
        reasoning=spent.get("reasoning_tokens"),
    )


@lru_cache(maxsize=128)
def _parameters(answer: type[BaseModel]) -> Mapping[str, Any]:
    return openai.pydantic_function_tool(answer)["function"]["parameters"]


def _strict(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy without what strict schemas may not have, at any depth."""
    kept = {name: part for name, part in schema.items() if name not in _NOT_STRICT}
    if "oneOf" in kept:
        kept["anyOf"] = kept.pop("oneOf")
    for name in ("properties", "$defs"):
        if name in kept:  # a field may have the name of a keyword
            kept[name] = {field: _strict(part) for field, part in kept[name].items()}
    for name in ("anyOf", "allOf"):
        if name in kept:
            kept[name] = [_strict(part) for part in kept[name]]
    if isinstance(kept.get("items"), Mapping):
        kept["items"] = _strict(kept["items"])
    return kept
