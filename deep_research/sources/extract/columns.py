"""Columns of a page whose lines run across them, as they were drawn row by row: parted where white runs down. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

from deep_research.sources.extract.layout import as_they_lie
from deep_research.sources.extract.typeset import Line

_ACROSS = 0.08  # of the pieces that may stand across the white, as titles over both columns do
_LEAST = 0.2  # of the pieces that a column has
_GUTTER = 1.0  # times the size: how wide the white is


def in_columns(lines: Sequence[Line]) -> list[list[Line]]:
    """The pieces of the lines in the blocks in which they are read, as they lie there; one block as it is where there
    are no columns."""
    pieces = [piece for line in lines for piece in _pieces(line)]
    border = _border(pieces)
    if border is None:
        return [list(lines)]
    blocks: list[list[Line]] = []
    columns = (
        [piece for piece in pieces if piece.right <= border],
        [piece for piece in pieces if piece.left >= border],
    )
    across = [piece for piece in pieces if piece.left < border < piece.right]
    ceiling = float("inf")
    for title in [*sorted(across, key=lambda piece: -piece.base), Line("", base=float("-inf"))]:
        blocks += [[piece for piece in column if title.base < piece.base <= ceiling] for column in columns]
        blocks.append([title] if title.text else [])
        ceiling = title.base
    return [as_they_lie(block) for block in blocks if block]


def _pieces(line: Line) -> list[Line]:
    """The cells of a line as lines. What has rooms stays a cell for now, as it may be two in a table of its column."""
    return [
        replace(line, text=cell.text, left=cell.start, right=cell.end, cells=(cell,) if cell.rooms else ())
        for cell in line.cells
    ] or [line]


def _border(pieces: Sequence[Line]) -> float | None:
    """The middle of the white with the fewest pieces across, of those the widest."""
    lefts, rights = sorted(piece.left for piece in pieces), sorted(piece.right for piece in pieces)
    best: tuple[int, float, float] | None = None
    for end in sorted(set(rights)):
        ended = bisect_left(rights, end + 0.1)
        begun = bisect_left(lefts, end)
        if begun >= len(lefts) or min(ended, len(lefts) - begun) < _LEAST * len(pieces):
            continue
        width = lefts[begun] - end
        found = (begun - ended, -width, end + width / 2)
        if width >= _GUTTER * pieces[0].size and (best is None or found < best):
            best = found
    return None if best is None or best[0] > _ACROSS * len(pieces) else best[2]
