"""Names of a table's columns that stand in several rows, as those of a group do above those of its columns. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from deep_research.evidence.rows import MAX_HEADER

_APART = ", "  # no colon: it would part a name from what stands under it


def joined_names(rows: Sequence[Sequence[str | None]]) -> list[str]:
    """One name for each column, that of its group before its own. ``rows`` are the rows of names, with None where one
    goes on that began further left, and the same again where it began further up. Nothing where the names of groups
    are too long to be said with each column."""
    width = max(map(len, rows), default=0)
    columns = zip(*(_to_the_right(row, width) for row in rows), strict=True)
    names = [_joined([name for name, _ in groupby(filter(None, column))]) for column in columns]
    return names if all(len(name) <= MAX_HEADER for name in names) else []


def _to_the_right(row: Sequence[str | None], width: int) -> list[str]:
    told: list[str] = []
    for name in row:
        told.append((told[-1] if told else "") if name is None else name)
    return told + [""] * (width - len(told))


def _joined(names: Sequence[str]) -> str:
    """A unit in brackets goes on with what it is of."""
    text = ""
    for name in names:
        text += (" " if name[:1] in "([" else _APART) + name if text else name
    return text
