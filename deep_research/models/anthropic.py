"""Claude, over the Anthropic SDK.

The SDK builds and sends the requests; what comes back is read as plain data by `anthropic_wire`, for the SDK's own
objects hide what did not come as it should, and lose the usage of a stream that breaks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, aclosing
from copy import deepcopy
from functools import lru_cache
from typing import Any, cast

import anthropic
from pydantic import BaseModel, SecretStr

from deep_research.addresses import is_loopback
from deep_research.errors import ConfigurationError, ModelError
from deep_research.models.anthropic_wire import (
    ADAPTIVE,
    THINKING,
    AnswerStream,
    optional_params,
    refused_in_stream,
    request_of,
)
from deep_research.models.base import ModelCall, ModelProvider, OnText, Reply, json_schema
from deep_research.models.clients import (
    CREDENTIAL_HEADERS,
    MAX_CONNECT_SECONDS,
    MAX_SILENCE_SHARE,
    UNPACKED,
    PerLoop,
    bounded,
    checked_url,
    deadline,
    header_names,
    secret_key,
    tls,
)
from deep_research.models.clients_errors import STREAM, SYSTEM, OptionalParams, malformed, no_answer
from deep_research.models.clients_wire import (
    MAX_ANSWER_BYTES,
    Body,
    drain,
    events,
    is_stream,
    number,
    opened,
    record,
    text,
    whole,
    without_system,
)

KEY_VARIABLE = "ANTHROPIC_API_KEY"
URL_VARIABLE = "ANTHROPIC_BASE_URL"
HEADERS_VARIABLE = "ANTHROPIC_CUSTOM_HEADERS"
OWN_URL = "https://api.anthropic.com"

_EVERYWHERE = ("all://", "http://", "https://")


@lru_cache(maxsize=128)
def _schema(answer: type[BaseModel]) -> dict[str, Any]:
    return anthropic.transform_schema(json_schema(answer))


class AnthropicMessages(ModelProvider):
    """``anthropic:MODEL``. ``api_key`` and ``base_url`` are those of ANTHROPIC_API_KEY and ANTHROPIC_BASE_URL unless
    given; no other key, token or profile that the SDK knows is used.

    The system text and all up to the last message marked ``stable`` are marked for the service's cache. ``temperature``
    is left out: the service has none. ``effort``, thinking (asked for in turns with tools that have an effort), the marks
    for the cache and strict tools are left out once they were refused; thinking with a budget is asked for without one
    then, and not at all where that is refused too. The pieces of a tool's arguments are JSON text; where the tool was not
    called, the text is what was said instead.
    """

    service = "anthropic"
    own_url = OWN_URL
    forms = ("schema", "tool")
    has_tools = True

    def __init__(
        self, model: str, *, api_key: SecretStr | str | None = None, base_url: str | None = None
    ) -> None:
        super().__init__(model)
        key = secret_key(api_key, variable=KEY_VARIABLE)
        if key is None:
            raise ConfigurationError(f"No API key for Anthropic: {KEY_VARIABLE} is not set.")
        self._key = key
        self.sent_key = KEY_VARIABLE if api_key is None else ""
        self.base_url = checked_url(base_url or os.environ.get(URL_VARIABLE) or OWN_URL, of=self.service)
        self._optional = OptionalParams(
            ADAPTIVE,
            THINKING,
            "effort",
            "cache_control",
            "strict",
            instead={THINKING: ADAPTIVE},
            also={"effort": r"output_config(?!\.)", ADAPTIVE: THINKING},
        )
        self._clients = PerLoop(self._client, anthropic.AsyncAnthropic.close)

    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        granted = self._optional.granted(optional_params(call))
        optional = {name: value for name, value in granted.items() if self._optional.takes(name)}
        call = call if self._optional.takes(SYSTEM) else without_system(call)
        request = request_of(self.model, call, optional)
        if on_text is not None and self._optional.takes(STREAM):
            request[STREAM] = True
        heard = AnswerStream(self.name, call.form, on_text, tools=bool(call.tools))
        try:
            async with (
                deadline(call.timeout, model=self.name),
                self._opened(self._clients.here().messages, "create", request, call.timeout) as body,
            ):
                heard.request_id = _request_id(body)
                if on_text is not None and is_stream(body):
                    await self._streamed(body, heard, call.timeout * MAX_SILENCE_SHARE)
                else:
                    self._read(await whole(body, model=self.name), heard)
        except ModelError as error:
            if (usage := heard.usage()) is not None:
                error.data |= {"usage": usage.model_dump(), "maybe_billed": not usage.is_known}
            raise self._optional.learned(error, optional | request, call) from None
        return heard.reply()

    async def count(self, call: ModelCall) -> int | None:
        request = request_of(self.model, call, {})
        del request["max_tokens"]
        try:
            async with (
                deadline(call.timeout, model=self.name),
                self._opened(self._clients.here().messages, "count_tokens", request, call.timeout) as body,
            ):
                counted = record(await whole(body, model=self.name)).get("input_tokens")
        except ModelError as error:
            # Gateways have nothing that counts; that a name is wrong `send` will tell.
            if error.data.get("status") in (404, 405, 501):
                return None
            raise
        if not number(counted):
            raise malformed("the service did not say how many tokens", model=self.name)
        return number(counted)

    def schema_of(self, answer: type[BaseModel]) -> dict[str, Any]:
        """As the service takes schemas: what it does not know stands in the descriptions."""
        return deepcopy(_schema(answer))

    async def aclose(self) -> None:
        await self._clients.aclose()

    def _opened(
        self, messages: Any, name: str, request: Mapping[str, Any], seconds: float
    ) -> AbstractAsyncContextManager[Body]:
        # With a timeout of its own the SDK does not refuse large answers that are not streamed.
        timeout = anthropic.Timeout(seconds, connect=min(seconds, MAX_CONNECT_SECONDS))
        method = getattr(messages.with_streaming_response, name)
        return opened(method(**request, timeout=timeout), model=self.name)

    def _read(self, data: Any, heard: AnswerStream) -> None:
        data = record(data)
        if data.get("type") == "error":
            raise refused_in_stream(data, model=self.name, request_id=heard.request_id)
        if not isinstance(data.get("content"), list):
            raise no_answer(data, "the answer is no message", model=self.name, request_id=heard.request_id)
        heard.take_whole(data)

    async def _streamed(self, body: Body, heard: AnswerStream, silence: float) -> None:
        try:
            async with aclosing(events(body, model=self.name, silence=silence)) as stream:
                async for event in stream:
                    event = record(event)
                    kind = text(event.get("type"))
                    if kind == "error":
                        raise refused_in_stream(event, model=self.name, request_id=heard.request_id)
                    heard.take(kind, event)
                    if kind == "message_stop":
                        await drain(stream)
                        break
        except ModelError:
            if not heard.is_whole:  # what breaks after the end of an answer does not matter
                raise
        heard.close()

    def _client(self) -> anthropic.AsyncAnthropic:
        is_here = is_loopback(self.base_url)
        own = anthropic.DefaultAsyncHttpxClient(
            verify=tls(),
            follow_redirects=False,
            trust_env=not is_here,
            # The SDK's client looks for proxies by itself, whatever ``trust_env`` says.
            mounts=dict.fromkeys(_EVERYWHERE) if is_here else {},
            event_hooks={"response": [bounded(MAX_ANSWER_BYTES)]},
        )
        key, hidden = self._key.get_secret_value(), cast("str", anthropic.Omit())
        others = [name for name in header_names(HEADERS_VARIABLE) if name.lower() in CREDENTIAL_HEADERS]
        return anthropic.AsyncAnthropic(
            api_key=key,
            base_url=self.base_url,
            max_retries=0,
            http_client=own,
            # Given here, no header of the environment takes its place.
            default_headers=dict.fromkeys(others, hidden) | UNPACKED | {"Authorization": f"Bearer {key}"},
            open_telemetry=False,  # prompts go to the service and nowhere else
        )


def _request_id(body: Body) -> str | None:
    return body.headers.get("request-id")
