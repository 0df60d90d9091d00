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
    """What to look for.

    ``limit`` counts results, at least 1; ``source_types`` are those preferred (`SourceType`), empty for any; results
    whose address is in ``exclude`` are not wanted. ``known`` are addresses that earlier searches of the run found: they
    may come again, which tells how the new ones compare, and do not count toward ``limit``.
    """

    query: str
    limit: int
    source_types: tuple[str, ...] = ()
    exclude: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    filters: SearchFilters = SearchFilters()

    @property
    def width(self) -> int:
        """How many results to look for so that ``limit`` of them are new, if there are so many; twice the limit at
        most."""
        return self.limit + min(len(self.known), self.limit)


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
    """One found source, best first in its list.

    ``address`` is its URL or the corpus-relative path (with ``/``). ``text`` is the whole readable text in NFC where
    the provider has it; ``passages`` are the code-point spans of ``text`` that matched, best first; ``pages`` is where
    in ``text`` each page begins, of a document that has pages. ``extract`` is what the provider gives of the page's text:
    it, or else the snippet, stands in for a page that cannot be read. ``text_at`` is where more of the text can be
    fetched, when that is not the address or when ``text`` is an abstract. ``relevance`` is the share (0 to 1) of the
    query's weight that the result covers, None when the provider cannot tell. ``mentions`` are the most telling names
    in the passages, where the provider knows which names lead on to other documents. ``snapshot_hash`` is the sha256
    (hex) of the raw bytes that ``text`` was made from. ``provider`` is filled in by whoever asked.
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
    """Subclass this to search anything. ``name`` appears in events, limits and `doctor`.

    ``types`` are the source types it is good for. ``at_once`` and ``per_minute`` are how many searches all runs of this
    process may make of it; ``per_minute`` None: as many as they like. After a rest, ``at_once`` of them come together.
    ``local`` says that it never touches the network, ``keeps_language`` that it asks for the language of
    ``filters.language``; where nobody does, the run tells so. ``notes`` are what a reader of the report should know of
    all that is searched here, such as files that could not be read; they are looked at after each search.
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
