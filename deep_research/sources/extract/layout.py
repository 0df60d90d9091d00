"""How the lines of a page lie: whether they fell to pieces, stand in columns, or begin with the label of a list. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from deep_research.sources.extract.gaps import GAP
from deep_research.sources.extract.typeset import Cell, Line

_SHORT = 3  # words
_FEWEST = 6  # short lines, below which a page has headings and not tables
_SHATTERED = 0.3  # of the lines
_COLUMN = 28  # characters at each side of a gap, from which on it parts two columns of prose
_COLUMNS = 0.2  # of the lines
_RAISED = 0.4  # of the size, by which what stands in one line may be raised or lowered
_GAP = re.compile(r"\s{3,}")
_LABEL = re.compile(r"\s*(?:(\d{1,2})[.)]?|([•◦▪‣●]))\s{2,}(?=\S)")


def is_shattered(lines: list[str]) -> bool:
    """Whether so many lines have a word or three that they are cells and labels rather than lines."""
    told = [line for line in lines if line.strip()]
    short = sum(len(line.split()) <= _SHORT for line in told)
    return short >= _FEWEST and short >= _SHATTERED * len(told)


def as_they_lie(lines: Sequence[Line]) -> list[Line]:
    """The lines as they stand on the page, from above to below and from left to right: what was drawn in pieces is one
    line again."""
    pieces = sorted((line for line in lines if line.text.strip()), key=lambda line: -line.base)
    found: list[Line] = []
    here: list[Line] = []
    for piece in pieces:
        if here and here[0].base - piece.base > _RAISED * min(here[0].size, piece.size):
            found.append(_one_line(here))
            here = []
        here.append(piece)
    return [*found, _one_line(here)] if here else found


def _one_line(pieces: Sequence[Line]) -> Line:
    main = max(pieces, key=lambda piece: len(piece.text))
    cells: list[Cell] = []
    for cell in sorted(
        (
            cell
            for piece in pieces
            for cell in piece.cells or (Cell(piece.text.strip(), piece.left, piece.right),)
        ),
        key=lambda cell: cell.start,
    ):
        if cells and cell.start - cells[-1].end <= GAP * main.size:
            before = cells.pop()
            cells.append(Cell(f"{before.text} {cell.text}", before.start, max(before.end, cell.end)))
        else:
            cells.append(cell)
    if len(pieces) == len(cells) == 1:
        return main
    text = with_label("   ".join(cell.text for cell in cells))
    return replace(
        main,
        text=" ".join(text.split()),
        left=cells[0].start,
        right=cells[-1].end,
        cells=tuple(cells) if len(cells) > 1 else (),
        is_mono=all(piece.is_mono for piece in pieces),
    )


def has_columns(lines: Sequence[Line]) -> bool:
    """Whether prose stands beside prose, which no one reads across."""
    told = [line for line in lines if line.text.strip()]
    beside = sum(
        any(len(a.text) >= _COLUMN and len(b.text) >= _COLUMN for a, b in pairwise(line.cells))
        for line in told
    )
    return beside > _COLUMNS * len(told)


def with_label(line: str) -> str:
    """A line of a list as lists are written, ``1. …`` or ``• …``; rows and other lines as they are."""
    found = _LABEL.match(line)
    if not found or _GAP.search(line[found.end() :].strip()):
        return line
    rest = line[found.end() :]
    if found[1] and not (rest[:1].isalpha() and " " in rest.strip()):
        return line  # two cells of a table
    return f"{found[1]}. {rest}" if found[1] else f"{found[2]} {rest}"
