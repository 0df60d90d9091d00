"""Reducers of events of PLANNING and GATHERING: plans, searches, tasks and their sources. Pure."""

from __future__ import annotations

from deep_research.state import events as ev
from deep_research.state.fold_state import FoldState, Reducers, damaged
from deep_research.state.phases import (
    SubQueryStatus,
)
from deep_research.state.tasks import TaskState

reducers = Reducers()


@reducers.on(ev.PlanMade)
def _planned(state: FoldState, event: ev.PlanMade) -> None:
    state.supersede(state.pending_ids())
    state.research_brief = event.research_brief
    look = event.first_look
    if look is not None and look.snippets and look != state.first_look:
        state.count_searches(1, fetches=0)
    state.first_look = look
    state.parts = event.parts
    state.scope = event.scope
    part_ids = {part.id for part in event.parts}
    state.verdicts = tuple(v for v in state.verdicts if v.part_id in part_ids)
    state.add_sub_queries(event.sub_queries)
    state.phase_done = True


@reducers.on(ev.SubQueriesAdded)
def _sub_queries_added(state: FoldState, event: ev.SubQueriesAdded) -> None:
    state.supersede(event.replaced)
    state.add_sub_queries(event.sub_queries)


@reducers.on(ev.SubQueryCompleted)
def _sub_query_completed(state: FoldState, event: ev.SubQueryCompleted) -> None:
    sub_query = state.sub_queries[event.sub_query_id]
    source_ids = tuple(s.id for s in event.sources)
    if (
        sub_query.status is SubQueryStatus.COMPLETED
    ):  # pages that were left unread: the search is not made again
        source_ids = tuple(dict.fromkeys((*sub_query.source_ids, *source_ids)))
        state.pages_left = ()
    if event.task_id is not None:
        source_ids = (*_settle(state, event.task_id), *source_ids)
    state.sub_queries[sub_query.id] = sub_query.model_copy(
        update={
            "status": SubQueryStatus.COMPLETED,
            "error": None,
            "source_ids": source_ids,
            "wordings": event.wordings,
        }
    )
    state.add_sources(event.sources)
    state.duplicates_skipped += event.duplicates
    state.count_searches(event.searches, fetches=event.fetches, failed=event.failed)


def _settle(state: FoldState, task_id: str) -> tuple[str, ...]:
    """A task is over: the sources of all its attempts."""
    task = state.tasks[task_id]
    state.tasks[task_id] = task.model_copy(update={"is_settled": True})
    return task.source_ids


@reducers.on(ev.SubQueryFailed)
def _sub_query_failed(state: FoldState, event: ev.SubQueryFailed) -> None:
    failed = state.sub_queries[event.sub_query_id]
    state.sub_queries[failed.id] = failed.model_copy(
        update={"status": SubQueryStatus.FAILED, "error": event.error}
    )
    if event.task_id is not None:
        _settle(state, event.task_id)
    state.count_searches(event.searches, failed=event.searches, fetches=event.fetches)


@reducers.on(ev.TaskDispatched)
def _task_dispatched(state: FoldState, event: ev.TaskDispatched) -> None:
    _ = state.sub_queries[event.task.sub_query_id]
    current = state.tasks.get(event.task.id)
    if current is None:
        state.tasks[event.task.id] = TaskState(task=event.task, private=event.task.private)
        return
    state.tasks[event.task.id] = TaskState(
        task=event.task,
        earlier=(*current.earlier, *((current.finding,) if current.finding else ())),
        questions=(*current.questions, current.task.question),
        private=current.private,
        offered=current.offered,
        refusals=current.refusals,
    )


def _at_work(state: FoldState, event: ev.TaskStepped | ev.TaskFinished | ev.TaskReviewed) -> TaskState:
    """The attempt that an event is about. Raises `LogDamagedError` where another one is at work."""
    task = state.tasks[event.task_id]
    if task.task.attempt != event.attempt or task.is_settled:
        raise damaged(
            f"'{event.name}' of attempt {event.attempt} at a task at attempt {task.task.attempt}",
            state.research_id,
        )
    return task


@reducers.on(ev.TaskStepped)
def _task_stepped(state: FoldState, event: ev.TaskStepped) -> None:
    task = _at_work(state, event)
    step = event.step
    state.tasks[event.task_id] = task.model_copy(
        update={
            "steps": (*task.steps, step),
            "private": tuple(dict.fromkeys((*task.private, *step.private))),
            "offered": (*task.offered, *step.offered),
            "refusals": task.refusals + sum(use.refused for use in step.uses),
        }
    )
    state.add_sources(event.sources)
    state.count_searches(step.searches, fetches=step.fetches, failed=step.failed_searches)


@reducers.on(ev.TaskFinished)
def _task_finished(state: FoldState, event: ev.TaskFinished) -> None:
    task = _at_work(state, event)
    state.tasks[event.task_id] = task.model_copy(update={"finding": event.finding, "review": None})


@reducers.on(ev.TaskReviewed)
def _task_reviewed(state: FoldState, event: ev.TaskReviewed) -> None:
    task = _at_work(state, event)
    state.tasks[event.task_id] = task.model_copy(update={"review": event.review})
