"""The limits of tasks: each has an even part of what the caps of the run leave. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from deep_research.state import DeepResearchState, SubQueryStatus, TaskLimits, TaskState


def limits_of(state: DeepResearchState, place: int, count: int) -> TaskLimits:
    """Those of the ``place``-th of ``count`` tasks that go out together: each has an even part of what the caps of the
    run leave beside what tasks under way hold, settled before any of them begins, so that who comes first does not
    show."""
    options, budget = state.options, state.options.budget
    under_way = [t for t in state.tasks if t.finding is None and is_worked_on(t, state)]

    def part(cap: int | None, used: int, held: Iterable[int | None]) -> int | None:
        if cap is None:
            return None
        each, over = divmod(max(0, cap - used - sum(most or 0 for most in held)), count)
        return each + (place < over)

    return TaskLimits(
        steps=state.task_steps,
        tokens=options.max_task_tokens,
        usd=options.max_task_usd,
        seconds=options.max_task_seconds,
        searches=part(
            budget.max_searches,
            state.usage.searches,
            (rest_of(t.task.limits.searches, sum(s.searches for s in t.steps)) for t in under_way),
        ),
        fetches=part(
            budget.max_fetches,
            state.usage.fetches,
            (rest_of(t.task.limits.fetches, sum(s.fetches for s in t.steps)) for t in under_way),
        ),
    )


def rest_of(most: int | None, used: int) -> int | None:
    return None if most is None else max(0, most - used)


def is_worked_on(stands: TaskState, state: DeepResearchState) -> bool:
    """One whose sub-query was dropped is worked on no more, unless it has something already."""
    superseded_ids = {s.id for s in state.sub_queries if s.status is SubQueryStatus.SUPERSEDED}
    return not stands.is_settled and (stands.task.sub_query_id not in superseded_ids or bool(stands.steps))
