"""A conversation in short, for the agents of its next turn: the latest turns within so many tokens. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.budget.tokens import Counter
from deep_research.conversation.turn import Turn
from deep_research.state import RunStatus

MAX_LINE_CHARS = 600  # of a turn
_OVER = (None, RunStatus.COMPLETED, RunStatus.ABORTED)
_TRIMMED = "(Earlier turns are left out: {}.)"


def summary_of(turns: Sequence[Turn], tokens: int) -> str:
    """A line for each turn, the oldest first. The oldest are left out where all take more than ``tokens``."""
    count = Counter().expected
    left = tokens - count(_TRIMMED.format(len(turns)))
    lines: list[str] = []
    for turn in reversed(turns):
        line = _line(turn)
        left -= count(line) + 1
        if left < 0:
            break
        lines.append(line)
    trimmed = len(turns) - len(lines)
    head = [_TRIMMED.format(trimmed)] if trimmed and lines else []
    return "\n".join([*head, *reversed(lines)])


def _line(turn: Turn) -> str:
    day = f"{turn.at:%Y-%m-%d} " if turn.at else ""
    none = "nothing was found." if turn.status in _OVER else "not yet."
    line = " ".join(f"- {day}Asked: {turn.question} Answered: {turn.answer or none}".split())
    return line if len(line) <= MAX_LINE_CHARS else f"{line[:MAX_LINE_CHARS].rsplit(' ', 1)[0]} …"
