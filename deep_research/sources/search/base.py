"""The contract of a search provider: one question in, ranked results out.

A provider has one abstract method. Deadlines, retries, failover and counting are wrapped around it by the
gatherer, so a provider only has to search, and to raise `SearchError` when it cannot.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from deep_research.state import FirstLook, Mention, SourceKind, SourceQuality, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What to look for.

    ``limit`` counts results, at least 1; ``source_types`` is the caller's wish (``web``, ``academic``, ``news``,
    ``document`` …), empty for any; results whose address is in ``exclude`` are not wanted. ``known`` are addresses
    that earlier searches of the run found: they may come again, which tells how the new ones compare, and do not
    count toward ``limit``.
    """

    query: str
    limit: int
    source_types: tuple[str, ...] = ()
    exclude: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()

    @property
    def width(self) -> int:
        """How many results to look for so that ``limit`` of them are new, if there are so many; twice the limit at
        most."""
        return self.limit + min(len(self.known), self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """One found source, best first in its list.

    ``address`` is its canonical URL or the corpus-relative path (with ``/``). ``text`` is the whole readable
    text in NFC where the provider has it; ``passages`` are the code-point spans of ``text`` that matched,
    best first. ``relevance`` is the share (0 to 1) of the query's weight that the result covers, None when the
    provider cannot tell. ``mentions`` are the most telling names in the passages, where the provider knows which
    names lead on to other documents. ``snapshot_hash`` is the sha256 (hex) of the raw bytes that ``text`` was made from.
    """

    address: str
    title: str
    kind: SourceKind = SourceKind.WEB
    snippet: str = ""
    text: str | None = None
    passages: tuple[Span, ...] = ()
    relevance: float | None = None
    quality: SourceQuality = SourceQuality.UNKNOWN
    published: date | None = None
    snapshot_hash: str | None = None
    mentions: tuple[Mention, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)


class SearchProvider(ABC):
    """Subclass this to search anything. ``name`` appears in events, limits and `doctor`."""

    name: str = "search"

    @abstractmethod
    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        """At most ``request.limit`` results, best first; an empty list when there are none.

        Raises `SearchError` when the service cannot answer.
        """

    async def look(self, question: str) -> FirstLook | None:
        """What the provider's documents say of a question before it is researched; None when that cannot be told
        without a search. It must be free of charge and quick: every run begins with it.

        Raises `SearchError`.
        """
        return None

    async def aclose(self) -> None:  # noqa: B027 - optional to override
        """Let go of what the provider holds. Called once, at the end."""
