"""Doubles for the parts an engine is made of. All are ordinary agents and providers; none of them sleeps.

::

    engine = DeepResearch(search=[ScriptedSearch()], agents=scripted_agents(iterations=2), store="memory")
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from deep_research.errors import SearchError
from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
from deep_research.state import SourceQuality
from deep_research.state.identity import sha256_hex
from deep_research.state.journal import MemoryJournal

__all__ = ["FakeClock", "MemoryJournal", "ScriptedAgent", "ScriptedSearch", "codeword", "page", "results"]

_T = TypeVar("_T")
Found = Sequence[SearchResult]
Answers = (
    Callable[[SearchRequest], Found | Exception]
    | Mapping[str, Found | Exception]
    | Sequence[Found | Exception]
)


class FakeClock:
    """Says ``start`` first and moves on by ``tick`` at every look. Thread-safe."""

    def __init__(
        self,
        start: datetime = datetime(2026, 1, 1, tzinfo=UTC),
        *,
        tick: timedelta = timedelta(seconds=1),
    ) -> None:
        self._now = start
        self._tick = tick
        self._gate = threading.Lock()

    def __call__(self) -> datetime:
        with self._gate:
            now = self._now
            self._now += self._tick
        return now

    def move(self, by: timedelta) -> None:
        """Jump, forward or back."""
        with self._gate:
            self._now += by


def page(topic: str, number: int = 0, *, size: int = 400) -> str:
    """A text about ``topic`` that no other ``(topic, number)`` has; at least ``size`` characters."""
    name = codeword(f"{topic}#{number}")
    opening = f"What page {number} says about {topic} is {name}."
    line = f" The keeper of the light wrote down that {name} was seen at night."
    return opening + line * (max(0, size - len(opening)) // len(line) + 1)


def codeword(text: str) -> str:
    """A name that stands for a text, so that what is said of two texts never looks alike."""
    syllables = [a + b for a in "bcdfghklmnprstvz" for b in "aeiou"]
    digits = sha256_hex(text.encode())
    return "".join(syllables[int(digits[at : at + 2], 16) % len(syllables)] for at in range(0, 10, 2)).title()


def results(query: str, count: int = 2, *, size: int = 400) -> list[SearchResult]:
    """What a search for ``query`` finds by default: ``count`` pages of high quality."""
    return [
        SearchResult(
            address=f"https://example.org/{codeword(query).lower()}/{number}",
            title=f"Page {number} on {query}",
            snippet=page(query, number, size=0),
            text=page(query, number, size=size),
            quality=SourceQuality.HIGH,
            relevance=1.0 / (number + 1),
        )
        for number in range(count)
    ]


class ScriptedSearch(SearchProvider):
    """Answers as it is told.

    ``answers``: a function of the request; a mapping of query to results (anything else finds nothing); a sequence,
    one item per call, the last one again and again; None for `results` of every query. An exception in place of
    results is raised. ``failing`` are queries that raise `SearchError`. ``before`` is awaited ahead of each answer,
    given the request: the place to wait for an event.

    ``requests`` holds what was asked; ``most_at_once`` the largest number of calls in flight.
    """

    def __init__(
        self,
        answers: Answers | None = None,
        *,
        failing: Sequence[str] = (),
        before: Callable[[SearchRequest], Awaitable[None]] | None = None,
        name: str = "scripted",
    ) -> None:
        self.name = name
        self.requests: list[SearchRequest] = []
        self.most_at_once = 0
        self._answers = answers
        self._failing = frozenset(failing)
        self._before = before
        self._in_flight = 0

    async def search(self, request: SearchRequest) -> Found:
        self.requests.append(request)
        self._in_flight += 1
        self.most_at_once = max(self.most_at_once, self._in_flight)
        try:
            if self._before is not None:
                await self._before(request)
            return self._answer(request)[: request.limit]
        finally:
            self._in_flight -= 1

    def _answer(self, request: SearchRequest) -> Found:
        if request.query in self._failing:
            raise SearchError(f"{self.name} does not answer '{request.query}'.")
        answers = self._answers
        if answers is None:
            return results(request.query)
        if callable(answers):
            return _raised(answers(request))
        if isinstance(answers, Mapping):
            return _raised(answers.get(request.query, ()))
        return _raised(_nth(answers, len(self.requests)))


class ScriptedAgent:
    """An agent for any role.

    ``answers``: a function of the handoff, plain or coroutine, or a sequence of outputs, one per call, the last one
    again and again. An exception in place of an output is raised. ``before`` is awaited ahead of each answer, given
    the handoff. ``batch_bytes`` bounds the source text of one call to an analyzer. ``handoffs`` holds what the agent was
    told.
    """

    def __init__(
        self,
        answers: Callable[[Any], Any] | Sequence[Any],
        *,
        deterministic: bool = False,
        falls_back: bool = False,
        before: Callable[[Any], Awaitable[None]] | None = None,
        batch_bytes: int = 1_000_000,
        name: str = "scripted agent",
    ) -> None:
        self.deterministic = deterministic
        self.falls_back = falls_back
        self.batch_bytes = batch_bytes
        self.name = name
        self.handoffs: list[Any] = []
        self._answers = answers
        self._before = before

    async def __call__(self, handoff: Any) -> Any:
        self.handoffs.append(handoff)
        if self._before is not None:
            await self._before(handoff)
        answers = self._answers
        answer = answers(handoff) if callable(answers) else _nth(answers, len(self.handoffs))
        return _raised(await answer if inspect.isawaitable(answer) else answer)


def _nth(answers: Sequence[_T], call: int) -> _T:
    """The answer to the first, second … call."""
    return answers[min(call, len(answers)) - 1]


def _raised(answer: _T | Exception) -> _T:
    if isinstance(answer, Exception):
        raise answer
    return answer
