"""Terms with their descriptions one after another under one heading: a list of things of a kind. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise

from deep_research.evidence.called import doings
from deep_research.evidence.debris import notes_version
from deep_research.evidence.defining import called, term_start
from deep_research.evidence.passages import Block, BlockKind, blocks

LEAST = 3  # entries of a list
MAX_INTRODUCTION = 600  # characters before the first entry
FAR = 2_000  # characters of a description that are looked at
FEW = 3  # words of a first sentence, with which the second is told
BEGINNING = 2  # sentences of it that say what its term is
MAX_BEGINNING = 480  # characters


@dataclass(slots=True)
class Entry:
    """``text[start:end]`` is the term with the first sentence of its description, which goes on to ``last``."""

    term: str
    start: int
    end: int
    last: int

    def says(self, text: str) -> set[str]:
        """The stems of the term, of its parts, and of its description, without notes on versions."""
        return doings(f"{self.term} {self.term.casefold().replace('_', ' ')} {text[self.start : self.last]}")


@dataclass(slots=True)
class Catalogue:
    """What stands under a ``heading``: what is said ``before`` the entries, and these."""

    heading: str
    before: str = ""
    entries: list[Entry] = field(default_factory=list)


def catalogues(text: str) -> Iterator[Catalogue]:
    """The lists of a text, in order."""
    current, ended = Catalogue(""), False
    for block in blocks(text):
        if block.kind is BlockKind.HEADING:
            if len(current.entries) >= LEAST:
                yield current
            current = Catalogue(text[block.start : block.end].strip("# "))
        elif entry := _entry(text, block):
            # The term was taken for a paragraph of what stands before it.
            if current.entries:
                current.entries[-1].last = min(current.entries[-1].last, entry.start)
            current.before = current.before.removesuffix(
                text[entry.start : text.index("\n", entry.start) + 1]
            )
            current.entries.append(entry)
            ended = False
        elif current.entries:
            described = not ended and not notes_version(text, block.start)
            ended = not described
            current.entries[-1].last = block.end if described else current.entries[-1].last
        elif len(current.before) < MAX_INTRODUCTION:
            current.before += text[block.start : min(block.end, block.start + MAX_INTRODUCTION)] + "\n"
    if len(current.entries) >= LEAST:
        yield current


def entry_of(text: str, name: str) -> Entry | None:
    """The entry whose term is a name, with the beginning of its description."""
    line = re.compile(rf"^(?:[\w.]+\.)?{re.escape(name)}(?:\([^\n]*\))?¶?\n\n-[ ]", re.MULTILINE)
    match = line.search(text)
    if match is None:
        return None
    item = next(blocks(text, match.end() - len("- "), match.end() + FAR), None)
    told = [end for _, end in item.sentences(text)][:BEGINNING] if item else []
    ends = [end for end in told if end - match.start() <= MAX_BEGINNING]
    return Entry(name, match.start(), ends[-1], ends[-1]) if ends and text[ends[-1] - 1] in ".!:" else None


def terms_above(text: str) -> Callable[[int], str]:
    """Tells the term of a list to whose description a place belongs; empty where none does, and behind the last term of a
    list: what stands there may be of the whole list."""
    told = [pair for each in catalogues(text) for pair in pairwise(each.entries)]
    starts = [entry.start for entry, _ in told]

    def above(place: int) -> str:
        at = bisect_left(starts, place) - 1
        return told[at][0].term if at >= 0 and place < told[at][1].start else ""

    return above


def _entry(text: str, block: Block) -> Entry | None:
    """The entry that an item opens which is the first to describe a term."""
    if block.kind is not BlockKind.ITEM:
        return None
    told = list(islice(block.sentences(text), BEGINNING))
    start = term_start(text, told[0][0]) if told else 0
    if not told or start == told[0][0]:
        return None
    # "The eldest." says little by itself.
    end = told[0][1] if len(text[slice(*told[0])].split()) > FEW else told[-1][1]
    return Entry(called(text[start : text.index("\n", start)]), start, end, block.end)
