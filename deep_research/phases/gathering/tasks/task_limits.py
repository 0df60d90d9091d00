"""Limits of tasks: each task has an even part of what the caps of the run leave, each step what its task has left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from deep_research.models.profiles import Price
from deep_research.state import DeepResearchState, SubQueryStatus, TaskLimits, TaskState, TaskStep

# Tokens of a step that closes a task, its form and instructions included.
MIN_INPUT_TOKENS, MIN_OUTPUT_TOKENS = 3_000, 1_000

Asked = Literal["searches", "fetches"]


@dataclass(frozen=True, slots=True)
class RemainingLimits:
    """What the next step may take: ``tokens`` and ``usd``, None: there is no bound, or none for a first step, of which
    nobody knows what it will take. ``end_reason`` says why no step is taken, ``closing`` why the next one has to be the
    last, by what the latest took; both are empty as a rule. ``tight`` is what is told where it has no room."""

    tokens: int | None = None
    usd: float | None = None
    end_reason: str = ""
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


def remaining_limits(
    limits: TaskLimits, steps: Sequence[TaskStep], price: Price | None = None
) -> RemainingLimits:
    """What the limits leave after these steps. The next one closes the task where there is room for it, and by what the
    latest took for none behind it. ``price`` is that of the model.

    Example:
        left(TaskLimits(steps=8, tokens=9_000, seconds=600), steps).closing  # "Its 9,000 tokens were used up."
    """
    messages = sentences(limits)
    if len(steps) >= limits.steps:
        return RemainingLimits(end_reason=messages["steps"])
    took: dict[str, list[float]] = {
        "tokens": [step.tokens.total for step in steps],
        "seconds": [step.seconds for step in steps],
    }
    costs = [step.cost_usd for step in steps]
    if None not in costs:  # of what is unknown nothing is counted
        took["usd"] = [cost or 0.0 for cost in costs]
    rest = {name: most - sum(took[name]) for name in took if (most := getattr(limits, name)) is not None}
    reason = next((messages[name] for name, much in rest.items() if much <= 0), "")
    if not steps:
        return RemainingLimits(end_reason=reason)
    least = {
        "tokens": MIN_INPUT_TOKENS + MIN_OUTPUT_TOKENS,
        "usd": price.most(MIN_INPUT_TOKENS, MIN_OUTPUT_TOKENS) if price else 0.0,
    }
    behind = {name: each[-1] + max(each[-1], least.get(name, 0.0)) for name, each in took.items()}
    closing = next((messages[name] for name, much in rest.items() if much < behind[name]), "")
    tokens = rest.get("tokens")
    return RemainingLimits(
        tokens=None if tokens is None else int(tokens),
        usd=rest.get("usd"),
        end_reason=reason,
        closing=closing,
        tight=closing or next((messages[name] for name in ("tokens", "usd") if name in rest), ""),
    )


def sentences(limits: TaskLimits) -> dict[str, str]:
    """What is told of a task that each of its limits ended."""
    messages = {"steps": f"Its {limits.steps} steps were used up."}
    if limits.tokens is not None:
        messages["tokens"] = f"Its {limits.tokens:,} tokens were used up."
    if limits.usd is not None:
        messages["usd"] = f"Its {limits.usd:g} dollars were used up."
    return messages | {"seconds": f"Its {limits.seconds:g} seconds were used up."}


def ended_by_them(stands: TaskState) -> bool:
    """Whether the attempt ended at a limit of its own: another one would take as much and come no further."""
    finding = stands.finding
    return finding is not None and finding.stopped in sentences(stands.task.limits).values()


def limits_of(state: DeepResearchState, place: int, count: int) -> TaskLimits:
    """Those of the ``place``-th of ``count`` tasks that go out together: each has an even part of what the caps of the
    run leave beside what tasks under way hold, settled before any of them begins, so that who comes first does not
    show."""
    options, budget = state.options, state.options.budget
    under_way = [t for t in state.tasks if t.finding is None and is_worked_on(t, state)]

    def part(name: Asked) -> int | None:
        cap: int | None = getattr(budget, f"max_{name}")
        if cap is None:
            return None
        reserved = sum(left_of(task, name) or 0 for task in under_way)
        each, over = divmod(max(0, cap - getattr(state.usage, name) - reserved), count)
        return int(each + (place < over))

    return TaskLimits(
        steps=state.task_steps,
        tokens=options.tasks.max_tokens,
        usd=options.tasks.max_usd,
        seconds=options.tasks.max_seconds,
        searches=part("searches"),
        fetches=part("fetches"),
    )


def left_of(stands: TaskState, name: Asked) -> int | None:
    """How many searches or pages an attempt may still ask for; None: as many as it takes."""
    most: int | None = getattr(stands.task.limits, name)
    return rest_of(most, sum(getattr(step, name) for step in stands.steps))


def rest_of(most: int | None, used: int) -> int | None:
    return None if most is None else max(0, most - used)


def is_worked_on(stands: TaskState, state: DeepResearchState) -> bool:
    """One whose sub-query was dropped is worked on no more, unless it has something already."""
    superseded_ids = {s.id for s in state.sub_queries if s.status is SubQueryStatus.SUPERSEDED}
    return not stands.is_settled and (stands.task.sub_query_id not in superseded_ids or bool(stands.steps))
