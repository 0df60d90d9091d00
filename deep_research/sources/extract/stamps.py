"""What is stamped into the margin of a page and runs up or down there, as archives do with a number and day: it is told
after the text, which goes on past it. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.sources.extract.typeset import Line

_UPRIGHT = (1.0, 0.0)
_FEWEST = 10  # upright lines, to know where the margin is
_MOST = 0.1  # of them


def without_stamps(lines: Sequence[Line]) -> tuple[list[Line], list[str]]:
    """The lines of a page without such stamps, and what these say."""
    upright = [line for line in lines if line.way == _UPRIGHT and line.text.strip()]
    if len(upright) < _FEWEST:
        return list(lines), []
    left, right = min(line.left for line in upright), max(line.right for line in upright)
    turned = [at for at, line in enumerate(lines) if _is_beside(line, left, right)]
    if len(turned) > _MOST * len(upright):
        return list(lines), []
    gone = set(turned)
    body = [line for at, line in enumerate(lines) if at not in gone]
    return body, [lines[at].text.strip() for at in turned]


def _is_beside(line: Line, left: float, right: float) -> bool:
    across, up = line.way
    if across or not line.text.strip():
        return False
    place = -line.base * up  # the base of a line that runs up is how far left of the page's corner it stands
    return not left <= place <= right
