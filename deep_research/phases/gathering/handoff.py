"""What the gatherer is given and what it answers."""

from __future__ import annotations

from datetime import date

from pydantic import Field

from deep_research.phases.base import Handoff
from deep_research.state import Mention, Record, SourceKind, SourceQuality, Span


class GathererInput(Handoff):
    """``sub_queries`` are the query texts to search, one per call as the phase uses it; ``known`` are addresses
    that earlier iterations already hold: they may come again and do not count toward the maximum."""

    sub_queries: tuple[str, ...]
    source_types: tuple[str, ...] = ()
    max_sources_per_query: int
    known: frozenset[str] = frozenset()


class GatheredSource(Record):
    """A found source with its readable text. ``url`` is a web address or a corpus-relative path; ids are
    issued by the phase."""

    title: str
    url: str | None = None
    snippet: str = ""
    content: str | None = None
    quality: SourceQuality = SourceQuality.UNKNOWN
    kind: SourceKind = SourceKind.WEB
    relevance: float | None = None
    passages: tuple[Span, ...] = ()
    published: date | None = None
    snapshot_hash: str | None = None
    mentions: tuple[Mention, ...] = ()
    metadata: dict[str, str] = Field(default_factory=dict)


class GatherStats(Record):
    queries_executed: int = 0
    queries_failed: int = 0
    sources_collected: int = 0
    duplicates_skipped: int = 0


class GathererOutput(Record):
    """``notes`` are things a reader of the report should know, such as a provider that did not answer."""

    sources: tuple[GatheredSource, ...]
    stats: GatherStats = GatherStats()
    notes: tuple[str, ...] = ()
