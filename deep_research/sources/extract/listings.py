"""Code in a PDF: lines in letters of one width, which stay lines. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, pairwise

from deep_research.sources.extract.typeset import Line

_LETTER = 0.6  # of the size: how wide such letters mostly are
_ENOUGH = 3  # lines, from which on it is no long word of a paragraph, such as an address
_INDENTED = 5.0  # points by which fewer lines are set off from the text around them,
_GAP = 1.15  # or so many of the usual steps from line to line
_STEP = 1.25  # times the size: that step where it is not known
_EMPTY = 1.7  # of the usual step from line to line, from which on a line is left empty
_MOST_INDENTED = 40  # letters
FENCES = ("```", "~~~")


def parted(lines: Sequence[Line], step: float) -> Iterator[tuple[bool, list[Line]]]:
    """The lines of a page in runs, each with whether it is code. ``step`` is the usual one from line to line, in
    points, 0 where it is not known."""
    for is_code, marked in groupby(_marked(lines, step), lambda pair: pair[0]):
        yield is_code, [line for _, line in marked]


def _marked(lines: Sequence[Line], step: float) -> Iterator[tuple[bool, Line]]:
    runs = [list(run) for _, run in groupby(lines, lambda line: line.is_mono)]
    for before, run, after in zip([[], *runs], runs, [*runs[1:], []], strict=False):
        is_near = _is_near(before[-1:], run[0], step) or _is_near(after[:1], run[-1], step)
        is_code = run[0].is_mono and (len(run) >= _ENOUGH or not is_near)
        yield from ((is_code, line) for line in run)


def listing(lines: Sequence[Line]) -> str:
    """A piece of code between the marks of code, its lines as far from the left and from each other as they stand."""
    steps = [0.0, *(above.base - line.base for above, line in pairwise(lines))]
    usual = sorted(steps)[len(steps) // 2]
    columns = list(accumulate(step < 0.0 for step in steps))  # what goes up goes on in the next column
    lefts: dict[int, float] = {}
    for column, line in zip(columns, lines, strict=True):
        lefts[column] = min(line.left, lefts.get(column, line.left))
    written: list[str] = []
    for column, line, step in zip(columns, lines, steps, strict=True):
        if step > _EMPTY * usual > 0.0:
            written.append("")
        indent = round((line.left - lefts[column]) / (_LETTER * line.size)) if line.size else 0
        # A single space is where the reader of the file took the step to a new line for one.
        text = line.text[1:] if re.match(r" \S", line.text) else line.text
        written.append(" " * min(indent, _MOST_INDENTED) + text)
    fence = next((fence for fence in FENCES if not any(fence in text for text in written)), FENCES[0])
    return "\n".join((fence, *written, fence))


def _is_near(beside: Sequence[Line], code: Line, step: float) -> bool:
    """Whether the line beside the code, if there is one, is of the same paragraph."""
    return any(
        abs(line.left - code.left) < _INDENTED
        and abs(line.base - code.base) < _GAP * (step or _STEP * line.size)
        for line in beside
    )
