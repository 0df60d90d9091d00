"""From what a request asks and what the test wants to what the model says, and what that costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from deep_research.testing.models import DEFAULT_TEXT, as_json, tokens
from servers.caches import PrefixCache, prompt_tokens
from servers.faults import Fault, Stage
from servers.instances import instance
from servers.misdeeds import altered, cut_calls
from servers.server_exchange import PROSE, Answer, Asked, Said, Usage
from servers.wire import Wire


def default_answer(asked: Asked) -> Answer:
    """The smallest thing of the shape that is asked for, else a sentence."""
    if asked.tool is not None:
        return Answer(instance(asked.tools.get(asked.tool, {})))
    if asked.schema is not None:
        return Answer(instance(asked.schema))
    return Answer({} if asked.wants_json else DEFAULT_TEXT)


def as_answer(answer: Answer | str | Mapping[str, Any]) -> Answer:
    return answer if isinstance(answer, Answer) else Answer(answer)


def said(
    asked: Asked,
    answer: Answer,
    number: int,
    wire: Wire,
    cache: PrefixCache,
    ignores: frozenset[str],
    fault: Fault | None,
) -> Said:
    """The answer as it goes on the wire, with its whole usage.

    Data in answer to what the server ignores becomes prose. What is longer than the request wants is cut, as a length
    stop; only a huge answer is not, though no more is charged for it.
    """
    speech = _spoken(asked, answer, number, ignores)
    speech = _limited(speech, asked.limit)
    if fault is not None and fault.stage is Stage.ANSWER:
        speech = altered(speech, fault)
    return replace(speech, usage=answer.usage or _usage(speech, asked, wire, cache))


def _spoken(asked: Asked, answer: Answer, number: int, ignores: frozenset[str]) -> Said:
    speech = Said(number, asked.model, "", answer.stop, answer.reasoning, sealed=asked.sealed)
    if asked.tools and asked.tool is None and answer.calls:
        calls = (
            replace(c, arguments=c.arguments if isinstance(c.arguments, str) else as_json(c.arguments))
            for c in answer.calls
        )
        text = answer.text if isinstance(answer.text, str) else as_json(answer.text)
        return replace(speech, text=text, calls=tuple(calls), redacted=answer.redacted)
    if isinstance(answer.text, str):
        return replace(speech, text=answer.text, tool=answer.tool)
    if ignores & set(asked.needs):
        return replace(speech, text=PROSE)
    return replace(speech, text=as_json(answer.text), tool=answer.tool or asked.tool)


def _limited(speech: Said, limit: int | None) -> Said:
    if limit is None or limit < 0 or _output(speech) <= limit:
        return speech
    reasoning = _cut(speech.reasoning, limit)
    text = _cut(speech.text, limit - tokens(reasoning))
    return replace(speech, reasoning=reasoning, text=text, calls=cut_calls(speech.calls), stop="length")


def _cut(text: str, most: int) -> str:
    return text.encode()[: most * 4].decode(errors="ignore")


def _output(speech: Said) -> int:
    called = sum(tokens(call.name) + tokens(str(call.arguments)) for call in speech.calls)
    return tokens(speech.text) + tokens(speech.reasoning) + called


def _usage(speech: Said, asked: Asked, wire: Wire, cache: PrefixCache) -> Usage:
    prompt = prompt_tokens(asked.segments)
    output = _output(speech) if asked.limit is None or asked.limit < 0 else min(_output(speech), asked.limit)
    reasoning = min(tokens(speech.reasoning), output)
    if asked.context is not None:
        # What does not fit is dropped without a word.
        return Usage(min(prompt, asked.context), output=output, reasoning=reasoning)
    scope = f"{type(wire).__name__} {asked.model}"
    read, written = cache.look(scope, asked.segments, implicit=wire.implicit_cache)
    return Usage(prompt, read, output, written, reasoning)
