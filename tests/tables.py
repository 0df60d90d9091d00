"""Tables of cases that are written as text: a line is a case, its columns are parted by bars; "" is an empty cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def cases(table: str, *kinds: Callable[[str], Any], bar: str = " | ") -> list[tuple[Any, ...]]:
    """The rows of a table. ``kinds`` read its columns from the left; a column without one stays text.

    >>> cases("one | 1", str, int)
    [('one', 1)]
    """
    rows = [line.strip().split(bar) for line in table.strip().splitlines() if line.strip()]
    width = max(map(len, rows))
    assert all(len(row) == width for row in rows), [row for row in rows if len(row) != width]
    made = [*kinds, *[str] * (width - len(kinds))]
    cells = ([cell.strip().replace('""', "") for cell in row] for row in rows)
    return [tuple(kind(cell) for kind, cell in zip(made, row, strict=True)) for row in cells]


def listed(cell: str) -> list[str]:
    """What a cell lists, parted by strokes."""
    return [each.strip() for each in cell.split(" / ")] if cell else []
