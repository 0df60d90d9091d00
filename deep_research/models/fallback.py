"""A chain of models: the next one is asked where the one before gave nothing that can be used."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from pydantic import BaseModel

from deep_research.errors import ModelError
from deep_research.models.base import ModelCall, TokenUsage
from deep_research.models.language import Answer, LanguageModel
from deep_research.models.profiles import Profile
from deep_research.models.retry import OnPiece, usage_of

_T = TypeVar("_T")
_Object = TypeVar("_Object", bound=BaseModel)

OnFallback = Callable[[str, str, ModelError], Awaitable[None]]  # from which model, to which, why


class Chain:
    """Models in the order of preference. Each has its own requests and deadline; the answer's books hold all. The
    error of a chain that failed is the first's, whose key or quota the user will want to mend, with all books."""

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

    async def text(self, call: ModelCall, *, on_piece: OnPiece | None = None) -> Answer[str]:
        return await self._first(lambda model: model.text(call, on_piece=on_piece), on_piece)

    async def object(self, call: ModelCall, answer: type[_Object]) -> Answer[_Object]:
        return await self._first(lambda model: model.object(call, answer), None)

    async def _first(
        self, ask: Callable[[LanguageModel], Awaitable[Answer[_T]]], on_piece: OnPiece | None
    ) -> Answer[_T]:
        failed: list[ModelError] = []
        usage, requests = TokenUsage(), 0
        for place, model in enumerate(self.models):
            try:
                answer = await ask(model)
            except ModelError as error:
                failed.append(error)
                usage += usage_of(error)
                requests += int(error.data.get("requests") or 0)
                if place + 1 < len(self.models):
                    if on_piece:
                        on_piece(None)
                    if self._on_fallback:
                        await self._on_fallback(model.name, self.models[place + 1].name, error)
                continue
            return replace(answer, usage=usage + answer.usage, requests=requests + answer.requests)
        first = failed[0]
        data = dict(first.data) | {"usage": usage.model_dump(), "requests": requests}
        raise ModelError(first.problem, hint=first.hint, **data) from first
