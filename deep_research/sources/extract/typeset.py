"""The lines of a page of a PDF with what their type says: how large it is, where it stands, and whether all its letters
are of one width. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

GAP = 0.9  # of the size: more than justified lines and the ends of sentences have
NEAR = (
    0.5  # of the size: more than a space; what is so far apart is two cells where it is so on several lines
)
_USUAL_SHARE = 0.4  # of all characters, below which no size is the usual one
_FEW, _FEW_SHARE = 6, 0.8  # sizes that most characters have; in scanned pages nearly each line has its own


class Room(NamedTuple):
    """What is wider than a space between two words of a cell: after how many of them, and from where to where."""

    words: int
    start: float
    end: float


class Cell(NamedTuple):
    """A piece of a line between gaps, and where it begins and ends, in points. Its ``rooms`` are too narrow to say by
    themselves that another cell begins there."""

    text: str
    start: float
    end: float
    rooms: tuple[Room, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """``size`` is that of most of its characters; it and the places of the line's ends, from the left and the bottom,
    are in points. A ``size`` of 0 says that nothing is known of its type. ``cells`` are those of a line with gaps;
    ``row`` is how a line of a table is written; ``spaces`` are those between all words of a line that may be names of
    columns; ``way`` is the direction in which it runs, a step of 1 to the right and up."""

    text: str
    size: float = 0.0
    left: float = 0.0
    base: float = 0.0
    is_mono: bool = False
    right: float = 0.0
    cells: tuple[Cell, ...] = ()
    row: str = ""
    spaces: tuple[Room, ...] = ()
    way: tuple[float, float] = (1.0, 0.0)


def typed(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The lines of all pages, none of them in letters of one width where most of the text is: then that says nothing."""
    every = [line for page in pages for line in page]
    mono = sum(len(line.text) for line in every if line.is_mono)
    if 0 < mono < 0.5 * sum(len(line.text) for line in every):
        return [list(page) for page in pages]
    return [list(map(as_prose, page)) for page in pages]


def as_prose(line: Line) -> Line:
    """A line in letters of one width that is no code."""
    return replace(line, text=" ".join(line.text.split()), is_mono=False) if line.is_mono else line


def usual_size(lines: Iterable[Line]) -> float:
    """The size that most of the text is set in; 0 when there is none."""
    sizes = _sizes(lines)
    size, count = max(sizes.items(), key=lambda item: item[1], default=(0.0, 0))
    return size if count >= _USUAL_SHARE * sizes.total() else 0.0


def sizes_tell(lines: Iterable[Line]) -> bool:
    """Whether the text is set in a few sizes, so that another one is another kind of text."""
    sizes = _sizes(lines)
    return sum(count for _, count in sizes.most_common(_FEW)) >= _FEW_SHARE * sizes.total()


def _sizes(lines: Iterable[Line]) -> Counter[float]:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return sizes
