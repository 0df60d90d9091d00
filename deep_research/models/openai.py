"""OpenAI's own models, over the Responses API, and its tools."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from openai import AsyncOpenAI
from pydantic import SecretStr

from deep_research.errors import ConfigurationError, ModelError
from deep_research.models.base import Form, Message, ModelCall, OnText, Reply, StopReason, TokenUsage
from deep_research.models.characters import whole_characters
from deep_research.models.clients import checked_url, deadline, secret_key
from deep_research.models.clients_errors import OptionalParams, malformed, no_answer, refused
from deep_research.models.clients_wire import (
    AnswerText,
    Body,
    drain,
    events,
    number,
    record,
    records,
    text,
    whole,
)
from deep_research.models.openai_base import (
    KEY_VARIABLE,
    OWN_URL,
    URL_VARIABLE,
    OpenAIService,
    form_header,
    request_id,
    usage_of,
)
from deep_research.models.tool_calls import NativeTurn, ToolCall, ToolOutput, read_call

# Of a response that failed: those that may work the next time; all others are about the request.
_PASSING = frozenset(("", "server_error", "rate_limit_exceeded", "vector_store_timeout"))
_POLICIES = frozenset(("bio_policy", "misalignment_policy_violation", "image_content_policy_violation"))
_REASONS = {"max_output_tokens": StopReason.LENGTH, "content_filter": StopReason.REFUSAL}
_DELTAS = (".output_text.delta", ".refusal.delta", ".function_call_arguments.delta")
_COUNTED = ("model", "input", "instructions", "tools", "tool_choice", "text")
# What an answer must hold so that its thoughts can go back, since nothing is stored at the service.
_THOUGHTS = "reasoning.encrypted_content"


class OpenAIResponses(OpenAIService):
    """``openai:MODEL``. ``api_key`` and ``base_url`` are those of OPENAI_API_KEY and OPENAI_BASE_URL unless given.

    Prompts are not stored at the service. The stable beginning of a call (the system text and all up to the last
    message marked ``stable``) is hashed into ``prompt_cache_key``, so that calls that share it reach the same cache;
    OpenAI caches beginnings of 1,024 tokens and more by itself.

    Of a turn with tools the thoughts are asked for encrypted, and go back with it.
    """

    service = "openai"
    own_url = OWN_URL
    has_tools = True

    def __init__(
        self, model: str, *, api_key: SecretStr | str | None = None, base_url: str | None = None
    ) -> None:
        key = secret_key(api_key, variable=KEY_VARIABLE)
        if key is None:
            raise ConfigurationError(f"No API key for OpenAI: {KEY_VARIABLE} is not set.")
        url = base_url or os.environ.get(URL_VARIABLE) or OWN_URL
        super().__init__(
            model,
            key=key.get_secret_value(),
            base_url=checked_url(url, of=self.service),
            optional=OptionalParams(
                "temperature", "reasoning", "prompt_cache_key", "store", "include", "parallel_tool_calls"
            ),
        )
        self.sent_key = KEY_VARIABLE if api_key is None else ""

    async def count(self, call: ModelCall) -> int | None:
        whole_request = self._request(call, stream=False)
        request = {name: value for name, value in whole_request.items() if name in _COUNTED}
        try:
            async with deadline(call.timeout, model=self.name):
                method = self._clients.here().responses.input_tokens.with_streaming_response.count
                async with self.opened(method, request, call.timeout) as body:
                    counted = record(await whole(body, model=self.name)).get("input_tokens")
        except ModelError as error:
            # Services that only speak the Responses API like OpenAI have nothing that counts.
            if error.data.get("status") in (404, 405, 501) and error.data.get("reason") != "model_not_found":
                return None
            raise
        if not number(counted):
            raise malformed("the service did not say how many tokens", model=self.name)
        return number(counted)

    def _method(self, client: AsyncOpenAI) -> Any:
        return client.responses.with_streaming_response.create

    def _request(self, call: ModelCall, *, stream: bool) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model,
            "input": [item for message in call.messages for item in input_items(message)],
            "max_output_tokens": call.max_output,
            "store": False,
        }
        if call.system:
            request["instructions"] = whole_characters(call.system)
        if key := _cache_key(call):
            request["prompt_cache_key"] = key
        if call.temperature is not None:
            request["temperature"] = call.temperature
        if call.effort is not None:
            request["reasoning"] = {"effort": call.effort.value}
        if call.form is not None:
            request |= _formed(call.form)
        request |= tool_params(call)
        if stream:
            request["stream"] = True
        return request

    def _reply(self, data: Any, body: Body, call: ModelCall) -> Reply:
        """A whole response, of any status."""
        data = record(data)
        error, usage = record(data.get("error")), usage_of(data.get("usage"), given="input", made="output")
        if not isinstance(data.get("output"), list) and not error:
            raise no_answer(data, "the answer is no response", model=self.name, request_id=request_id(body))
        stop = _stop(data)
        if error and text(error.get("code")) in _POLICIES:
            stop = StopReason.REFUSAL
        elif error or data.get("status") == "failed":
            status = 200 if text(error.get("code")) in _PASSING else 400
            raise refused(status, error, model=self.name, request_id=request_id(body), usage=usage)
        said, is_refused = _answer_text(data, is_form=not call.tools)
        output = records(data.get("output")) if call.tools else []
        return Reply(
            text=said,
            stop=StopReason.REFUSAL if is_refused else stop,
            usage=usage,
            model=text(data.get("model")),
            request_id=request_id(body),
            calls=read_calls(output),
            native=native_turn(output),
        )

    async def _streamed(self, body: Body, call: ModelCall, on_text: OnText, silence: float) -> Reply:
        pieces = AnswerText(self.name)
        model = ""
        async with aclosing(events(body, model=self.name, silence=silence)) as stream:
            async for event in stream:
                event = record(event)
                kind, response = text(event.get("type")), record(event.get("response"))
                model = text(response.get("model")) or model
                if kind == "error" or event.get("error"):
                    error = event if event.get("error") else {**event, "type": ""}
                    raise refused(200, error, model=self.name, request_id=request_id(body))
                if kind in ("response.completed", "response.incomplete", "response.failed"):
                    reply = self._reply(response, body, call)
                    await drain(stream)
                    return (
                        reply if reply.text or reply.calls else reply.model_copy(update={"text": str(pieces)})
                    )
                said = _DELTAS[:-1] if call.tools else _DELTAS
                if kind.endswith(said) and (piece := text(event.get("delta"))):
                    pieces.add(piece)
                    on_text(piece)
        return Reply(
            text=str(pieces),
            stop=StopReason.INCOMPLETE,
            usage=TokenUsage(is_known=False),
            model=model,
            request_id=request_id(body),
        )


def _formed(form: Form) -> dict[str, Any]:
    name = form_header(form)
    if form.by == "schema":
        return {"text": {"format": {"type": "json_schema", "schema": form.json_schema} | name}}
    return {
        "tools": [{"type": "function", "parameters": form.json_schema} | name],
        "tool_choice": {"type": "function", "name": name["name"]},
        "parallel_tool_calls": False,
    }


def _cache_key(call: ModelCall) -> str:
    """A name for the beginning that later calls repeat; empty where none is marked. A conversation with tools has one
    from its first turn on."""
    if call.tools:
        call = call.model_copy(update={"messages": (call.messages[0].model_copy(update={"stable": True}),)})
    last = max((index for index, message in enumerate(call.messages) if message.stable), default=-1)
    kept = [f"{message.role}: {message.content}" for message in call.messages[: last + 1]]
    if not kept and call.messages and call.messages[0].cuts:  # what grows begins the same
        first = call.messages[0]
        kept.append(f"{first.role}: {first.pieces[0][0]}")
    if not kept and not call.system:
        return ""
    kept.insert(0, call.system)
    digest = hashlib.sha256()
    for part in kept:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return digest.hexdigest()[:32]


def _stop(data: Mapping[str, Any]) -> StopReason:
    """Returns the reason to stop of a whole response; one without a status ended well."""
    reason = text(record(data.get("incomplete_details")).get("reason"))
    if data.get("status") == "completed" or not (reason or data.get("status")):
        return StopReason.END
    return _REASONS.get(reason, StopReason.INCOMPLETE)


def _answer_text(data: Mapping[str, Any], *, is_form: bool) -> tuple[str, bool]:
    """All text, or where a form was asked for the arguments of the first function that was called; and whether any of it
    is a refusal."""
    parts: list[str] = []
    is_refused = False
    for item in records(data.get("output")):
        if item.get("type") == "function_call" and is_form:
            return text(item.get("arguments")), False
        for part in records(item.get("content")) if item.get("type") == "message" else []:
            is_refused = is_refused or part.get("type") == "refusal"
            parts.append(text(part.get("text")) or text(part.get("refusal")))
    return "".join(parts), is_refused


def tool_params(call: ModelCall) -> dict[str, Any]:
    """What a request says of tools; nothing where there are none. Schemas are not strict: they are the caller's own,
    and arguments that do not fit are told back."""
    if not call.tools:
        return {}
    tools = [
        {
            "type": "function",
            "name": tool.name,
            "description": whole_characters(tool.description),
            "parameters": tool.parameters,
            "strict": False,
        }
        for tool in call.tools
    ]
    return {"tools": tools, "parallel_tool_calls": True, "include": [_THOUGHTS]}


def input_items(message: Message) -> Iterator[Mapping[str, Any]]:
    """A turn as items of a request."""
    if message.native is not None:
        yield from message.native.blocks
        return
    for output in message.outputs:
        yield {"type": "function_call_output", "call_id": output.call_id, "output": _output_text(output)}
    if message.content or not message.outputs:
        yield {"role": message.role, "content": whole_characters(message.content)}


def _output_text(output: ToolOutput) -> str:
    """There is no mark for outputs of calls that failed."""
    return whole_characters(f"Failed: {output.text}" if output.failed else output.text)


def read_calls(output: Sequence[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    return tuple(
        read_call(text(item.get("call_id")), text(item.get("name")), text(item.get("arguments")))
        for item in output
        if item.get("type") == "function_call"
    )


def native_turn(output: Sequence[Mapping[str, Any]]) -> NativeTurn | None:
    """The items unchanged; None if a reasoning item has no `encrypted_content`: the service would then look it up in its
    store."""
    is_sealed = all(item.get("encrypted_content") for item in output if item.get("type") == "reasoning")
    return NativeTurn.of(output) if is_sealed else None
