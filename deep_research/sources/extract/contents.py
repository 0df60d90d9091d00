"""The list of contents of a PDF, with the numbers of its pages: it says what the headings say again. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from deep_research.sources.extract.leaders import led
from deep_research.sources.extract.typeset import Line

_FEWEST = 4  # entries on a page
_SHARE = 0.5  # of the lines from the first entry to the last, as long ones take two and chapters have no dots


def without_contents(lines: Sequence[Line]) -> list[Line]:
    """The lines of a page without such a list: dots lead to numbers that never fall. Prices do not rise so."""
    found = [(at, entry[1]) for at, line in enumerate(lines) if (entry := led(line.text)) and entry[1]]
    numbers = [int(page) for _, page in found if page.isdecimal()]
    if len(found) < _FEWEST or any(before > after for before, after in pairwise(numbers)):
        return list(lines)
    first, last = found[0][0], found[-1][0]
    if len(found) < _SHARE * (last - first + 1):
        return list(lines)
    return [*lines[:first], *lines[last + 1 :]]
