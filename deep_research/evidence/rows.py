"""Rows of tables as statements: each cell with the header of its column. Pure.

A row stands on a line of its own with `` | `` between its cells; the unbroken run of such lines is its table, and the
first of them its header.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

from deep_research.evidence.column_names import may_name_columns
from deep_research.evidence.names import key
from deep_research.patterns import regex

FAR = 50_000  # characters above a row, in which its header is looked for
_FENCE = regex(r"^(?:```|~~~)", re.MULTILINE)
_BAR = regex(r"(?<!\S)\|(?!\S)")
_LABEL = regex(r"(?:\A|(?<=; )|(?<=\. ))(?P<name>[^\s:;|](?:[^:;|]{0,38}[^\s:;|])?): (?=\S)")


def is_row(line: str) -> bool:
    return " | " in line


def clauses(text: str, start: int, end: int) -> list[str]:
    """The rows that ``text[start:end]`` consists of, each as ``Name: Mole; Height: 35 m``; empty when it holds
    anything else, or a row whose headers are not known."""
    told: list[str] = []
    here = start
    for line in text[start:end].split("\n"):
        begin, here = here, here + len(line) + 1
        if not line.strip():
            continue
        header = headers(text, begin, begin + len(line))
        if not header:
            return []
        told.append(_labelled(header, split_cells(line)))
    return list(filter(None, told))


def headers(text: str, start: int, end: int) -> list[str]:
    """What names the cells of the row ``text[start:end]``; empty when that is no whole row, or nothing does."""
    line = text[start:end]
    if not is_row(line) or not _is_whole(text, start, end):
        return []
    first = _first_of_table(text, text.rfind("\n", 0, start) + 1)
    named, cells = split_cells(first), split_cells(line)
    if named == cells or len(named) != len(cells) or not may_name_columns(named, cells):
        return []
    return [] if bisect(_fences(text), start) % 2 else named  # in code a bar is no border


def label_of(content: str, place: int) -> str:
    """The header under which stands what is at a place of a statement that `clauses` made; empty in any other."""
    if unlabelled(content) == content:
        return ""
    return next((m["name"] for m in reversed(list(_LABEL.finditer(content, 0, place + 1)))), "")


def unlabelled(content: str) -> str:
    """A statement without the headers that `clauses` put into it: what it says of its own. The headers of a table
    stand in all its rows and make none of them like another."""
    return _LABEL.sub("", content) if _headed(content) else content


def lower_labels(content: str) -> str:
    """A statement that `clauses` made, with its headers in lower case: a capital there names nothing."""
    return _LABEL.sub(lambda match: match.group().lower(), content)


def _headed(content: str) -> list[re.Match[str]]:
    """The headers in a statement that `clauses` made; none in any other."""
    named = list(_LABEL.finditer(content))
    return named if len(named) > 1 and not named[0].start() else []


def labels(content: str) -> Iterator[str]:
    """The headers in a statement."""
    if unlabelled(content) != content:
        for match in _LABEL.finditer(content):
            yield match["name"]


def cells(content: str) -> dict[str, str]:
    """The cells of a statement that `clauses` made of one row, by their headers; empty for any other."""
    named = _headed(content)
    if not named:
        return {}
    ends = [*(match.start() for match in named[1:]), len(content)]
    return {
        match["name"]: content[match.end() : end].rstrip("; ") for match, end in zip(named, ends, strict=True)
    }


def beside(text: str, names: Sequence[str]) -> list[tuple[int, int]]:
    """The rows of tables that set things beside each other: those of which each is named by its first cell, where one
    table has several of them. ``names`` are keys."""
    found: list[tuple[int, int]] = []
    for _, rows in tables(text):
        named: dict[str, tuple[int, int]] = {}
        for begin, end in rows:
            first = f" {key(split_cells(text[begin:end])[0])} "
            for name in names:
                if f" {name} " in first:
                    named.setdefault(name, (begin, end))
        found += sorted(named.values()) if len(named) > 1 else []
    return found


def tables(text: str) -> Iterator[tuple[list[str], list[tuple[int, int]]]]:
    """Each table whose first row names its columns: that row, and the spans of those that have a cell for each."""
    header: list[str] | None = None
    rows: list[tuple[int, int]] = []
    here = 0
    for line in (*text.split("\n"), ""):
        begin, here = here, here + len(line) + 1
        if not is_row(line):
            if header and rows:
                yield header, rows
            header, rows = None, []
        elif header is None:
            header = (
                split_cells(line)
                if may_name_columns(split_cells(line)) and not bisect(_fences(text), begin) % 2
                else []
            )
        elif header and len(split_cells(line)) == len(header):
            rows.append((begin, begin + len(line)))


@lru_cache(maxsize=1)  # the rows of one text are looked at one after the other
def _fences(text: str) -> list[int]:
    return [match.start() for match in _FENCE.finditer(text)]


def _is_whole(text: str, start: int, end: int) -> bool:
    before = text[text.rfind("\n", 0, start) + 1 : start]
    stop = text.find("\n", end)
    return not before.strip(" |") and not text[end : len(text) if stop < 0 else stop].strip(" |")


def _first_of_table(text: str, begin: int) -> str:
    """The first line of the run of rows that the line at ``begin`` stands in; empty when it is too far above."""
    first, limit, known = begin, begin - FAR, _firsts(text)
    while first > 0 and first not in known:
        above = text.rfind("\n", 0, first - 1) + 1
        if not is_row(text[above : first - 1]):
            break
        if above < limit:
            known[begin] = -1
            return ""
        first = above
    first = known[begin] = known.get(first, first)
    if first < max(0, limit):
        return ""
    stop = text.find("\n", first)
    return text[first : len(text) if stop < 0 else stop]


@lru_cache(maxsize=1)
def _firsts(text: str) -> dict[int, int]:  # noqa: ARG001 - it is what is remembered by
    """Where the tables begin of rows that were looked at, by where these begin; -1 for too far above."""
    return {}


def split_cells(row: str) -> list[str]:
    """The cells of a row, in order."""
    return [" ".join(cell.replace("¶", "").split()) for cell in _BAR.split(row)]


def cell_spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Where the cells of the row ``text[start:end]`` stand, in order, but for what is outside of bars at its ends."""
    bars = [(start, start), *((m.start(), m.end()) for m in _BAR.finditer(text, start, end)), (end, end)]
    found = []
    for (_, low), (high, _) in pairwise(bars):
        cell = text[low:high]
        first = low + len(cell) - len(cell.lstrip())
        found.append((first, max(first, low + len(cell.rstrip()))))
    opens, closes = text.startswith("|", start), text.endswith("|", start, end)
    return found[opens : len(found) - closes]


def _labelled(header: list[str], cells: list[str]) -> str:
    named = ((name.rstrip(": "), cell) for name, cell in zip(header, cells, strict=True) if cell)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in named)
