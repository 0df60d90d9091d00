"""Entries whose first line begins farther to the left than the rest, as those of a list of works or names do. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.sources.extract.typeset import Line

_SAME_LEFT = 1.0  # points
_LEAST, _MOST = 0.5, 6.0  # times the size: how far the rest is to the right
_FULL = 0.75  # of the width of a line; a shorter one may be a heading
_ENDS = (".", "!", "?", ":", ";", "”", '"', ")", "]")
_FAR = 2.5  # times the size, from one line to the next


def hanging(lines: Sequence[Line], width: int) -> set[int]:
    """The numbers of the lines that begin an entry after another. ``width`` is how many characters a full line has.

    What is indented below a full line that ends within a sentence goes on with it, and is no new paragraph."""
    found: set[int] = set()
    head: Line | None = None  # the first line of the entry of which the line above is the rest
    for at in range(1, len(lines)):
        above, line = lines[at - 1], lines[at]
        if not _is_below(above, line):
            head = None
        elif _is_indented(above, line):
            head = above if _is_broken_off(above, width) else None
        elif head is not None and abs(line.left - above.left) > _SAME_LEFT:
            is_back = abs(line.left - head.left) <= _SAME_LEFT
            if is_back and _is_whole(above) and not line.text.strip()[:1].islower():
                found.add(at)
            head = None
    return found


def _is_below(above: Line, line: Line) -> bool:
    return above.size == line.size > 0.0 and 0.0 < above.base - line.base <= _FAR * line.size


def _is_indented(above: Line, line: Line) -> bool:
    return _LEAST * line.size <= line.left - above.left <= _MOST * line.size


def _is_broken_off(line: Line, width: int) -> bool:
    text = line.text.strip()
    return len(text) >= _FULL * width and not text[:1].islower() and not text.endswith(_ENDS)


def _is_whole(line: Line) -> bool:
    """Whether an entry may end with it: a heading without a stop is taken for the head of the paragraph below it."""
    text = line.text.rstrip()
    return text.endswith(_ENDS) or text[-1:].isdigit()
