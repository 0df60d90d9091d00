"""Resources of tasks: the data sources, reading and tools of a run, and what one task may still request of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deep_research.budget.content_budget import DEFAULTS, ContentRules
from deep_research.errors import SearchError, UnknownNameError
from deep_research.phases.gathering.caps import Fetching, OneUse
from deep_research.phases.gathering.handoff import GathererInput
from deep_research.phases.gathering.source_reading import SourceReader
from deep_research.phases.gathering.tasks.tool import BUILT_IN, Link, Tool, ToolResult
from deep_research.sources.search import SearchRequest, SearchResult
from deep_research.sources.search.combined_search import CORPUS, WEB, SearchOutcome, SearchPool
from deep_research.sources.search.fusion import fused
from deep_research.sources.search.policy import Service
from deep_research.state import DeepResearchState, TaskFinding, TaskReview, TaskState

if TYPE_CHECKING:
    from deep_research.phases.gathering.tasks.mcp_tools import ToolServer


MOST_LINKS = 10  # of one search
SPARE = 2  # times as many results are asked for as are wanted, where pages have to be read
_OF_LINKS = ("address", "title", "snippet", "kind", "text_at", "published", "relevance", "provider")


@dataclass(frozen=True, slots=True)
class Library:
    """What the tools of one task work with: where is searched, how pages are read, what the run wants of sources, and the
    pages that the task may still ask for."""

    sources: DataSources
    reading: SourceReader
    handoff: GathererInput
    fetching: Fetching

    def request(self, query: str, limit: int, types: tuple[str, ...] | None = None) -> SearchRequest:
        return SearchRequest(
            query=query,
            limit=limit,
            source_types=self.handoff.source_types if types is None else types,
            known_addresses=self.handoff.known_addresses,
            filters=self.handoff.filters,
        )

    @property
    def spare(self) -> int:
        """How many times as many results are asked for as are wanted: some pages cannot be read."""
        return 1 if self.reading.pages is None else SPARE

    async def read(self, found: SearchOutcome, query: str, until: float) -> ToolResult:
        """Results as sources, with the pages that they lead to, of which as many are read as the task may still ask for;
        ``until`` is in the loop's time."""
        return await self._read(found, found.results, query, OneUse.of(self.fetching), until)

    async def result_of(self, found: SearchOutcome, query: str) -> ToolResult:
        """Results that have a text as sources, the others as links; where no pages are read, what is said of them is all
        there is."""
        unopened = self.reading.pages is None
        whole = [r for r in found.results if r.text is not None or unopened]
        result = await self._read(found, whole, query, Fetching(0))
        own = {address for name, address in found.private if name != CORPUS}
        links = [
            Link(**as_link(each), private=each.address in own)
            for each in found.results
            if each.text is None and not unopened
        ]
        unread = tuple(page for page in result.unread if not page.capped)
        return result.model_copy(update={"links": tuple(links[:MOST_LINKS]), "unread": unread})

    async def _read(
        self,
        found: SearchOutcome,
        results: Sequence[SearchResult],
        query: str,
        fetching: Fetching,
        until: float | None = None,
    ) -> ToolResult:
        sources, unread = await self.reading.read(
            results,
            query=query,
            limit=self.handoff.max_sources_per_query,
            handoff=self.handoff,
            until=until,
            fetching=fetching,
        )
        return ToolResult(
            sources=tuple(sources),
            unread=tuple(unread),
            notes=(*found.failures, *found.notes),
            private=tuple(dict.fromkeys(name for name, _ in found.private)),
            searches=1,
            fetches=fetching.attempts,
        )


def as_link(of: SearchResult | Link) -> dict[str, Any]:
    """The fields that results and links share."""
    return {name: getattr(of, name) for name in _OF_LINKS}


Overrule = Callable[[DeepResearchState, TaskState, TaskFinding], Awaitable[TaskReview | None]]


@dataclass(frozen=True, slots=True)
class DataSources:
    """``pool`` is what a run searches; ``own`` are those that were handed over, by name."""

    pool: SearchPool = field(default_factory=SearchPool)
    own: Mapping[str, Service] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """All there are, the documents first."""
        pool = ([CORPUS] if self.pool.corpus else []) + ([WEB] if self.pool.services else [])
        return (*pool, *self.own)

    @property
    def public(self) -> frozenset[str]:
        """The names of those that are not the owner's own: what is searched there, others hear."""
        return frozenset() if self.pool.is_local else frozenset({WEB})

    async def search(self, request: SearchRequest, names: Sequence[str], *, spare: int = 1) -> SearchOutcome:
        """Of the named ones, as one list. Raises `SearchError` where none of them answers."""
        lists: list[SearchOutcome] = []
        problems: list[str] = []
        private: list[tuple[str, str]] = []
        for name, pool in self._pools(names):
            try:
                outcome = await pool.search(request, spare=spare)
                lists.append(outcome)
                private += [(name, r.address) for r in outcome.results if name != CORPUS or pool.is_own(r)]
            except SearchError as error:
                problems.append(error.problem)
        if not lists:
            raise SearchError(
                " ".join(problems) or "There is nothing that may be searched.",
                hint="Search another data source, or end the task with what there is.",
            )
        notes = tuple(note for outcome in lists for note in outcome.notes)
        failures = (*problems, *(failure for outcome in lists for failure in outcome.failures))
        if len(lists) == 1:
            return SearchOutcome(lists[0].results, tuple(dict.fromkeys(failures)), notes, tuple(private))
        results = fused([outcome.results for outcome in lists])
        notes = tuple(dict.fromkeys(notes))
        return SearchOutcome(tuple(results), tuple(dict.fromkeys(failures)), notes, tuple(private))

    def _pools(self, names: Sequence[str]) -> list[tuple[str, SearchPool]]:
        """The run's own pool with those lanes of it that are named, as the documents, then one for each source that was
        handed over."""
        pool = self.pool.limited(names)
        pools = [(CORPUS, pool)] if pool.corpus or pool.services else []
        pools += [(name, SearchPool(services=(self.own[name],))) for name in names if name in self.own]
        return pools


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskParts:
    """``servers`` may offer further tools; ``rules`` are those of content that does not fit a window; ``by_model`` says
    that a model works on tasks."""

    sources: DataSources = field(default_factory=DataSources)
    reading: SourceReader = field(default_factory=SourceReader)
    tools: Sequence[Tool] = ()
    servers: Sequence[ToolServer] = ()
    rules: ContentRules = DEFAULTS
    by_model: bool = False

    @property
    def tool_names(self) -> tuple[str, ...]:
        return (*BUILT_IN, *(tool.name for tool in self.tools), *self.served_names)

    @property
    def served_names(self) -> tuple[str, ...]:
        """Those that the servers may offer."""
        return tuple(name for server in self.servers for name in server.tools)

    def check(self, sources: Sequence[str], tools: Sequence[str]) -> None:
        """Raises `UnknownNameError` for a data source or a tool that there is not."""
        allowed(sources, self.sources.names, "data source")
        allowed(tools, self.tool_names, "tool")


def allowed(wanted: Sequence[str], known: Sequence[str], kind: str) -> tuple[str, ...]:
    """Those of ``known`` that are wanted, all where none is named. Raises `UnknownNameError`."""
    for name in wanted:
        if name not in known:
            raise UnknownNameError.of(kind, name, known)
    return tuple(name for name in known if not wanted or name in wanted)
