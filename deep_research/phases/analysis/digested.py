"""Excerpts of documents that are about a subject as a whole: how each of their sections begins, and its table. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, takewhile
from math import sqrt
from typing import NamedTuple

from deep_research.evidence.catalogue import catalogues
from deep_research.evidence.passages import Block, BlockKind, blocks
from deep_research.evidence.quoting import opening
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.reading import readable
from deep_research.evidence.rows import headers
from deep_research.evidence.text import coverage, stem
from deep_research.state import Span

FAINT = 0.35  # of the share of the rarest word, below which one tells little of what a text is about
FAINTLY = 0.2  # of its weight, that such a word has
ABOUT = 0.55  # of the subject's weight, that the title has of what is about it
MOST_SECTIONS = 8
MOST_ROWS = 12
MOST_ENTRIES = 6
_NUMBER = re.compile(r"\A[\d.]+\s+")  # of a section
# "The lamps of Orrel"
_OF_A_PLACE = re.compile(r"(?P<thing>[a-z]\w*) (?:of|at|in|near) (?:the )?(?P<name>[A-Z]\w+)")


class Taken(NamedTuple):
    """An excerpt of a document, and the heading it stands under, none for what the document begins with."""

    span: Span
    heading: str = ""


def weighed(shares: Mapping[str, float]) -> dict[str, float]:
    """What each word of a subject counts, from its share by rarity: the rarest is not all of a subject, but among texts
    about lighthouses "lighthouse" tells hardly anything."""
    least = FAINT * max(shares.values(), default=0.0)
    return {term: sqrt(share) * (1.0 if share >= least else FAINTLY) for term, share in shares.items()}


def is_about(title: str, subject: Mapping[str, float]) -> bool:
    """Whether a document is about the subject by its title: that has the word which tells most, if not all, and is not of
    one place alone."""
    said = stems_of(title)
    most = max(subject.values(), default=0.0)
    place = _OF_A_PLACE.search(title)
    if place and stem(place["thing"]) in subject and stem(place["name"]) not in subject:
        return False
    return any(subject[term] == most for term in subject.keys() & said) and coverage(subject, said) >= ABOUT


def digest(text: str) -> list[Taken]:
    """How a document begins and how each of its sections does; the rows of a section that is a table."""
    every = list(blocks(text))
    found: list[Taken] = []
    for number, section in enumerate(islice(_sections(every, text), MOST_SECTIONS)):
        spans = _of_section(text, every, section.span, first=number == 0)
        found += [Taken(span, section.heading) for span in spans]
    return found


def called(text: str, subject: AbstractSet[str]) -> list[Taken]:
    """How the sections begin that are called after the subject, of which these are the stems, and nothing else."""
    found: list[Taken] = []
    for section in _sections(list(blocks(text)), text):
        if section.heading and stems_of(_NUMBER.sub("", section.heading)) == subject:
            told = opening(text, section.span)
            if told is not None and _is_whole(text[told.start : told.end]):
                found.append(Taken(told, section.heading))
    return found


def _sections(every: Sequence[Block], text: str) -> Iterator[Taken]:
    """What stands between one heading and the next. The first heading of all is the title."""
    start, heading = 0, ""
    titled = False
    for block in every:
        if block.kind is BlockKind.HEADING:
            if text[start : block.start].strip():
                yield Taken(Span(start=start, end=block.start), heading)
            start = block.end
            if titled or text[: block.start].strip():
                heading = readable(text, block.start, block.end).strip("# ")
            titled = True
    if text[start:].strip():
        yield Taken(Span(start=start, end=len(text)), heading)


def _of_section(text: str, every: Sequence[Block], section: Span, *, first: bool) -> Iterator[Span]:
    entries = [e for each in catalogues(text[section.start : section.end]) for e in each.entries]
    told = opening(text, section, alone=first)
    if (
        told is not None
        and _is_whole(text[told.start : told.end])
        and (not entries or told.start < section.start + entries[0].start)
    ):
        yield told
    for entry in entries[:MOST_ENTRIES]:
        yield Span(start=section.start + entry.start, end=section.start + entry.end)
    if told is not None and not entries:
        yield from _goes_on(text, every, section, told)
    tables = [
        b for b in every if b.kind is BlockKind.TABLE and section.start <= b.start and b.end <= section.end
    ]
    for table in tables[:1]:
        rows = [Span(start=start, end=end) for start, end in table.sentences(text)]
        whole = [row for row in rows[1:] if headers(text, row.start, row.end)]
        if len(whole) == len(rows) - 1 and 1 < len(whole) <= MOST_ROWS:
            yield from whole


def _goes_on(text: str, every: Sequence[Block], section: Span, told: Span) -> Iterator[Span]:
    """The items that follow the one which a section begins with: a list of steps is not told by its first."""
    inside = [b for b in every if section.start <= b.start and b.end <= section.end and b.end > told.start]
    items = list(takewhile(lambda block: block.kind is BlockKind.ITEM, inside))
    for item in items[1:MOST_ENTRIES]:
        said = opening(text, Span(start=item.start, end=item.end))
        if said is not None and said.start >= told.end and _is_whole(text[said.start : said.end]):
            yield said


def _is_whole(said: str) -> bool:
    """Whether its brackets are: a piece of code that was taken for text has others."""
    return said.count("(") == said.count(")")
