"""Texts in a frame that were drawn before all else on their page, as office programs draw them: read where they stand.
Pure."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.sources.extract.typeset import Line

_CLEAR = 0.5  # of the size, by which a line stands above or below the frame at least
_FEWEST = 2  # lines above the frame: one is a head of the page


def with_frame_in_place(lines: Sequence[Line]) -> list[Line]:
    """The lines of a page, those drawn first between what stands above and what stands below them. Where they stand
    beside any other line, or the others were not drawn from above to below as well, nothing is moved."""
    top, bottom = float("-inf"), float("inf")
    for begin, line in enumerate(lines):
        if begin and line.base > top + line.size:
            break
        top, bottom = max(top, line.base), min(bottom, line.base)
    else:
        return list(lines)
    frame, others = lines[:begin], lines[begin:]
    above = [line for line in others if line.base > top + (1 + _CLEAR) * line.size]
    below = [line for line in others if line.base < bottom - _CLEAR * line.size]
    is_parted = len(above) >= _FEWEST and below and [*above, *below] == list(others)
    if not is_parted or any(line.way != lines[0].way for line in lines):
        return list(lines)
    return [*above, *frame, *below]
