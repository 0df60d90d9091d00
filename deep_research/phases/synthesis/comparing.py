"""Two things compared: what tables have of both stands side by side, and each has a section. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from deep_research.evidence.contradictions import measures_of, sides
from deep_research.evidence.names import key
from deep_research.evidence.rows import cells
from deep_research.evidence.units import measured
from deep_research.phases.synthesis.statements import Statement
from deep_research.report.markup import escaped

TITLE = "Side by side"
BOTH = "On both"
MOST_TABLES = 3
# By what a comparative chooses.
_MEASURES = {
    "tall": "height", "high": "height", "deep": "depth", "wid": "width", "heav": "weight", "cheap": "cost",
}  # fmt: skip
_CHOSEN_BY = re.compile(r"\b(?:tall|high|deep|wid|heavi|cheap)(?:er|est)\b", re.IGNORECASE)


def side_by_side(things: Sequence[str], told: Sequence[Statement]) -> tuple[list[str], list[Statement]]:
    """A table for each set of columns that has a row for more than one of the things, and the statements that stand in
    them."""
    groups: dict[tuple[str, ...], dict[str, Statement]] = {}
    for statement in told:
        row = cells(statement.finding.content)
        first = f" {key(next(iter(row.values()), ''))} "
        for thing in things:
            if f" {key(thing)} " in first:
                groups.setdefault((statement.source, next(iter(row))), {}).setdefault(thing, statement)
    whole = [rows for rows in groups.values() if len(rows) > 1][:MOST_TABLES]
    blocks = [_table(things, rows) for rows in whole]
    return ([f"## {TITLE}", *blocks] if blocks else []), [s for rows in whole for s in rows.values()]


def _table(things: Sequence[str], rows: Mapping[str, Statement]) -> str:
    columns = [thing for thing in things if thing in rows]
    held = {thing: cells(rows[thing].finding.content) for thing in columns}
    labels = list(dict.fromkeys(label for row in held.values() for label in list(row)[1:]))
    head = [f"{escaped(thing)} [{', '.join(rows[thing].ids)}]" for thing in columns]
    lines = [f"|  | {' | '.join(head)} |", f"| --- |{' --- |' * len(columns)}"]
    for label in labels:
        told = [cell(held[thing].get(label, "")) for thing in columns]
        lines.append(f"| {cell(label)} | {' | '.join(told)} |")
    return "\n".join(lines)


def by_side(
    things: Sequence[str], told: Sequence[Statement], titles: Mapping[str, str]
) -> tuple[dict[str, list[Statement]], list[Statement]]:
    """The statements under the thing that they name, or else their title does, those of all things under `BOTH`; and
    the rest."""
    groups: dict[str, list[Statement]] = {thing: [] for thing in (*things, BOTH)}
    rest: list[Statement] = []
    for statement in told:
        named = [t for t in things if _speaks(statement.finding.content, t)] or [
            t for t in things if _speaks(titles.get(statement.source, ""), t)
        ]
        group = groups[named[0] if len(named) == 1 else BOTH] if named else rest
        group.append(statement)
    return {thing: own for thing, own in groups.items() if own}, rest


def introduction(thing: str, told: Sequence[Statement], titles: Mapping[str, str]) -> Statement:
    """What introduces a thing: the first that a document with its name says, else the nearest to the question."""
    own = [s for s in told if _speaks(titles.get(s.source, ""), thing)]
    return min(own, key=lambda s: s.start) if own else told[0]


def own_first(thing: str, told: Sequence[Statement], titles: Mapping[str, str]) -> list[Statement]:
    """What documents with its name say of a thing, and then the others."""
    return sorted(told, key=lambda s: not _speaks(titles.get(s.source, ""), thing))


def measure(question: str, own: Sequence[Statement]) -> Statement:
    """The nearest statement about a thing that tells the value by which it is compared; else about what that is; else
    any value; else the first."""
    wanted = measures(question)
    valued = [s for s in own if any(measured(s.finding.content))]
    about = (s for s in valued if measures(s.finding.content) & wanted)  # "between 103 and 118 metres"
    told = next((s for s in own if _tells(s, wanted)), None)
    return told or next(about, (valued or own)[0])


def unmeasured(
    question: str, things: Sequence[str], told: Sequence[Statement], titles: Mapping[str, str]
) -> tuple[str, list[str]]:
    """By what a question chooses one of the things, and those of which nothing tells it; none where it chooses by no
    measure, or one statement on both tells it or chooses."""
    by = _CHOSEN_BY.search(question)
    if by is None:
        return "", []
    wanted = next(measure for word, measure in _MEASURES.items() if by[0].casefold().startswith(word))
    groups, _ = by_side(things, told, titles)
    if any(_tells(s, {wanted}) or _CHOSEN_BY.search(s.finding.content) for s in groups.get(BOTH, ())):
        return wanted, []
    return wanted, [t for t in things if not any(_tells(s, {wanted}) for s in groups.get(t, ()))]


def measures(text: str) -> set[str]:
    """What a question compares things by, or a statement is of, such as their height."""
    return {measure for side in sides(text) for measure in side.measures}


def _tells(statement: Statement, wanted: AbstractSet[str]) -> bool:
    told = ((side, value) for side in sides(statement.finding.content) for value in side.values)
    return any(measures_of(side, value) & wanted for side, value in told)


def _speaks(text: str, thing: str) -> bool:
    """Whether a text names a thing, also in the plural."""
    within, name = f" {key(text)} ", key(thing)
    return any(f" {form} " in within for form in (name, f"{name}s", name.removesuffix("s")))


def cell(text: str) -> str:
    return escaped(text).replace("|", "\\|")
