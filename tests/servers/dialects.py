"""Dialects of servers that speak chat completions: each does one thing in its own way, as servers in use do."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from deep_research.testing.models import as_json
from servers.http import Reply
from servers.server_exchange import Asked
from servers.wire import sse

WINDOW_TOKENS = 4_096

Change = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error that is sent in place of an answer; with status 200 as an event of a stream."""

    status: int
    body: Any

    @property
    def reply(self) -> Reply:
        if self.status == 200:
            event = sse(self.body, "error")
            return Reply(pieces=(event,), media="text/event-stream", chunked=True)
        return Reply(self.status, (as_json(self.body).encode(),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """``before`` and ``after`` stand around the text of an answer. ``change``: made to a completion, and to each chunk of
    a stream. ``refuse``: the error for a request, if it is refused. ``window``: the error for a prompt and an answer of
    so many tokens that do not fit `WINDOW_TOKENS`; the lists of such a server say nothing of it."""

    before: str = ""
    after: str = ""
    change: Change | None = None
    refuse: Callable[[Mapping[str, Any]], Refusal | None] | None = None
    window: Callable[[int, int], Refusal] | None = None

    def refusal(self, body: Mapping[str, Any], asked: Asked, prompt: int) -> Reply | None:
        answer = asked.limit or 0
        refused = self.refuse(body) if self.refuse is not None else None
        if refused is None and self.window is not None and prompt + answer > WINDOW_TOKENS:
            refused = self.window(prompt, answer)
        return refused.reply if refused is not None else None

    def changed(self, reply: Reply) -> Reply:
        """A completion, or the stream of one, as the server writes it."""
        if self.change is None:
            return reply
        change = self.change
        if not reply.chunked:
            data = json.loads(b"".join(reply.pieces))
            change(data)
            return Reply(pieces=(as_json(data).encode(),))
        events = []
        for event in reply.pieces:
            payload = event.removeprefix(b"data: ").strip()
            if payload != b"[DONE]":
                data = json.loads(payload)
                change(data)
                event = sse(data)
            events.append(event)
        return Reply(pieces=tuple(events), media=reply.media, chunked=True)


def _usage(make: Callable[[int], Any]) -> Dialect:
    def change(data: dict[str, Any]) -> None:
        usage = data.get("usage") or {}
        for name in ("prompt_tokens", "completion_tokens", "total_tokens"):
            if name in usage:
                usage[name] = make(usage[name])

    return Dialect(change=change)


def _finish(value: Any = ...) -> Dialect:
    def change(data: dict[str, Any]) -> None:
        for choice in data.get("choices") or ():
            del choice["finish_reason"]
            if value is not ...:
                choice["finish_reason"] = value

    return Dialect(change=change)


def _error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


def _without(field: str, status: int, message: str) -> Dialect:
    return Dialect(refuse=lambda body: Refusal(status, _error(message)) if body.get(field) else None)


def _without_role(message: str, status: int = 400) -> Dialect:
    def refuse(body: Mapping[str, Any]) -> Refusal | None:
        roles = [message["role"] for message in body["messages"]]
        is_refused = bool({"system", "developer"} & set(roles)) or any(map(str.__eq__, roles, roles[1:]))
        return Refusal(status, _error(message)) if is_refused else None

    return Dialect(refuse=refuse)


def _window(status: int, make: Callable[[int, int], Any]) -> Dialect:
    return Dialect(window=lambda prompt, answer: Refusal(status, make(prompt, answer)))


_HARMONY = (
    '<|channel|>analysis<|message|>We need JSON {"a":1}.<|end|><|start|>assistant<|channel|>final<|message|>'
)
_MAX = f"This model's maximum context length is {WINDOW_TOKENS} tokens."

DIALECTS: Mapping[str, Dialect] = {
    "usage-zero": _usage(lambda _: 0),
    "usage-floats": _usage(float),
    "usage-strings": _usage(str),
    "usage-negative": _usage(lambda tokens: -tokens),
    "usage-absurd": _usage(lambda _: 10**12),
    "usage-null": _usage(lambda _: None),
    "finish-null": _finish(None),
    "finish-empty": _finish(""),
    "finish-missing": _finish(),
    "harmony": Dialect(before=_HARMONY),
    "harmony-return": Dialect(before=_HARMONY, after="<|return|>"),
    "mistral-think": Dialect(before="[THINK]We need it short.[/THINK]"),
    "gemma-thought": Dialect(before="<|channel>thought\nWe need it short.\n<channel|>"),
    "think": Dialect(before="<think>\nWe need it short.\n</think>\n\n"),
    "think-unopened": Dialect(before="We need it short.\n</think>\n\n"),
    "open-thoughts": Dialect(
        before="<|begin_of_thought|>\nShort.\n<|end_of_thought|>\n\n<|begin_of_solution|>\n",
        after="\n<|end_of_solution|>",
    ),
    "im-end": Dialect(after="<|im_end|>"),
    "eot": Dialect(before="<|start_header_id|>assistant<|end_header_id|>\n\n", after="<|eot_id|>"),
    "eos": Dialect(before="<s>", after="</s>"),
    "no-system": _without_role("System role not supported"),
    "no-developer": _without_role("Developer instruction is not enabled for models/gemma-3-27b-it"),
    "alternating": _without_role(
        "Conversation roles must alternate user/assistant/user/assistant/...", status=500
    ),
    "no-stream": _without("stream", 400, "Streaming is not supported for this deployment"),
    "no-stream-options": _without("stream_options", 422, "stream_options: Extra inputs are not permitted"),
    "response-format-500": _without("response_format", 500, "Internal error: grammar could not be compiled"),
    "response-format-bare-500": _without("response_format", 500, "Internal Server Error"),
    "window-openai": _window(
        400,
        lambda prompt, answer: _error(
            f"{_MAX} However, you requested {prompt + answer} tokens ({prompt} in the messages, {answer} in the"
            " completion). Please reduce the length of the messages or completion.",
            code="context_length_exceeded",
        ),
    ),
    "window-lm-studio": _window(
        400,
        lambda prompt, _: {
            "error": "The number of tokens to keep from the initial prompt is greater than the context length (n_keep:"
            f" {prompt}>= n_ctx: {WINDOW_TOKENS}). Try to load the model with a larger context length, or provide a"
            " shorter input"
        },
    ),
    "window-lm-studio-stream": _window(
        200,
        lambda prompt, _: {
            "error": {
                "message": f"Trying to keep the first {prompt} tokens when context the overflows. However, the model is"
                f" loaded with context length of only {WINDOW_TOKENS} tokens, which is not enough."
            }
        },
    ),
    "window-llama-cpp": _window(
        400,
        lambda prompt, _: {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size, try increasing it",
                "type": "exceed_context_size_error",
                "n_prompt_tokens": prompt,
                "n_ctx": WINDOW_TOKENS,
            }
        },
    ),
    "window-vllm": _window(
        400,
        lambda prompt, answer: {
            "object": "error",
            "message": f"'max_tokens' or 'max_completion_tokens' is too large: {answer}. {_MAX[:-1]} and your request has"
            f" {prompt} input tokens.",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
    "window-tgi": _window(
        422,
        lambda prompt, answer: {
            "error": f"Input validation error: `inputs` tokens + `max_new_tokens` must be <= {WINDOW_TOKENS}. Given:"
            f" {prompt} `inputs` tokens and {answer} `max_new_tokens`",
            "error_type": "validation",
        },
    ),
    "window-sglang": _window(
        400,
        lambda prompt, answer: {
            "object": "error",
            "message": f"Requested token count exceeds the model's maximum context length of {WINDOW_TOKENS} tokens. You"
            f" requested a total of {prompt + answer} tokens: {prompt} tokens from the input messages and {answer}"
            " tokens for the completion.",
            "type": "BadRequestError",
            "code": 400,
        },
    ),
}
"""All dialects by name."""
