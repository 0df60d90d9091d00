"""Any server that speaks OpenAI's chat completions: vLLM, LM Studio, llama.cpp, OpenRouter, and OpenAI itself."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import aclosing
from typing import Any

import openai
from pydantic import SecretStr

from deep_research.addresses import is_same_server
from deep_research.errors import ConfigurationError
from deep_research.models.base import Form, ModelCall, OnText, Reply, StopReason, TokenUsage
from deep_research.models.characters import whole_characters
from deep_research.models.clients import checked_url, secret_key
from deep_research.models.clients_errors import OptionalParams, malformed, refused
from deep_research.models.clients_wire import (
    DONE,
    AnswerText,
    Body,
    events,
    record,
    records,
    text,
    turns,
)
from deep_research.models.error_bodies import read_error
from deep_research.models.openai_base import (
    KEY_VARIABLE,
    OWN_URL,
    URL_VARIABLE,
    OpenAIService,
    form_header,
    request_id,
    usage_of,
)

NO_KEY = "none"  # servers without keys want a header all the same

# By their names in lower case; all others are ends.
_STOPS = {
    **dict.fromkeys(
        ("length", "max_tokens", "max_output_tokens", "model_length", "token_limit"), StopReason.LENGTH
    ),
    **dict.fromkeys(
        ("content_filter", "refusal", "safety", "recitation", "sensitive", "blocklist", "prohibited_content"),
        StopReason.REFUSAL,
    ),
    **dict.fromkeys(
        ("abort", "cancelled", "error", "network_error", "insufficient_system_resource"),
        StopReason.INCOMPLETE,
    ),
}


class OpenAIChat(OpenAIService):
    """``openai-compatible:MODEL@URL``. The URL is that of OPENAI_BASE_URL unless given.

    OPENAI_API_KEY is sent to where OPENAI_BASE_URL points and to OpenAI, nowhere else: other servers get the key that
    is given, or a placeholder.

    The length of an answer is capped by ``max_tokens``, for old servers overhear ``max_completion_tokens`` and would
    write on; OpenAI's newer models refuse ``max_tokens`` aloud, and are asked with the other name from then on (and
    from the first request if the URL is OpenAI's). ``temperature``, ``reasoning_effort`` and ``stream_options`` are
    left out once a server has refused them, a stream is not asked for, and the system text goes into the first turn of
    the user. Servers cache prompts, if they do, without being told.
    """

    service = "openai-compatible"

    def __init__(
        self, model: str, *, api_key: SecretStr | str | None = None, base_url: str | None = None
    ) -> None:
        url = base_url or os.environ.get(URL_VARIABLE)
        if not url:
            raise ConfigurationError(
                f"No base URL for '{self.service}:{model}'.",
                hint=f"Write '{self.service}:{model}@http://127.0.0.1:8000/v1', or set {URL_VARIABLE}.",
            )
        url = checked_url(url, of=self.service)
        is_own = is_same_server(url, OWN_URL)
        trusted = is_own or base_url is None
        key = secret_key(api_key, variable=KEY_VARIABLE if trusted else None)
        self._limit, other = ("max_completion_tokens", "max_tokens")[:: 1 if is_own else -1]
        super().__init__(
            model,
            key=key.get_secret_value() if key else NO_KEY,
            base_url=url,
            optional=OptionalParams(
                "stream_options", "temperature", "reasoning_effort", instead={self._limit: other}
            ),
            is_stranger=not trusted,
        )
        self.sent_key = KEY_VARIABLE if key and api_key is None else ""

    def _method(self, client: openai.AsyncOpenAI) -> Any:
        return client.chat.completions.with_streaming_response.create

    def _request(self, call: ModelCall, *, stream: bool) -> dict[str, Any]:
        request: dict[str, Any] = {
            "model": self.model,
            "messages": turns(call),
            self._limit: call.max_output,
        }
        if call.temperature is not None:
            request["temperature"] = call.temperature
        if call.effort is not None:
            request["reasoning_effort"] = call.effort.value
        if call.form is not None:
            request |= _formed(call.form)
        if stream:
            request |= {"stream": True, "stream_options": {"include_usage": True}}
        return request

    def _reply(self, data: Any, body: Body, call: ModelCall) -> Reply:
        heard = _Heard(self.name)
        heard.take(self._check_ending(data, body), "message")
        if not heard.begun:
            raise malformed("the answer has no choice", model=self.name, request_id=request_id(body))
        heard.is_over = True
        return heard.reply(request_id(body))

    async def _streamed(self, body: Body, call: ModelCall, on_text: OnText, silence: float) -> Reply:
        heard = _Heard(self.name)
        async with aclosing(events(body, model=self.name, silence=silence)) as stream:
            async for chunk in stream:
                heard.is_over = chunk == DONE
                for piece in heard.take(self._check_ending(chunk, body, begun=heard.begun), "delta"):
                    on_text(piece)
        return heard.reply(request_id(body))

    def _check_ending(self, came: Any, body: Body, *, begun: bool = False) -> Mapping[str, Any]:
        """The data, unless it is an error: routers send those of the services behind them with status 200, and in the
        middle of answers too, where a status that costs nothing elsewhere has cost what came before."""
        data = record(came) or next(iter(records(came)), {})
        choice = next(iter(records(data.get("choices"))), {})
        error = data.get("error") or choice.get("error")
        if not error and (data.get("object") == "error" or not (begun or "choices" in data)):
            error = data if read_error(data).message else None
        if error:
            code = record(error).get("code")
            status = code if isinstance(code, int) and 400 <= code < 600 else 200
            usage = _usage(data)
            failed = refused(status, error, model=self.name, request_id=request_id(body), usage=usage)
            if begun and not usage.is_known:
                failed.data |= {"usage": usage.model_dump(), "maybe_billed": True}
            raise failed
        return data


class _Heard:
    """An answer as it comes, whole or in chunks. ``begun``: there was something to it; ``is_over``: no more will come,
    whether or not it was said how it ended."""

    def __init__(self, model: str) -> None:
        self.begun = self.is_over = False
        self._words, self._arguments = AnswerText(model), AnswerText(model)
        self._finish = ""
        self._is_refused = False
        self._usage = TokenUsage(is_known=False)
        self._model = ""

    def take(self, data: Mapping[str, Any], field: str) -> list[str]:
        """Takes in a completion, whose words are in a ``message``, or a chunk (``delta``); the words that are new."""
        self._model = text(data.get("model")) or self._model
        usage = _usage(data)
        self._usage = usage if usage.is_known else self._usage
        choice = next(iter(records(data.get("choices"))), None)
        if choice is None:
            return []
        self.begun = True
        self._finish = text(choice.get("finish_reason")).lower() or self._finish
        said = record(choice.get(field))
        refusal = text(said.get("refusal"))
        self._is_refused = self._is_refused or bool(refusal)
        words = [part for part in (*_texts(said.get("content")), refusal) if part]
        arguments = [part for part in _arguments(said.get("tool_calls")) if part]
        for word in words:
            self._words.add(word)
        for argument in arguments:
            self._arguments.add(argument)
        return words + arguments

    def reply(self, request_id: str | None) -> Reply:
        ended = self._finish or (self.begun and self.is_over)
        stop = _STOPS.get(self._finish, StopReason.END) if ended else StopReason.INCOMPLETE
        return Reply(
            text=whole_characters(str(self._arguments or self._words)),
            stop=StopReason.REFUSAL if self._is_refused else stop,
            # What was said before the end is a floor.
            usage=self._usage.model_copy(update={"is_known": self._usage.is_known and bool(ended)}),
            model=self._model,
            request_id=request_id,
        )


def _formed(form: Form) -> dict[str, Any]:
    name = form_header(form)
    if form.by == "schema":
        return {
            "response_format": {"type": "json_schema", "json_schema": name | {"schema": form.json_schema}}
        }
    return {
        "tools": [{"type": "function", "function": name | {"parameters": form.json_schema}}],
        "tool_choice": {"type": "function", "function": {"name": name["name"]}},
    }


def _texts(content: Any) -> list[str]:
    """Content is a text, or on some servers a list of parts with a text each."""
    parts = [part for part in records(content) if part.get("type") not in ("thinking", "reasoning")]
    return [text(part.get("text")) for part in parts] or [text(content)]


def _arguments(calls: Any) -> list[str]:
    """The arguments of the first function that is called; some servers do not write them as text."""
    first = [call for call in records(calls) if call.get("index", 0) == 0][:1]
    arguments = [record(call.get("function")).get("arguments") for call in first]
    return [text(part) if not isinstance(part, Mapping) else json.dumps(part) for part in arguments]


def _usage(data: Mapping[str, Any]) -> TokenUsage:
    usage = record(data.get("usage"))
    if "prompt_tokens" in usage or "input_tokens" not in usage:
        return usage_of(usage, given="prompt", made="completion")
    return usage_of(usage, given="input", made="output")
