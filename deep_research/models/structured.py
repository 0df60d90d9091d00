"""The ladder: an object from any model. The service's own schema output, a tool, JSON in the text; one repair, which asks
for what was wrong and keeps what was right; never more requests than a unit may make."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from deep_research.calls import off_loop
from deep_research.errors import BudgetError, ModelError, WindowError
from deep_research.logs import describe_error, get_log
from deep_research.models import repairs
from deep_research.models.base import Form, Message, ModelCall, ModelProvider, Reply, StopReason, json_schema
from deep_research.models.failures import Verdict, failure, is_too_long, names_form
from deep_research.models.object_parser import PartialObject, Unreadable, read_draft, read_json
from deep_research.models.retry import Persistence, Tries, with_unit_usage
from deep_research.patterns import regex

_T = TypeVar("_T", bound=BaseModel)
_Any = TypeVar("_Any")

JSON_UNIT = (
    200  # characters of an answer that are read in the time of one small item: brackets alone cost most
)
MAX_ECHO_CHARS = 4_000  # characters of an unusable answer that are shown to the model again
_NOT_THIS_WAY = (400, 404, 405, 415, 422, 501)  # what a service answers that does not know a form
MAX_SILENT_FAILURES = (
    2  # within a service, over a form that never worked, before it is asked for in another way
)

log = get_log("structured")


@dataclass(frozen=True, slots=True)
class StructuredAnswer(Generic[_T]):
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
) -> StructuredAnswer[_T]:
    """A validated ``answer``. ``most_output`` is how far the cap may be raised for an answer that was cut by it;
    ``forms`` are those of the service that the model can use, if that is known.

    Raises `ModelError`: malformed when no way gave an object, length, refusal, and whatever `Persistence` raises.
    """
    ladder = _Ladder(provider, answer, tries, persistence, abilities, most_output)
    for rung in abilities.rungs(provider.identity, provider.forms if forms is None else forms):
        found = await ladder.climb(rung, call)
        if found is not None:
            return found
        call = call.model_copy(update={"max_output": ladder.output or call.max_output})
        if tries.left <= 0:
            break
    raise ladder.problem or failure(
        Verdict.MALFORMED, "no request was left for an answer", model=provider.name
    )


@dataclass(slots=True)
class _Ladder(Generic[_T]):
    """What is remembered from rung to rung. ``output`` is the cap, once it was raised; ``refused`` are the rungs that
    were refused before anything was answered: whether it was for the form, the next answer shows."""

    provider: ModelProvider
    answer: type[_T]
    tries: Tries
    persistence: Persistence
    abilities: Abilities
    most_output: int
    output: int | None = None
    was_repaired: bool = False
    problem: ModelError | None = None
    refused: list[Rung] = field(default_factory=list)

    async def climb(self, rung: Rung, call: ModelCall) -> StructuredAnswer[_T] | None:
        """The object, or None where this rung gives none. Raises `ModelError` where no other will either."""
        try:
            shaped = _shaped(rung, call, self.answer, self.provider)
        except Exception as error:  # no service's schemas know every type; that says nothing of the model
            if rung not in (Rung.SCHEMA, Rung.TOOL):
                raise
            log.info("schema_not_made", provider=self.provider.name, error=describe_error(error))
            return None
        answered = False
        while self.tries.left > 0:
            if self.problem is not None and self.tries.seconds <= 0:
                raise self.problem
            try:
                reply = await self._send(rung, shaped)
            except ModelError as error:
                is_form = rung in (Rung.SCHEMA, Rung.TOOL) and not answered
                if not is_form or not (refuses_form(error) or self._may_be_form(rung, error)):
                    raise
                self.problem = error
                self.refused.append(rung)
                return None
            answered = True
            self._learn()
            try:
                value = await _in_turn(reply.text, read_reply, reply, self.answer)
            except Unreadable as unreadable:
                said = str(unreadable)
            else:
                self.abilities.worked(self.provider.identity, rung)
                return StructuredAnswer(value, reply, rung)
            self.problem = _verdict(self.provider, reply, said, self.tries)
            if reply.stop is StopReason.REFUSAL:
                raise self.problem
            draft = await _in_turn(reply.text, _drafted, reply, self.answer)
            if draft is not None and (found := await self._mended(rung, shaped, reply, draft)) is not None:
                return found
            if reply.stop is StopReason.LENGTH:
                shaped = self._larger(shaped, self.problem)
            elif not self.was_repaired and self.tries.left > 0:
                self.was_repaired = True
                shaped = await _in_turn(reply.text, _repairing, shaped, reply, said, self.answer)
            else:
                self.abilities.failed(self.provider.identity, rung)
                return None
        return None

    async def _mended(
        self, rung: Rung, shaped: ModelCall, reply: Reply, draft: PartialObject
    ) -> StructuredAnswer[_T] | None:
        """The answer with what was wrong in it put right, and with what was cut off it, by one request; without that, or
        where it gives nothing of use, what fits of the answer. Raises what the request did where nothing fits."""
        said = reply.text
        wrong = (
            {} if draft.cut is not None else await _in_turn(said, repairs.faults, draft.value, self.answer)
        )
        text, failed = "", None
        needed = bool(wrong) or draft.cut is not None
        if needed and not self.was_repaired and self.tries.left > 0 and self.tries.seconds > 0:
            self.was_repaired = True
            capped = reply.stop is not StopReason.END
            if draft.cut is not None:
                call = await _in_turn(
                    said, repairs.asking_rest, shaped, draft, self.answer, said, capped=capped
                )
            else:
                call = await _in_turn(said, repairs.asking, shaped, draft, wrong)
            try:
                reply = await self.persistence.send(self.provider, call, self.tries, usable=_has_text)
                text = "" if reply.stop is StopReason.REFUSAL else reply.text
            except (BudgetError, ModelError, WindowError) as error:  # what was answered was paid for
                failed = error
        try:
            if draft.cut is not None:
                value = await _in_turn(said + text, repairs.join_drafts, draft, text, self.answer)
            else:
                value = await _in_turn(said + text, repairs.mended, draft, wrong, text, self.answer)
        except Unreadable as unreadable:
            log.info("answer_not_mended", provider=self.provider.name, error=str(unreadable))
            if failed is not None:
                raise failed from None
            return None
        self.abilities.worked(self.provider.identity, rung)
        return StructuredAnswer(value, reply, rung)

    async def _send(self, rung: Rung, shaped: ModelCall) -> Reply:
        failures = 0

        def in_vain(error: ModelError) -> bool:
            nonlocal failures
            failures += self._may_be_form(rung, error)
            return failures >= MAX_SILENT_FAILURES or (failures > 0 and names_form(error))

        return await self.persistence.send(
            self.provider,
            shaped,
            self.tries,
            usable=lambda reply: _in_turn(reply.text, _is_of_use, reply, self.answer),
            in_vain=in_vain,
        )

    def _may_be_form(self, rung: Rung, error: ModelError) -> bool:
        """Returns True for a failure within the service that may be over the form: some say nothing of it."""
        if rung not in (Rung.SCHEMA, Rung.TOOL) or error.data.get("status") != 500:
            return False
        return names_form(error) or not self.abilities.has_worked(self.provider.identity, rung)

    def _learn(self) -> None:
        """The service answers, so it was the form that it would not have."""
        for rung in self.refused:
            self.abilities.failed(self.provider.identity, rung)
        self.refused.clear()

    def _larger(self, shaped: ModelCall, problem: ModelError) -> ModelCall:
        """Once, with more room for the answer."""
        larger = min(self.most_output, shaped.max_output * 2)
        if self.output is not None or larger <= shaped.max_output or self.tries.left <= 0:
            raise problem
        self.output = larger
        return shaped.model_copy(update={"max_output": larger})


async def _in_turn(text: str, work: Callable[..., _Any], *args: Any, **kwargs: Any) -> _Any:
    """Reads a text, off the loop where it is long."""
    return await off_loop(len(text) // JSON_UNIT, work, *args, **kwargs)


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
    schema = json.dumps(json_schema(answer), ensure_ascii=False, separators=(",", ":"))
    instruction = f"Answer with one JSON object and nothing else. It must fit this JSON schema:\n{schema}"
    *before, last = call.messages  # at the end weak models still have it in mind
    instructed = last.model_copy(update={"content": f"{last.content}\n\n{instruction}", "stable": False})
    return call.model_copy(update={"messages": (*before, instructed)})


def _repairing(call: ModelCall, reply: Reply, problem: str, answer: type[BaseModel]) -> ModelCall:
    """The request for an answer that holds no object. Where its own words are enough to make one, no others are sent."""
    first = sum(map(len, call.texts))
    small = repairs.asking_again(call, reply.text.strip(), problem)
    if _is_near(reply.text, answer) and sum(len(message.content) for message in small.messages) < first:
        return small
    said = reply.text[:MAX_ECHO_CHARS] or "(nothing)"
    instruction = (
        f"That answer cannot be used: {problem} Give the whole answer again, in the form that was asked for."
    )
    turns: Iterable[Message] = (Message(role="assistant", content=said), Message(content=instruction))
    return call.model_copy(update={"messages": (*call.messages, *turns)})


def _is_near(text: str, answer: type[BaseModel]) -> bool:
    """Whether an answer is meant as the object: it has values for its fields, for all that it has to have."""
    given = {
        name: regex(rf"(?i)\b{name}[\"'`*_]{{0,3}}\s{{0,9}}[:=]").search(text) for name in answer.model_fields
    }
    needed = [name for name, field in answer.model_fields.items() if field.is_required()]
    return all(given[name] for name in needed) if needed else any(given.values())


def _drafted(reply: Reply, answer: type[BaseModel]) -> PartialObject | None:
    """What of an answer can be kept, if it can be told."""
    if reply.stop is StopReason.REFUSAL:
        return None
    draft = read_draft(reply.text, answer, cut=reply.stop is not StopReason.END)
    # Of one that was cut only what is worth more than asking again.
    return None if draft is not None and draft.cut is not None and not any(draft.value.values()) else draft


async def _has_text(reply: Reply) -> bool:
    return bool(reply.text.strip())


def read_reply(reply: Reply, answer: type[_T]) -> _T:
    """The object of an answer; of one that did not come to its end only what cannot have been meant to go on. Raises
    `Unreadable`."""
    if reply.stop is StopReason.REFUSAL:
        raise Unreadable("the model refused.")
    return read_json(reply.text, answer, cut=reply.stop is not StopReason.END)


def _is_of_use(reply: Reply, answer: type[BaseModel]) -> bool:
    """Whether a cut answer is the object all the same, or has something that can be kept."""
    try:
        read_reply(reply, answer)
    except Unreadable:
        return _drafted(reply, answer) is not None
    return True


def _verdict(provider: ModelProvider, reply: Reply, problem: str, tries: Tries) -> ModelError:
    verdict, said = {
        StopReason.REFUSAL: (Verdict.REFUSAL, "the model refused to answer"),
        StopReason.LENGTH: (Verdict.LENGTH, "the answer did not fit its limit"),
        StopReason.INCOMPLETE: (Verdict.INCOMPLETE, "the answer was cut off"),
    }.get(reply.stop, (Verdict.MALFORMED, f"the answer cannot be used: {problem}"))
    return with_unit_usage(failure(verdict, said, model=provider.name, request_id=reply.request_id), tries)


def refuses_form(error: ModelError) -> bool:
    """Whether a service says by an error that it will not have the form of a request, or may be saying so."""
    return (
        error.verdict == Verdict.FATAL
        and error.data.get("status") in _NOT_THIS_WAY
        and error.data.get("reason") not in ("model_not_found", "invalid_api_key")
        and not is_too_long(error)
    )


class Rung(StrEnum):
    """A way to ask for an object, best first; or, as the first, for calls of tools."""

    CALLS = "calls"  # the service's own calls of tools
    SCHEMA = "schema"  # the service's own structured output
    TOOL = "tool"  # a tool that must be called
    JSON = "json"  # JSON in the text


class Abilities:
    """Thread-safe. ``failed`` rungs are skipped; the last one is always left, or nothing could be asked."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._failed: dict[str, set[Rung]] = {}
        self._worked: dict[str, set[Rung]] = {}

    def rungs(self, model: str, has: tuple[str, ...]) -> list[Rung]:
        """The ways worth trying, best first. ``has`` are the forms that the service knows."""
        with self._gate:
            failed = self._failed.get(model, set())
            return [rung for rung in Rung if rung is Rung.JSON or (rung not in failed and rung.value in has)]

    def may(self, model: str, rung: Rung) -> bool:
        """Whether a way is worth trying: it did not fail before."""
        with self._gate:
            return rung not in self._failed.get(model, set())

    def failed(self, model: str, rung: Rung) -> None:
        """It could not be used. One that worked before has a bad day, and is kept."""
        with self._gate:
            if rung not in self._worked.get(model, ()):
                self._failed.setdefault(model, set()).add(rung)

    def worked(self, model: str, rung: Rung) -> None:
        with self._gate:
            self._worked.setdefault(model, set()).add(rung)

    def has_worked(self, model: str, rung: Rung) -> bool:
        with self._gate:
            return rung in self._worked.get(model, ())

    def known_abilities(self) -> dict[str, dict[str, bool]]:
        """For each model the rungs that were tried, and whether they can be used."""
        with self._gate:
            models = sorted({*self._failed, *self._worked})
            return {
                model: {
                    rung.value: rung in self._worked.get(model, ())
                    for rung in Rung
                    if rung in self._worked.get(model, ()) or rung in self._failed.get(model, ())
                }
                for model in models
            }
