"""The ladder: an object from any model. The service's own schema output, a tool, JSON in the text, plain lines; one
repair turn that quotes what was wrong; never more requests than a unit may make."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel

from deep_research.errors import ModelError
from deep_research.models import lines
from deep_research.models.abilities import Abilities, Rung
from deep_research.models.base import Form, Message, ModelCall, ModelProvider, Reply, StopReason
from deep_research.models.reading import Unreadable, read_json
from deep_research.models.retry import Persistence, Tries, with_books
from deep_research.models.verdicts import Verdict, failure, is_too_long

_T = TypeVar("_T", bound=BaseModel)

LONGEST_ECHO = 4_000  # characters of an unusable answer that are shown to the model again
_NOT_THIS_WAY = (400, 404, 405, 415, 422, 501)  # what a service answers that does not know a form


@dataclass(frozen=True, slots=True)
class Found(Generic[_T]):
    value: _T
    reply: Reply
    rung: Rung


async def ask(
    provider: ModelProvider,
    call: ModelCall,
    answer: type[_T],
    tries: Tries,
    *,
    persistence: Persistence,
    abilities: Abilities,
    most_output: int,
    forms: tuple[str, ...] | None = None,
) -> Found[_T]:
    """A validated ``answer``. ``most_output`` is how far the cap may be raised for an answer that was cut by it;
    ``forms`` are those of the service that the model can use, if that is known.

    Raises `ModelError`: malformed when no way gave an object, length, refusal, and whatever `Persistence` raises.
    """
    repaired = False
    last: ModelError | None = None
    for rung in abilities.rungs(provider.identity, provider.forms if forms is None else forms):
        shaped = _shaped(rung, call, answer, provider)
        while tries.left > 0:
            try:
                reply = await persistence.send(provider, shaped, tries)
            except ModelError as error:
                if rung in (Rung.SCHEMA, Rung.TOOL) and _refuses_form(error):
                    abilities.failed(provider.identity, rung)
                    last = error
                    break
                raise
            try:
                value = _read(rung, reply, answer)
            except Unreadable as problem:
                last = _verdict(provider, reply, problem, tries)
                if reply.stop is StopReason.REFUSAL:
                    raise last from None
                if reply.stop is StopReason.LENGTH:
                    larger = min(most_output, shaped.max_output * 2)
                    if larger <= shaped.max_output or tries.left <= 0:
                        raise last from None
                    shaped = shaped.model_copy(update={"max_output": larger})
                    most_output = larger  # once
                    continue
                if not repaired and tries.left > 0:
                    repaired = True
                    shaped = _repairing(shaped, reply, problem)
                    continue
                abilities.failed(provider.identity, rung)
                break
            abilities.worked(provider.identity, rung)
            return Found(value, reply, rung)
        if tries.left <= 0:
            break
    raise last or failure(Verdict.MALFORMED, "no request was left for an answer", model=provider.name)


def _shaped(rung: Rung, call: ModelCall, answer: type[BaseModel], provider: ModelProvider) -> ModelCall:
    name = answer.__name__
    if rung is Rung.SCHEMA or rung is Rung.TOOL:
        form = Form(
            by="schema" if rung is Rung.SCHEMA else "tool",
            name=name,
            json_schema=provider.schema_of(answer),
            description=f"Give the answer as {name}.",
        )
        return call.model_copy(update={"form": form})
    if rung is Rung.JSON:
        schema = json.dumps(answer.model_json_schema(), ensure_ascii=False, separators=(",", ":"))
        wish = f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{schema}"
    else:
        wish = lines.instructions(answer)
    return _with_wish(call, wish)


def _with_wish(call: ModelCall, wish: str) -> ModelCall:
    """The wish stands at the end, where weak models still have it in mind."""
    *before, last = call.messages
    wished = last.model_copy(update={"content": f"{last.content}\n\n{wish}", "stable": False})
    return call.model_copy(update={"messages": (*before, wished)})


def _repairing(call: ModelCall, reply: Reply, problem: Unreadable) -> ModelCall:
    said = reply.text[:LONGEST_ECHO] or "(nothing)"
    wish = (
        f"That answer cannot be used: {problem} Give the whole answer again, in the form that was asked for."
    )
    turns: Iterable[Message] = (Message(role="assistant", content=said), Message(content=wish))
    return call.model_copy(update={"messages": (*call.messages, *turns)})


def _read(rung: Rung, reply: Reply, answer: type[_T]) -> _T:
    if reply.stop is StopReason.REFUSAL:
        raise Unreadable("the model refused.")
    if rung is Rung.LINES:
        try:
            return lines.read(reply.text, answer)
        except Unreadable:
            return read_json(reply.text, answer)  # some write JSON whatever they are asked for
    return read_json(reply.text, answer)


def _verdict(provider: ModelProvider, reply: Reply, problem: Unreadable, tries: Tries) -> ModelError:
    verdict = {
        StopReason.REFUSAL: Verdict.REFUSAL,
        StopReason.LENGTH: Verdict.LENGTH,
        StopReason.INCOMPLETE: Verdict.INCOMPLETE,
    }.get(reply.stop, Verdict.MALFORMED)
    said = {
        Verdict.REFUSAL: "the model refused to answer",
        Verdict.LENGTH: "the answer did not fit its limit",
        Verdict.INCOMPLETE: "the answer was cut off",
    }.get(verdict, f"the answer cannot be used: {problem}")
    return with_books(failure(verdict, said, model=provider.name, request_id=reply.request_id), tries)


def _refuses_form(error: ModelError) -> bool:
    return (
        error.verdict == Verdict.FATAL
        and error.data.get("status") in _NOT_THIS_WAY
        and not is_too_long(error)
    )
