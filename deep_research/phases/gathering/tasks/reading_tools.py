"""The tools with which a task reads what it has: a section by its number or title, the headings of a source, places with
some words, and what follows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import BaseModel, Field

from deep_research.calls import off_loop
from deep_research.errors import ToolError
from deep_research.phases.gathering.source_reading import TEXT_UNIT
from deep_research.phases.gathering.tasks.library import Library
from deep_research.phases.gathering.tasks.task_context import PART
from deep_research.phases.gathering.tasks.tool import Shown, TaskView, Tool, ToolResult
from deep_research.phases.prompting import one_line
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
from deep_research.state import Source, Span
from deep_research.text.passages import sentences
from deep_research.text.words import StemFinder, question_terms

LOOK_TIMEOUT = 120.0  # seconds
MAX_HEADINGS = 100  # of an outline
MAX_PLACES = 6  # of one use of find
PLACE_CHARS = 300
MAX_OTHERS = 3  # documents that have such a section too
NAME_CHARS = 100  # of a heading


class SectionReference(BaseModel):
    section: str = Field(description="number or title of the section, or of the page after the word page")
    source: str | None = Field(
        default=None,
        description="name of the source that has it or refers to it, such as S2; leave out to look in all documents",
    )


class LookUp(Tool):
    """Opens one section: of the source that is named, else of the documents, rather of those in the folder of that
    source."""

    name: ClassVar[str] = "look_up"
    description: ClassVar[str] = (
        "Open a section or page that a text names (see Section 20.4.4, page 12), of a source or of any document."
    )
    arguments: ClassVar[type[BaseModel]] = SectionReference
    timeout: ClassVar[float] = LOOK_TIMEOUT

    def __init__(self, library: Library) -> None:
        self._library = library

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
