"""What one attempt at a task may still take of its own limits, as its steps in the log tell. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deep_research.models.profiles import Price
from deep_research.state import TaskLimits, TaskState, TaskStep

# Tokens of a step that closes a task, its form and instructions included.
LEAST_INPUT, LEAST_OUTPUT = 3_000, 1_000


@dataclass(frozen=True, slots=True)
class Left:
    """What the next step may take: ``tokens`` and ``usd``, None: there is no bound, or none for a first step, of which
    nobody knows what it will take. ``ended`` says why no step is taken, ``closing`` why the next one has to be the last,
    by what the latest took; both are empty as a rule. ``tight`` is what is told where it has no room."""

    tokens: int | None = None
    usd: float | None = None
    ended: str = ""
    closing: str = ""
    tight: str = ""

    def fitting(self, output: int, most: int, price: Price | None) -> int:
        """How many tokens of input, ``most`` at most, may be sent for an answer of ``output`` tokens."""
        fits = most if self.tokens is None else min(most, self.tokens - output)
        if self.usd is None or price is None or fits <= 0 or price.most(fits, output) <= self.usd:
            return max(0, fits)
        low, high = 0, fits  # the dearer price of long requests makes it no straight line
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if price.most(middle, output) <= self.usd else (low, middle)
        return low


def left(limits: TaskLimits, steps: Sequence[TaskStep], price: Price | None = None) -> Left:
    """What the limits leave after these steps. The next one closes the task where there is room for it, and by what the
    latest took for none behind it. ``price`` is that of the model.

    Example:
        left(TaskLimits(steps=8, tokens=9_000, seconds=600), steps).closing  # "Its 9,000 tokens were used up."
    """
    told = sentences(limits)
    if len(steps) >= limits.steps:
        return Left(ended=told["steps"])
    latest = steps[-1] if steps else TaskStep(number=0)
    # By name: the limit, what is used of it, what the latest step took, and what an answer takes at least.
    used: dict[str, tuple[float | None, float, float, float]] = {
        "tokens": (
            limits.tokens,
            sum(step.tokens.total for step in steps),
            latest.tokens.total,
            LEAST_INPUT + LEAST_OUTPUT,
        ),
        "seconds": (limits.seconds, sum(step.seconds for step in steps), latest.seconds, 0.0),
    }
    costs = [step.cost_usd for step in steps]
    if None not in costs:  # of what is unknown nothing is counted
        least = price.most(LEAST_INPUT, LEAST_OUTPUT) if price else 0.0
        used["usd"] = (limits.usd, sum(cost or 0.0 for cost in costs), latest.cost_usd or 0.0, least)
    rest = {name: most - taken for name, (most, taken, _, _) in used.items() if most is not None}
    behind = {name: took + max(took, least) for name, (_, _, took, least) in used.items()}
    ended = next((told[name] for name, much in rest.items() if much <= 0), "")
    closing = next((told[name] for name, much in rest.items() if much < behind[name]), "")
    if not steps:
        return Left(ended=ended)
    tokens = rest.get("tokens")
    return Left(
        tokens=None if tokens is None else int(tokens),
        usd=rest.get("usd"),
        ended=ended,
        closing=closing,
        tight=closing or next((told[name] for name in ("tokens", "usd") if name in rest), ""),
    )


def sentences(limits: TaskLimits) -> dict[str, str]:
    """What is told of a task that each of its limits ended."""
    told = {"steps": f"Its {limits.steps} steps were used up."}
    if limits.tokens is not None:
        told["tokens"] = f"Its {limits.tokens:,} tokens were used up."
    if limits.usd is not None:
        told["usd"] = f"Its {limits.usd:g} dollars were used up."
    return told | {"seconds": f"Its {limits.seconds:g} seconds were used up."}


def ended_by_them(stands: TaskState) -> bool:
    """Whether the attempt ended at a limit of its own: another one would take as much and come no further."""
    finding = stands.finding
    return finding is not None and finding.stopped in sentences(stands.task.limits).values()
