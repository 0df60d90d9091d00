"""Steps of a task that are the same as earlier ones, and would show the same. Pure."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence

from deep_research.phases.gathering.tasks.toolbox import THINK
from deep_research.state import TaskStep, ToolUse

SAME = "The same was done in an earlier step and would show the same. Do something else, or be done."
ENDED = "Its agent made the same step again and again."
MOST = 2  # times that a step is made: the second time it is refused


def repetitions(
    uses: Sequence[ToolUse], thought: str, steps: Sequence[TaskStep], reads_on: Container[str]
) -> int:
    """How many of the ``steps`` were the same: they used the same tools with the same arguments, or used none and thought
    the same. A tool of the names in ``reads_on`` shows more each time, until it fails."""
    return sum(
        _identity(step.uses, step.thought) == _identity(uses, thought)
        and not any(use.tool in reads_on and not use.failed for use in step.uses)
        for step in steps
    )


def _identity(uses: Sequence[ToolUse], thought: str) -> tuple[object, ...]:
    used = sorted((use.tool, json.dumps(use.arguments, sort_keys=True)) for use in uses if use.tool != THINK)
    return tuple(used) or (thought,)
