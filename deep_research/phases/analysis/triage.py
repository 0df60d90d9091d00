"""Triage of sources before a model reads them: whole, in sections, or not at all; and further sections of known
sources. Code decides. If it is unsure of some sources, a model may decide on them: one request shows it their titles,
headings and best passages."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.budget.content_budget import DEFAULTS, ContentRules
from deep_research.calls import off_loop
from deep_research.errors import WorkError
from deep_research.models.language_model import LanguageModel
from deep_research.phases.analysis.handoff import AnalyzerInput, Doubtful, DoubtInput, DoubtOutput
from deep_research.phases.analysis.source_texts import Texts, work_of
from deep_research.phases.prompting import RULES, Aliases, Message, Room, ask_model, listed, one_line, opening
from deep_research.retrieval.ranking import Questions, Scanned, around
from deep_research.state import DeepResearchState, Notice, ReadDepth, Source, SourceTriage, Span, SubQuery
from deep_research.state.events import NoticeAdded
from deep_research.text.language import written_in

MAX_SHORT_CHARS = 700  # characters of a source that is read whole: it costs little
MIN_WHOLE_SHARE = 0.95  # of a text, from which on all of it is read
MAX_SAMPLE_CHARS = 4_000  # characters by which it is told what a text is written in
LIMIT = "window"  # the name of the limit that tells what was left unread
NOT_NEAR = "nothing in it comes near to what is asked"
DOUBT = (
    0.75  # of the relevance with which a section is read: from here on a source is near enough to ask a model
)
NEAR = "the sections that speak of what is asked"
MOST_OF_IT = "most of it speaks of what is asked"
OTHER_LANGUAGE = "it is in another language than the question"
PROTECTED = "the owner of the run protects it"
FEW = "it is short"
NO_WORDS = "no source has a word of the question"
SAID = {
    ReadDepth.WHOLE: "a model said that most of it bears on what is asked",
    ReadDepth.SECTIONS: "a model said that a section may tell what is asked",
    ReadDepth.NOTHING: "a model said that nothing in it helps",
}

MOST_READ_ON = 5  # sources of earlier rounds of which further sections are read in a round
LONGEST_READ_ON = 12_000  # characters of the passages for which one of them is read on
AGAIN = "a search of this round found it again, and sections that were not read speak of what it asks"

MOST_OUTPUT = 1_500  # tokens, thoughts included
MOST_DOUBTFUL = 20  # sources of one request, those that come nearest
LONGEST_TITLE = 200  # characters
MOST_HEADINGS, LONGEST_HEADING = 12, 80  # of a source, and characters of each
LONGEST_PASSAGE = 800  # characters
OF_BESIDE = 0.08  # of the room, for the searches
READ = {"whole": ReadDepth.WHOLE, "sections": ReadDepth.SECTIONS, "no": ReadDepth.NOTHING}

SYSTEM = f"""\
You choose what is read for a piece of research. Of each source (S1, S2 …) you see its title, its headings and the \
passage of it that has most of the words of what is asked. It has few of them, and would be left unread. Say of each:
- whole: most of it bears on what is asked;
- sections: the passage, and what stands around it, may tell something that is asked;
- no: nothing in it helps to answer.

Judge by what is meant: a source may answer in other words than the question's. A source on another matter that shares \
some words does not. What is read takes the room of other sources, so where nothing speaks for a source it is no.

{RULES}"""
# Asks the model of the agent; None where it is not to be asked.
Decide = Callable[[DoubtInput], Awaitable[DoubtOutput | None]]


@dataclass(frozen=True, slots=True)
class Looked:
    """What is known of a source before it is read: the ``extent`` and reason, or its scanned sections. ``first``: its
    best section is read in any case; ``places`` are those that a task quotes."""

    id: str
    length: int
    first: bool
    extent: ReadDepth | None = None
    because: str = ""
    scanned: Scanned | None = None
    places: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Doubt:
    """A source that code leaves out and is not sure of: its best passage is the one at ``place``, and comes as near as
    ``value``; 0 where it has no word of what is asked, of which it may speak in other words."""

    id: str
    length: int
    scanned: Scanned
    place: int
    value: float


def questions_of(handoff: AnalyzerInput) -> Questions:
    """What a round asks: the question and its parts, the searches of the round, and the gaps that are still open."""
    now = [s.query for s in handoff.sub_queries if s.iteration == handoff.iteration]
    return Questions(
        (
            handoff.original_query,
            *(now or [s.query for s in handoff.sub_queries]),
            *(part.text for part in handoff.parts),
            *(gap.description for gap in handoff.open_gaps),
        )
    )


def named_places(state: DeepResearchState) -> dict[str, tuple[Span, ...]]:
    """The sources that tasks quote or name as worth reading, by id, each with the places that they quote."""
    places: dict[str, list[Span]] = {}
    for task in state.tasks:
        if task.is_settled and not task.outcome.by_search:
            for source_id in task.outcome.worth_reading:
                places.setdefault(source_id, [])
            for fact in task.outcome.facts:
                for quote in fact.quotes:
                    places.setdefault(quote.source_id, []).append(Span(start=quote.start, end=quote.end))
    return {source_id: tuple(spans) for source_id, spans in places.items()}


def look(
    sources: Iterable[Source],
    texts: Mapping[str, str],
    questions: Questions,
    *,
    protected: frozenset[str] = frozenset(),
    named: Mapping[str, Sequence[Span]] = MappingProxyType({}),
) -> list[Looked]:
    """Each source by itself; ``protected`` are the ids of those that are read whole, ``named`` the `named_places`. Takes
    time linear in the texts."""
    asked_in = written_in(" ".join(questions.asked))
    return [_looked(source, texts[source.id], questions, protected, named, asked_in) for source in sources]


def _looked(
    source: Source,
    text: str,
    questions: Questions,
    protected: frozenset[str],
    named: Mapping[str, Sequence[Span]],
    asked_in: str,
) -> Looked:
    is_first = source.rank == 0 or source.id in named

    def look(extent: ReadDepth, because: str) -> Looked:
        return Looked(source.id, len(text), is_first, extent, because)

    if source.id in protected:
        return look(ReadDepth.WHOLE, PROTECTED)
    if len(text) <= MAX_SHORT_CHARS:
        return look(ReadDepth.WHOLE, FEW)
    language = written_in(text[:MAX_SAMPLE_CHARS])
    if language and asked_in and language != asked_in:
        return look(ReadDepth.WHOLE, OTHER_LANGUAGE)
    scanned = questions.scan(source.id, source.title, text)
    places = tuple(sorted({_place_of(scanned, span) for span in named.get(source.id, ())}))
    return Looked(source.id, len(text), is_first, scanned=scanned, places=places)


def _place_of(scanned: Scanned, span: Span) -> int:
    """The passage in which a span begins."""
    return max(0, bisect_right([passage.start for passage in scanned.passages], span.start) - 1)


def triaged(looked: Sequence[Looked], questions: Questions, rules: ContentRules) -> tuple[SourceTriage, ...]:
    """What is read of each source. Of those of a round a section is read that comes near enough to the best one; of the
    first that a search found always the best section."""
    scanned = [item.scanned for item in looked if item.scanned is not None]
    relevance = questions.relevance(scanned)
    if not any(map(any, relevance.values())):  # then words cannot tell
        return tuple(_of(item, item.extent or ReadDepth.WHOLE, item.because or NO_WORDS) for item in looked)
    return tuple(_triage(item, relevance.get(item.id, []), rules) for item in looked)


def _triage(item: Looked, values: Sequence[float], rules: ContentRules) -> SourceTriage:
    if item.scanned is None:
        return _of(item, item.extent or ReadDepth.WHOLE, item.because)
    near = [n for n, value in enumerate(values) if value >= rules.section_relevance]
    places = sorted({*near, *item.places})
    if not places and item.first and values:
        places = [max(range(len(values)), key=lambda n: (values[n], -n))]
    if not places:
        return _of(item, ReadDepth.NOTHING, NOT_NEAR)
    spans = around(item.scanned, places)
    if sum(span.end - span.start for span in spans) >= MIN_WHOLE_SHARE * item.length:
        return _of(item, ReadDepth.WHOLE, MOST_OF_IT)
    return _of(item, ReadDepth.SECTIONS, NEAR, spans)


def doubts_of(
    looked: Sequence[Looked], triage: Sequence[SourceTriage], questions: Questions, rules: ContentRules
) -> list[Doubt]:
    """Of the sources that are left out since nothing in them comes near enough: those that nearly do, the nearest first,
    and those without any word of what is asked."""
    left = {item.source_id for item in triage if item.because == NOT_NEAR}
    relevance = questions.relevance([item.scanned for item in looked if item.scanned is not None])
    doubts = []
    for item in looked:
        values = relevance.get(item.id, [])
        if item.id not in left or item.scanned is None or not values:
            continue
        place = max(range(len(values)), key=lambda n: (values[n], -n))
        if not values[place] or values[place] >= DOUBT * rules.section_relevance:
            doubts.append(Doubt(item.id, item.length, item.scanned, place, values[place]))
    return sorted(doubts, key=lambda doubt: -doubt.value)


def decided(
    triage: Sequence[SourceTriage], doubts: Sequence[Doubt], extents: Mapping[str, ReadDepth], by: str
) -> tuple[SourceTriage, ...]:
    """The triage with what a model said of the doubtful ones; those that it did not name stay as they are."""
    by_id = {doubt.id: doubt for doubt in doubts}
    return tuple(
        _decided(by_id[item.source_id], extents[item.source_id], by)
        if item.source_id in by_id and item.source_id in extents
        else item
        for item in triage
    )


def _decided(doubt: Doubt, extent: ReadDepth, by: str) -> SourceTriage:
    because = SAID[extent]
    spans = around(doubt.scanned, (doubt.place,)) if extent is ReadDepth.SECTIONS else ()
    if sum(span.end - span.start for span in spans) >= MIN_WHOLE_SHARE * doubt.length:
        extent, spans = ReadDepth.WHOLE, ()
    return SourceTriage(source_id=doubt.id, extent=extent, spans=spans, because=because, by=by)


def _of(item: Looked, extent: ReadDepth, because: str, spans: tuple[Span, ...] = ()) -> SourceTriage:
    return SourceTriage(source_id=item.id, extent=extent, spans=spans, because=because)


def notices_of(triage: Sequence[SourceTriage], iteration: int) -> list[Notice]:
    """What a reader of the report is told of it, in one line."""
    read_on = sum(item.further for item in triage)
    triage = [item for item in triage if not item.further]
    in_part = sum(item.extent is ReadDepth.SECTIONS for item in triage)
    far = sum(item.because == NOT_NEAR for item in triage)
    unread_count = sum(item.because == SAID[ReadDepth.NOTHING] for item in triage)
    notices = [
        *([f"{in_part} only in the sections that speak of what is asked"] if in_part else []),
        *([f"{far} not at all, since nothing in them comes near to it"] if far else []),
        *(
            [f"{unread_count} not at all, since a model saw nothing in them that helps"]
            if unread_count
            else []
        ),
    ]
    of_round = "" if iteration == 1 else f" of round {iteration}"
    messages = []
    if notices:
        messages.append(
            f"Of {_many(len(triage))}{of_round} a model read {'; '.join(notices)} (reading.sections)."
        )
    if read_on:
        messages.append(
            f"Of {_many(read_on)} of earlier rounds a model read further sections in round {iteration}"
            " (reading.sections)."
        )
    return [Notice(name=LIMIT, message=message) for message in messages]


def _many(sources: int) -> str:
    return "1 source" if sources == 1 else f"{sources} sources"


@dataclass(frozen=True, slots=True)
class _Further:
    """The places in a source that are wanted, the nearest first, how near that is, and the places that were read."""

    source: Scanned
    places: tuple[int, ...]
    value: float
    read: frozenset[int]


def found_again(state: DeepResearchState) -> list[Source]:
    """The sources that were not read to the end in an earlier pass and that a search of this round found again, without
    those of another matter."""
    source_ids = {i for s in state.sub_queries if s.iteration == state.iteration for i in s.source_ids}
    earlier = state.analyzed - state.analyzed_now - state.irrelevant
    return [
        s
        for s in state.sources
        if s.id in source_ids & earlier and s.id in state.sections_read and s.content_hash
    ]


def read_on(
    known: Sequence[Looked],
    fresh: Sequence[Looked],
    read: Mapping[str, Sequence[Span]],
    told: AnalyzerInput,
    questions: Questions,
    rules: ContentRules,
) -> tuple[SourceTriage, ...]:
    """What is read of ``known`` sources beside the sections that were ``read``: those that come as near to what the
    round searches for as is asked of ``fresh`` ones. Only this round's searches count; the first reading already looked
    for the earlier ones."""
    searches = [s.query for s in told.sub_queries if s.iteration == told.iteration]
    scans = {item.id: item.scanned for item in known if item.scanned is not None}
    every = [*scans.values(), *(item.scanned for item in fresh if item.scanned is not None)]
    relevance = questions.relevance(every, searches)
    further = [_further(source, relevance[name], read.get(name, ()), rules) for name, source in scans.items()]
    nearest = sorted((f for f in further if f.places), key=lambda f: -f.value)[:MOST_READ_ON]
    return tuple(
        SourceTriage(
            source_id=item.source.id,
            extent=ReadDepth.SECTIONS,
            spans=around(item.source, item.places, item.read),
            because=AGAIN,
            further=True,
        )
        for item in nearest
    )


def _further(
    source: Scanned, values: Sequence[float], spans: Sequence[Span], rules: ContentRules
) -> _Further:
    read = _places_in(source, spans)
    near = [n for n, v in enumerate(values) if v and v >= rules.section_relevance and n not in read]
    near.sort(key=lambda n: (-values[n], n))
    places: list[int] = []
    left = LONGEST_READ_ON
    for place in near:
        left -= source.passages[place].end - source.passages[place].start
        if places and left < 0:
            break
        places.append(place)
    return _Further(source, tuple(places), values[places[0]] if places else 0.0, read)


def _places_in(source: Scanned, spans: Sequence[Span]) -> frozenset[int]:
    """The passages that lie in the spans. A heading that was read with others does not make its section read."""
    starts = [passage.start for passage in source.passages]
    read: set[int] = set()
    for span in spans:
        place = bisect_left(starts, span.start)
        while place < len(starts) and source.passages[place].end <= span.end:
            read.add(place)
            place += 1
    return frozenset(read)


class SourceChoice(BaseModel):
    source: str = Field(description="name of the source, such as S1")
    read: Literal["whole", "sections", "no"]


class Choices(BaseModel):
    choices: list[SourceChoice] = Field(description="one for each source")


@dataclass(frozen=True, slots=True)
class ReadingChoice:
    """How much is read of each source, what is told of the choice, and how many requests it took."""

    triage: tuple[SourceTriage, ...] = ()
    notices: tuple[NoticeAdded, ...] = ()
    requests: int = 0


async def choose_reading(
    sources: Sequence[Source],
    known: Sequence[Source],
    told: AnalyzerInput,
    texts: Texts,
    rules: ContentRules,
    decide: Decide,
    named: Mapping[str, Sequence[Span]] = MappingProxyType({}),
) -> ReadingChoice:
    """How much is read of new ``sources``, and what further of ``known`` ones, of which the journal has what was read.
    ``named`` are the `named_places`."""
    questions = questions_of(told)
    protected = frozenset(s.id for s in sources if told.weights.is_protected(s))
    looked = await _looked_at(sources, texts, questions, protected, named)
    choice = await _of_new(sources, looked, told, texts, questions, rules, decide)
    if not known:
        return choice
    again = await _looked_at(known, texts, questions)
    read = texts.journal.state.sections_read
    size = len(sources) + len(known)
    further = await off_loop(size, read_on, again, looked, read, told, questions, rules)
    return replace(choice, triage=(*choice.triage, *further))


async def _looked_at(
    sources: Sequence[Source],
    texts: Texts,
    questions: Questions,
    protected: frozenset[str] = frozenset(),
    named: Mapping[str, Sequence[Span]] = MappingProxyType({}),
) -> list[Looked]:
    """What can be told of each source before a model reads it."""
    looks: list[Looked] = []
    for batch in texts.batches(sources):
        contents = await texts.of(batch)
        looks += await off_loop(
            work_of(contents), look, batch, contents, questions, protected=protected, named=named
        )
    return looks


async def _of_new(
    sources: Sequence[Source],
    looked: Sequence[Looked],
    told: AnalyzerInput,
    texts: Texts,
    questions: Questions,
    rules: ContentRules,
    decide: Decide,
) -> ReadingChoice:
    """Whatever goes wrong with the model's part of it, code's choice stands."""
    triage = await off_loop(len(sources), triaged, looked, questions, rules)
    if not rules.model_triage:
        return ReadingChoice(triage)
    doubts = (await off_loop(len(sources), doubts_of, looked, triage, questions, rules))[:MOST_DOUBTFUL]
    if not doubts:
        return ReadingChoice(triage)
    doubtful = await _load_doubtful(sources, doubts, texts)
    handoff = DoubtInput(**told.common, sub_queries=told.sub_queries, sources=doubtful)
    try:
        answer = await decide(handoff)
    except WorkError as error:
        return ReadingChoice(triage, (_left_to_code(len(doubts), error.problem),), requests=1)
    if answer is None:
        return ReadingChoice(triage)
    if not answer.extents:
        return ReadingChoice(
            triage, (_left_to_code(len(doubts), "the model named none of them."),), requests=1
        )
    return ReadingChoice(decided(triage, doubts, answer.extents, answer.by), requests=1)


async def _load_doubtful(
    sources: Sequence[Source], doubts: Sequence[Doubt], texts: Texts
) -> tuple[Doubtful, ...]:
    """What is shown of each, in the order of the doubts. Texts are loaded a few at a time, and dropped."""
    by_id = {source.id: source for source in sources}
    doubtful: dict[str, Doubtful] = {}
    for batch in texts.batches(by_id[doubt.id] for doubt in doubts):
        contents = await texts.of(batch)
        for doubt in doubts:
            if doubt.id in contents:
                doubtful[doubt.id] = _doubtful(by_id[doubt.id], contents[doubt.id], doubt)
    return tuple(doubtful[doubt.id] for doubt in doubts)


def _doubtful(source: Source, text: str, doubt: Doubt) -> Doubtful:
    best = doubt.scanned.passages[doubt.place]
    headings = tuple(text[span.start : span.end] for span, _ in doubt.scanned.headings[:MOST_HEADINGS])
    return Doubtful(
        id=source.id,
        title=source.title,
        url=source.url,
        headings=tuple(heading.strip().strip("# ") for heading in headings),
        passage=text[best.start : best.end][:LONGEST_PASSAGE],
    )


def _left_to_code(doubtful: int, problem: str) -> NoticeAdded:
    were = "1 source was" if doubtful == 1 else f"{doubtful} sources were"
    message = (
        f"{were} left unread by their words alone, since no model could say whether they help: {problem}"
    )
    return NoticeAdded(notice=Notice(name=LIMIT, message=message))


async def decide(handoff: DoubtInput, model: LanguageModel, rules: ContentRules = DEFAULTS) -> DoubtOutput:
    """What the model says of each. Names that were not given mean nothing; of two answers on one source the first
    counts."""
    names = Aliases("S", [source.id for source in handoff.sources])
    decisions, _ = await ask_model(
        model, SYSTEM, MOST_OUTPUT, Choices, lambda room: _message(handoff, names.names, room), rules
    )
    extents: dict[str, ReadDepth] = {}
    for choice in decisions.choices:
        if (source_id := names.id(choice.source)) is not None:
            extents.setdefault(source_id, READ[choice.read])
    return DoubtOutput(extents=extents, by=model.name)


def _message(handoff: DoubtInput, names: Mapping[str, str], room: Room) -> Message:
    message = Message(room)
    opening(message, handoff)
    if searches := _searches(handoff.sub_queries):
        message.add(f"What was searched for:\n{listed(message.lines(searches, OF_BESIDE, 'the searches'))}")
    for source in handoff.sources:
        message.material(f"source {names[source.id]}", _described(source))
    message.add("Say of each source how much of it is read.")
    return message


def _searches(sub_queries: Sequence[SubQuery]) -> list[str]:
    return [
        f"{one_line(s.query)} ({one_line(s.rationale)})" if s.rationale else one_line(s.query)
        for s in sub_queries
    ]


def _described(source: Doubtful) -> str:
    lines = [f"Title: {one_line(source.title)[:LONGEST_TITLE]}"]
    if source.url:
        lines.append(f"Address: {one_line(source.url)[:LONGEST_TITLE]}")
    headings = [one_line(heading)[:LONGEST_HEADING] for heading in source.headings[:MOST_HEADINGS]]
    if headings:
        lines.append(f"Headings: {'; '.join(headings)}")
    return "\n".join((*lines, f"Passage: {one_line(source.passage)[:LONGEST_PASSAGE]}"))
