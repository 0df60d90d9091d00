"""The list of contents of a PDF, with the numbers of its pages: it says what the headings say again. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from deep_research.sources.extract.typeset import Line

_ENTRY = re.compile(r"(?:\.\s?){4,}\s*(?P<page>\d{1,4}|[ivxlc]{1,6})\s*\Z")
_FEWEST = 4  # entries on a page
_SHARE = 0.5  # of the lines from the first entry to the last, as long ones take two and chapters have no dots


def without_contents(lines: Sequence[Line]) -> list[Line]:
    """The lines of a page without such a list: dots lead to numbers that never fall. Prices do not rise so."""
    found = [(at, entry["page"]) for at, line in enumerate(lines) if (entry := _ENTRY.search(line.text))]
    numbers = [int(page) for _, page in found if page.isdecimal()]
    if len(found) < _FEWEST or any(before > after for before, after in pairwise(numbers)):
        return list(lines)
    first, last = found[0][0], found[-1][0]
    if len(found) < _SHARE * (last - first + 1):
        return list(lines)
    return [*lines[:first], *lines[last + 1 :]]
