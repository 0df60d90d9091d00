"""Resources of tasks: the data sources, reading and tools of a run, what one task may still request of them, and what
sites and services can learn from its requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deep_research.budget.content_budget import DEFAULTS, ContentRules
from deep_research.errors import SearchError, ToolError, UnknownNameError
from deep_research.phases.gathering.caps import Fetching, OneUse
from deep_research.phases.gathering.gatherer import SPARE
from deep_research.phases.gathering.handoff import GathererInput
from deep_research.phases.gathering.source_reading import SourceReader
from deep_research.phases.gathering.tasks.tool import BUILT_IN, Link, Tool, ToolResult
from deep_research.provenance.sites import host_of, site_of
from deep_research.sources.search import SearchRequest, SearchResult
from deep_research.sources.search.combined_search import CORPUS, WEB, SearchOutcome, SearchPool
from deep_research.sources.search.fusion import fused
from deep_research.sources.search.policy import Service
from deep_research.state import DeepResearchState, TaskFinding, TaskReview, TaskState
from deep_research.text.term_weights import coverage
from deep_research.text.words import StemFinder, question_terms

if TYPE_CHECKING:
    from deep_research.phases.gathering.tasks.mcp_tools import ToolServer

MAX_LINKS = 10  # of one search
_OF_LINKS = ("address", "title", "snippet", "kind", "text_at", "published", "relevance", "provider")
Overrule = Callable[[DeepResearchState, TaskState, TaskFinding], Awaitable[TaskReview | None]]
MAX_OFFERED_LINKS = 2  # links of one site that no search found, in one task
SETTING = "tasks.public_after_private"


@dataclass(frozen=True, slots=True)
class Library:
    """What the tools of one task work with: where is searched, how pages are read, what the run wants of sources, and the
    pages that the task may still ask for."""

    sources: DataSources
    reading: SourceReader
    handoff: GathererInput
    fetching: Fetching

    def request(self, query: str, limit: int) -> SearchRequest:
        return SearchRequest(
            query=query,
            limit=limit,
            source_types=self.handoff.source_types,
            known_addresses=self.handoff.known_addresses,
            filters=self.handoff.filters,
        )

    @property
    def spare(self) -> int:
        """How many times as many results are asked for as are wanted: some pages cannot be read."""
        return 1 if self.reading.pages is None else SPARE

    async def read(self, found: SearchOutcome, query: str, until: float | None = None) -> ToolResult:
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
        return result.model_copy(update={"links": tuple(links[:MAX_LINKS]), "unread": unread})

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
        notes = [note for outcome in lists for note in outcome.notes]
        failures = (*problems, *(failure for outcome in lists for failure in outcome.failures))
        results = lists[0].results if len(lists) == 1 else tuple(fused([each.results for each in lists]))
        return SearchOutcome(
            results, tuple(dict.fromkeys(failures)), tuple(dict.fromkeys(notes)), tuple(private)
        )

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


@dataclass(slots=True)
class Egress:
    """What sites and services can learn from the requests of a task. Pure.

    A page can order a model to follow those of its links that spell a secret, and a model may obey. So code decides: of
    one site at most two links that no search found are offered to a task, the best by the words of its question, and they
    are followed in their order, each once: a site reads two bits at most. A link is of the site that it leads to, and of
    the one whose page named it; what is named by a page that was reached by such a link counts as named by the first one.
    Once private material was shown none of them is followed; once a private source gave something, only private sources
    are asked.

    ``question`` is that of the run, which no page had a say in; ``public`` are the data sources that are not the
    owner's own; ``allowed`` says that tasks may ask these whatever they were shown. ``private`` are the names of what
    private material came from, the documents are the corpus; ``offered`` counts links that no search found by their
    sites, in all attempts; ``followed`` are the links whose pages were asked for in this one."""

    question: str = ""
    public: frozenset[str] = frozenset({WEB})
    allowed: bool = False
    private: dict[str, None] = field(default_factory=dict)
    offered: Counter[str] = field(default_factory=Counter)
    followed: list[Link] = field(default_factory=list)

    @property
    def private_sources(self) -> tuple[str, ...]:
        """The private sources and tools that gave something, beside the documents."""
        return tuple(name for name in self.private if name != CORPUS)

    @property
    def is_closed(self) -> bool:
        """Whether nothing public is asked any more."""
        return bool(self.private_sources) and not self.allowed

    def note(self, names: Iterable[str]) -> None:
        """Material of these was shown."""
        self.private |= dict.fromkeys(names)

    def open_to(self, names: Sequence[str]) -> tuple[str, ...]:
        """Those of some data sources that may be searched."""
        return tuple(name for name in names if not (self.is_closed and name in self.public))

    # Links

    def offered_of(self, links: Sequence[Link]) -> list[Link]:
        """Those of ``links`` that are offered, in their order: all that were found, and the best of the others by the
        words of the question. These are counted."""
        if self.private:
            return [link for link in links if not link.origin]
        offer: set[str] = set()
        question_words = question_terms(self.question)
        find = StemFinder(question_words)
        labelled_links = [link for link in links if link.origin]
        for link in sorted(labelled_links, key=lambda link: -coverage(question_words, find(link.title))):
            if all(self.offered[site] < MAX_OFFERED_LINKS for site in sites_of(link)):
                self.offered.update(sites_of(link))
                offer.add(link.address)
        return [link for link in links if not link.origin or link.address in offer]

    def follow(self, name: str, link: Link, links: Sequence[Link]) -> None:
        """The page of a link, which the agent calls by ``name``, is asked for; ``links`` are all of the task. Raises
        `ToolError` where it may not be."""
        if any(link.address == other.address for other in self.followed):
            raise _refused(f"The page of {name} was asked for already.")
        if self.is_closed and not link.private:
            raise _refused(f"{name} is not followed: this task was shown private material of {self._listed}.")
        if link.origin and self.private:
            raise _refused(
                f"{name} is not followed: no search found it, and this task was shown private material.",
                hint="Search for what it promises.",
            )
        later = links[links.index(link) + 1 :]
        if link.origin and any(
            other.origin and other in later and sites_of(other) & sites_of(link) for other in self.followed
        ):
            raise _refused(f"{name} is not followed: a later link of that site was.")
        self.followed.append(link)

    @property
    def reason(self) -> str:
        """Why a link that a page named is not offered."""
        return (
            "no search found them, and this task was shown private material"
            if self.private
            else f"at most {MAX_OFFERED_LINKS} of one site are, which no search found"
        )

    # Searches and tools

    def check(self, tool: Tool, data_source: str | None, named: Sequence[str]) -> None:
        """Whether a tool may be used; ``data_source`` is the one that is to be searched, None: all that are ``named``.
        Raises `ToolError`."""
        if not self.is_closed:
            return
        reason = f"this task was shown private material of {self._listed}"
        if tool.name == "search" and data_source in self.public:
            raise _refused(f"{data_source} is not searched: {reason}.")
        if tool.name == "search" and named and not self.open_to(named):
            raise _refused(f"Nothing more is searched: {reason}.", hint="End the task with what there is.")
        asks_others = not tool.private and bool(tool.searches or tool.fetches)
        if tool.name not in BUILT_IN and asks_others:
            raise _refused(f"{tool.name} is not used: {reason}.")

    def left_out(self, named: Sequence[str]) -> str:
        """What is told of a search that left public sources out; empty where it did not."""
        left = [name for name in named if name not in self.open_to(named)]
        if not left:
            return ""
        listed = ", ".join(left)
        return f"A task that was shown private material of {self._listed} did not search {listed}: see {SETTING}."

    @property
    def _listed(self) -> str:
        return ", ".join(self.private_sources)


def sites_of(link: Link) -> frozenset[str]:
    """The sites that a link counts for, where no search found it."""
    return frozenset((link.origin, site(link.address)))


def site(address: str) -> str:
    return site_of(host_of(address))


def _refused(problem: str, hint: str = "") -> ToolError:
    return ToolError(problem, hint=hint, refused=True)
