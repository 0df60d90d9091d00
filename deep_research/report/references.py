"""The references and marks of a draft: ``[find-…]``, ``[src-…]``, ``[unsupported]``. Pure."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from deep_research.patterns import regex
from deep_research.state import Span
from deep_research.text.passages import Block

UNSUPPORTED, PARTLY = "[unsupported]", "[partly]"  # stand behind claims that their sources do not bear out
ID = r"(?:find|src)-[0-9a-f]{12}"
MARK = regex(rf"(?<![ \t])[ \t]*\[({ID}(?:\s*[,;]\s*{ID})*)\]")
_IDS = regex(ID)
_DOUBT = regex(r"(?<![ \t])[ \t]*\[(?:unsupported|partly)\]")


def marks_in(text: str) -> Iterator[re.Match[str]]:
    """The references of a draft, with the white space before them."""
    return MARK.finditer(text)


def without_marks(text: str) -> str:
    """A draft, or a part of it, without its references."""
    return MARK.sub("", text)


def ids_in(mark: str) -> tuple[str, ...]:
    """The ids of findings and sources that a reference names."""
    return tuple(_IDS.findall(mark))


def unmarked(text: str) -> str:
    """The text without marks."""
    return _DOUBT.sub("", text)


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference or a mark: its ``place`` in the bare text, where it begins and ends in the draft, and its ids."""

    place: int
    start: int
    end: int
    ids: tuple[str, ...]


class Bare:
    """A draft without its references and marks, and where these stood."""

    def __init__(self, draft: str) -> None:
        found = sorted(chain(marks_in(draft), _DOUBT.finditer(draft)), key=lambda match: match.start())
        pieces, self._at, self._removed = [], [0], [0]
        self._references: list[Reference] = []
        here = length = 0
        for match in found:
            pieces.append(draft[here : match.start()])
            length += match.start() - here
            here = match.end()
            written = match.group().lstrip(" \t")
            self._references.append(Reference(length, here - len(written), here, ids_in(written)))
            self._at.append(length)
            self._removed.append(here - length)
        self.text = "".join((*pieces, draft[here:]))

    def line_start(self, place: int) -> int:
        """Where in the draft the line of a place of the bare text begins, with the references before it."""
        line = self.text.rfind("\n", 0, place) + 1
        return line + self._removed[bisect_left(self._at, line, 1) - 1]

    def within(self, start: int, end: int) -> list[Reference]:
        return self._references[bisect_left(self._at, start, 1) - 1 : bisect_right(self._at, end, 1) - 1]

    def of_block(self, block: Block, following: int) -> list[Reference]:
        """With those that begin its line, and those on lines of their own between it and the ``following`` block."""
        line = self.text.rfind("\n", 0, block.start) + 1
        after = max(self.text.rfind("\n", block.end, following), block.end)
        return self.within(line, after)

    def place(self, start: int, end: int, references: Sequence[Reference]) -> Span:
        """Where a piece stands in the draft, with its references."""
        begin = start + self._removed[bisect_right(self._at, start) - 1]
        last = end - 1 + self._removed[bisect_right(self._at, end - 1) - 1] + 1
        return Span(
            start=min([begin, *(reference.start for reference in references)]),
            end=max([last, *(reference.end for reference in references)]),
        )
