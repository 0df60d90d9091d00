"""Taking a run up again: from a process that lives, with an answer that waits for it, and with the events that it opens
with."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from deep_research.assembly import ResumePlan
from deep_research.errors import RunBusyError
from deep_research.research.active_run import unused_command
from deep_research.research.steering import answer_in, is_enough
from deep_research.state import AbortReason, CommandKind, DeepResearchPhase, DeepResearchState, SubQueryStatus
from deep_research.state import events as ev
from deep_research.store import Command, RunJournal, Store
from deep_research.store.base import busy_error
from deep_research.supervisor.orchestrator import SupervisorOrchestrator
from deep_research.supervisor.plan_approval import unfit

MAX_LEASES = 2  # lease times for which an owner is waited for
OWNER_POLL_SECONDS = 0.1  # seconds between looks at who owns a run


async def request_release(store: Store, run_id: str) -> int | None:
    """Queue a `release` command for the owner of a run and wait until it is released, at most two lease times. Gives the
    fence that may be passed over then; None where nobody owns the run. Raises `RunBusyError` where another process was
    faster, `RunStateError` for a run that completed meanwhile."""
    row = await asyncio.to_thread(store.run, run_id)
    if not row.owned(time.time()):
        return None
    await asyncio.to_thread(store.enqueue_command, run_id, CommandKind.RELEASE.value)
    fence, loop = row.fence, asyncio.get_running_loop()
    until = loop.time() + MAX_LEASES * store.lease
    while row.owned(time.time()):
        if row.fence != fence:
            error = busy_error(row)
            raise RunBusyError(error.problem, hint="That process took the run over first.", **error.data)
        left = until - loop.time()
        if left <= 0:
            return fence
        await asyncio.sleep(min(OWNER_POLL_SECONDS, left))
        row = await asyncio.to_thread(store.run, run_id)
    return None


def consume_stops(commands: Sequence[Command], journal: RunJournal, *, by_worker: bool) -> None:
    """Use up the commands that a resumption answers, with its event: `release`, also of a process that died between
    asking and taking; and `pause`, which a worker that claims the run obeys."""
    for command in commands:
        if command.kind == CommandKind.RELEASE or (command.kind == CommandKind.PAUSE and not by_worker):
            journal.consume(command.id)


async def opening_events(state: DeepResearchState, orchestrator: SupervisorOrchestrator) -> list[ev.Event]:
    """What a resumed run begins with: its first phase, if it never had one; the searches that failed, if for want
    of them there was no evidence; what an agent could not read."""
    if not state.decisions:
        return await orchestrator.opening(state)
    if state.abort is None or state.abort.reason is not AbortReason.NO_EVIDENCE:
        return []
    if any(s.status is SubQueryStatus.FAILED for s in state.sub_queries):
        return [ev.PhaseRetried(phase=DeepResearchPhase.GATHERING, attempt=0, asked_by="resume")]
    if state.phase is DeepResearchPhase.ANALYSIS and any(notice.name == "agent" for notice in state.notices):
        return [ev.PhaseRetried(phase=DeepResearchPhase.ANALYSIS, attempt=0, asked_by="resume")]
    return []


def queued_answer(commands: Sequence[Command], journal: RunJournal) -> tuple[Any, list[ev.Event]]:
    """The latest answer that somebody left for the question of the run, if it fits, and what is told of all others. All
    that were left are used up with the next event."""
    parking = journal.state.question
    answers = [command for command in commands if command.kind == CommandKind.ANSWER]
    answer_value, answer_command = None, None
    for command in answers:
        journal.consume(command.id)
        value = answer_in(command.payload)
        if (
            parking is not None
            and not unfit(journal.state, value)
            and is_enough(parking, value, journal.state)
        ):
            answer_value, answer_command = value, command
    return answer_value, [unused_command(command) for command in answers if command is not answer_command]


def set_up_events(state: DeepResearchState, going: ResumePlan) -> list[ev.Event]:
    """What is told of a run that is not gone on with as it was set up. What was told before is not told again."""
    changed: list[ev.Event] = [ev.SetUpChanged(old=state.setup, new=going.change)] if going.change else []
    return changed + [
        ev.NoticeAdded(notice=notice) for notice in going.notices if notice not in state.notices
    ]
