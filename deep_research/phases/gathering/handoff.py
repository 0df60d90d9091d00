"""Input and output of the gatherer."""

from __future__ import annotations

from datetime import date, datetime

from pydantic import ConfigDict, Field

from deep_research.phases.agent_contract import Operation
from deep_research.phases.handoff import Handoff
from deep_research.sources.search import SearchFilters
from deep_research.state import GatherStats, Mention, Record, RunOptions, SourceKind, SourceQuality, Span


class GathererInput(Handoff):
    """``sub_queries`` are the query texts to search, one per call as the phase uses it; ``known_addresses`` are the
    canonical addresses that earlier iterations already hold: they may come again and do not count toward the maximum.
    ``filters`` are what sources have to be; ``rewordings`` is how often each query may be asked in other words as well,
    None: as often as the gatherer thinks right; ``fetches`` is how many pages may be asked for over the network for
    each query, None: as many as it takes; ``lanes`` are what may be searched, corpus or web, empty: both."""

    sub_queries: tuple[str, ...]
    source_types: tuple[str, ...] = ()
    filters: SearchFilters = SearchFilters()
    max_sources_per_query: int
    known_addresses: frozenset[str] = frozenset()
    rewordings: int | None = None
    fetches: int | None = None
    lanes: tuple[str, ...] = ()


class Snapshot(Record):
    """A page as it was fetched: ``url`` as asked for, ``found_at`` after redirects, the ``headers`` that matter by name
    in lower case. ``shared`` is False of a page that was read with a key in its address: it is evidence, but not to be
    used for another run."""

    url: str
    found_at: str
    at: datetime
    headers: dict[str, str] = Field(default_factory=dict)
    media_type: str = ""
    body: bytes = Field(repr=False)
    shared: bool = True

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")


class Unread(Record):
    """A page that was found and could not be read, and why, in a few words; ``unwanted``: it can be read, and is not one
    that was asked for; ``capped``: it was never asked for, to keep within a cap; ``extract``: the text that its search
    service gives stands in for it."""

    url: str
    why: str
    unwanted: bool = False
    capped: bool = False
    extract: bool = False


class GatheredSource(Record):
    """A found source with its readable text. ``url`` is a web address or a corpus-relative path; ids are
    issued by the phase. ``pages`` is where in the text each page begins; ``fingerprint`` tells copies."""

    title: str
    url: str | None = None
    snippet: str = ""
    content: str | None = None
    quality: SourceQuality = SourceQuality.UNKNOWN
    kind: SourceKind = SourceKind.WEB
    relevance: float | None = None
    passages: tuple[Span, ...] = ()
    pages: tuple[int, ...] = ()
    fingerprint: str = ""
    published: date | None = None
    snapshot_hash: str | None = None
    snapshot: Snapshot | None = None
    mentions: tuple[Mention, ...] = ()
    metadata: dict[str, str] = Field(default_factory=dict)


class GathererOutput(Record):
    """``notes`` are things a reader of the report should know, such as a provider that did not answer; ``unread`` are
    pages that were found and could not be read; ``wordings`` are the other words in which was asked as well;
    ``fetches`` counts the pages that were asked for over the network. Of ``stats`` the run's are summed: a gatherer that
    does not count is taken to have searched once for its query and each of its ``wordings``."""

    sources: tuple[GatheredSource, ...]
    stats: GatherStats = GatherStats()
    notes: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()
    wordings: tuple[str, ...] = ()
    fetches: int = 0


class PagesInput(GathererInput):
    """``pages`` are addresses that earlier searches for these ``sub_queries`` found and left unread."""

    pages: tuple[str, ...]


GATHER = Operation("gather", GathererInput, GathererOutput)
READ = Operation("read", PagesInput, GathererOutput, has_deadline=False)


def filters_of(options: RunOptions) -> SearchFilters:
    """What sources of a run have to be."""
    return SearchFilters(
        since=options.since,
        until=options.until,
        as_of=options.as_of,
        domains=options.domains,
        not_domains=options.not_domains,
        language=options.source_language,
    )
