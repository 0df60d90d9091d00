"""Request policy of a search service: rate, retries, and rest after failures.

Gates and breakers belong to the process: a service counts requests by key, not by run. Engines with different keys have
different ones: a key that is refused or used up says nothing of another.
"""

from __future__ import annotations

import asyncio
import functools
import random
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt

from deep_research.calls import Calls
from deep_research.errors import DeepResearchError, SearchError, StopResearch, bounded_line
from deep_research.forks import renew_in_children
from deep_research.limits import Gate, Gates
from deep_research.logs import describe_error, get_log, masked, redact
from deep_research.models.characters import whole
from deep_research.sources.search.base import (
    SearchProvider,
    SearchRequest,
    SearchResult,
    Trouble,
    search_failure,
)
from deep_research.sources.search.breaker import Breaker, Health
from deep_research.sources.search.fields import (
    MAX_FACTS,
    MAX_NAME_CHARS,
    MAX_NOTE_CHARS,
    bounded,
    is_bounded_address,
)
from deep_research.sources.search.filters import fits
from deep_research.state import SourceKind

MAX_REQUESTS = 3
MAX_BREAKERS = 1_024
FIRST_WAIT_SECONDS = 0.5  # seconds, doubled each time
PATIENCE_SECONDS = 5.0  # seconds that a service may ask for and is waited for; it rests when it asks for more
QUOTA_REST_SECONDS = (
    600.0  # seconds for which a service is left alone that has no more to give and does not say how long
)
REFUSED_REST_SECONDS = 600.0  # seconds for which one is left alone that refuses the key
MAX_REST_SECONDS = 3_600.0
log = get_log("search")
_ABOUT_THE_REQUEST = frozenset(
    (400, 404, 405, 413, 414, 422)
)  # statuses that say nothing of the next request


class Shared:
    """The gates and breakers of a process, by endpoint. Thread-safe. Of breakers the `MAX_BREAKERS` that were asked for
    last are kept: there is one for each key, and a process may work for many."""

    def __init__(self) -> None:
        self.gates = Gates()
        self._lock = threading.Lock()
        self._breakers: OrderedDict[str, Breaker] = OrderedDict()

    def breaker(self, endpoint: str) -> Breaker:
        with self._lock:
            breaker = self._breakers.setdefault(endpoint, Breaker())
            self._breakers.move_to_end(endpoint)
            while len(self._breakers) > MAX_BREAKERS:
                self._breakers.popitem(last=False)
            return breaker

    def renew(self) -> None:
        self._lock = threading.Lock()
        self.gates.renew()
        for breaker in self._breakers.values():
            breaker.renew()


@functools.cache
def shared() -> Shared:
    state = Shared()
    renew_in_children(state)
    return state


@dataclass(frozen=True, slots=True)
class Persistence:
    """How a service is asked again. All of it can be replaced in tests."""

    requests: int = MAX_REQUESTS
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    chance: Callable[[], float] = random.random


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A provider with its manners. ``timeout`` is in seconds, for one request; all requests of one search and their
    turns together take at most three times as long."""

    provider: SearchProvider
    gate: Gate
    breaker: Breaker
    calls: Calls
    timeout: float | None = None
    persistence: Persistence = field(default_factory=Persistence)

    @classmethod
    def of(
        cls,
        provider: SearchProvider,
        *,
        calls: Calls,
        timeout: float | None = None,
        per_minute: float | None = None,
        endpoint: str | None = None,
        common: Shared | None = None,
    ) -> Service:
        """``endpoint`` names what is shared with other engines of this process; without one, nothing is."""
        at_once = getattr(provider, "at_once", SearchProvider.at_once)
        slowest = min(
            (rate for rate in (getattr(provider, "per_minute", None), per_minute) if rate), default=None
        )
        common = common or shared()
        if endpoint is None:
            return cls(
                provider=provider,
                gate=Gate(at_once, slowest, burst=at_once),
                breaker=Breaker(),
                calls=calls,
                timeout=timeout,
            )
        gate = common.gates.gate(f"search {endpoint}", at_once=at_once, per_minute=slowest, burst=at_once)
        return cls(
            provider=provider, gate=gate, breaker=common.breaker(endpoint), calls=calls, timeout=timeout
        )

    @property
    def name(self) -> str:
        return bounded_line(str(getattr(self.provider, "name", type(self.provider).__name__)), MAX_NAME_CHARS)

    @property
    def local(self) -> bool:
        return bool(getattr(self.provider, "local", False))

    @property
    def notes(self) -> tuple[str, ...]:
        provider_notes = getattr(self.provider, "notes", None) or ()
        notes = (provider_notes,) if isinstance(provider_notes, str) else provider_notes[:MAX_FACTS]
        return tuple(bounded_line(str(note), MAX_NOTE_CHARS) for note in notes)

    @property
    def types(self) -> frozenset[str]:
        return frozenset(getattr(self.provider, "types", SearchProvider.types))

    @property
    def health(self) -> Health:
        return self.breaker.health()

    async def search(self, request: SearchRequest, *, last: bool = False) -> list[SearchResult]:
        """The results that the request's filters let through, each with the name of the service.

        ``last`` says that no other service is left: then a service is waited for that asks for it, within
        `PATIENCE_SECONDS` times ten, and one whose failures were merely counted is asked once all the same. Raises
        `SearchError`."""
        requests = self.persistence.requests
        if not self.breaker.admits():
            health = self.health
            if not last or (health.is_explicit and health.rest > 10 * PATIENCE_SECONDS):
                raise self._resting(health)
            if health.is_explicit:
                await self.persistence.sleep(health.rest)
            else:
                requests = 1
        try:
            async with asyncio.timeout(None if self.timeout is None else 3 * self.timeout):
                results = await self._persistently(request, requests, last=last)
        except TimeoutError:
            raise SearchError(
                f"{self.name} had no time for the search.", trouble=Trouble.TRANSIENT.value
            ) from None
        return [
            replace(
                result,
                provider=result.provider or (self.name if result.kind is SourceKind.WEB else ""),
            )
            for result in self._bounded(results)
            if result.address not in request.exclude and fits(result, request.filters)
        ]

    def _bounded(self, results: Sequence[SearchResult]) -> Iterator[SearchResult]:
        for result in results:
            if is_bounded_address(result):
                yield whole(bounded(result))
            else:
                log.warning("result_left_out", provider=self.name, why="its address is too long")

    async def _persistently(
        self, request: SearchRequest, requests: int, *, last: bool
    ) -> Sequence[SearchResult]:
        """The answer, asked for again while that may help. Most searches are answered at once, and what repeats them
        costs more than all else around them."""
        try:
            return await self._once(request)
        except SearchError as error:
            if requests < 2 or not _may_help(error):
                raise
            if error.data.get(
                "unreached"
            ):  # another service is the better try, and else there may be no network
                if not last:
                    raise
                requests = 2
            first = error
        retrying = AsyncRetrying(
            stop=stop_after_attempt(requests - 1),
            wait=lambda state: self._wait(_error_of(state), state.attempt_number + 1),
            retry=retry_if_exception(_may_help),
            sleep=self.persistence.sleep,
            reraise=True,
        )
        await self.persistence.sleep(self._wait(first, 1))
        results: Sequence[SearchResult] = await retrying(self._once, request)
        return results

    async def _once(self, request: SearchRequest) -> Sequence[SearchResult]:
        async with self.gate.entered():
            try:
                results = await self._call_provider(request)
            except SearchError as error:
                self._note(error)
                raise
        self.breaker.succeeded()
        return results

    async def _call_provider(self, request: SearchRequest) -> Sequence[SearchResult]:
        name = self.name
        request = replace(request, query=masked(request.query))
        try:
            results = await self.calls(self.provider.search, request, timeout=self.timeout)
        except (SearchError, StopResearch):
            raise
        except DeepResearchError as error:
            raise SearchError(error.problem, hint=error.hint) from error
        except TimeoutError as error:
            raise SearchError(f"{name} did not answer within {self.timeout:g} s.") from error
        except Exception as error:
            raise SearchError(f"{name} failed: {describe_error(error)}") from error
        if not isinstance(results, Sequence) or not all(
            isinstance(result, SearchResult) for result in results
        ):
            raise SearchError(f"{name} answered with something else than SearchResult objects.")
        return results

    def _note(self, error: SearchError) -> None:
        """What a failure means for those who come after."""
        trouble, retry_after, status = (error.data.get(key) for key in ("trouble", "retry_after", "status"))
        why = redact(error.problem)
        if trouble == Trouble.REFUSED:
            if status not in _ABOUT_THE_REQUEST:
                self.breaker.rest(REFUSED_REST_SECONDS, why)
        elif isinstance(retry_after, int | float) and retry_after > PATIENCE_SECONDS:
            self.breaker.rest(min(MAX_REST_SECONDS, retry_after), why)
        elif trouble == Trouble.QUOTA and retry_after is None:
            self.breaker.rest(QUOTA_REST_SECONDS, why)
        else:
            if isinstance(retry_after, int | float) and retry_after > 0:
                self.gate.pause(retry_after)  # it would tell all others the same
            self.breaker.failed(why, unreached=bool(error.data.get("unreached")))

    def _wait(self, error: BaseException | None, attempt: int) -> float:
        """Seconds until the next request: what the service asks for, else twice as long each time."""
        retry_after = error.data.get("retry_after") if isinstance(error, SearchError) else None
        if isinstance(retry_after, int | float):
            return max(0.0, float(retry_after))
        return FIRST_WAIT_SECONDS * 2.0 ** (attempt - 1) * (1.0 - 0.25 * self.persistence.chance())

    def _resting(self, health: Health) -> SearchError:
        why = health.why.removeprefix(f"{self.name}: ")
        return search_failure(
            Trouble.TRANSIENT,
            f"{self.name} is left alone for {max(1, round(health.rest))} s: {why}",
            retry_after=health.rest,
            unreached=health.unreached,
        )


def _error_of(state: RetryCallState) -> BaseException | None:
    return state.outcome.exception() if state.outcome else None


def _may_help(error: BaseException) -> bool:
    """Whether the same request may work in a moment. Only a service that says so is asked again."""
    if not isinstance(error, SearchError):
        return False
    retry_after = error.data.get("retry_after")
    soon = retry_after is None or (isinstance(retry_after, int | float) and retry_after <= PATIENCE_SECONDS)
    return (error.data.get("trouble") == Trouble.TRANSIENT and soon) or (
        error.data.get("trouble") == Trouble.QUOTA
        and isinstance(retry_after, int | float)
        and retry_after <= PATIENCE_SECONDS
    )
