"""Findings for how something is done, by somebody or at all: how a section begins that is called after it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from deep_research.evidence.announcing import units
from deep_research.evidence.called import doings
from deep_research.evidence.debris import is_debris, notes_version
from deep_research.evidence.doing import action, done_with, says_little
from deep_research.evidence.examples import example_behind
from deep_research.evidence.fragments import flows, is_enough, is_statement
from deep_research.evidence.leaning import leans_back
from deep_research.evidence.passages import BlockKind, blocks
from deep_research.evidence.question import QuestionKind, asked_terms, kind_of
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.signposts import only_points
from deep_research.evidence.text import NAME_WEIGHT, content_words, coverage, question_terms, stem
from deep_research.phases.analysis.aspects import Batch, without_common_names
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at
from deep_research.state import Span

CALLED = 1.39  # relevance of how a section begins that is called just that; "To light the lamp, …" has more
OF_THING = 0.9  # the same where it is called by what it is done to alone
NAMED = 1.2  # the same of a whole document, where that has a name
ALSO = 0.1  # share of the relevance for names that most sources have
OUTRIGHT = 0.1  # more for what begins "To light the lamp, …"
KIND_CALLED = 1.36  # relevance of what is called by a kind of it: "Oil lamps"
OF_A_KIND = 1  # words that a heading may have besides, before it
DONE = 0.95  # relevance at most, where it is asked how something is done
LEAST = 0.8  # relevance
MOST = 2  # sections
MOST_SENTENCES = 3
MAX_CHARS = 480  # of them; a list that one announces comes on top
LOOKED_AT = 4_000  # characters of a section
EXAMPLES = 3  # pieces of code that are shown
SHOWS = 0.5  # of what is asked, by code and the words before it
NEAR = 0.75  # of the relevance of the first finding, for one whose code is shown
TRIES = 6  # sentences of a section among which its first is looked for
# Of what a heading is, and not what it is about.
_OF_GUIDES = frozenset(
    map(stem, ("guide", "tutorial", "introduction", "basics", "example", "overview", "howto", "using"))
)
_ENDINGS = ("ing", "ed", "en")  # "Removing lamps" and "Broken lamps" are no kinds of lamps
_DOING_BOTH = re.compile(r"\b(?P<one>\w+ing) and (?P<other>\w+ing)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)*\.?\s+")
_TO_DO = re.compile(r"To [a-z]+\b[^.!?\n]{0,200}?, ")
_ASKS = re.compile(r"(?:why|when|what|who|which)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Section:
    source: SourceText
    body: Span
    near: float
    under: frozenset[str]


def guided(batch: Batch) -> list[AnalyzedFinding]:
    """The findings, the nearest first; none where a question asks something else, or no section is called so."""
    question = batch.handoff.original_query
    to_do = kind_of(question) is QuestionKind.HOW_TO
    if not (to_do or done_with(question)):
        return []
    found: list[tuple[float, _Section, Span]] = []
    wanted = without_common_names(batch)
    for section in _called(batch):
        if (span := _beginning(section.source.content, section.body)) is not None:
            purpose = _TO_DO.match(section.source.content, span.start)
            says_how = purpose is not None and not stems_of(purpose[0]).isdisjoint(wanted)
            near = section.near + OUTRIGHT * says_how
            found.append((near if to_do else min(near, DONE), section, span))
            batch.under[section.source.id, span.start] = section.under
    found.sort(key=lambda told: -told[0])
    return [
        finding_at(batch.handoff, section.source, span.start, span.end, near)
        for near, section, span in found[:MOST]
    ]


def with_examples(handoff: AnalyzerInput, findings: Sequence[AnalyzedFinding]) -> list[AnalyzedFinding]:
    """The findings, the first ones with the code that stands right behind them, if that is of what is asked."""
    little = says_little(handoff.original_query)
    asked = {t: w for t, w in asked_terms(handoff.original_query).items() if t not in little}
    texts = {source.id: source.content for source in handoff.sources}
    shown: list[AnalyzedFinding] = []
    left = EXAMPLES
    for finding in findings:
        quote = finding.quotes[0]
        text = texts[quote.source_id]
        near = left > 0 and finding.relevance >= NEAR * findings[0].relevance
        code = example_behind(text, quote.start + len(quote.quote)) if near else None
        if code and coverage(asked, doings(f"{finding.content} {text[code.start : code.end]}")) >= SHOWS:
            left -= 1
            example = AnalyzedQuote(
                source_id=quote.source_id, quote=text[code.start : code.end], start=code.start
            )
            finding = finding.model_copy(update={"quotes": (*finding.quotes, example)})
        shown.append(finding)
    return shown


def _called(batch: Batch) -> Iterator[_Section]:
    """The sections whose heading says what is to be done, or of all that it is to be done to, and nothing else."""
    by_itself = done_with(batch.handoff.original_query)
    doing = action(batch.handoff.original_query) or by_itself
    names = {t for t, w in question_terms(batch.handoff.original_query).items() if w >= NAME_WEIGHT}
    little = says_little(batch.handoff.original_query)
    wanted = {term: weight for term, weight in without_common_names(batch).items() if term not in little}
    thing = {term: weight for term, weight in wanted.items() if term != doing}
    for source in batch.handoff.sources:
        held: dict[int, set[str]] = {}
        headings = [block for block in blocks(source.content) if block.kind is BlockKind.HEADING]
        for block, following in zip_longest(headings, headings[1:]):
            own = _part_asked(
                source.content[block.start : block.end], doing, batch, by_itself=bool(by_itself)
            )
            held = {level: stems for level, stems in held.items() if level < block.level}
            said = own.union(*held.values()) & batch.question.keys()
            held[block.level] = own
            more = own - batch.question.keys()
            if not own or (
                more and not _is_a_kind(source.content[block.start : block.end], own, more, wanted)
            ):
                continue
            near = 0.0
            if doing in own or (doing in little and thing.keys() <= own and not by_itself):
                share = (1.0 - ALSO) * coverage(wanted, said) + ALSO * coverage(batch.question, said)
                near = (KIND_CALLED if more else CALLED) * share
            elif thing and thing.keys() <= said and (not by_itself or by_itself in little):
                near = OF_THING if names.isdisjoint(own) or len(held) > 1 else NAMED
            if near >= LEAST:
                end = following.start if following else len(source.content)
                body = Span(start=block.end, end=min(end, block.end + LOOKED_AT))
                yield _Section(source, body, near, frozenset(said))


def _is_a_kind(heading: str, own: set[str], more: set[str], wanted: Mapping[str, float]) -> bool:
    """Whether a heading calls a kind of what is wanted: that in its last words, and a word before it."""
    said = content_words(heading) or [""]
    if any(word.casefold().endswith(_ENDINGS) for word in said if stem(word) in more):
        return False
    return len(more) <= OF_A_KIND and wanted.keys() <= own and stem(said[-1]) in wanted


def _part_asked(heading: str, doing: str, batch: Batch, *, by_itself: bool) -> set[str]:
    """The stems of what a heading says: of "Lighting and mending lamps" what is said of the ``doing``; and where it is
    asked how something is done ``by_itself``, of "Lamps and mirrors" what is asked about."""
    if both := _DOING_BOTH.search(heading):
        for said in both.group("one", "other"):
            if stem(said) == doing:
                return _meant(f"{heading[: both.start()]}{said}{heading[both.end() :]}")
    parts = map(_meant, heading.split(" and ")) if by_itself else ()
    return next((part for part in parts if part and part <= batch.question.keys()), _meant(heading))


def _meant(heading: str) -> set[str]:
    """The stems of what a heading says; none where it asks something else than how."""
    heading = heading.lstrip("# ")
    if number := _NUMBER.match(heading):
        heading = heading[number.end() :]
    return set() if _ASKS.match(heading) else {stem(word) for word in content_words(heading)} - _OF_GUIDES


def _beginning(text: str, body: Span) -> Span | None:
    """The first sentences of a paragraph that say something, with the list that one of them announces; or the first of
    all, where code stands right behind them that does."""
    told = list(units(text, body))
    if (shown := _before_example(text, told)) is not None:
        return shown
    for first, span in enumerate(told[:TRIES]):
        goes_on = first > 0 and flows(text, told[first - 1], span)
        said = text[span.start : span.end]
        if goes_on or not _says(text, span) or leans_back(said) or only_points(said):
            continue
        end = span.end
        for before, after in zip(told[first:], told[first + 1 : first + MOST_SENTENCES], strict=False):
            if not flows(text, before, after) or not _says(text, after):
                break
            if before.end - span.start > MAX_CHARS:
                break
            end = after.end
        return Span(start=span.start, end=end)
    return None


def _before_example(text: str, told: Sequence[Span]) -> Span | None:
    """The sentences of the first paragraph, if it is short and ends where an example begins."""
    for place, span in enumerate(told[:MOST_SENTENCES]):
        if text[span.start] == "#" or (place and not flows(text, told[place - 1], span)):
            break
        if example_behind(text, span.end) is not None:
            paragraph = Span(start=told[0].start, end=span.end)
            short = paragraph.end - paragraph.start <= MAX_CHARS
            return paragraph if short and is_enough(text[paragraph.start : paragraph.end]) else None
    return None


def _says(text: str, span: Span) -> bool:
    said = text[span.start : span.end]
    return is_statement(text, span) and not (is_debris(said) or notes_version(said))
