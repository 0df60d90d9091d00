"""Decision of how much a model reads of each source in a pass of ANALYSIS: all of it, which of its passages, or nothing.
Code decides; of sources that it is unsure of a model may say how much is read."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from deep_research.budget.content_budget import ContentRules
from deep_research.calls import off_loop
from deep_research.errors import WorkError
from deep_research.phases.analysis.handoff import AnalyzerInput, Doubtful, DoubtInput, DoubtOutput
from deep_research.phases.analysis.source_texts import Texts, work_of
from deep_research.retrieval.ranking import Questions, Scanned, around
from deep_research.state import DeepResearchState, Notice, ReadDepth, Source, SourceTriage, Span
from deep_research.state.events import NoticeAdded
from deep_research.text.language import written_in

CODE = "code"  # who chose what is read, where it was no model
WINDOW = "window"  # the name of the limit that tells what was left unread
MAX_SHORT_CHARS = 700  # characters of a source that is read whole: it costs little
MAX_SAMPLE_CHARS = 4_000  # characters by which it is told what a text is written in
MIN_WHOLE_SHARE = 0.95  # of a text, from which on all of it is read
MIN_DOUBT_SHARE = 0.75  # of the relevance with which a passage is read: near enough to ask a model
PROTECTED = "the owner of the run protects it"
FEW = "it is short"
OTHER_LANGUAGE = "it is in another language than the question"
NO_WORDS = "no source has a word of the question"
NEAR = "the sections that speak of what is asked"
NOT_NEAR = "nothing in it comes near to what is asked"
MOST_OF_IT = "most of it speaks of what is asked"
AGAIN = "a search of this round found it again, and sections that were not read speak of what it asks"
SAID = {
    ReadDepth.WHOLE: "a model said that most of it bears on what is asked",
    ReadDepth.SECTIONS: "a model said that a section may tell what is asked",
    ReadDepth.NOTHING: "a model said that nothing in it helps",
}
MAX_SOURCES_READ_ON = 5  # sources of earlier rounds of which further sections are read in a round
MAX_READ_ON_CHARS = 12_000  # characters of the passages for which one of them is read on
MAX_DOUBTFUL_SOURCES = 20  # sources that a model is asked about in a round, those that come nearest
MAX_HEADINGS, MAX_PASSAGE_CHARS = 12, 800  # of such a source

# Asks the model of the agent; None where it is not to be asked.
Decide = Callable[[DoubtInput], Awaitable[DoubtOutput | None]]


UNSCANNED = Scanned("", (), (), ())


@dataclass(frozen=True, slots=True)
class Look:
    """A source before it is read: ``because`` of what it is read whole; else how it was ``scanned``. ``is_named``:
    a search found it first, or a task names it, and its best passage is read in any case; ``quotes`` are the
    spans that a task quotes."""

    source: Source
    length: int
    because: str = ""
    scanned: Scanned = UNSCANNED
    is_named: bool = False
    quotes: Sequence[Span] = ()

    def passages(self, places: Iterable[int], because: str, by: str = CODE) -> SourceTriage:
        """Those of these places are read, with what stands around them."""
        spans = around(self.scanned, places)
        if sum(span.end - span.start for span in spans) < MIN_WHOLE_SHARE * self.length:
            return self.triage(ReadDepth.SECTIONS, because, by, spans)
        return self.triage(ReadDepth.WHOLE, MOST_OF_IT if by == CODE else because, by)

    def triage(
        self, extent: ReadDepth, because: str, by: str = CODE, spans: tuple[Span, ...] = ()
    ) -> SourceTriage:
        return SourceTriage(source_id=self.source.id, extent=extent, spans=spans, because=because, by=by)


@dataclass(frozen=True, slots=True)
class Doubt:
    """A source that code leaves out and is not sure of: its best passage, at ``place``, comes as near as ``value``; 0
    where it has no word of what is asked, of which it may speak in other words."""

    look: Look
    place: int
    value: float

    def view(self, text: str) -> Doubtful:
        """What a model sees of it."""
        source, scanned = self.look.source, self.look.scanned
        best = scanned.passages[self.place]
        headings = (text[span.start : span.end] for span, _ in scanned.headings[:MAX_HEADINGS])
        return Doubtful(
            id=source.id,
            title=source.title,
            url=source.url,
            headings=tuple(heading.strip().strip("# ") for heading in headings),
            passage=text[best.start : best.end][:MAX_PASSAGE_CHARS],
        )

    def settle(self, extent: ReadDepth, by: str) -> SourceTriage:
        """What a model said of it."""
        if extent is ReadDepth.SECTIONS:
            return self.look.passages((self.place,), SAID[extent], by)
        return self.look.triage(extent, SAID[extent], by)


def questions_of(handoff: AnalyzerInput) -> Questions:
    """What a round asks: the question and its parts, the searches of the round, and the gaps that are still open."""
    return Questions(
        (
            handoff.original_query,
            *(_searches(handoff) or [s.query for s in handoff.sub_queries]),
            *(part.text for part in handoff.parts),
            *(gap.description for gap in handoff.open_gaps),
        )
    )


def _searches(handoff: AnalyzerInput) -> list[str]:
    return [s.query for s in handoff.sub_queries if s.iteration == handoff.iteration]


def quoted_spans(state: DeepResearchState) -> dict[str, list[Span]]:
    """The sources that tasks quote or name as worth reading, by id, each with the spans that they quote."""
    spans: dict[str, list[Span]] = {}
    for task in state.tasks:
        if task.is_settled and not task.outcome.by_search:
            for source_id in task.outcome.worth_reading:
                spans.setdefault(source_id, [])
            for quote in (quote for fact in task.outcome.facts for quote in fact.quotes):
                spans.setdefault(quote.source_id, []).append(Span(start=quote.start, end=quote.end))
    return spans


def look(
    sources: Iterable[Source],
    texts: Mapping[str, str],
    questions: Questions,
    protected: Container[str],
    quotes: Mapping[str, Sequence[Span]],
) -> list[Look]:
    """Each source by itself; those that are ``protected`` are read whole. Takes time linear in the texts."""
    asked_in = written_in(" ".join(questions.asked))
    looks = []
    for source in sources:
        text = texts[source.id]
        because = ""
        if source.id in protected:
            because = PROTECTED
        elif len(text) <= MAX_SHORT_CHARS:
            because = FEW
        elif asked_in and written_in(text[:MAX_SAMPLE_CHARS]) not in ("", asked_in):
            because = OTHER_LANGUAGE
        scanned = UNSCANNED if because else questions.scan(source.id, source.title, text)
        is_named = source.rank == 0 or source.id in quotes
        looks.append(Look(source, len(text), because, scanned, is_named, quotes.get(source.id, ())))
    return looks


def triaged(
    looks: Sequence[Look], questions: Questions, rules: ContentRules
) -> tuple[tuple[SourceTriage, ...], list[Doubt]]:
    """What is read of each source of a round, and which of those that are left out are doubtful, the nearest first.
    A passage is read that comes near enough to the best one of all; of a source that is named always the best."""
    relevance = questions.relevance([item.scanned for item in looks if not item.because])
    cannot_tell = not any(map(any, relevance.values()))
    triage, doubts = [], []
    for item in looks:
        if item.because or cannot_tell:
            triage.append(item.triage(ReadDepth.WHOLE, item.because or NO_WORDS))
            continue
        values = relevance[item.source.id]
        best = max(range(len(values)), key=lambda n: (values[n], -n), default=None)
        starts = [passage.start for passage in item.scanned.passages]
        places = {max(0, bisect_right(starts, span.start) - 1) for span in item.quotes}
        places |= {n for n, value in enumerate(values) if value >= rules.section_relevance}
        if not places and item.is_named and best is not None:
            places = {best}
        if places:
            triage.append(item.passages(places, NEAR))
            continue
        triage.append(item.triage(ReadDepth.NOTHING, NOT_NEAR))
        least = MIN_DOUBT_SHARE * rules.section_relevance
        if best is not None and (not values[best] or values[best] >= least):
            doubts.append(Doubt(item, best, values[best]))
    return tuple(triage), sorted(doubts, key=lambda doubt: -doubt.value)


def read_on(
    known: Sequence[Look],
    fresh: Sequence[Look],
    read: Mapping[str, Sequence[Span]],
    searches: Sequence[str],
    questions: Questions,
    rules: ContentRules,
) -> list[SourceTriage]:
    """What is read of ``known`` sources beside the sections that were ``read``: those that come as near to what the
    round ``searches`` for as is asked of ``fresh`` ones. The first reading already looked for the earlier searches."""
    scans = [item.scanned for item in (*known, *fresh) if not item.because]
    relevance = questions.relevance(scans, searches)
    further: list[tuple[float, SourceTriage]] = []
    for item in (item for item in known if not item.because):
        values, passages = relevance[item.source.id], item.scanned.passages
        done_places = _places_in(item.scanned, read.get(item.source.id, ()))
        near = [n for n, value in enumerate(values) if value and value >= rules.section_relevance]
        places: list[int] = []
        left = MAX_READ_ON_CHARS
        for place in sorted(set(near) - done_places, key=lambda n: (-values[n], n)):
            left -= passages[place].end - passages[place].start
            if places and left < 0:
                break
            places.append(place)
        if places:
            spans = around(item.scanned, places, done_places)
            triage = item.triage(ReadDepth.SECTIONS, AGAIN, spans=spans)
            further.append((values[places[0]], triage.model_copy(update={"further": True})))
    return [triage for _, triage in sorted(further, key=lambda pair: -pair[0])[:MAX_SOURCES_READ_ON]]


def _places_in(source: Scanned, spans: Sequence[Span]) -> frozenset[int]:
    """The passages that lie in the spans. A heading that was read with others does not make its section read."""
    starts = [passage.start for passage in source.passages]
    ends = [passage.end for passage in source.passages]
    return frozenset(
        n for span in spans for n in range(bisect_left(starts, span.start), bisect_right(ends, span.end))
    )


def found_again(state: DeepResearchState) -> list[Source]:
    """The sources that were not read to the end in an earlier pass and that a search of this round found again, without
    those of another matter."""
    source_ids = {i for s in state.sub_queries if s.iteration == state.iteration for i in s.source_ids}
    ids = (source_ids & state.analyzed & state.sections_read.keys()) - state.analyzed_now - state.irrelevant
    return [s for s in state.sources if s.id in ids and s.content_hash]


@dataclass(frozen=True, slots=True)
class ReadingChoice:
    """How much is read of each source; what is told of the choice, and how many requests it took. ``read`` are those of
    which something is."""

    read: tuple[Source, ...]
    triage: tuple[SourceTriage, ...] = ()
    notices: tuple[NoticeAdded, ...] = ()
    requests: int = 0

    @property
    def by_id(self) -> dict[str, SourceTriage]:
        return {item.source_id: item for item in self.triage}


async def choose_reading(
    sources: Sequence[Source],
    known: Sequence[Source],
    told: AnalyzerInput,
    texts: Texts,
    rules: ContentRules,
    decide: Decide | None = None,
) -> ReadingChoice:
    """How much is read of new ``sources``, and what further of ``known`` ones, of which the journal has what was read.
    When the phase is done again, the first choice gave too little: all is read."""
    state = texts.journal.state
    if not (rules.enabled and rules.read_sections) or state.attempt:
        return ReadingChoice(tuple(sources))
    questions, quotes = questions_of(told), quoted_spans(state)
    protected = {source.id for source in sources if told.weights.is_protected(source)}

    async def looks_at(some: Sequence[Source]) -> list[Look]:
        looks: list[Look] = []
        for batch in texts.batches(some):
            contents = await texts.of(batch)
            looks += await off_loop(work_of(contents), look, batch, contents, questions, protected, quotes)
        return looks

    fresh = await looks_at(sources)
    triage, doubts = await off_loop(len(sources), triaged, fresh, questions, rules)
    choice = ReadingChoice((), triage)
    if decide is not None and doubts and rules.model_triage:
        choice = await _settle(choice, doubts[:MAX_DOUBTFUL_SOURCES], told, texts, decide)
    triage = choice.triage
    if known:
        again, read = await looks_at(known), state.sections_read
        size = len(sources) + len(known)
        further = await off_loop(size, read_on, again, fresh, read, _searches(told), questions, rules)
        triage = (*triage, *further)
    ids = {item.source_id for item in triage if item.extent is not ReadDepth.NOTHING}
    return replace(choice, read=tuple(s for s in (*sources, *known) if s.id in ids), triage=triage)


async def _settle(
    choice: ReadingChoice, doubts: Sequence[Doubt], told: AnalyzerInput, texts: Texts, decide: Decide
) -> ReadingChoice:
    """The choice with what a model says of the doubtful sources. Those that it does not name stay as they are, and
    whatever goes wrong with its part, code's choice stands."""
    views: list[Doubtful] = []
    for batch in texts.batches(doubt.look.source for doubt in doubts):
        contents = await texts.of(batch)
        views += [doubt.view(contents[i]) for doubt in doubts if (i := doubt.look.source.id) in contents]
    problem = "the model named none of them."
    try:
        answer = await decide(DoubtInput(**told.common, sub_queries=told.sub_queries, sources=tuple(views)))
    except WorkError as error:
        answer, problem = DoubtOutput(), error.problem
    if answer is None:
        return choice
    if not answer.extents:
        were = f"{sources_were(len(doubts))} left unread by their words alone"
        message = f"{were}, since no model could say whether they help: {problem}"
        notice = Notice(name=WINDOW, message=message)
        return replace(choice, notices=(NoticeAdded(notice=notice),), requests=1)
    by_id = {doubt.look.source.id: doubt for doubt in doubts}
    triage = tuple(
        by_id[i].settle(answer.extents[i], answer.by)
        if (i := item.source_id) in by_id and i in answer.extents
        else item
        for item in choice.triage
    )
    return replace(choice, triage=triage, requests=1)


def sources_were(count: int, number: str = "") -> str:
    return "1 source was" if count == 1 else f"{number or count} sources were"
