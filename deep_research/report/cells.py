"""Check of table cells: each stands under the column that its source has it in. Pure.

A table of a source says of each value what it is of (the row) and what it is (the heading of its column). A cell of a
report whose row and heading name such a value says what the source says where it has that very value, whatever its
heading seems to deny ("without"); where it has another one of that table, it says what the source denies, though all of
its words stand there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from deep_research.patterns import regex
from deep_research.state import Aspect, Discrepancy, Quote
from deep_research.text.plain import plainly
from deep_research.text.statements import value_of
from deep_research.text.units import measured, unit_name

_WORD = regex(r"(?P<number>(?:(?<![\w.,/])[-−](?=\d))?\d+(?:[.,]\d+)*)|[^\W\d_]+|[%$€£°✓✔✗✘×]")
_BESIDE = regex(r"\([^()]*\)|\[[^\[\]]*\]")  # of a heading: its unit, or a remark
_MAX_BESIDE_PER_WORD = 2  # words of a cell for each of the value that it is said to be

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table in a source: its cells with what names their columns, and where it stands."""

    header: tuple[str, ...]
    cells: tuple[str, ...]
    quote: Quote

    def is_of(self, name: Words) -> bool:
        """Whether one of its cells is the name."""
        return any(words(cell) == name for cell in self.cells)

    def begins_with(self, name: Words) -> bool:
        """Whether its first cell holds the name with more words."""
        return bool(name) and _holds(words(self.cells[0]), name)

    def under(self, heading: Words) -> list[str]:
        """Its cells in the columns of that name."""
        return [cell for label, cell in self._labelled() if _heading(label) == heading]

    def beside(self, heading: Words) -> list[str]:
        """Its cells in all other columns."""
        return [cell for label, cell in self._labelled() if _heading(label) != heading]

    def _labelled(self) -> Iterator[tuple[str, str]]:
        return zip(self.header, self.cells, strict=True)


@dataclass(frozen=True, slots=True)
class Misplaced:
    """What the source has in the place of a cell, and the row that says so."""

    reason: Discrepancy
    quote: Quote


def misplaced(
    cell: str, name: str, heading: str, named: Iterable[Row], others: Iterable[Row] = ()
) -> Misplaced | None:
    """What the source has where a report has the cell: None where it has that very value, or where nothing tells.
    ``name`` is the row of the cell and ``heading`` its column; ``named`` are the rows of the source that may be of that
    name, ``others`` those that may have the value in the same column.

    Example:
        row = Row(("Name", "Height", "Year"), ("Orm", "64 m", "1870"), quote)
        misplaced("1870", "Orm", "Height", [row]).reason.found  # 64 m
    """
    column, told = _heading(heading), words(cell)
    rows = _of(name, column, named) if told else []
    if any(_may_be(cell, own) for row in rows for own in row.under(column)):
        return None
    for row in rows:
        elsewhere = [*row.beside(column), *(one for other in others for one in other.under(column))]
        if any(_is(told, words(value)) for value in elsewhere):
            found = row.under(column)[0]
            return Misplaced(Discrepancy(aspect=_aspect(told), claimed=cell, in_source=found), row.quote)
    return None


def placed(cell: str, name: str, heading: str, named: Iterable[Row]) -> Quote | None:
    """The row of the source that has the very cell where a report has it."""
    column, told = _heading(heading), plainly(cell)
    rows = _of(name, column, named) if told else []
    return next((row.quote for row in rows if told in map(plainly, row.under(column))), None)


def _of(name: str, column: Words, named: Iterable[Row]) -> list[Row]:
    """The rows of a name that have such a column; else those that have more words in it."""
    of = words(name)
    every = [row for row in named if of and column and row.under(column)]
    return [row for row in every if row.is_of(of)] or [row for row in every if row.begins_with(of)]


def words(text: str) -> Words:
    """The words and numbers of a cell as they are compared, in their order."""
    return tuple(_key(match["number"], match.group()) for match in _WORD.finditer(text.casefold()))


def _key(number: str | None, word: str) -> str:
    if number is None:
        return unit_name(word)
    value = value_of(number.lstrip("-−"))
    if value is None:
        return word
    return f"#{-value if number[0] in '-−' else value:.12g}"


def _heading(label: str) -> Words:
    """A heading without what stands in brackets; all of it where nothing else does."""
    return words(_BESIDE.sub(" ", label)) or words(label)


def _may_be(cell: str, value: str) -> bool:
    """Whether a cell may tell the value: one has the words of the other, or its figures, or one value in two units."""
    told, own = words(cell), words(value)
    ours, theirs = list(measured(cell)), list(measured(value))
    if _within(set(told), set(own)) or any(one.agrees(other) for one in ours for other in theirs):
        return True
    return not (ours and theirs) and _within(_figures(told), _figures(own))


def _within(one: set[str], other: set[str]) -> bool:
    """Whether either has all of the other, and something."""
    return bool(one and other) and (one <= other or other <= one)


def _is(told: Words, value: Words) -> bool:
    """Whether a cell is the value or a piece of it, or the value with a word to it."""
    return bool(value) and (
        _holds(value, told) or (len(told) <= _MAX_BESIDE_PER_WORD * len(value) and _holds(told, value))
    )


def _holds(whole: Sequence[str], part: Sequence[str]) -> bool:
    """Whether some words stand in others next to one another."""
    size = len(part)
    return any(whole[at : at + size] == part for at in range(len(whole) - size + 1))


def _figures(told: Words) -> set[str]:
    return {word for word in told if word.startswith("#")}


def _aspect(told: Words) -> Aspect:
    return Aspect.NUMBER if _figures(told) else Aspect.ENTITY
