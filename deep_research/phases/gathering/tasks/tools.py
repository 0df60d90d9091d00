"""The tools that every task has: search, fetch, and those that read. They take names or words, never an address."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from pydantic import BaseModel, Field

from deep_research.calls import off_loop
from deep_research.errors import ToolError
from deep_research.patterns import regex
from deep_research.phases.gathering.caps import OneUse
from deep_research.phases.gathering.handoff import GatheredSource
from deep_research.phases.gathering.source_reading import TEXT_UNIT
from deep_research.phases.gathering.tasks.egress import site
from deep_research.phases.gathering.tasks.library import Library, as_link
from deep_research.phases.gathering.tasks.reading_tools import Find, LookUp, Outline, ReadMore
from deep_research.phases.gathering.tasks.tool import Link, TaskView, Tool, ToolResult
from deep_research.phases.prompting import one_line
from deep_research.provenance.quotes import references
from deep_research.retrieval.ranking import matching
from deep_research.sources.search import SearchResult
from deep_research.sources.search.filters import in_domains
from deep_research.state import Reference

MOST_LINKS = 10  # of one search
SPARE = 2  # times as many results are asked for as are wanted, where pages have to be read
MAX_PAGES = 5  # of results of one search
SEARCH_TIMEOUT = 120.0  # seconds; services have deadlines of their own within it
_OF_LINKS = ("address", "title", "snippet", "kind", "text_at", "published", "relevance", "provider")
_NUMBER = regex(r"[A-Z]?\d+(?:\.\w+)+|\d+")


class Query(BaseModel):
    query: str = Field(description="words to search for, as one would type them")
    data_source: str | None = Field(
        default=None, description="name of the one data source to search; leave out for all"
    )
    page: int | None = Field(default=None, description="2 for the results after the first ones, and so on")


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
        page = min(max(1, arguments.page or 1), MAX_PAGES)
        needed = limit * page + 1  # one more, to know whether there are more
        outcome = await self._library.sources.search(
            self._library.request(arguments.query, needed), names, spare=self._library.spare
        )
        count, first = len(outcome.results), limit * (page - 1)
        page_outcome = replace(outcome, results=outcome.results[first : first + limit])
        result = await self._library.result_of(page_outcome, arguments.query)
        return result.model_copy(update={"text": _count_line(len(page_outcome.results), first, count, page)})


def _count_line(shown: int, first: int, count: int, page: int) -> str:
    """How many results there were."""
    if count <= first:
        return f"There are {count} results, and no page {page}." if count else ""
    if count > first + shown:
        more = f"; page {page + 1} has the next ones" if page < MAX_PAGES else ""
        return f"Results {first + 1} to {first + shown} of more{more}."
    return f"Results {first + 1} to {count}; there are no more." if page > 1 else f"All {count} results."


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
            [SearchResult(**as_link(link))],
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
            fetches=fetching.attempts,
        )

    async def _references(self, source: GatheredSource) -> tuple[Reference, ...]:
        """What a page points to where it speaks of the question of the run. Not of the task: that a page, by way of a
        model, may have had a say in, and so in which links are offered."""
        text, question = source.content or "", self._library.handoff.original_query
        passages, _ = await off_loop(len(text) // TEXT_UNIT, matching, question, text, source.title)
        return references("", text, passages)


def tools_of(library: Library) -> tuple[Tool, ...]:
    """Those that a task has in any case."""
    return (Search(library), Fetch(library), LookUp(library), Outline(), Find(), ReadMore())
