"""Items of one list that tell the same of several things: "Height of the tower: 9 m", "Height of the rock: 4 m". Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deep_research.state import Span

MOST = 4  # items
_LABEL = re.compile(r"(?P<what>[^\W\d_][\w-]*) (?:of|at|in) [^:.|\n]{2,40}: ")


def alike(text: str, spans: Sequence[Span], place: int) -> tuple[int, int]:
    """The first and the last of the sentences around ``place`` that tell the same as it: which of these things is meant
    is for the reader to say. ``place`` twice where it is no such item."""
    what = _what(text, spans[place])
    first = last = place
    if not what:
        return first, last
    while first > 0 and last - first + 1 < MOST and _what(text, spans[first - 1]) == what:
        first -= 1
    while last + 1 < len(spans) and last - first + 1 < MOST and _what(text, spans[last + 1]) == what:
        last += 1
    return first, last


def _what(text: str, span: Span) -> str:
    """What an item tells, in small letters; empty for what is no item with a label."""
    if text[max(0, span.start - 2) : span.start] not in ("- ", "* "):
        return ""
    label = _LABEL.match(text, span.start, span.end)
    return label["what"].casefold() if label else ""
