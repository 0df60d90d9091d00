"""The tools that every task has: search, fetch, and those that read what it has: a section by its number or title, the
headings of a source, places with some words, and what follows. They take names or words, never an address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import BaseModel, Field

from deep_research.calls import off_loop
from deep_research.errors import ToolError
from deep_research.phases.gathering.handoff import GatheredSource
from deep_research.phases.gathering.source_reading import TEXT_UNIT
from deep_research.phases.gathering.tasks.library import Library, as_link, site
from deep_research.phases.gathering.tasks.task_context import PART
from deep_research.phases.gathering.tasks.tool import Link, Shown, TaskView, Tool, ToolResult
from deep_research.phases.prompting import one_line
from deep_research.provenance.quotes import references
from deep_research.retrieval.headings import (
    Likeness,
    Section,
    SectionName,
    best_section,
    neighbours,
    sections_of,
)
from deep_research.retrieval.ranking import matching
from deep_research.sources.documents.section_index import SectionPlace
from deep_research.sources.search import SearchResult
from deep_research.sources.search.combined_search import CORPUS, SearchOutcome
from deep_research.sources.search.filters import in_domains
from deep_research.state import Reference, Source, Span
from deep_research.text.passages import sentences
from deep_research.text.words import StemFinder, question_terms

MAX_PAGES = 5  # of results of one search
SEARCH_TIMEOUT = 120.0  # seconds; services have deadlines of their own within it
MAX_HEADINGS = 100  # of an outline
MAX_PLACES = 6  # of one use of find
PLACE_CHARS = 300
MAX_OTHERS = 3  # documents that have such a section too
NAME_CHARS = 100  # of a heading


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
        result = await library.read(SearchOutcome((SearchResult(**as_link(link)),)), view.question)
        origin = link.origin or site(link.address)
        links = [
            Link(address=reference.target, title=reference.text, origin=origin)
            for source in result.sources
            for reference in await self._references(source)
            if reference.target.startswith(("http://", "https://"))
            and in_domains(reference.target, library.handoff.filters)
        ]
        return result.model_copy(update={"links": tuple(links), "searches": 0})

    async def _references(self, source: GatheredSource) -> tuple[Reference, ...]:
        """What a page points to where it speaks of the question of the run. Not of the task: that a page, by way of a
        model, may have had a say in, and so in which links are offered."""
        text, question = source.content or "", self._library.handoff.original_query
        passages, _ = await off_loop(len(text) // TEXT_UNIT, matching, question, text, source.title)
        return references("", text, passages)


def tools_of(library: Library) -> tuple[Tool, ...]:
    """Those that a task has in any case."""
    return (Search(library), Fetch(library), LookUp(library), Outline(), Find(), ReadMore())


class SectionReference(BaseModel):
    section: str = Field(description="number or title of the section, or of the page after the word page")
    source: str | None = Field(
        default=None,
        description="name of the source that has it or refers to it, such as S2; leave out to look in all documents",
    )


class LookUp(_LibraryTool):
    """Opens one section: of the source that is named, else of the documents, rather of those in the folder of that
    source."""

    name: ClassVar[str] = "look_up"
    description: ClassVar[str] = (
        "Open a section or page that a text names (see Section 20.4.4, page 12), of a source or of any document."
    )
    arguments: ClassVar[type[BaseModel]] = SectionReference
    timeout: ClassVar[float] = SEARCH_TIMEOUT

    async def __call__(self, arguments: SectionReference, view: TaskView) -> ToolResult:
        source = view.source(arguments.source) if arguments.source is not None else None
        near: ToolResult | None = None
        if source is not None:
            text = await view.text(source.id)
            if (start := _page_start(arguments.section, source)) is not None:
                return ToolResult(
                    excerpts=(Shown(source_id=source.id, span=Span(start=start, end=start + PART)),)
                )
            near, likeness = await off_loop(
                len(text) // TEXT_UNIT, _opened, arguments.section, source, text, arguments.source or ""
            )
            if near is not None and likeness >= Likeness.WORDS:
                return near
        match = await self._in_documents(arguments.section, source, view)
        if match is not None and (near is None or match[0].likeness >= Likeness.WORDS):
            return await self._result_of(arguments.section, *match)
        if near is not None:
            return near
        where = f" in {arguments.source}" if arguments.source else ""
        raise ToolError(
            f"There is no section {one_line(arguments.section)[:60]}{where}.",
            hint="See the outline of the source, or search for words of it.",
        )

    async def _in_documents(
        self, reference: str, source: Source | None, view: TaskView
    ) -> tuple[SectionPlace, SearchResult] | None:
        corpus = self._library.sources.pool.corpus
        if CORPUS not in view.data_sources or corpus is None:
            if source is None:
                raise ToolError(
                    "There are no documents to look in.", hint="Name the source that has the section."
                )
            return None
        look = getattr(corpus.provider, "section", None)
        if look is None:
            return None
        address = (source.url or "") if source is not None else ""
        match: tuple[SectionPlace, SearchResult] | None = await corpus.calls(
            look, reference, address, timeout=corpus.timeout
        )
        return match

    async def _result_of(self, reference: str, place: SectionPlace, result: SearchResult) -> ToolResult:
        outcome = SearchOutcome(results=(result,), private=((CORPUS, result.address),))
        sources = await self._library.result_of(outcome, reference)
        lines = [
            _heading(place.sections, place.place, f"“{one_line(result.title)[:NAME_CHARS]}”", place.likeness)
        ]
        if place.others:
            many = len(place.others)
            neighbours = ", ".join(one_line(path)[:NAME_CHARS] for path in place.others[:MAX_OTHERS])
            lines.append(
                f"{many} more {'document has' if many == 1 else 'documents have'} one: {neighbours}."
            )
        return sources.model_copy(update={"text": "\n".join(lines), "excerpt": PART, "searches": 0})


class SourceName(BaseModel):
    source: str = Field(description="name of the source, such as S2")


class Outline(Tool):
    name: ClassVar[str] = "outline"
    description: ClassVar[str] = "List the headings of a source, each with its length."
    arguments: ClassVar[type[BaseModel]] = SourceName

    async def __call__(self, arguments: SourceName, view: TaskView) -> ToolResult:
        source = view.source(arguments.source)
        text = await view.text(source.id)
        sections = await off_loop(len(text) // TEXT_UNIT, sections_of, text)
        if not sections:
            pages = f" and {len(source.pages)} pages" if source.pages else ""
            return ToolResult(
                text=f"{arguments.source} has no headings; it has {len(text):,} characters{pages}."
            )
        deepest = max(section.level for section in sections)
        visible = sections
        while len(visible) > MAX_HEADINGS and deepest > 1:  # the deepest ones go first
            deepest -= 1
            visible = [section for section in sections if section.level <= deepest]
        top = min(section.level for section in visible)
        lines = [
            f"{'  ' * (section.level - top)}{one_line(section.name)[:NAME_CHARS]} ({section.end - section.start:,})"
            for section in visible[:MAX_HEADINGS]
        ]
        if left := len(sections) - len(lines):
            lines.append(f"(and {left} more)")
        return ToolResult(text=f"Headings of {arguments.source}, with their characters:\n" + "\n".join(lines))


class WordsInSource(BaseModel):
    source: str = Field(description="name of the source, such as S2")
    words: str = Field(description="words to look for")


class Find(Tool):
    name: ClassVar[str] = "find"
    description: ClassVar[str] = (
        "Find the places in a source that have some words; read_more reads from there."
    )
    arguments: ClassVar[type[BaseModel]] = WordsInSource

    async def __call__(self, arguments: WordsInSource, view: TaskView) -> ToolResult:
        source = view.source(arguments.source)
        text = await view.text(source.id)
        lines = await off_loop(len(text) // TEXT_UNIT, _places, arguments.words, text)
        if not lines:
            raise ToolError(
                f"{arguments.source} has none of these words.", hint="Try others, or see its outline."
            )
        return ToolResult(text=f"In {arguments.source}:\n" + "\n".join(lines))


class PlaceInSource(BaseModel):
    source: str = Field(description="name of the source, such as S2")
    at: int | None = Field(
        default=None, description="character to read from; leave out to read on from where it was shown last"
    )


class ReadMore(Tool):
    name: ClassVar[str] = "read_more"
    description: ClassVar[str] = "Read on in a source, from where it was shown last, or from a character."
    arguments: ClassVar[type[BaseModel]] = PlaceInSource
    reads_on: ClassVar[bool] = True

    async def __call__(self, arguments: PlaceInSource, view: TaskView) -> ToolResult:
        source = view.source(arguments.source)
        text = await view.text(source.id)
        start = view.shown_to(source.id) if arguments.at is None else max(0, arguments.at)
        if start >= len(text):
            raise ToolError(f"{arguments.source} ends there.", hint=f"It has {len(text):,} characters.")
        return ToolResult(excerpts=(Shown(source_id=source.id, span=Span(start=start, end=start + PART)),))


def _opened(reference: str, source: Source, text: str, name: str) -> tuple[ToolResult | None, Likeness]:
    """A section of a source that the task has, and how well it fits the reference."""
    sections = sections_of(text, source.title)
    match = best_section(SectionName.read(reference), sections)
    if match is None:
        return None, Likeness.NONE
    place, likeness = match
    section = sections[place]
    span = Span(start=section.start, end=min(section.end, section.start + PART))
    heading = _heading(sections, place, name, likeness)
    return ToolResult(text=heading, excerpts=(Shown(source_id=source.id, span=span),)), likeness


def _heading(sections: Sequence[Section], place: int, where: str, likeness: Likeness) -> str:
    """A line that says which section is shown, and which stand around it."""
    around = neighbours(sections, place)
    beside = "; ".join(f"{side}: {one_line(each.name)[:NAME_CHARS]}" for side, each in around.items())
    name = one_line(sections[place].name)[:NAME_CHARS]
    nearest = "There is no such section; the nearest is " if likeness is Likeness.NEAR else ""
    return f"{nearest}{name}, of {where}." + (f" ({beside})" if beside else "")


def _page_start(reference: str, source: Source) -> int | None:
    """Where a page begins, of a reference such as ``page 12`` to a source that has pages."""
    reference_words = reference.casefold().split()
    if len(reference_words) == 2 and reference_words[0] in ("page", "p.") and reference_words[1].isdecimal():
        number = int(reference_words[1])
        if 0 < number <= len(source.pages):
            return source.pages[number - 1]
    return None


def _places(words: str, text: str) -> list[str]:
    """A line for each of the best places, in the order of the text."""
    best, _ = matching(words, text)
    sections, stems = sections_of(text), StemFinder(question_terms(words))
    lines = []
    for span in sorted(best[:MAX_PLACES], key=lambda span: span.start):
        start = _best_sentence(stems, text, span).start
        within = next((each for each in reversed(sections) if each.start <= start), None)
        under = f", under {one_line(within.name)[:NAME_CHARS]}" if within is not None else ""
        lines.append(f"- at {start:,}{under}: {one_line(text[start : start + PLACE_CHARS])}")
    return lines


def _best_sentence(stems: StemFinder, text: str, span: Span) -> Span:
    """The sentence of a passage that has most of the words, the first of equal ones."""
    return max(
        sentences(text, span.start, span.end),
        key=lambda each: len(stems(text[each.start : each.end])),
        default=span,
    )
