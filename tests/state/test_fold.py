"""The fold of any log: what only grows, what is final, what is the same after a trip to the disk."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from deep_research.errors import LogDamagedError, StoreVersionError
from deep_research.state import (
    AbortReason,
    AgentDecision,
    Budget,
    DeepResearchPhase,
    Guidance,
    Limit,
    Notice,
    Parking,
    RunOptions,
    RunStatus,
    SupervisorAction,
)
from deep_research.state import events as ev
from deep_research.state.reducer import Fold, fold
from deep_research.testing import FakeClock, sample_log, sample_state
from deep_research.testing.samples import RUN_ID, sample_task

PHASES = tuple(DeepResearchPhase)
DECISION = AgentDecision(agent="supervisor", action="x", rationale="", timestamp=FakeClock()())


def anything() -> st.SearchStrategy[ev.Event]:
    """Events of every kind, fitting or not."""
    phases, iterations, texts = st.sampled_from(PHASES), st.integers(1, 4), st.text(max_size=20)
    guidance = st.builds(Guidance, phase=phases, iteration=iterations, text=texts, origin=texts)
    return st.one_of(
        st.sampled_from(sample_log("refinement", done=True, iteration=3)),
        st.sampled_from(sample_task()),
        st.builds(ev.RunResumed, pause_id=st.none() | texts, answer=st.none() | texts),
        st.builds(ev.PhaseStarted, phase=phases, iteration=iterations, decision=st.just(DECISION)),
        st.builds(ev.PhaseRetried, phase=phases, attempt=st.integers(0, 3), asked_by=st.sampled_from(["gate", "hook"])),
        st.builds(ev.GuidanceGiven, guidance=guidance),
        st.builds(ev.DecisionMade, action=st.sampled_from(SupervisorAction), decision=st.just(DECISION)),
        st.builds(ev.IterationStarted, iteration=iterations, sub_queries=st.just(())),
        st.builds(ev.AgentFellBack, role=texts, error=texts),
        st.builds(ev.HookFailed, hook=texts, error=texts),
        st.builds(ev.LimitReached, limit=st.builds(Limit, name=texts, message=texts)),
        st.builds(ev.RunParked, parking=st.builds(Parking, waiting_for=texts, pause_id=st.none() | texts)),
        st.builds(ev.RunCompleted, rationale=texts),
        st.builds(ev.BudgetRaised, budget=st.builds(Budget, max_searches=st.none() | iterations)),
        st.builds(
            ev.RunAborted,
            reason=st.sampled_from(AbortReason),
            message=texts,
            phase=phases,
            iteration=iterations,
        ),
    )  # fmt: skip


def stamped(event: ev.Event, seq: int, clock: FakeClock) -> ev.Event:
    return event.model_copy(update={"seq": seq, "at": clock()})


def live(tries: Sequence[ev.Event]) -> tuple[list[ev.Event], list[Fold]]:
    """The log of those events that could happen, and the fold after each."""
    clock = FakeClock()
    log = list(sample_log()[:2])
    folds = [fold(log[:1]), fold(log)]
    for event in tries:
        state = fold(log)
        try:
            state.apply(event := stamped(event, len(log) + 1, clock))
        except LogDamagedError:
            continue
        log.append(event)
        folds.append(state)
    return log, folds


@settings(max_examples=150)
@given(st.lists(anything(), max_size=25))
def test_sequence_and_iteration_only_grow(tries: list[ev.Event]) -> None:
    log, folds = live(tries)
    assert [state.seq for state in folds] == list(range(1, len(log) + 1))
    iterations = [state.iteration for state in folds]
    assert iterations == sorted(iterations)
    assert all(later - earlier <= 1 for earlier, later in itertools.pairwise(iterations))


@settings(max_examples=150)
@given(st.lists(anything(), max_size=25))
def test_a_terminal_status_is_final_but_for_a_resumption(tries: list[ev.Event]) -> None:
    log, folds = live(tries)
    for state, following in zip(folds, log[1:], strict=False):
        if state.status.is_final:
            assert isinstance(following, ev.RunResumed)
    for ended, resumed, more in zip(log, log[1:], log[2:], strict=False):
        if isinstance(ended, ev.RunCompleted):
            assert isinstance(resumed, ev.RunResumed)
            assert isinstance(more, ev.BudgetRaised)


@settings(max_examples=150)
@given(st.lists(anything(), max_size=25))
def test_the_fold_of_the_stored_log_is_the_live_state(tries: list[ev.Event]) -> None:
    log, folds = live(tries)
    stored = [(event.name, event.version, ev.encode(event)) for event in log]
    assert fold(ev.decode(*row) for row in stored).snapshot() == folds[-1].snapshot()
    assert Fold(folds[-1].snapshot()).snapshot() == folds[-1].snapshot()


@settings(max_examples=60)
@given(st.lists(anything(), max_size=15), anything())
def test_an_event_that_does_not_follow_is_refused(tries: list[ev.Event], late: ev.Event) -> None:
    _, folds = live(tries)
    for seq in (0, folds[-1].seq, folds[-1].seq + 2):
        with pytest.raises(LogDamagedError, match="follows"):
            folds[-1].apply(late.model_copy(update={"seq": seq}))


# Snapshots


def test_a_snapshot_is_the_same_object_until_the_next_event() -> None:
    state = fold(sample_log("analysis"))
    first = state.snapshot()
    assert state.snapshot() is first
    state.apply(stamped(ev.HookFailed(hook="gate", error="x"), state.seq + 1, FakeClock()))
    assert state.snapshot() is not first
    assert first.limits == ()


@pytest.mark.parametrize("field", ["status", "iteration", "findings", "answers", "report"])
def test_a_snapshot_is_frozen(field: str) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(sample_state("synthesis"), field, None)


def test_records_in_a_snapshot_are_frozen() -> None:
    state = sample_state("synthesis")
    for record in (state.findings[0], state.sources[0], state.sub_queries[0], state.decisions[0]):
        with pytest.raises(ValidationError, match="frozen"):
            record.id = "other"  # type: ignore[union-attr,misc]


def test_answers_written_into_a_snapshot_do_not_reach_the_run() -> None:
    state = fold(sample_log("synthesis"))
    state.snapshot().answers["1.synthesis.0.gate"] = "mine"
    assert state.answers == {}


def test_a_snapshot_goes_through_json_and_back() -> None:
    state = sample_state("refinement", done=True, iteration=2)
    assert type(state).model_validate_json(state.model_dump_json()) == state


# Samples


@pytest.mark.parametrize(
    ("phase", "iteration"),
    [(phase, n) for phase in PHASES for n in (1, 2, 3) if n == 1 or phase is not DeepResearchPhase.PLANNING],
)
@pytest.mark.parametrize("done", [False, True])
def test_a_sample_stands_where_it_was_asked_for(phase: DeepResearchPhase, done: bool, iteration: int) -> None:
    state = sample_state(phase, done=done, iteration=iteration)
    assert (state.phase, state.iteration, state.status) == (phase, iteration, RunStatus.RUNNING)
    assert state.phase_done is (done and phase is not DeepResearchPhase.GATHERING)


@pytest.mark.parametrize("ending", ["completed", "aborted", "parked"])
def test_a_sample_can_have_ended(ending: str) -> None:
    assert sample_state("synthesis", done=True, ending=ending).status == ending


# What cannot happen


def refused(event: ev.Event, **at: Any) -> str:
    state = fold(sample_log(**at))
    with pytest.raises(LogDamagedError) as caught:
        state.apply(stamped(event, state.seq + 1, FakeClock()))
    assert caught.value.data["research_id"] == RUN_ID
    assert "backup" in str(caught.value)
    return caught.value.problem


COMPLETED: dict[str, Any] = {"phase": "synthesis", "done": True, "ending": "completed"}
RAISED = ev.BudgetRaised(budget=Budget(max_searches=99))


@pytest.mark.parametrize(
    "event", [RAISED, ev.RunCompleted(), ev.RunParked(parking=Parking(waiting_for="x"))], ids=lambda e: e.name
)
def test_nothing_but_a_resumption_follows_the_completion(event: ev.Event) -> None:
    assert "after the run completed" in refused(event, **COMPLETED)


def test_a_completed_run_that_is_resumed_gets_more_money_and_then_goes_on() -> None:
    state = fold(sample_log(**COMPLETED))
    assert state.completed_at is not None
    report = state.report
    state.apply(stamped(ev.RunResumed(), state.seq + 1, FakeClock()))
    for event in (ev.RunCompleted(), ev.RunResumed(), ev.NoticeAdded(notice=Notice(name="x", message="y"))):
        with pytest.raises(LogDamagedError, match="completed run that was taken up"):
            state.apply(stamped(event, state.seq + 1, FakeClock()))
    state.apply(stamped(RAISED, state.seq + 1, FakeClock()))
    assert (state.status, state.completed_at, state.report) == (RunStatus.RUNNING, None, report)
    assert state.options.budget == RAISED.budget
    state.apply(stamped(ev.RunCompleted(), state.seq + 1, FakeClock()))
    assert state.status is RunStatus.COMPLETED


def test_only_a_resumption_follows_an_abort() -> None:
    where = {"phase": "synthesis", "ending": "aborted"}
    assert "after the run was aborted" in refused(ev.RunCompleted(), **where)


def test_a_run_is_created_once_and_first() -> None:
    created = sample_log()[0]
    assert "as event 3" in refused(created)
    with pytest.raises(LogDamagedError, match="as event 1"):
        Fold().apply(stamped(ev.RunCompleted(), 1, FakeClock()))


@pytest.mark.parametrize("iteration", [1, 3])
def test_iterations_come_one_by_one(iteration: int) -> None:
    assert "does not fit" in refused(
        ev.IterationStarted(iteration=iteration, sub_queries=()), phase="refinement", done=True
    )


def test_a_phase_starts_in_the_iteration_that_runs() -> None:
    start = ev.PhaseStarted(phase=DeepResearchPhase.ANALYSIS, iteration=2, decision=DECISION)
    assert "does not fit" in refused(start, phase="gathering")


def test_a_phase_that_does_not_run_is_not_retried() -> None:
    assert "does not fit" in refused(
        ev.PhaseRetried(phase=DeepResearchPhase.SYNTHESIS, attempt=1), phase="analysis"
    )


@pytest.mark.parametrize(
    "event",
    [
        ev.SubQueryCompleted(sub_query_id="subq-nobody", sources=()),
        ev.SubQueryFailed(sub_query_id="subq-nobody", error="x"),
        ev.SourcesAnalyzed(source_ids=(), addressed_gap_ids=("gap-nobody",)),
    ],
    ids=lambda event: event.name,
)
def test_an_event_about_something_unknown_is_refused(event: ev.Event) -> None:
    assert "unknown" in refused(event, phase="gathering")


# Resuming


def test_an_answer_ends_the_pause_it_is_for() -> None:
    log = sample_log("analysis", ending="parked")
    pause = fold(log).snapshot().parking
    assert pause is not None
    resumed = stamped(ev.RunResumed(pause_id=pause.pause_id, answer="42"), len(log) + 1, FakeClock())
    state = fold([*log, resumed]).snapshot()
    assert (state.status, state.parking) == (RunStatus.RUNNING, None)
    assert state.answers == {pause.pause_id: "42"}


@pytest.mark.parametrize(("reason", "done"), [(AbortReason.ERROR, False), (AbortReason.CANCELLED, True)])
def test_only_after_an_error_the_phases_own_step_is_done_again(reason: AbortReason, done: bool) -> None:
    log = list(sample_log("synthesis", done=True))
    aborted = ev.RunAborted(reason=reason, message="x", phase=DeepResearchPhase.SYNTHESIS, iteration=1)
    for event in (aborted, ev.RunResumed()):
        log.append(stamped(event, len(log) + 1, FakeClock()))
    assert fold(log).phase_done is done


# Versions


def old_hook_failure(body: dict[str, Any]) -> dict[str, Any]:
    """Version 1 of a test: the hook was called ``name``."""
    body["hook"] = body.pop("name")
    return body


def oldest_hook_failure(body: dict[str, Any]) -> dict[str, Any]:
    body["name"] = body.pop("title")
    return body


def test_an_old_event_is_read_in_todays_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ev.HookFailed, "CURRENT", 2)
    monkeypatch.setitem(ev.UPCASTS, ("hook.failed", 1), old_hook_failure)
    event = ev.decode("hook.failed", 1, b'{"type": "hook.failed", "seq": 7, "name": "gate", "error": "x"}')
    assert event == ev.HookFailed(version=2, seq=7, hook="gate", error="x")


def test_a_very_old_event_is_brought_up_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ev.HookFailed, "CURRENT", 3)
    monkeypatch.setitem(ev.UPCASTS, ("hook.failed", 1), oldest_hook_failure)
    monkeypatch.setitem(ev.UPCASTS, ("hook.failed", 2), old_hook_failure)
    event = ev.decode("hook.failed", 1, b'{"type": "hook.failed", "title": "gate", "error": "x"}')
    assert isinstance(event, ev.HookFailed)
    assert event.hook == "gate"


def test_an_old_event_that_nobody_can_bring_up_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ev.HookFailed, "CURRENT", 2)
    with pytest.raises(LogDamagedError):
        ev.decode("hook.failed", 1, b'{"type": "hook.failed", "hook": "gate", "error": "x"}')
    with pytest.raises(StoreVersionError):
        ev.decode("hook.failed", 3, b"{}")


def test_an_old_event_that_is_no_object_is_a_typed_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ev.HookFailed, "CURRENT", 2)
    monkeypatch.setitem(ev.UPCASTS, ("hook.failed", 1), old_hook_failure)
    for body in (b"[]", b"1", b"null", b"[" * 100_000):
        with pytest.raises(LogDamagedError):
            ev.decode("hook.failed", 1, body)


@pytest.mark.parametrize("kind", sorted(ev.EVENT_TYPES))
def test_every_kind_of_event_has_a_reducer_and_a_name_of_its_own(kind: str) -> None:
    from deep_research.state.reducer import _REDUCERS

    assert ev.EVENT_TYPES[kind] in _REDUCERS
    assert ev.EVENT_TYPES[kind].model_fields["type"].default == kind


def test_options_are_kept_as_they_were_given() -> None:
    log = list(sample_log())
    options = RunOptions(max_iterations=7, source_types=("web",), user_id="ada")
    log[0] = log[0].model_copy(update={"options": options})
    assert fold(ev.decode(e.name, e.version, ev.encode(e)) for e in log).options == options
