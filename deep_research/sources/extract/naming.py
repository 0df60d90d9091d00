"""Names of a table's columns that stand beside their figures and not above them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from deep_research.sources.extract.typeset import Cell

NUMBER = re.compile(r"[-–+(]?[$€£]?\s?\d[\d.,\s]*%?\)?\Z")
_FLUSH = 0.1  # of the size, by which edges may differ that are one below the other
_SLACK = 2.0  # of the size, by which a name may stand beside the middle


def put_under_names(rows: Sequence[list[str]], columns: list[list[Cell]], size: float) -> None:
    """Makes one column of two beside each other, one of names without figures and one of figures without a name: the
    figures stand at the edge of a column in whose middle the name does. ``columns`` are the cells of each column of the
    ``rows`` as they lie, in a type of this ``size``."""
    if any(_is_flush(column, size) for column in columns[1:]):
        return  # in this table names stand above their figures: an unnamed column is one
    at = 1
    while rows and at < len(rows[0]):
        left, right = ([row[place] for row in rows] for place in (at - 1, at))
        before, after = columns[: at - 1][-1:], columns[at + 1 :][:1]
        if (_are_name_and_figures(left, right) and _are_one(columns[at - 1], columns[at], before, size)) or (
            _are_name_and_figures(right, left) and _are_one(columns[at], columns[at - 1], after, size)
        ):
            columns[at - 1 : at + 1] = [[*columns[at - 1], *columns[at]]]
            for row in rows:
                row[at - 1 : at + 1] = [row[at - 1] or row[at]]
        else:
            at += 1


def _is_flush(column: Sequence[Cell], size: float) -> bool:
    """Whether its name begins or ends where the first figure below does."""
    for name, figure in pairwise(column):
        if NUMBER.match(figure.text):
            apart = min(abs(name.start - figure.start), abs(name.end - figure.end))
            return not NUMBER.match(name.text) and apart <= _FLUSH * size
    return False


def _are_one(
    names: Sequence[Cell], figures: Sequence[Cell], beside: Sequence[Sequence[Cell]], size: float
) -> bool:
    """Whether a column with the figures at its edge and the names in its middle leaves the column ``beside`` it, if
    there is one, its room. Figures stand at the right edge, but where they are level at the left."""
    starts = [cell.start for cell in figures]
    is_right = starts[0] > names[0].start
    if not is_right and max(starts) - min(starts) > _FLUSH * size:
        return False
    slack = _SLACK * size
    middle = (min(cell.start for cell in names) + max(cell.end for cell in names)) / 2
    other = 2 * middle - (max(cell.end for cell in figures) if is_right else starts[0])
    return all(
        cell.end <= other + slack if is_right else cell.start >= other - slack
        for column in beside
        for cell in column
    )


def _are_name_and_figures(names: Sequence[str], figures: Sequence[str]) -> bool:
    """Whether all cells of the one column stand above all of the other, and only those are figures."""
    begin = next((at for at, cell in enumerate(figures) if cell), 0)
    told = [cell for cell in figures if cell]
    return (
        len(told) > 1
        and any(names[:begin])
        and not any(names[begin:])
        and all(map(NUMBER.match, told))
        and not any(map(NUMBER.match, names[:begin]))
    )
