"""Numbers that belong side by side: of several things that are compared, or of one thing over the years. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from deep_research.evidence.contradictions import APART, Side, measures_of, sides
from deep_research.evidence.names import asked_names, key, spelled
from deep_research.evidence.text import content_stems, stem
from deep_research.evidence.units import Quantity

MIN_DATES = 3
MAX_ROWS = 12
LIKELY = 1.25  # figures of one thing differ by no more than this factor: others are of something else
_OVER_TIME = re.compile(
    r"\b(?:over time|over the years|history|timeline|since|chang\w*|trends?|evol\w+|grow\w*|grew|"
    r"through the|how has|how have)\b",
    re.IGNORECASE,
)
# Words that ask so, and stand in no answer.
CHANGING = frozenset(
    map(stem, ("change", "changed", "grow", "grew", "grown", "develop", "evolve", "evolved", "trend", "time"))
)
_COMPARES = re.compile(
    r"\b(?:compar\w+|differ\w*|versus|vs|than|or|and|between|each|both|which)\b|,", re.IGNORECASE
)
_OPENING = re.compile(r"^(?:compare[ds]? |comparing |the )+")
_HEADERS = {
    "height": "Height", "depth": "Depth", "width": "Width", "length": "Length", "distance": "Distance",
    "weight": "Weight", "cost": "Cost", "range": "Range",
}  # fmt: skip
_SAID = frozenset(("distance", "width", "depth", "length"))


@dataclass(frozen=True, slots=True)
class Cell:
    """A value in the words of the statement at ``place``."""

    text: str
    place: int


@dataclass(frozen=True, slots=True)
class Table:
    """``rows``: what a row is of, and its cells; those of one row differ in what they say."""

    header: tuple[str, str]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


def table(question: str, statements: Sequence[str], titles: Sequence[str]) -> Table | None:
    """The one table that the question calls for, if the statements hold the numbers for it. ``titles`` are those
    of the statements' sources."""
    return (
        _compared(question, statements, titles)
        or _dated(question, statements)
        or _published(question, statements, titles)
    )


def _compared(question: str, statements: Sequence[str], titles: Sequence[str]) -> Table | None:
    things = _things(question)
    if len(things) < 2 or not _COMPARES.search(question):
        return None
    (asked,) = sides(question)[:1] or (None,)
    wanted = (asked.measures if asked else frozenset()) or _shared_measure(things, statements, titles)
    if not wanted:
        return None
    found: dict[str, list[tuple[Quantity, Cell]]] = {thing: [] for thing in things}
    for place, side in _every(statements):
        if side.measures and not side.measures & wanted:
            continue
        named = _named(things, side, titles[place])
        if len(named) == 1:
            own = [q for q in side.values if not (of := measures_of(side, q)) or of & wanted]
            found[named[0]] += [(q, Cell(side.text[q.start : q.end], place)) for q in own]
    kinds = Counter(kind for values in found.values() for kind in {q.kind for q, _ in values})
    if wanted & {"height", "depth", "width", "length", "distance", "range"}:
        kinds = Counter({"length": kinds["length"]})
    kind, holding = max(kinds.items(), key=lambda item: (item[1], item[0]), default=("", 0))
    if holding < 2:
        return None
    rows = tuple(
        (spelled(question, t)[0], _distinct(v for v in found[t] if v[0].kind == kind)) for t in things
    )
    header = next((_HEADERS[m] for m in sorted(wanted) if m in _HEADERS), "Value")
    return Table(("", header), tuple(row for row in rows if row[1]))


def _named(things: Sequence[str], side: Side, title: str) -> list[str]:
    """The things that a sentence is about: those it names, else those its title does."""
    within = f" {key(side.text)} "
    return [t for t in things if f" {t} " in within] or [t for t in things if f" {t} " in f" {key(title)} "]


def _shared_measure(
    things: Sequence[str], statements: Sequence[str], titles: Sequence[str]
) -> frozenset[str]:
    """Where the question asks for no measure, the one that is told of most of the things."""
    told: dict[str, set[str]] = {}
    for place, side in _every(statements):
        named = _named(things, side, titles[place])
        for measure in side.measures if len(named) == 1 else ():
            told.setdefault(measure, set()).add(named[0])
    most = max(told, key=lambda measure: (len(told[measure]), measure), default="")
    return frozenset([most]) if most and len(told[most]) > 1 else frozenset()


def _published(question: str, statements: Sequence[str], titles: Sequence[str]) -> Table | None:
    """The figures that different sources give for the one thing that is asked, when they differ."""
    things = _things(question)
    wanted = {m for side in sides(question) for m in side.measures}
    if len(things) != 1 or not wanted:
        return None
    (thing,) = things
    rows: dict[str, list[tuple[Quantity, Cell]]] = {}
    first: Quantity | None = None
    for place, side in _every(statements):
        about = f" {thing} " in f" {key(side.text)} " or f" {thing} " in f" {key(titles[place])} "
        if not about:
            continue
        for quantity in side.values:
            of = measures_of(side, quantity)
            # Lengths that are not said to be something are heights as a rule; of distances there are many.
            if not of & wanted and (of or wanted & _SAID):
                continue
            first = first or quantity
            if quantity.kind == first.kind and first.base / LIKELY <= quantity.base <= first.base * LIKELY:
                cell = Cell(side.text[quantity.start : quantity.end], place)
                rows.setdefault(titles[place], []).append((quantity, cell))
    distinct = {title: _distinct(iter(values)) for title, values in rows.items()}
    every = [quantity for values in rows.values() for quantity, _ in values]
    if len(rows) < 2 or all(a.agrees(b) for a in every for b in every):
        return None
    header = next((_HEADERS[m] for m in sorted(wanted) if m in _HEADERS), "Value")
    return Table(("Source", header), tuple(distinct.items()))


def _things(question: str) -> list[str]:
    """What the question names, each thing once: neither several together nor a part of a longer name."""
    names = dict.fromkeys(_OPENING.sub("", name) for name in asked_names(question))
    single = [n for n in names if n and " and " not in n and " or " not in n]
    return [n for n in single if not any(n != other and f" {n} " in f" {other} " for other in single)]


def asks_over_time(question: str) -> bool:
    """Whether it asks how something was at one time and another."""
    return _OVER_TIME.search(question) is not None


def _dated(question: str, statements: Sequence[str]) -> Table | None:
    if not asks_over_time(question):
        return None
    asked = set(content_stems(question))
    by_kind: dict[str, dict[str, list[tuple[Quantity, Cell]]]] = {}
    for place, side in _every(statements):
        if len(side.years) == 1 and len(side.values) == 1 and (side.subject | side.columns) & asked:
            (year,), (quantity,) = side.years, side.values
            cell = Cell(side.text[quantity.start : quantity.end], place)
            by_kind.setdefault(quantity.kind, {}).setdefault(year, []).append((quantity, cell))
    if not by_kind:
        return None
    best = max(by_kind.values(), key=len)
    if len(best) < MIN_DATES:
        return None
    return Table(
        ("Year", "Value"), tuple((year, _distinct(iter(best[year]))) for year in sorted(best)[:MAX_ROWS])
    )


def _every(statements: Sequence[str]) -> Iterator[tuple[int, Side]]:
    for place, text in enumerate(statements):
        for side in sides(text):
            if side.values:
                yield place, side


def _distinct(values: Iterator[tuple[Quantity, Cell]]) -> tuple[Cell, ...]:
    """The first of the values that agree, at most three that do not; what is of another order than the first is of
    something else."""
    kept: list[tuple[Quantity, Cell]] = []
    for quantity, cell in values:
        first = kept[0][0].base if kept else quantity.base
        likely = quantity.base <= APART * first and first <= APART * quantity.base
        if likely and not any(quantity.agrees(known) for known, _ in kept):
            kept.append((quantity, cell))
    return tuple(cell for _, cell in kept[:3])
