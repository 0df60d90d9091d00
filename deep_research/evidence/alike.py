"""Items of one list that tell the same of several things: "Height of the tower: 9 m", "Height of the rock: 4 m". Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deep_research.evidence.rows import measure_in
from deep_research.state import Span

MOST = 4  # items
_LABEL = re.compile(r"(?P<label>[^\W\d_][\w-]* of [^:.|\n]{2,40}): ")
_NEXT = re.compile(r"\.?\n+[ \t]*[-*] ")  # from an item to the next


def alike(text: str, spans: Sequence[Span], place: int) -> tuple[int, int]:
    """The first and the last of the sentences around ``place`` that tell the same as it: which of these things is meant
    is for the reader to say. ``place`` twice where it is no such item."""
    first = last = place
    labels = {_label(text, spans[place])}
    if not measure_in(*labels):
        return first, last
    while first > 0 and len(labels) < MOST and _is_like(text, spans[first - 1], spans[first], labels):
        first -= 1
    while (
        last + 1 < len(spans) and len(labels) < MOST and _is_like(text, spans[last], spans[last + 1], labels)
    ):
        last += 1
    return first, last


def _is_like(text: str, one: Span, other: Span, labels: set[str]) -> bool:
    """Whether two sentences are items one after the other, each of which tells the same of something else."""
    told = {_label(text, one), _label(text, other)}
    if len(told) < 2 or len({*map(measure_in, told)}) > 1 or told <= labels:
        return False
    if _NEXT.fullmatch(text, one.end, other.start) is None:
        return False
    labels |= told
    return True


def _label(text: str, span: Span) -> str:
    """The label of an item; empty for what is none."""
    if text[max(0, span.start - 2) : span.start] not in ("- ", "* "):
        return ""
    label = _LABEL.match(text, span.start, span.end)
    return label["label"].casefold() if label else ""
