"""Names of a table's columns that stand in several rows, as those of a group do above those of its columns. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from deep_research.evidence.rows import MAX_HEADER
from deep_research.sources.extract.tables import may_name

_APART = ", "  # no colon: it would part a name from what stands under it


def joined_names(rows: Sequence[Sequence[str | None]]) -> list[str]:
    """One name for each column, that of its group before its own. ``rows`` are the rows of names, with None where one
    goes on that began further left, and the same again where it began further up. Nothing where the names of groups
    are too long to be said with each column."""
    width = max(map(len, rows), default=0)
    columns = zip(*(_to_the_right(row, width) for row in rows), strict=True)
    names = [_joined([name for name, _ in groupby(filter(None, column))]) for column in columns]
    return names if all(len(name) <= MAX_HEADER for name in names) else []


def names_above(rows: Sequence[Sequence[str | None]]) -> list[str]:
    """The names of the columns of a table whose first two rows are those of groups and of columns. Nothing where they are
    not: without marks that say so it takes a group with a name for each of its columns, and nothing but that."""
    if len(rows) < 3 or len(rows[0]) != len(rows[1]) or sum(cell is not None for cell in rows[0]) < 2:
        return []
    groups, names, *facts = rows
    within = [
        at
        for at in range(len(groups))
        if groups[at] is None or (groups[at] and at + 1 < len(groups) and groups[at + 1] is None)
    ]
    beside = [at for at in range(len(groups)) if at not in within]
    if not within or not all(may_name(names[at] or "") for at in within):
        return []
    if not all(not groups[at] or not names[at] or groups[at] == names[at] for at in beside):
        return []
    if not all(may_name(cell) for cell in (*groups, *names) if cell):
        return []
    own = [row for row in facts if len(row) == len(groups) and all(row[at] is not None for at in within)]
    return joined_names([groups, names]) if 2 * len(own) >= len(facts) else []


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
