"""How the lines of a page lie: whether they fell to pieces, stand in columns, or begin with the label of a list. Pure."""

from __future__ import annotations

import re
from itertools import pairwise

_SHORT = 3  # words
_FEWEST = 6  # short lines, below which a page has headings and not tables
_SHATTERED = 0.3  # of the lines
_COLUMN = 28  # characters at each side of a gap, from which on it parts two columns of prose
_COLUMNS = 0.2  # of the lines
_GAP = re.compile(r"\s{3,}")
_LABEL = re.compile(r"\s*(?:(\d{1,2})[.)]?|([•◦▪‣●]))\s{2,}(?=\S)")


def is_shattered(lines: list[str]) -> bool:
    """Whether so many lines have a word or three that they are cells and labels rather than lines."""
    told = [line for line in lines if line.strip()]
    short = sum(len(line.split()) <= _SHORT for line in told)
    return short >= _FEWEST and short >= _SHATTERED * len(told)


def has_columns(lines: list[str]) -> bool:
    """Whether prose stands beside prose, which no one reads across."""
    told = [line.strip() for line in lines if line.strip()]
    beside = sum(
        any(len(a) >= _COLUMN and len(b) >= _COLUMN for a, b in pairwise(parts))
        for parts in map(_GAP.split, told)
    )
    return beside > _COLUMNS * len(told)


def with_label(line: str) -> str:
    """A line of a list as lists are written, ``1. …`` or ``• …``; rows and other lines as they are."""
    found = _LABEL.match(line)
    if not found or _GAP.search(line[found.end() :].strip()):
        return line
    rest = line[found.end() :]
    if found[1] and not (rest[:1].isalpha() and " " in rest.strip()):
        return line  # two cells of a table
    return f"{found[1]}. {rest}" if found[1] else f"{found[2]} {rest}"
