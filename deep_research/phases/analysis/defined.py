"""Findings for what a thing is or who somebody was: the sentence that says so, before all that is told of it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from deep_research.evidence.catalogue import entry_of
from deep_research.evidence.debris import is_debris
from deep_research.evidence.defining import kind_asked
from deep_research.evidence.expecting import (
    asks_for_kind,
    defined,
    definition,
    glosses,
    of_a_person,
    purpose,
    wanted,
)
from deep_research.evidence.fragments import flows, is_statement
from deep_research.evidence.leaning import leans_back
from deep_research.evidence.question import compared
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.records import cards
from deep_research.evidence.text import StemFinder, denies
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import MAX_CHARS, finding_at, whole_of, with_its_list
from deep_research.phases.analysis.splitting import Split
from deep_research.state import Span

SAID = 0.95  # relevance of the sentence that says what a thing is
CARD = 0.93  # of the card of somebody that the source is about
KNOWN = 0.9  # of what such a source says that somebody is known for
INTRODUCED = 0.6  # of the sentence that says what one of two things is
LESS = 0.02  # from one source to the next
MOST = 2  # sentences that say it
_OPENS_CARD = re.compile(
    r"\b(?:who|what) (?:he|she|they|it) (?:is|are|was|were)\b|\b(?:in brief|at a glance|biography|facts)\b",
    re.IGNORECASE,
)
_FAME = re.compile(
    r"\b(?:best[- ]known|known (?:as|for)|famous|celebrated|renowned|remembered (?:as|for)|heroine|hero)\b",
    re.IGNORECASE,
)
_MEANS_SOMEBODY = re.compile(r"\b(?:he|she|him|her|his)\b", re.IGNORECASE)
_IS_ONE = r"(?: \([^()]{1,40}\))?,? (?:is|are|was|were) (?:an?|the|one of)\b"


def says_what(handoff: AnalyzerInput, split: Split) -> list[AnalyzedFinding]:
    """The findings, the nearest first; none where a question asks something else. How things of a kind work is told after
    what they are."""
    kind = kind_asked(handoff.original_query)
    thing = defined(handoff.original_query) or kind
    if not thing or wanted(handoff.original_query):
        return []
    person = of_a_person(handoff.original_query)
    said = [
        each
        for each in _sentences(handoff, thing, split, definition(thing), person=person)
        if not (kind and each[0][0])
    ]
    if not said and not person and " in " in thing:
        name = thing.partition(" in ")[0]
        said = list(_sentences(_of(handoff, thing), name, split, definition(name)))
    if not said and not person and not kind and not asks_for_kind(handoff.original_query):
        said = list(_sentences(handoff, thing, split, purpose(thing)))
    if not person and not kind:
        said += _entries(handoff, thing)
        said = said or list(_glossed(handoff, thing, split))
    told = sorted(said, key=lambda each: each[0])[:MOST]
    found = [
        finding_at(handoff, source, span.start, span.end, SAID - LESS * place)
        for place, (_, source, span) in enumerate(told)
    ]
    about = [s for s in handoff.sources if stems_of(thing) <= stems_of(s.title)]
    for source in about if person else ():
        found += _card(handoff, source)
        found += _fame(handoff, source, thing, split)
    return found


def _of(handoff: AnalyzerInput, thing: str) -> AnalyzerInput:
    """With the sources alone that speak of where the thing is: of Flask, for "g in Flask"."""
    where = stems_of(thing.partition(" in ")[2])
    finder = StemFinder(where)
    sources = tuple(s for s in handoff.sources if where <= stems_of(s.title) | finder(s.content))
    return handoff.model_copy(update={"sources": sources})


def introduced(handoff: AnalyzerInput, split: Split) -> list[AnalyzedFinding]:
    """What says what each of two things is that are compared, where a source is about it."""
    found: list[AnalyzedFinding] = []
    for side in compared(handoff.original_query):
        told = [each for each in _sentences(handoff, side, split, definition(side)) if not each[0][1]]
        for _, source, span in sorted(told, key=lambda each: each[0])[:1]:
            found.append(finding_at(handoff, source, span.start, span.end, INTRODUCED))
    return found


def _sentences(
    handoff: AnalyzerInput, thing: str, split: Split, pattern: re.Pattern[str], *, person: bool = False
) -> Iterator[tuple[tuple[bool, bool, int], SourceText, Span]]:
    """For each source its first sentence that says what the thing is, as the ``pattern`` has it, with how far behind
    others it stands."""
    is_one = re.compile(re.escape(thing.removesuffix("s")) + r"(?:s|es)?" + _IS_ONE, re.IGNORECASE)
    is_somebody = re.compile(rf"\b(?:was|is) {re.escape(thing)}\b(?! \w+ing\b)") if person else None
    word = thing.split()[0].casefold().removesuffix("s")
    for rank, source in enumerate(handoff.sources):
        text = source.content
        told = split(source) if word in text.casefold() else []
        for place, span in enumerate(told):
            said = " ".join(text[span.start : span.end].split())
            if word not in said.casefold():
                continue
            if not (pattern.match(said) or (is_somebody and is_somebody.search(said) and not denies(said))):
                continue
            reads = is_statement(text, span) or _opens_with_name(text, span, thing)
            if not reads or is_debris(said) or len(said) > MAX_CHARS:
                continue
            whole = whole_of(text, told, place)
            if whole is not None:
                untitled = not stems_of(thing) <= stems_of(source.title)
                yield (is_one.search(said) is None, untitled, rank), source, with_its_list(text, whole)
                break


def _glossed(
    handoff: AnalyzerInput, thing: str, split: Split
) -> Iterator[tuple[tuple[bool, bool, int], SourceText, Span]]:
    """For each source its first sentence that names the thing and the one after it that says what that means."""
    for rank, source in enumerate(handoff.sources):
        text = source.content
        told = split(source) if thing.casefold() in text.casefold() else []
        for one, other in pairwise(told):
            said, meant = text[one.start : one.end], text[other.start : other.end]
            if (
                thing.casefold() in " ".join(said.casefold().split())
                and glosses(meant)
                and flows(text, one, other)
                and is_statement(text, one)
                and is_statement(text, other)
                and not leans_back(said)
            ):
                yield (False, False, rank), source, Span(start=one.start, end=other.end)
                break


def _entries(handoff: AnalyzerInput, thing: str) -> Iterator[tuple[tuple[bool, bool, int], SourceText, Span]]:
    """For each source what it tells under the thing's own name."""
    name, _, where = thing.partition(" in ")
    for rank, source in enumerate(_of(handoff, thing).sources if where else handoff.sources):
        if entry := entry_of(source.content, name):
            yield (False, False, rank), source, Span(start=entry.start, end=entry.end)


def _opens_with_name(text: str, span: Span, thing: str) -> bool:
    """Whether a sentence opens a paragraph with a name in small letters, such as one that programs have: it is whole."""
    opens = thing[0].islower() and text.startswith(thing, span.start) and text.endswith("\n\n", 0, span.start)
    return opens and text[span.end - 1] == "."


def _card(handoff: AnalyzerInput, source: SourceText) -> Iterator[AnalyzedFinding]:
    for card in cards(source.content):
        if _OPENS_CARD.search(card.heading):
            yield finding_at(handoff, source, card.start, card.end, CARD, content=card.told)
            return


def _fame(handoff: AnalyzerInput, source: SourceText, thing: str, split: Split) -> Iterator[AnalyzedFinding]:
    """What a source about somebody says that he or she is known for."""
    text = source.content
    names = stems_of(thing)
    for span in split(source):
        said = text[span.start : span.end]
        named = _MEANS_SOMEBODY.search(said) is not None or bool(names & stems_of(said))
        if named and _FAME.search(said) and is_statement(text, span) and not is_debris(said):
            yield finding_at(handoff, source, span.start, span.end, KNOWN)
            return
