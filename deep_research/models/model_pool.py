"""The models of an engine by name: one provider each, and what all of the process share of them; and the chain of
which the next is asked where the one before gave nothing that can be used."""

from __future__ import annotations

import functools
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from deep_research.calls import contained
from deep_research.errors import ModelError
from deep_research.forks import renew_in_children
from deep_research.limits import Gate, Gates
from deep_research.logs import describe_error, get_log
from deep_research.models.base import Message, ModelCall, ModelProvider, StopReason, TokenUsage
from deep_research.models.failures import Verdict, failure, usage_of
from deep_research.models.language_model import Answer, LanguageModel, SingleModel
from deep_research.models.probe import Probes, Windows
from deep_research.models.profiles import Profile
from deep_research.models.recording import Recorder
from deep_research.models.registry import make_model_provider
from deep_research.models.retry import OnWait, Persistence, UsageRecorder, Wordings
from deep_research.models.stream import OnPiece
from deep_research.models.structured import Abilities

log = get_log("models")

Named = str | ModelProvider  # a model by name, or a provider that someone wrote
_T = TypeVar("_T")
_Object = TypeVar("_Object", bound=BaseModel)
OnFallback = Callable[[str, str, ModelError], Awaitable[None]]  # from which model, to which, why


@dataclass(frozen=True, slots=True)
class Shared:
    """What every engine of the process shares: services count requests by key, not by engine."""

    gates: Gates = field(default_factory=Gates)
    abilities: Abilities = field(default_factory=Abilities)


@functools.cache
def shared() -> Shared:
    made = Shared()
    renew_in_children(made.gates)
    return made


@dataclass(slots=True, kw_only=True)
class ModelPool:
    """Makes language models of names. ``at_once`` and ``per_minute`` limit the requests to each service in this
    process, a profile those to its model; ``timeout`` in seconds is what a request may take, ``unit_timeout`` all
    requests for one answer; to ``record``, a file, all requests are written; in ``data_dir`` it is remembered what models
    can do. Thread-safe."""

    profiles: Mapping[str, Profile] = field(default_factory=dict)
    at_once: int = 16
    per_minute: float | None = None
    record: Path | None = None
    timeout: float = 120.0
    unit_timeout: float | None = None
    data_dir: Path | None = None
    common: Shared = field(default_factory=shared)
    persistence: Persistence = field(default_factory=Persistence)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _providers: dict[str, ModelProvider] = field(default_factory=dict)
    _probes: Probes | None = None
    _windows: Windows | None = None

    @property
    def probes(self) -> Probes:
        with self._lock:
            if self._probes is None:
                self._probes = Probes(self.data_dir, self.common.abilities)
            return self._probes

    @property
    def windows(self) -> Windows:
        probes = self.probes
        with self._lock:
            if self._windows is None:
                self._windows = Windows(self.profiles, probes)
            return self._windows

    def provider(self, model: Named) -> ModelProvider:
        """The one provider of that name. Raises `UnknownNameError`, `ConfigurationError`."""
        if not isinstance(model, str):
            return self._cached(f"{model.name} {id(model)}", model)
        name = model.strip()
        with self._lock:
            known = self._providers.get(name)
        return known or self._cached(name, make_model_provider(name))

    def profile(self, model: Named) -> Profile:
        return self.profile_of(self.provider(model))

    def profile_of(self, provider: ModelProvider) -> Profile:
        return self.windows.profile_of(provider)

    def language_model(
        self,
        chain: Sequence[Named],
        *,
        usage_recorder: UsageRecorder | None = None,
        wordings: Wordings | None = None,
        on_wait: OnWait | None = None,
        on_fallback: OnFallback | None = None,
    ) -> LanguageModel:
        """The first of the chain, with the others behind it. ``usage_recorder`` records its requests,
        ``wordings`` has what was sent before."""
        wordings = wordings or self.persistence.wordings
        persistence = replace(
            self.persistence, usage_recorder=usage_recorder, wordings=wordings, on_wait=on_wait
        )
        models = [self._single(model, persistence) for model in chain]
        return models[0] if len(models) == 1 else Chain(models, on_fallback=on_fallback)

    async def aclose(self) -> None:
        """Closes what the running loop has open."""
        with self._lock:
            made = list(self._providers.values())
        for provider in made:
            try:
                with contained():
                    await provider.aclose()
            except Exception as error:  # from a provider of the user: a connection is no reason to lose a run
                log.warning("provider_close_failed", provider=provider.name, error=describe_error(error))

    def _single(self, model: Named, persistence: Persistence) -> SingleModel:
        provider = self.provider(model)
        profile = self.profile_of(provider)
        return SingleModel(
            provider,
            profile,
            windows=self.windows,
            abilities=self.common.abilities,
            persistence=replace(persistence, gates=self._gates(provider, profile)),
            timeout=self.timeout,
            unit_timeout=self.unit_timeout,
            probes=self.probes if provider.probed else None,
        )

    def _gates(self, provider: ModelProvider, profile: Profile) -> tuple[Gate, ...]:
        """The model's own, then the service's: who waits for a busy model keeps no others from the service."""
        gate = self.common.gates.gate
        of_service = gate(provider.endpoint, at_once=self.at_once, per_minute=self.per_minute)
        if profile.at_once is None and profile.per_minute is None:
            return (of_service,)
        of_model = gate(
            f"{provider.endpoint} {provider.model}",
            at_once=profile.at_once or self.at_once,
            per_minute=profile.per_minute,
        )
        return of_model, of_service

    def _cached(self, name: str, made: ModelProvider) -> ModelProvider:
        with self._lock:
            known = self._providers.get(name)
            if known is None:
                known = self._providers[name] = self._recorded(made) if self.record else made
            return known

    def _recorded(self, made: ModelProvider) -> ModelProvider:
        assert self.record is not None

        def window() -> tuple[int, int]:
            profile = self.profile_of(made)
            return profile.context, profile.output

        return Recorder(made, self.record, window=window)


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
        """The smallest of all windows, since a request must fit the model that answers it."""
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
