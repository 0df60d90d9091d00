"""Findings for a survey of a subject that is named in few words: excerpts of the sources that are about it.

No sentence answers such a request, and single sentences of many sources make no text. What introduces a subject are
the beginnings of documents and of sections that are about it, a few sentences that follow each other. A timeline takes
the sentences and entries that tell a date.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from deep_research.evidence.belonging import belonging
from deep_research.evidence.dates import date_of, opens_with_date
from deep_research.evidence.debris import has_address, is_debris
from deep_research.evidence.defining import speaks_generally, term_start
from deep_research.evidence.expecting import definition
from deep_research.evidence.feedback import Scored, ranked
from deep_research.evidence.fragments import flows, is_statement
from deep_research.evidence.leaning import leans_back
from deep_research.evidence.names import names_in
from deep_research.evidence.passages import sentences
from deep_research.evidence.question import asks_how_it_grew, asks_of_somebody, subject, wants_order_of_time
from deep_research.evidence.quoting import best_quote, opening
from deep_research.evidence.ranking import Passage, stems_of
from deep_research.evidence.reading import readable
from deep_research.evidence.sectioning import in_section
from deep_research.evidence.text import NAME_WEIGHT, coverage, question_terms
from deep_research.phases.analysis.aspects import records
from deep_research.phases.analysis.digested import called, digest, is_about, weighed
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, AnalyzerInput
from deep_research.state import ConfidenceLevel, Span

NEAR = 0.3  # of the best score, for a passage to be about the subject
ABOUT = 0.45  # of the subject's words, that a document has; or a dated sentence and its title
NAMED = 0.28  # of the subject's words, that an excerpt and its title have, where no document is about it
PER_SOURCE = 4
FEW = 3  # excerpts, below which the nearest document is taken for one about the subject
SEVERAL = 5  # documents, and the share of them that has all words of a subject which no title tells
EVERYWHERE = 0.7
MOST_ABOUT = 3  # documents that are about the subject as a whole
MOST = 24  # excerpts
MOST_DATED = 60
ENTRIES = 3  # that open with a date make a list of them, all of which is of its subject
LEAST_ENTRY = 3  # words
LONGEST = 60  # words of an excerpt
STEP = 0.001  # of relevance, from one excerpt to the next


@dataclass(frozen=True, slots=True)
class _Excerpt:
    source: int
    span: Span
    content: str
    heading: str = ""


def overview_findings(handoff: AnalyzerInput, found: Sequence[Passage]) -> list[AnalyzedFinding]:
    """The findings, the nearest first; none when no passage has all words of the subject."""
    texts = [source.content for source in handoff.sources]
    titles = [source.title for source in handoff.sources]
    rank = ranked(subject(handoff.original_query), found, texts, titles)
    if not any(rank.asked.keys() <= passage.counts.keys() for passage in rank.passages):
        return []
    likely = belonging(rank, titles)
    recording = records(handoff, {passage.source for passage in rank.passages})
    held: dict[int, set[str]] = defaultdict(set)
    for passage in rank.passages:
        held[passage.source].update(passage.counts)
    asked = weighed(rank.asked)
    near = sorted(
        (
            p
            for p in rank.passages
            if p.score >= NEAR and coverage(asked, held[p.source]) >= ABOUT and p.source not in recording
        ),
        key=lambda p: (-p.score * likely[p.source], p.source, p.span.start),
    )
    named = _names(handoff)
    having = sum(asked.keys() <= stems for stems in held.values())
    # Each text of a folder on lamps has the word: one is about lamps whose title names none of them.
    everywhere = not named and len(texts) >= SEVERAL and having >= EVERYWHERE * len(texts)
    about = [
        place
        for place in dict.fromkeys(p.source for p in near)
        if is_about(titles[place], asked) and not (everywhere and names_in(titles[place], texts[place]))
    ]
    if not about and asks_of_somebody(handoff.original_query):
        return []  # single statements say more than what others are about
    if not about and asks_how_it_grew(handoff.original_query):
        named = set(asked)  # each word is to be said of what no document is about
    introduced = _introductions(near, texts, titles, asked, rank.learned, named, about)
    if not about and 0 < len(introduced) < FEW:
        about = [introduced[0].source]
    sections = list(_called(near, texts, stems_of(subject(handoff.original_query)), about))
    told = [*_definitions(near, texts, handoff), *_digests(about, texts), *sections, *introduced]
    excerpts = _in_general_first(told, handoff, [*about, *(section.source for section in sections)])
    if wants_order_of_time(handoff.original_query):
        dated = list(_dated(near, texts, titles, asked, _names(handoff)))[:MOST_DATED]
        excerpts = [*excerpts[:1], *dated] if len(dated) >= ENTRIES else excerpts
    return [_finding(handoff, excerpt, 1.0 - STEP * place) for place, excerpt in enumerate(excerpts)]


def _digests(about: Sequence[int], texts: Sequence[str]) -> list[_Excerpt]:
    """What the documents have that are about the subject: the beginnings of all, then what their sections say."""
    every = [
        [
            _Excerpt(source, span, readable(texts[source], span.start, span.end), heading)
            for span, heading in digest(texts[source])
        ]
        for source in about[:MOST_ABOUT]
    ]
    told = [[excerpt for excerpt in own if _reads(excerpt.content)] for own in every]
    return [excerpt for own in told for excerpt in own[:1]] + [e for own in told for e in own[1:]]


def _called(
    near: Iterable[Scored], texts: Sequence[str], wanted: AbstractSet[str], about: Sequence[int]
) -> Iterator[_Excerpt]:
    """How the sections begin that are called after the subject, in documents that are of more."""
    for source in dict.fromkeys(p.source for p in near if p.source not in about):
        for span, heading in called(texts[source], wanted):
            content = readable(texts[source], span.start, span.end)
            if _reads(content):
                yield _Excerpt(source, span, content, heading)


def _introductions(
    near: Iterable[Scored],
    texts: Sequence[str],
    titles: Sequence[str],
    asked: Mapping[str, float],
    learned: Mapping[str, float],
    names: AbstractSet[str],
    about: Sequence[int],
) -> list[_Excerpt]:
    """How the documents and passages begin that are not ``about`` the subject as a whole, where that names it; else what
    of a passage does. A few of each source."""
    found: list[_Excerpt] = []
    of: Counter[int] = Counter()
    least = ABOUT if about else NAMED
    wanted = {**learned, **{term: weight + learned.get(term, 0.0) for term, weight in asked.items()}}
    for passage in near:
        text, title = texts[passage.source], stems_of(titles[passage.source])
        if passage.source in about or of[passage.source] == PER_SOURCE:
            continue
        for place, span in enumerate(_beginnings(text, passage, wanted, first=not of[passage.source])):
            start = term_start(text, span.start)
            excerpt = _Excerpt(
                passage.source, Span(start=start, end=span.end), readable(text, start, span.end)
            )
            said = stems_of(excerpt.content)
            # How a document begins may leave to its title what it is about; what follows may not.
            named = not said.isdisjoint(asked) and (
                coverage(asked, said | title) >= least
                if place == of[passage.source] == 0
                else coverage(asked, said) >= ABOUT
            )
            if named and names <= said | title and _reads(excerpt.content) and excerpt not in found:
                of[passage.source] += 1
                found.append(excerpt)
                break
    return found[:MOST]


def _beginnings(text: str, passage: Scored, wanted: Mapping[str, float], *, first: bool) -> Iterator[Span]:
    """The beginning of the passage; of a document that is heard for the ``first`` time before that its own beginning, and
    after it the sentences that say most of what is wanted."""
    whole = opening(text, Span(start=0, end=len(text)), alone=True) if first else None
    yield from (span for span in (whole, opening(text, passage.span)) if span is not None)
    quote = (
        best_quote(text, Passage(passage.source, passage.span, passage.counts), wanted, set(), None)
        if first
        else None
    )
    if quote is not None and not quote.leans and " | " not in text[quote.start : quote.end]:
        yield Span(start=quote.start, end=quote.end)


def _definitions(near: Iterable[Scored], texts: Sequence[str], handoff: AnalyzerInput) -> Iterator[_Excerpt]:
    """The sentences that say what the subject is, each with the one after it that goes on."""
    thing = subject(handoff.original_query)
    says_what, word = definition(thing), thing.split()[0].casefold().removesuffix("s")
    for source in dict.fromkeys(passage.source for passage in near):
        text = texts[source]
        told = sentences(text) if word in text.casefold() else []
        for place, span in enumerate(told):
            said = " ".join(text[span.start : span.end].split())
            if says_what.match(said) and is_statement(text, span):
                following = told[place + 1] if place + 1 < len(told) else None
                goes_on = (
                    following is not None and flows(text, span, following) and is_statement(text, following)
                )
                end = following.end if following is not None and goes_on else span.end
                content = readable(text, span.start, end)
                if _reads(content):
                    yield _Excerpt(source, Span(start=span.start, end=end), content)
                break


def _in_general_first(
    excerpts: Sequence[_Excerpt], handoff: AnalyzerInput, about: Sequence[int]
) -> list[_Excerpt]:
    """What says what the subject is, then what is ``about`` it, then what speaks of it in general, then of single ones of
    its kind; in one order where the subject has a name. No place of a source stands twice."""
    said: list[_Excerpt] = []
    for excerpt in excerpts:
        if not any(
            e.source == excerpt.source and e.span.start < excerpt.span.end and excerpt.span.start < e.span.end
            for e in said
        ):
            said.append(excerpt)
    if _names(handoff):
        return said
    thing = subject(handoff.original_query)
    says_what = definition(thing)
    return sorted(
        said,
        key=lambda e: (
            says_what.match(e.content) is None,
            e.source not in about,
            not speaks_generally(e.content, thing),
        ),
    )


def _names(handoff: AnalyzerInput) -> set[str]:
    """The names in the subject, by stem."""
    return {term for term, weight in question_terms(handoff.original_query).items() if weight >= NAME_WEIGHT}


def _dated(
    near: Sequence[Scored],
    texts: Sequence[str],
    titles: Sequence[str],
    asked: Mapping[str, float],
    names: AbstractSet[str],
) -> Iterator[_Excerpt]:
    """The sentences that tell a date and are of the subject; where a source is a list of dates, all its entries, of a
    subject with a name those that name it."""
    for source in dict.fromkeys(passage.source for passage in near):
        text, title = texts[source], stems_of(titles[source])
        told = sentences(text)
        entries = {s for s in told if opens_with_date(text[s.start : s.end])}
        for span in told:
            content = readable(text, span.start, span.end)
            if span in entries and len(entries) >= ENTRIES:
                fits = len(content.split()) >= LEAST_ENTRY and names <= stems_of(content) | title
            else:
                fits = (
                    date_of(content) is not None
                    and is_statement(text, span)
                    and not leans_back(content)
                    and coverage(asked, stems_of(content) | title) >= ABOUT
                )
            if fits and _reads(content):
                yield _Excerpt(source, span, content)


def _reads(content: str) -> bool:
    return len(content.split()) <= LONGEST and not (is_debris(content) or has_address(content))


def _finding(handoff: AnalyzerInput, excerpt: _Excerpt, relevance: float) -> AnalyzedFinding:
    source = handoff.sources[excerpt.source]
    text = source.content[excerpt.span.start : excerpt.span.end]
    return AnalyzedFinding(
        content=excerpt.content,
        confidence=ConfidenceLevel.LOW,
        source_ids=(source.id,),
        quotes=(AnalyzedQuote(source_id=source.id, quote=text, start=excerpt.span.start),),
        relevance=round(relevance, 6),
        category=in_section(excerpt.heading),
    )
