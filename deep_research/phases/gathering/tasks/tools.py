"""The tools that every task has: search, fetch, look up, read more. None takes an address, all take names or words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, Field

from deep_research.calls import off_loop
from deep_research.errors import ToolError
from deep_research.evidence.passages import blocks
from deep_research.evidence.quotes import references
from deep_research.evidence.ranking import matching
from deep_research.patterns import regex
from deep_research.phases.gathering.caps import Fetching, OneUse
from deep_research.phases.gathering.handoff import GatheredSource, GathererInput
from deep_research.phases.gathering.source_reading import TEXT_UNIT, Reading
from deep_research.phases.gathering.tasks.desk import PART
from deep_research.phases.gathering.tasks.egress import site
from deep_research.phases.gathering.tasks.resources import DataSources
from deep_research.phases.gathering.tasks.tool import Link, Shown, TaskView, Tool, ToolResult
from deep_research.phases.prompting import one_line
from deep_research.sources.search import SearchRequest, SearchResult
from deep_research.sources.search.base import SourceType
from deep_research.sources.search.combined_search import CORPUS, Found
from deep_research.sources.search.filters import in_domains
from deep_research.state import Reference, Span

MOST_LINKS = 10  # of one search
SPARE = 2  # times as many results are asked for as are wanted, where pages have to be read
SEARCH_TIMEOUT = 120.0  # seconds; services have deadlines of their own within it
_OF_LINKS = ("address", "title", "snippet", "kind", "text_at", "published", "relevance", "provider")
_NUMBER = regex(r"[A-Z]?\d+(?:\.\w+)+|\d+")


@dataclass(frozen=True, slots=True)
class Library:
    """What the tools of one task work with: where is searched, how pages are read, what the run wants of sources, and the
    pages that the task may still ask for."""

    sources: DataSources
    reading: Reading
    handoff: GathererInput
    fetching: Fetching

    def request(self, query: str, limit: int, types: tuple[str, ...] | None = None) -> SearchRequest:
        return SearchRequest(
            query=query,
            limit=limit,
            source_types=self.handoff.source_types if types is None else types,
            known=self.handoff.known,
            filters=self.handoff.filters,
        )

    @property
    def spare(self) -> int:
        """How many times as many results are asked for as are wanted: some pages cannot be read."""
        return 1 if self.reading.pages is None else SPARE

    async def read(self, found: Found, query: str, until: float) -> ToolResult:
        """Results as sources, with the pages that they lead to, of which as many are read as the task may still ask for;
        ``until`` is in the loop's time."""
        return await self._read(found, found.results, query, OneUse.of(self.fetching), until)

    async def found(self, found: Found, query: str) -> ToolResult:
        """Results that have a text as sources, the others as links; where no pages are read, what is said of them is all
        there is."""
        unopened = self.reading.pages is None
        whole = [r for r in found.results if r.text is not None or unopened]
        result = await self._read(found, whole, query, Fetching(0))
        own = {address for name, address in found.private if name != CORPUS}
        links = [
            Link(**_as_link(each), private=each.address in own)
            for each in found.results
            if each.text is None and not unopened
        ]
        unread = tuple(page for page in result.unread if not page.capped)
        return result.model_copy(update={"links": tuple(links[:MOST_LINKS]), "unread": unread})

    async def _read(
        self,
        found: Found,
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
            fetches=fetching.made,
        )


class Query(BaseModel):
    query: str = Field(description="words to search for, as one would type them")
    data_source: str | None = Field(
        default=None, description="name of the one data source to search; leave out for all"
    )


class _LibraryTool(Tool):
    def __init__(self, library: Library) -> None:
        self._library = library


class Search(_LibraryTool):
    name: ClassVar[str] = "search"
    description: ClassVar[str] = (
        "Search what may be searched. Sources come with passages, links with what is said of them."
    )
    arguments: ClassVar[type[BaseModel]] = Query
    timeout: ClassVar[float] = SEARCH_TIMEOUT
    searches: ClassVar[int] = 1

    async def __call__(self, arguments: Query, view: TaskView) -> ToolResult:
        names = view.data_sources
        if not names:
            raise ToolError("There is no data source that this task may search.", hint="End it.")
        if arguments.data_source is not None:
            if arguments.data_source not in names:
                raise ToolError(
                    f"There is no data source {one_line(arguments.data_source)[:40]}.",
                    hint=f"There are: {', '.join(names) or 'none'}.",
                )
            names = (arguments.data_source,)
        limit = self._library.handoff.max_sources_per_query
        found = await self._library.sources.search(
            self._library.request(arguments.query, limit), names, spare=self._library.spare
        )
        return await self._library.found(found, arguments.query)


class LinkName(BaseModel):
    link: str = Field(description="name of the link, such as L3")


class Fetch(_LibraryTool):
    name: ClassVar[str] = "fetch"
    description: ClassVar[str] = "Read the page of a link. It becomes a source."
    arguments: ClassVar[type[BaseModel]] = LinkName
    timeout: ClassVar[float] = SEARCH_TIMEOUT
    fetches: ClassVar[int] = 1

    async def __call__(self, arguments: LinkName, view: TaskView) -> ToolResult:
        link, library = view.link(arguments.link), self._library
        if library.reading.pages is None:
            raise ToolError("Pages are not read in this run.", hint="Use what searches say of them.")
        if not in_domains(link.address, library.handoff.filters):
            raise ToolError("The run does not read pages of that site.", hint="Use another link.")
        fetching = OneUse.of(library.fetching)
        sources, unread = await library.reading.read(
            [SearchResult(**_as_link(link))],
            query=view.question,
            limit=1,
            handoff=library.handoff,
            fetching=fetching,
        )
        origin = link.origin or site(link.address)
        links = [
            Link(address=reference.target, title=reference.text, origin=origin)
            for source in sources
            for reference in await self._references(source)
            if reference.target.startswith(("http://", "https://"))
            and in_domains(reference.target, library.handoff.filters)
        ]
        return ToolResult(
            sources=tuple(sources),
            unread=tuple(unread),
            links=tuple(links),
            fetches=fetching.made,
        )

    async def _references(self, source: GatheredSource) -> tuple[Reference, ...]:
        """What a page points to where it speaks of the question of the run. Not of the task: that a page, by way of a
        model, may have had a say in, and so in which links are offered."""
        text, question = source.content or "", self._library.handoff.original_query
        passages, _ = await off_loop(len(text) // TEXT_UNIT, matching, question, text, source.title)
        return references("", text, passages)


class Section(BaseModel):
    section: str = Field(description="number or title of the section, or of the page after the word page")
    source: str | None = Field(
        default=None,
        description="name of the source that has it, such as S2; leave out to look in all documents",
    )


class LookUp(_LibraryTool):
    name: ClassVar[str] = "look_up"
    description: ClassVar[str] = (
        "Open a section or page that a text names (see Section 20.4.4, page 12), in a source or among the documents."
    )
    arguments: ClassVar[type[BaseModel]] = Section
    timeout: ClassVar[float] = SEARCH_TIMEOUT

    async def __call__(self, arguments: Section, view: TaskView) -> ToolResult:
        if arguments.source is not None:
            source = view.source(arguments.source)
            text = await view.text(source.id)
            start = _start_of(arguments.section, text, source.pages)
            if start is None:
                raise ToolError(f"{arguments.source} has no section {one_line(arguments.section)[:60]}.")
            return ToolResult(shown=(Shown(source_id=source.id, span=Span(start=start, end=start + PART)),))
        if CORPUS not in view.data_sources or self._library.sources.pool.corpus is None:
            raise ToolError(
                "There are no documents to look in.", hint="Name the source that has the section."
            )
        request = self._library.request(
            arguments.section, self._library.handoff.max_sources_per_query, (SourceType.DOCUMENT,)
        )
        found = await self._library.sources.search(request, (CORPUS,))
        result = await self._library.found(found, arguments.section)
        return result.model_copy(update={"searches": 0})  # nobody is asked for it


class SourceName(BaseModel):
    source: str = Field(description="name of the source, such as S2")


class ReadMore(Tool):
    name: ClassVar[str] = "read_more"
    description: ClassVar[str] = "Read on in a source, from where it was shown last."
    arguments: ClassVar[type[BaseModel]] = SourceName
    reads_on: ClassVar[bool] = True

    async def __call__(self, arguments: SourceName, view: TaskView) -> ToolResult:
        source = view.source(arguments.source)
        text, start = await view.text(source.id), view.shown_to(source.id)
        if start >= len(text):
            raise ToolError(f"{arguments.source} ends there.", hint="All of it was shown.")
        return ToolResult(shown=(Shown(source_id=source.id, span=Span(start=start, end=start + PART)),))


def tools_of(library: Library) -> tuple[Tool, ...]:
    """Those that a task has in any case."""
    return (Search(library), Fetch(library), LookUp(library), ReadMore())


def _start_of(section: str, text: str, pages: tuple[int, ...]) -> int | None:
    """Where a page begins, or the line that names a section: by its number or by all of its words, the shortest such
    line, of equals the first; None where there is none."""
    wanted = " ".join(section.split()).casefold().removeprefix("section ").strip(" .§“”\"'")
    number = wanted.removeprefix("page ").strip()
    if pages and wanted.startswith("page ") and number.isdigit() and 0 < int(number) <= len(pages):
        return pages[int(number) - 1]
    if not wanted:
        return None
    best: tuple[int, int] | None = None
    for block in blocks(text):
        start, end = block.start, min(block.end, block.start + 300)
        line = text[start:end].partition("\n")[0]
        plain = " ".join(line.split()).casefold().strip("#*_=- ")
        if _names(wanted, plain) and (best is None or len(line) < best[0]):
            best = len(line), start
    return best[1] if best else None


def _names(wanted: str, line: str) -> bool:
    if _NUMBER.fullmatch(wanted):
        opening = line.removeprefix("section ").split(" ", 1)[0].strip(".:")
        return opening == wanted
    return wanted in line


def _as_link(of: SearchResult | Link) -> dict[str, Any]:
    """The fields that results and links share."""
    return {name: getattr(of, name) for name in _OF_LINKS}
