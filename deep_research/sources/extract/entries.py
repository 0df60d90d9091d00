"""Lines that are each an entry of a list without marks, such as the answers to a question: a line that ends where the
next word would have had room ends on purpose. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from deep_research.sources.extract.typeset import Line

_ENOUGH = 4  # lines of a size, to know how far they go
_SAME_LEFT = 1.0  # points
_CAPITALS = 0.7  # of the lines after the first: of prose far fewer begin a sentence or name
_BESIDE = 0.1  # of the lines that may have text to their right; with more, the page is set in columns


def margins_of(lines: Sequence[Line]) -> dict[float, float]:
    """How far to the right the lines of each size go; nothing where text stands beside text. One line that goes farther
    than all others does not count."""
    told = [line for line in lines if line.text.strip() and line.size > 0.0]
    if _beside(told) > _BESIDE * len(told):
        return {}
    ends: dict[float, list[float]] = {}
    for line in told:
        if not line.cells:
            ends.setdefault(line.size, []).append(line.right)
    return {size: sorted(rights)[-2] for size, rights in ends.items() if len(rights) >= _ENOUGH}


def entries(lines: Sequence[Line], margins: Mapping[float, float]) -> set[int]:
    """The numbers of the lines that begin an entry after another."""
    return {at for block in _blocks(lines) if _is_list(lines, block) for at in _ended(lines, block, margins)}


def _beside(lines: Sequence[Line]) -> int:
    """How many lines have another to their right."""
    lying = sorted(lines, key=lambda line: -line.base)
    return sum(
        abs(a.base - b.base) < 0.5 * a.size and (a.right <= b.left or b.right <= a.left)
        for a, b in pairwise(lying)
    )


def _blocks(lines: Sequence[Line]) -> Iterator[range]:
    """The lines that stand below each other."""
    begin = 0
    for at in range(1, len(lines) + 1):
        if at == len(lines) or not _is_below(lines[at - 1], lines[at]):
            yield range(begin, at)
            begin = at


def _is_below(above: Line, line: Line) -> bool:
    return (
        above.size == line.size > 0.0
        and not (above.cells or above.row or line.cells or line.row)
        and abs(above.left - line.left) <= _SAME_LEFT
        and above.base > line.base
    )


def _is_list(lines: Sequence[Line], block: range) -> bool:
    after = block[1:]
    return bool(after) and sum(not _is_going_on(lines[at]) for at in after) >= _CAPITALS * len(after)


def _is_going_on(line: Line) -> bool:
    return line.text.strip()[:1].islower()


def _ended(lines: Sequence[Line], block: range, margins: Mapping[float, float]) -> Iterator[int]:
    for at in block[1:]:
        above, line = lines[at - 1], lines[at]
        margin = margins.get(line.size)
        if margin is None or _is_going_on(line) or above.text.rstrip().endswith((",", "-")):
            continue
        letter = (line.right - line.left) / max(1, len(line.text))
        word = len(line.text.split(maxsplit=1)[0]) if line.text.strip() else 0
        if above.right + (word + 2) * letter < margin:
            yield at
