"""The bench of the search suite: a search service on loopback, and providers that ask it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from deep_research.errors import SearchError
from deep_research.sources.search.base import SearchProvider, SearchRequest, SearchResult
from deep_research.testing.patience import PATIENCE_SECONDS
from deep_research.testing.service_bench import Service, ServiceBench

KEY = "canary+Zm9y/IHRlc3Rz%9x&w=3v"
QUERY = "which ships passed the light"


class Ability(StrEnum):
    """What not every provider has to do with."""

    SERVICE = "it asks a service over HTTP"
    KEY = "nobody gets in without a key"
    KEYED = "a key can be given"


class SearchService(Service, Protocol):
    """A service of searches. ``hits``: the results of every search, or a function of the request; ``key``: the only one
    that it accepts, None for any."""

    hits: Any
    key: str | None

    def reply_to(self, asked: Any) -> Any:
        """The good reply to a request of the log; its ``pieces`` are the body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The provider to be checked. ``service`` starts with each check; ``make`` gives a provider for its base URL, a key
    and the seconds that a search may take. ``holding``: in place of both, a provider that finds these hits and asks
    nobody. ``variables``: those of the environment without which nothing is made, as `MissingKeyError` names them."""

    service: Callable[[], SearchService] | None = None
    make: Callable[[str, str | None, float], SearchProvider] | None = None
    holding: Callable[[Sequence[Hit]], SearchProvider] | None = None
    lacks: frozenset[Ability] = frozenset()
    variables: tuple[str, ...] = ()


@dataclass(slots=True)
class Outcome:
    """What became of one search: results or a `SearchError`, and how the service saw it."""

    results: list[SearchResult] | None = None
    error: SearchError | None = None
    requests: Sequence[Any] = field(default_factory=tuple)

    @property
    def answer(self) -> list[SearchResult]:
        assert self.results is not None, f"{self.error!r} in place of results"
        return self.results

    @property
    def failure(self) -> SearchError:
        assert self.error is not None, f"{self.results!r} in place of a SearchError"
        return self.error

    @property
    def addresses(self) -> list[str]:
        return [result.address for result in self.answer]


class Bench(ServiceBench[SearchProvider, SearchService]):
    """A search service, and providers over it."""

    key = KEY

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject.service() if subject.service else None)
        self.subject, self.lacks = subject, subject.lacks
        self.holds(hits(3))
        if self._service is not None:
            self._service.key = KEY if self.has(Ability.KEYED) else None

    def calls(self, provider: SearchProvider) -> Iterator[Coroutine[Any, Any, Sequence[SearchResult]]]:
        yield provider.search(SearchRequest(query=QUERY, limit=5))

    def has_content(self, answer: Sequence[SearchResult]) -> bool:
        return bool(answer)

    def holds(self, hits: Sequence[Hit]) -> None:
        """From now on, this is what there is to find."""
        self._hits = hits
        if self._service is not None:
            self._service.hits = hits

    def provider(
        self, *, url: str = "", key: str | None = KEY, seconds: float = PATIENCE_SECONDS
    ) -> SearchProvider:
        if self.subject.holding is not None:
            provider = self.subject.holding(self._hits)
        else:
            assert self.subject.make is not None, "a subject has either make or holding"
            provider = self.subject.make(url or self.server.base_url, key, seconds)
        self._providers.append(provider)
        return provider

    async def search(
        self, query: str = QUERY, *, limit: int = 5, provider: SearchProvider | None = None, **more: Any
    ) -> Outcome:
        """One search. What is raised and is no `SearchError` fails the check."""
        if provider is None:
            provider = self._providers[0] if self._providers and self.subject.make else self.provider()
        before = len(self.server.log) if self._service else 0
        outcome = Outcome()
        try:
            outcome.results = list(await provider.search(SearchRequest(query=query, limit=limit, **more)))
        except SearchError as error:
            outcome.error = error
        outcome.requests = self.server.log[before:] if self._service else ()
        return outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One thing that is found. Fields go into answers as they are, so that a hit may be as hostile as it likes; a format
    that has no place for a field leaves it out. ``page`` is the text of the page that a service gives beside its
    extract. ``spoiled`` goes in place of the whole item where it is not None."""

    url: Any
    title: Any = "A page"
    text: Any = "Seven ships passed the light that night."
    page: Any = None
    published: Any = None
    authors: tuple[Any, ...] = ()
    doi: Any = None
    arxiv: Any = None
    venue: Any = None
    pdf: Any = None
    citations: Any = None
    retracted: Any = None
    spoiled: Any = None


def hits(number: int, about: str = "ships") -> list[Hit]:
    """As many ordinary ones, which say of themselves which they are."""
    return [
        Hit(
            url=f"https://example.org/{about}/{index}",
            title=f"Page {index} on {about}",
            text=f"Page {index} says that seven {about} passed the light.",
            published="2024-05-17",
        )
        for index in range(1, number + 1)
    ]
