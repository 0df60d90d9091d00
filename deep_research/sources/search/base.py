"""The contract of a search provider: one question in, ranked results out.

A provider has one abstract method. Deadlines, rates, repeated requests, failover, filters that it does not know and
counting stand around it, so a provider only has to search once, and to raise `SearchError` when it cannot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import ClassVar

from deep_research.errors import SearchError
from deep_research.state import FirstLook, Mention, SourceKind, SourceQuality, Span


class SourceType(StrEnum):
    """The kinds of sources that one may ask for."""

    WEB = "web"
    ACADEMIC = "academic"
    NEWS = "news"
    DOCUMENT = "document"  # of the user's own


class Trouble(StrEnum):
    """What the failure of a service says of asking it again."""

    TRANSIENT = "transient"  # soon
    QUOTA = "quota"  # not before ``retry_after``, or not with this plan
    REFUSED = "refused"  # never: the key or the request is wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFilters:
    """What results have to be. ``since`` and ``until`` are days of publication, both included; what is known to lie
    outside is left out. ``as_of`` is the day whose knowledge counts: later pages are left out, and undated ones of the
    web as well. ``domains`` are the only ones wanted, ``not_domains`` those unwanted, each with its subdomains.
    ``language`` is a code such as ``de``, and a preference."""

    since: date | None = None
    until: date | None = None
    as_of: date | None = None
    domains: tuple[str, ...] = ()
    not_domains: tuple[str, ...] = ()
    language: str | None = None

    @property
    def latest(self) -> date | None:
        """The last day that both ``until`` and ``as_of`` allow."""
        return min((day for day in (self.until, self.as_of) if day), default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """One search.

    Attributes:
        query: The words to search.
        limit: Most results, at least 1.
        source_types: Preferred types (`SourceType`); empty: any.
        exclude: Addresses that are not wanted.
        known_addresses: Addresses that earlier searches of the run found. They may come again,
            and do not count toward ``limit``.

    Example:
        SearchRequest(query="keepers of the light", limit=5)
    """

    query: str
    limit: int
    source_types: tuple[str, ...] = ()
    exclude: frozenset[str] = frozenset()
    known_addresses: frozenset[str] = frozenset()
    filters: SearchFilters = SearchFilters()

    @property
    def width(self) -> int:
        """How many results to look for so that ``limit`` of them are new, if there are so many; twice the limit at
        most."""
        return self.limit + min(len(self.known_addresses), self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scholarly:
    """What a catalogue of scholarship knows of a work; None and empty mean that it does not say. ``reviewed`` is
    whether it appeared where peers review; ``citations`` counts works that cite it."""

    doi: str | None = None
    arxiv: str | None = None
    venue: str | None = None
    reviewed: bool | None = None
    citations: int | None = None
    retracted: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One result of a search, best first in its list.

    Attributes:
        address: A URL, or the path of a document within its corpus, with ``/``.
        text: The whole readable text in NFC, if the provider has it.
        passages: Code-point spans of ``text`` that matched, best first.
        pages: Where each page begins in ``text``, for documents with pages.
        extract: Text of the page from the provider; it, or else the snippet, replaces a page that cannot be read.
        text_at: Where more text can be fetched, if not at the address, or if ``text`` is an abstract.
        relevance: 0 to 1, the share of the query's weight that the result covers; None if unknown.
        mentions: The most telling names in the passages, if the provider knows which names lead to other documents.
        snapshot_hash: SHA-256 (hex) of the raw bytes of ``text``.
        provider: The engine fills it in.

    Example:
        SearchResult(address="https://example.org/1", title="A note", snippet="Ships.")
    """

    address: str
    title: str
    kind: SourceKind = SourceKind.WEB
    snippet: str = ""
    text: str | None = None
    extract: str | None = None
    text_at: str | None = None
    passages: tuple[Span, ...] = ()
    pages: tuple[int, ...] = ()
    relevance: float | None = None
    quality: SourceQuality = SourceQuality.UNKNOWN
    published: date | None = None
    authors: tuple[str, ...] = ()
    language: str | None = None
    scholarly: Scholarly | None = None
    snapshot_hash: str | None = None
    mentions: tuple[Mention, ...] = ()
    provider: str = ""
    metadata: dict[str, str] = field(default_factory=dict)


class SearchProvider(ABC):
    """A search service. Subclass it and implement `search` to search anything (docs/search.md).

    Attributes:
        name: The name in events, limits and `doctor`.
        types: The source types that it is good for.
        at_once: Searches at a time, over all runs of this process.
        per_minute: Searches in a minute, over all runs of this process; None: any number.
        local: It never uses the network.
        keeps_language: It asks its service for the language of ``filters.language``.
        notes: What readers of a report should know, such as files that could not be read; read after each search.

    Example:
        class Notebook(SearchProvider):
            name = "notebook"

            async def search(self, request: SearchRequest) -> list[SearchResult]:
                return [SearchResult(address="https://example.org/1", title="A note")]
    """

    name: str = "search"
    types: ClassVar[frozenset[str]] = frozenset({SourceType.WEB})
    at_once: int = 8
    per_minute: float | None = None
    local: bool = False
    keeps_language: bool = False
    notes: Sequence[str] = ()

    @abstractmethod
    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """At most ``request.limit`` results, best first; an empty list when there are none. Filters that the service
        knows are passed on; the others are applied to what comes back.

        Raises `SearchError`, see `search_failure`, when the service cannot answer.
        """

    async def look(self, question: str) -> FirstLook | None:
        """What the provider's documents say of a question before it is researched; None when that cannot be told
        without a search. It must be free of charge and quick: every run begins with it.

        Raises `SearchError`.
        """
        return None

    async def aclose(self) -> None:  # noqa: B027 - optional to override
        """Let go of what the provider holds in the running loop. Called once for each loop, at the end."""


def search_failure(
    trouble: Trouble,
    problem: str,
    *,
    hint: str = "",
    retry_after: float | None = None,
    status: int | None = None,
    unreached: bool = False,
) -> SearchError:
    """The error of a service that cannot answer. ``retry_after`` is in seconds; ``unreached``: there was not even a
    connection, so that asking again at once is of little use."""
    more = {"unreached": True} if unreached else {}
    return SearchError(
        problem, hint=hint, trouble=trouble.value, retry_after=retry_after, status=status, **more
    )
