"""Doubles for models: a provider that answers as it is told, under everything that stands above providers, and a
language model that does, for agents. Neither sleeps.

::

    SingleModel(ScriptedProvider(["no JSON", '{"n": 1}']), Profile(), abilities=Abilities())
    ScriptedModel(lambda call, answer: "seven ships")
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeVar

from pydantic import BaseModel

from deep_research.models.base import (
    Message,
    ModelCall,
    ModelProvider,
    OnText,
    Reply,
    StopReason,
    TokenUsage,
)
from deep_research.models.language_model import Answer
from deep_research.models.profiles import Profile
from deep_research.models.stream import OnPiece

__all__ = ["ScriptedModel", "ScriptedProvider"]

DEFAULT_TEXT = "The keeper of the light wrote it down: seven ships passed, and none of them was seen again."

_Object = TypeVar("_Object", bound=BaseModel)

Said = str | Mapping[str, Any] | BaseModel
Sent = Reply | Said | BaseException
Replies = Callable[[ModelCall], Sent | Awaitable[Sent]] | Sequence[Sent]
Values = (
    Callable[[ModelCall, type[BaseModel] | None], Said | BaseException | Awaitable[Said | BaseException]]
    | Sequence[Said | BaseException]
)


class ScriptedProvider(ModelProvider):
    """One request, one answer of ``answers``: a sequence, the last one again and again, or a function of the call, plain
    or coroutine. A text or data ends well and costs a token for four bytes; a `Reply` says all of it; an exception is
    raised. ``forms`` and ``tools`` are what the service has. ``calls`` holds what was asked, ``usage`` the sum of what
    was charged.
    """

    def __init__(
        self,
        answers: Replies = (DEFAULT_TEXT,),
        *,
        model: str = "model-1",
        service: str = "scripted",
        forms: tuple[Literal["schema", "tool"], ...] = ("schema", "tool"),
        base_url: str = "",
        tools: bool = False,
    ) -> None:
        super().__init__(model)
        self.service, self.forms, self.base_url, self.has_tools = service, forms, base_url, tools
        self.calls: list[ModelCall] = []
        self.usage = TokenUsage()
        self._answers = answers

    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        self.calls.append(call)
        answers = self._answers
        answer = answers(call) if callable(answers) else answers[min(len(self.calls), len(answers)) - 1]
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, BaseException):
            raise answer
        reply = answer if isinstance(answer, Reply) else _reply(call, _text(answer), self.name)
        self.usage += reply.usage
        if on_text is not None:
            for piece in deltas(reply.text):
                on_text(piece)
        return reply


class ScriptedModel:
    """A `LanguageModel` for agents. ``answers``: a sequence, one per question, the last one again and again; a function
    of the call and of the type that is wanted (None for a text, `Message` for a turn with tools), plain or coroutine.
    Data becomes an object of the wanted type, an exception is raised. ``calls`` holds the questions with the types,
    ``usage`` the sum over all answers, a token for four bytes."""

    def __init__(
        self,
        answers: Values = (DEFAULT_TEXT,),
        *,
        name: str = "scripted:model-1",
        profile: Profile | None = None,
    ) -> None:
        self.name = name
        self.profile = profile or Profile(context=200_000, output=32_000)
        self.calls: list[tuple[ModelCall, type[BaseModel] | None]] = []
        self.usage = TokenUsage()
        self._answers = answers

    def room(self, output: int) -> int:
        return max(0, self.profile.context - min(output, self.profile.output))

    async def text(self, call: ModelCall, *, on_piece: OnPiece | None = None) -> Answer[str]:
        text = _text(await self._next(call, None))
        for piece in deltas(text) if on_piece is not None else ():
            on_piece(piece)  # type: ignore[misc]
        return self._answer(call, text, text)

    async def object(self, call: ModelCall, answer: type[_Object]) -> Answer[_Object]:
        response = await self._next(call, answer)
        value = response if isinstance(response, answer) else answer.model_validate_json(_text(response))
        return self._answer(call, value, _text(response))

    async def turn(self, call: ModelCall) -> Answer[Message]:
        answer = await self.object(call, Message)
        return replace(answer, value=answer.value.model_copy(update={"role": "assistant"}))

    async def aclose(self) -> None:
        """There is nothing to close."""

    async def _next(self, call: ModelCall, schema: type[BaseModel] | None) -> Said:
        self.calls.append((call, schema))
        answers = self._answers
        answer: Any
        if callable(answers):
            answer = answers(call, schema)
            answer = await answer if inspect.isawaitable(answer) else answer
        else:
            answer = answers[min(len(self.calls), len(answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer  # type: ignore[no-any-return]

    def _answer(self, call: ModelCall, value: Any, text: str) -> Answer[Any]:
        usage = _reply(call, text, self.name).usage
        self.usage += usage
        return Answer(value=value, stop=StopReason.END, usage=usage, requests=1, model=self.name)


def as_json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False)


def deltas(text: str) -> list[str]:
    """A text in the pieces that a stream sends: of 16 characters, of more if that would make over 64 pieces."""
    size = max(16, -(-len(text) // 64))
    return [text[at : at + size] for at in range(0, len(text), size)]


def tokens(text: str) -> int:
    """Four UTF-8 bytes to a token, rounded up."""
    return -(-len(text.encode()) // 4)


def _text(value: Any) -> str:
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    return value if isinstance(value, str) else as_json(value)


def _reply(call: ModelCall, text: str, model: str) -> Reply:
    prompt = "".join(call.texts)
    usage = TokenUsage(input=tokens(prompt), output=tokens(text))
    return Reply(text=text, stop=StopReason.END, usage=usage, model=model)
