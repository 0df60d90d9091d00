"""Rows of one table stand in a table again, and not one after the other. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deep_research.evidence.rows import cells
from deep_research.phases.synthesis.comparing import cell
from deep_research.phases.synthesis.statements import Statement
from deep_research.report.markup import escaped

LEAST = 2  # rows of one table
MOST_TABLES = 3
TITLE = "In a table"


def retabled(told: Sequence[Statement], titles: Mapping[str, str]) -> tuple[list[str], list[Statement]]:
    """A table for each source and header that several statements are rows of, those of a source under one heading, and
    the statements that stand in them."""
    groups: dict[tuple[str, ...], list[Statement]] = {}
    for statement in told:
        if row := cells(statement.finding.content):
            groups.setdefault((statement.source, next(iter(row))), []).append(statement)
    whole = [rows for rows in groups.values() if len(rows) >= LEAST][:MOST_TABLES]
    first = list(dict.fromkeys(rows[0].source for rows in whole))
    blocks: list[str] = []
    last = ""
    for rows in sorted(whole, key=lambda rows: first.index(rows[0].source)):
        heading = f"## {escaped(titles.get(rows[0].source, '') or TITLE)}"
        blocks += [*([heading] if heading != last else []), _table(rows)]
        last = heading
    return blocks, [statement for rows in whole for statement in rows]


def _table(rows: Sequence[Statement]) -> str:
    rows = sorted(rows, key=lambda statement: statement.start)
    held = [cells(statement.finding.content) for statement in rows]
    header = list(dict.fromkeys(label for row in sorted(held, key=len, reverse=True) for label in row))
    marks = ", ".join(dict.fromkeys(i for statement in rows for i in statement.ids))
    lines = [f"| {' | '.join(map(cell, header))} [{marks}] |", f"|{' --- |' * len(header)}"]
    lines += [f"| {' | '.join(cell(row.get(label, '')) for label in header)} |" for row in held]
    return "\n".join(lines)
