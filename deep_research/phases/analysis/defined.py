"""Findings for what a thing is or who somebody was: the sentence that says so, before all that is told of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from deep_research.evidence.debris import is_debris
from deep_research.evidence.expecting import defined, definition, of_a_person, wanted
from deep_research.evidence.fragments import flows, is_statement
from deep_research.evidence.leaning import leans_back
from deep_research.evidence.passages import sentences
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.records import cards
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at
from deep_research.state import Span

SAID = 0.95  # relevance of the sentence that says what a thing is
CARD = 0.93  # of the card of somebody that the source is about
KNOWN = 0.9  # of what such a source says that somebody is known for
LESS = 0.02  # from one source to the next
OTHERS = 0.8  # of the relevance of what else is told
MOST = 2  # sentences that say it
MOST_BEFORE = 2  # sentences that are taken along for what it points back to
MAX_CHARS = 480
_OPENS_CARD = re.compile(
    r"\b(?:who|what) (?:he|she|they|it) (?:is|are|was|were)\b|\b(?:in brief|at a glance|biography|facts)\b",
    re.IGNORECASE,
)
_FAME = re.compile(
    r"\b(?:best[- ]known|known (?:as|for)|famous|celebrated|renowned|remembered (?:as|for)|heroine|hero)\b",
    re.IGNORECASE,
)
_MEANS_SOMEBODY = re.compile(r"\b(?:he|she|him|her|his)\b", re.IGNORECASE)
_IS_ONE = re.compile(r"(?:is|are|was|were)(?: not)? (?:an?|the|one of)\b", re.IGNORECASE)


def says_what(handoff: AnalyzerInput) -> list[AnalyzedFinding]:
    """The findings, the nearest first; none where a question asks something else."""
    thing = defined(handoff.original_query)
    if not thing or wanted(handoff.original_query):
        return []
    person = of_a_person(handoff.original_query)
    told = sorted(_sentences(handoff, thing, person=person), key=lambda each: each[0])[:MOST]
    found = [
        finding_at(handoff, source, span.start, span.end, SAID - LESS * place)
        for place, (_, source, span) in enumerate(told)
    ]
    about = [s for s in handoff.sources if stems_of(thing) <= stems_of(s.title)]
    for source in about if person else ():
        found += _card(handoff, source)
        found += _fame(handoff, source, thing)
    return found


def with_definitions(what: list[AnalyzedFinding], others: Iterable[AnalyzedFinding]) -> list[AnalyzedFinding]:
    """What says what a thing is, and after it what else its sources tell of it."""
    if not what:
        return list(others)
    sources = {i for finding in what for i in finding.source_ids}
    told = [
        f.model_copy(update={"relevance": round(OTHERS * f.relevance, 6)})
        for f in others
        if not sources.isdisjoint(f.source_ids) and not leans_back(f.content)
    ]
    return [*what, *told]


def _sentences(
    handoff: AnalyzerInput, thing: str, *, person: bool
) -> Iterator[tuple[tuple[bool, bool, int], SourceText, Span]]:
    """For each source its first sentence that says what the thing is, with how far behind others it stands."""
    pattern = definition(thing)
    is_somebody = re.compile(rf"\b(?:was|is) {re.escape(thing)}\b(?! \w+ing\b)") if person else None
    word = thing.split()[0].casefold().removesuffix("s")
    for rank, source in enumerate(handoff.sources):
        text = source.content
        told = sentences(text) if word in text.casefold() else []
        for place, span in enumerate(told):
            said = " ".join(text[span.start : span.end].split())
            if not (pattern.match(said) or (is_somebody and is_somebody.search(said))):
                continue
            if not is_statement(text, span) or is_debris(said) or len(said) > MAX_CHARS:
                continue
            whole = _whole(text, told, place)
            if whole is not None:
                untitled = not stems_of(thing) <= stems_of(source.title)
                yield (_IS_ONE.search(said) is None, untitled, rank), source, whole
                break


def _whole(text: str, told: list[Span], place: int) -> Span | None:
    """A sentence with those that it leans on, and with the next of its paragraph; None where it leans on what cannot be
    taken along."""
    first = place
    while leans_back(text[told[first].start : told[first].end]):
        if first in (0, place - MOST_BEFORE) or not flows(text, told[first - 1], told[first]):
            return None
        first -= 1
    end = told[place].end
    if (
        place + 1 < len(told)
        and flows(text, told[place], told[place + 1])
        and is_statement(text, told[place + 1])
    ):
        end = told[place + 1].end if told[place + 1].end - told[first].start <= MAX_CHARS else end
    return Span(start=told[first].start, end=end)


def _card(handoff: AnalyzerInput, source: SourceText) -> Iterator[AnalyzedFinding]:
    for card in cards(source.content):
        if _OPENS_CARD.search(card.heading):
            yield finding_at(handoff, source, card.start, card.end, CARD, content=card.told)
            return


def _fame(handoff: AnalyzerInput, source: SourceText, thing: str) -> Iterator[AnalyzedFinding]:
    """What a source about somebody says that he or she is known for."""
    text = source.content
    names = stems_of(thing)
    for span in sentences(text):
        said = text[span.start : span.end]
        named = _MEANS_SOMEBODY.search(said) is not None or bool(names & stems_of(said))
        if named and _FAME.search(said) and is_statement(text, span) and not is_debris(said):
            yield finding_at(handoff, source, span.start, span.end, KNOWN)
            return
