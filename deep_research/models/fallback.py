"""A chain of models: the next one is asked where the one before gave nothing that can be used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import TypeVar

from pydantic import BaseModel

from deep_research.errors import ModelError
from deep_research.models.base import Message, ModelCall, StopReason, TokenUsage
from deep_research.models.failures import Verdict, failure, usage_of
from deep_research.models.language_model import Answer, LanguageModel
from deep_research.models.profiles import Profile
from deep_research.models.stream import OnPiece

_T = TypeVar("_T")
_Object = TypeVar("_Object", bound=BaseModel)

OnFallback = Callable[[str, str, ModelError], Awaitable[None]]  # from which model, to which, why


class Chain:
    """Models in the order of preference. Each has its own requests and deadline; the answer's books hold all. A text
    that was cut off is given only where no later model has a whole one.

    The error of a chain that failed is the first's, whose key or quota the user will want to mend; but where that says
    never, or not for long, and waiting for another model may help sooner, it is that one's. The books are those of all.
    """

    def __init__(self, models: Sequence[LanguageModel], *, on_fallback: OnFallback | None = None) -> None:
        if not models:
            raise ValueError("a chain needs a model")
        self.models = tuple(models)
        self._on_fallback = on_fallback

    @property
    def name(self) -> str:
        return self.models[0].name

    @property
    def profile(self) -> Profile:
        """The smallest of all windows, since what is asked must fit whoever answers."""
        first = self.models[0].profile
        return first.model_copy(
            update={
                "context": min(m.profile.context for m in self.models),
                "output": min(m.profile.output for m in self.models),
            }
        )

    def room(self, output: int) -> int:
        return min(model.room(output) for model in self.models)

    async def text(self, call: ModelCall, *, on_piece: OnPiece | None = None) -> Answer[str]:
        return await self._first(lambda model: model.text(call, on_piece=on_piece), on_piece)

    async def object(self, call: ModelCall, answer: type[_Object]) -> Answer[_Object]:
        return await self._first(lambda model: model.object(call, answer), None)

    async def turn(self, call: ModelCall) -> Answer[Message]:
        return await self._first(lambda model: model.turn(call), None)

    async def aclose(self) -> None:
        for model in self.models:
            if (close := getattr(model, "aclose", None)) is not None:
                await close()

    async def _first(
        self, ask: Callable[[LanguageModel], Awaitable[Answer[_T]]], on_piece: OnPiece | None
    ) -> Answer[_T]:
        failed: list[ModelError] = []
        cut: list[Answer[_T]] = []
        usage, requests = TokenUsage(), 0
        for model, following in zip_longest(self.models, self.models[1:]):
            try:
                answer = await ask(model)
            except ModelError as error:
                problem = error
                usage += usage_of(error)
                requests += int(error.data.get("requests") or 0)
            else:
                usage += answer.usage
                requests += answer.requests
                if answer.stop is not StopReason.INCOMPLETE:
                    return replace(answer, usage=usage, requests=requests)
                cut.append(answer)
                problem = failure(Verdict.INCOMPLETE, "the answer was cut off", model=model.name)
            failed.append(problem)
            if following is not None:
                if on_piece:
                    on_piece(None)
                if self._on_fallback:
                    await self._on_fallback(model.name, following.name, problem)
        if cut:
            longest = max(cut, key=lambda answer: len(str(answer.value)))
            if on_piece and (longest is not cut[-1] or problem.verdict != Verdict.INCOMPLETE):
                on_piece(None)
                on_piece(str(longest.value))
            return replace(longest, usage=usage, requests=requests)
        telling = _telling(failed)
        data = dict(telling.data) | {
            "usage": usage.model_dump(),
            "requests": requests,
            "maybe_billed": not usage.is_known,
        }
        raise ModelError(telling.problem, hint=telling.hint, **data)


def _telling(failed: Sequence[ModelError]) -> ModelError:
    """The error that says what the caller can do: the first, unless waiting for another model helps sooner."""
    waits = [error for error in failed if error.verdict in (Verdict.TRANSIENT, Verdict.PARK)]
    if failed[0].verdict in (Verdict.FATAL, Verdict.PARK) and waits:
        return min(waits, key=lambda error: error.data.get("retry_after") or 0.0)
    return failed[0]
