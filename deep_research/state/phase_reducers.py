"""Reducers of events about phases, models and notices. Pure."""

from __future__ import annotations

from deep_research.state import events as ev
from deep_research.state.fold_state import FoldState, Reducers
from deep_research.state.phases import (
    DeepResearchPhase,
    RunStatus,
    SubQueryStatus,
)
from deep_research.state.records import (
    ANSWERED,
    Notice,
)

reducers = Reducers()


@reducers.on(ev.PhaseStarted)
def _phase_started(state: FoldState, event: ev.PhaseStarted) -> None:
    state.status = RunStatus.RUNNING
    state.phase = event.phase
    state.attempt = 0
    state.supervisor_retries = 0
    state.phase_done = False
    _forget_gates(state, event.phase)
    state.analyzed_now.clear()
    state.decisions.append(event.decision)
    state.begin_pass()


@reducers.on(ev.PhaseEnded)
def _phase_ended(state: FoldState, event: ev.PhaseEnded) -> None:
    _fill_dispatch(state, event)
    state.decisions.append(event.decision)
    state.seconds = round(state.seconds + event.seconds, 3)
    name = f"gate:{event.phase}"
    state.drop_notices(name)  # what a later pass of the same phase made good is told no more
    for issue in event.validation.advisory:
        state.notices[name, issue] = Notice(name=name, message=issue)


def _fill_dispatch(state: FoldState, event: ev.PhaseEnded) -> None:
    """What an agent was dispatched for is told by what came of it: the figures of the phase's end."""
    action = f"execute_{event.phase}"
    place = next((n for n, d in reversed([*enumerate(state.decisions)]) if d.action == action), None)
    if place is not None:
        figures = {k: v for k, v in (event.decision.outputs or {}).items() if not k.startswith("quality_")}
        state.decisions[place] = state.decisions[place].model_copy(update={"outputs": figures})


def _forget_gates(state: FoldState, phase: DeepResearchPhase) -> None:
    """A phase that begins anew makes void what gates said of its last pass, and of those that came after it."""
    order = tuple(DeepResearchPhase)
    state.drop_notices(*(f"gate:{later}" for later in order[order.index(phase) :]))


@reducers.on(ev.PhaseRetried)
def _phase_retried(state: FoldState, event: ev.PhaseRetried) -> None:
    """Make the units of the phase remain: failed searches pend again, sources that no finding cites are
    unread again, a plan, a report or an assessment is to be made again."""
    state.attempt = event.attempt
    replanned = state.replanned
    if event.asked_by in ("hook", "supervisor"):
        state.supervisor_retries += 1
    if state.phase is not event.phase:
        state.phase = event.phase
        state.replanned = event.phase is DeepResearchPhase.PLANNING
        state.supervisor_retries = 0  # they are counted by phase
    if (
        event.asked_by == ANSWERED
    ):  # the owner's word takes no attempt of the gate, nor the new plan of a hook
        state.replanned = replanned
        state.supervisor_retries = event.attempt
    if event.phase is DeepResearchPhase.PLANNING and event.asked_by != ANSWERED:
        state.recalling = False
    state.phase_done = False
    _forget_gates(state, event.phase)
    state.analyzed_now.clear()
    state.begin_pass()
    if event.phase is DeepResearchPhase.GATHERING:
        for old in state.sub_queries.values():
            if old.status is SubQueryStatus.FAILED:
                state.sub_queries[old.id] = old.model_copy(update={"status": SubQueryStatus.PENDING})
        state.add_sub_queries(event.sub_queries)
    elif event.phase is DeepResearchPhase.ANALYSIS:
        cited_ids = {source_id for f in state.findings.values() for source_id in f.source_ids}
        state.analyzed &= cited_ids


@reducers.on(ev.IterationStarted)
def _iteration_started(state: FoldState, event: ev.IterationStarted) -> None:
    if state.phase is DeepResearchPhase.ANALYSIS:
        # What answered nothing by itself is read again together with what is found next.
        state.analyzed.clear()
    state.iteration = event.iteration
    state.iteration_spent = state.total_spent()
    state.replanned = False
    state.add_sub_queries(event.sub_queries)


@reducers.on(ev.GuidanceGiven)
def _guidance_given(state: FoldState, event: ev.GuidanceGiven) -> None:
    state.guidance.append(event.guidance)


@reducers.on(ev.DecisionMade)
def _decision_made(state: FoldState, event: ev.DecisionMade) -> None:
    state.decisions.append(event.decision)


@reducers.on(ev.AgentFellBack)
def _fell_back(state: FoldState, event: ev.AgentFellBack) -> None:
    if state.phase is not DeepResearchPhase.ANALYSIS:  # what models read of sources stays read
        state.sent.pop(state.phase, None)
    if event.limit is not None:
        state.add_limit(event.limit)
        return
    message = (
        f"The {event.role} could not do its work ({event.error}); the extractive one did it. {event.hint}"
    )
    state.add_notice(Notice(name="agent", message=message.rstrip()))


@reducers.on(ev.ModelReserved)
def _reserved(state: FoldState, event: ev.ModelReserved) -> None:
    state.reservations[event.reservation.call_id] = event.reservation


@reducers.on(ev.ModelSettled)
def _model_settled(state: FoldState, event: ev.ModelSettled) -> None:
    request = state.reservations.pop(event.call_id)
    state.usage = state.usage.charged(request, event.tokens, event.cost_usd, failed=event.failed)


@reducers.on(ev.ModelFellBack)
def _model_fell_back(state: FoldState, event: ev.ModelFellBack) -> None:
    message = f"For the {event.role}, {event.model} gave no usable answer and {event.next_model} was asked."
    state.add_notice(Notice(name="model", message=message))


@reducers.on(ev.HookFailed)
def _hook_failed(state: FoldState, event: ev.HookFailed) -> None:
    error = event.error.rstrip(".")
    outcome = "failed, so the run was refused" if event.hook == "admit" else "failed and was ignored"
    message = f"The hook {event.hook} {outcome}: {error}. Fix it; strict_hooks shows where it fails."
    current = state.notices.get(("hook", message))
    state.add_notice(Notice(name="hook", message=message, count=1 + (current.count if current else 0)))


@reducers.on(ev.LimitReached)
def _limit_reached(state: FoldState, event: ev.LimitReached) -> None:
    state.add_limit(event.limit)


@reducers.on(ev.NoticeAdded)
def _notice_added(state: FoldState, event: ev.NoticeAdded) -> None:
    state.add_notice(event.notice)
