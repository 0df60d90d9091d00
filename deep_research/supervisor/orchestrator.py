"""The supervisor of one run: it dispatches, evaluates, pauses to think, and follows the transition table.

Everything it decides is recorded before it is acted on, and everything it needs to decide is in the state; so a
new supervisor over the same log goes on where the last one stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

from deep_research.budget.metered import ModelRoles, RunModels
from deep_research.budget.shared_budget import SharedBudget
from deep_research.budget.spend_ledger import limit_of, share_of
from deep_research.calls import Calls, off_loop
from deep_research.conversation.conversation import UNRESOLVED, Conversation
from deep_research.conversation.user_memory import UserMemory
from deep_research.errors import (
    ConfigurationError,
    DeepResearchError,
    Halted,
    RunStateError,
    StopResearch,
    StoreError,
    UsageError,
    WorkError,
)
from deep_research.logs import bind, describe_error, get_log
from deep_research.phases.base import Phase, WorkLimits
from deep_research.phases.gathering import GatheringPhase
from deep_research.provenance.secret_filter import PROMPT_UNIT_CHARS, confidential
from deep_research.state import (
    AbortReason,
    Admission,
    AgentDecision,
    AnswerCoverage,
    DeepResearchPhase,
    DeepResearchState,
    Depth,
    Limit,
    Notice,
    ParkedKind,
    Parking,
    RunOptions,
    RunStatus,
    SupervisorAction,
    TaskFinding,
    TaskReview,
    TaskState,
    UserContext,
    WhenDue,
)
from deep_research.state.events import (
    AgentFellBack,
    DecisionMade,
    DepthChanged,
    Event,
    HookFailed,
    LimitReached,
    MemoryLoaded,
    MemoryWritten,
    NoticeAdded,
    PhaseEnded,
    PhaseStarted,
    QuestionResolved,
    RunAborted,
    RunAdmitted,
    RunParked,
)
from deep_research.state.journal import Clock, Journal, utc_now
from deep_research.state.parking import as_advice
from deep_research.state.records import EVIDENCE, GATE
from deep_research.state.tasks import BY_HOOK
from deep_research.state.transitions import Node, Situation, Transition, next_transition
from deep_research.supervisor import decisions, termination
from deep_research.supervisor.clarifying import ask_about_question
from deep_research.supervisor.decisions import (
    is_extractive,
    is_unknown,
    latest_dispatch,
    phase_journal,
    with_options,
)
from deep_research.supervisor.gates import VALIDATORS, Agents, Gates, extractive_phases, phases_of, policies
from deep_research.supervisor.hooks import (
    ANSWERS,
    Park,
    Refuse,
    SupervisorHooks,
    TaskVerdict,
    Verdict,
    bounded,
    overridden,
)
from deep_research.supervisor.iteration import (
    USUAL,
    cannot_iterate,
    decide,
    depth_of,
    falls_short,
    follow_ups,
    is_settled,
    worth_refining,
)
from deep_research.supervisor.lead import LeadAgent
from deep_research.supervisor.opening import Stopwatch, journal_of
from deep_research.supervisor.plan_approval import PlanEstimate, ask_for_approval
from deep_research.supervisor.reflection import Thinking, reflection_prompt
from deep_research.supervisor.review import (
    RequestedAction,
    Review,
    guidance_event,
    judge,
    last_advice,
    onward,
    overrule,
    request_events,
)
from deep_research.supervisor.review import situation as situation_of
from deep_research.supervisor.termination import FailureAction, asking, failure_action, is_spent, parking_for

NOT_NOW = "After synthesis and refinement a phase is done again, or the run ended, by the gate's hook."
log = get_log("supervisor")


@dataclass(frozen=True, slots=True)
class _Stop:
    reason: AbortReason
    message: str


class Halt(Enum):
    """Why a run is to stand still: its owner wants a pause, its process ends, another takes it over."""

    PAUSE = "pause"
    SHUTDOWN = "shutdown"
    RELEASE = "release"


class _Parked(Exception):  # noqa: N818 - control flow inside this module
    """A decision hook asked to park; the run's journal has it."""


class _HookRaised(Exception):  # noqa: N818 - control flow inside this module
    """A hook failed where none may; the cause is what it raised."""

    def __init__(self, name: str, error: str) -> None:
        super().__init__(f"The hook {name} failed: {error}")


def _place(state: DeepResearchState) -> tuple[object, ...]:
    """Where the machine stands; every step of it changes this."""
    return state.status, state.iteration, state.phase, state.attempt


def _action_of(review: Review, way: Transition) -> SupervisorAction:
    """The action that a transition is."""
    if way.target is Node.ABORTED:
        return SupervisorAction.ABORT
    if way.target is Node.COMPLETED:
        return SupervisorAction.COMPLETE
    if review.action is SupervisorAction.RETRY:
        return SupervisorAction.RETRY
    goes_on = (
        (Node.SYNTHESIS, Node.REFINEMENT),
        (Node.REFINEMENT, Node.GATHERING),
        (Node.ANALYSIS, Node.GATHERING),
    )
    return SupervisorAction.ITERATE if (way.source, way.target) in goes_on else SupervisorAction.PROCEED


class SupervisorOrchestrator:
    """Takes one run through its phases. Create one for each run; runs may share ``phases`` and ``hooks``.

    Args:
        agents: Agents by role, if no phases are given: at least a gatherer; extractive agents do the rest.
        fallbacks: Agents that do a phase's work if its own agent falls back, or was dispatched as ``extractive``.
        models: Models for the agents that use one.
        shared: Budgets that the run shares with others.
        notices: Notices that are known before the run begins.
        elapsed: Returns the seconds of work by all owners.
        revise_with_critic: Whether the refiner's model reviews a model's report, once in each iteration.
        estimate: Estimates what a run may use, by its plan.
        strict_hooks: Whether an exception of a hook ends the run; `run` then raises it.
        conversation: Says what the question of a run with a ``session_id`` means.
        memory: The memory of the users.

    A subclass may override six methods, and the engine does what they return: `dispatch_to_agent`,
    `evaluate_phase_completion`, `get_reflection_prompt`, `think_pause`, `decide_iteration` and `record_to_state`.

    Raises `UnknownNameError`, `ConfigurationError`, and `NoSearchProviderError` if nothing can be searched.

    Example:
        state = await SupervisorOrchestrator(agents={"gatherer": SearchGatherer([provider])}).run("Who built it?")
    """

    def __init__(
        self,
        phases: Mapping[DeepResearchPhase, Phase] | None = None,
        *,
        agents: Agents | None = None,
        hooks: SupervisorHooks | None = None,
        gates: Gates | None = None,
        fallbacks: Mapping[DeepResearchPhase, Phase] | None = None,
        calls: Calls | None = None,
        hook_timeout: float = 60.0,
        models: ModelRoles | None = None,
        reflection: str = "on_failure",
        on_outage: str = "park",
        revise_with_critic: bool = True,
        shared: Sequence[SharedBudget] = (),
        notices: Sequence[Notice] = (),
        clock: Clock = utc_now,
        elapsed: Callable[[], float] | None = None,
        estimate: PlanEstimate | None = None,
        strict_hooks: bool = False,
        conversation: Conversation | None = None,
        memory: UserMemory | None = None,
    ) -> None:
        self._conversation = conversation
        self._memory = memory
        self._calls = calls or Calls()
        self._own_calls = calls is None
        if phases is None:
            limits_of_work = WorkLimits(calls=self._calls)
            phases = phases_of(agents or {}, limits_of_work)
            fallbacks = extractive_phases(limits_of_work) if fallbacks is None else fallbacks
        elif agents is not None:
            raise UsageError(
                "Both phases and agents were handed over.", hint="Agents are those of the phases."
            )
        self._phases = phases
        self._hooks = hooks or SupervisorHooks()
        self._strict_hooks = strict_hooks
        self._policies = policies(gates)
        self._fallbacks = fallbacks or {}
        self._hook_timeout = hook_timeout
        self._roles = models
        self._reflection = reflection
        self._parks = on_outage == "park"
        self._revise_with_critic = revise_with_critic
        self._shared = shared
        self._notices = notices
        self._thinking: Thinking | None = None
        self._models: RunModels | None = None
        self._clock = clock
        self._elapsed = elapsed or (lambda: 0.0)
        self._keeps_time = elapsed is None
        gathering = phases.get(DeepResearchPhase.GATHERING)
        names = gathering.tasks.sources.names if isinstance(gathering, GatheringPhase) else ()
        self._estimate = estimate
        self._data_sources = names  # that an edited plan may use
        self._task: asyncio.Task[Any] | None = None
        self._stop: _Stop | None = None
        self._halt: Halt | None = None
        self._raised: BaseException | None = None

    # The methods of the spec

    def dispatch_to_agent(self, state: DeepResearchState, phase: DeepResearchPhase) -> AgentDecision:
        """The agent that does the phase, and its inputs. ``agent`` is the role, or ``extractive``; options of a run among
        the ``inputs`` that are others than by default hold for the phase."""
        return decisions.dispatch(state, phase, self._clock())

    def evaluate_phase_completion(self, state: DeepResearchState, phase: DeepResearchPhase) -> AgentDecision:
        """The gate's figures and verdict on a finished phase. ``quality_ok`` of its outputs says whether the phase may
        pass; where it may not though the gate has nothing against it, the ``rationale`` is the issue."""
        return decisions.evaluation(state, phase, VALIDATORS[phase](state), self._clock())

    def get_reflection_prompt(self, state: DeepResearchState, phase: DeepResearchPhase) -> str:
        """The questions to weigh before the next phase, for `think_pause` and for the supervisor's model."""
        return reflection_prompt(state, phase)

    async def think_pause(self, state: DeepResearchState, prompt: str) -> str | Park | None:
        """Ask the hook for guidance. Raises what the hook raises."""
        answer: str | Park | None = await self._calls(
            self._hooks.think_pause, state, prompt, timeout=self._hook_timeout
        )
        return answer or None

    def decide_iteration(self, state: DeepResearchState) -> AgentDecision:
        """Whether to go on after SYNTHESIS or REFINEMENT, as ``should_iterate`` of the outputs, within the iterations
        allowed. The spec names the next phase only for the former."""
        should, why = decide(state, state.phase)
        onward = (
            DeepResearchPhase.GATHERING
            if state.phase is DeepResearchPhase.REFINEMENT
            else DeepResearchPhase.REFINEMENT
        )
        return decisions.iteration(
            state,
            should_iterate=should,
            rationale=why,
            next_phase=onward.value if should else "COMPLETED",
            at=self._clock(),
        )

    async def record_to_state(self, journal: Journal, *events: Event) -> None:
        """Makes decisions part of the run, with the steps that follow from them; they show in
        ``state.metadata["agent_decisions"]``. Parking and the end of a run are recorded beside it."""
        await journal.record(*events)

    # Running

    def stop(self, reason: AbortReason, message: str) -> None:
        """End the run from outside: calls in flight are dropped, what is finished is kept. On the run's loop;
        a run that has not begun yet ends as it begins."""
        if self._stop is None and (self._task is None or not self._task.done()):
            self._stop = _Stop(reason, message)
            if self._task is not None:
                self._task.cancel()

    def halt(self, why: Halt) -> None:
        """Have the run stand still before its next unit; the journal's `check` says when. A pause gives way to the end of
        its process, and both to a process that takes the run over."""
        order = list(Halt)
        if self._halt is None or order.index(why) > order.index(self._halt):
            self._halt = why

    async def run(
        self, research: str | DeepResearchState | Journal, *, options: RunOptions | None = None
    ) -> DeepResearchState:
        """Walks until the run has ended, is parked, or stands still for another process, and returns its state.

        ``research`` is a question with its ``options``, a state that is gone on with in memory, or the journal of a run.
        A pending run is started; one that is parked or has ended stays as it is, until its journal has a `RunResumed`.

        Raises `InvalidQuestionError`, `UsageError`, `StoreError`, and with ``strict_hooks`` what a hook raises;
        cancellation from outside escapes too. After the last two the run stays as it is, resumable.
        """
        if options is not None and not isinstance(research, str):
            raise UsageError("A run keeps the options that it has.", hint="Options go with a question alone.")
        self._task = asyncio.current_task()
        journal = await journal_of(research, options, self._clock)
        if self._keeps_time:
            self._elapsed = watch = Stopwatch(time.monotonic, before=journal.state.seconds)
            watch.start()
        with bind(run=journal.state.research_id):
            try:
                if self._stop is not None:
                    raise asyncio.CancelledError
                if self._roles is not None:
                    self._models = self._roles.of_run(journal, self._clock, self._shared)
                instructions = journal.state.options.system_prompt or ""
                # Looked up from here on: to make it anew may take long.
                await off_loop(
                    len(instructions) // PROMPT_UNIT_CHARS, confidential, instructions, journal.state.query
                )
                self._thinking = Thinking(self._models, self._reflection, self._clock)
                await self._to_the_end(journal)
            except asyncio.CancelledError:
                if self._stop is None:
                    raise
                if self._task is not None:
                    self._task.uncancel()
                await self.abort(journal, self._stop.reason, self._stop.message)
            finally:
                if self._own_calls:
                    self._calls.close()
        if self._raised is not None:
            raise self._raised
        return journal.state

    def first_step(self, state: DeepResearchState, phase: DeepResearchPhase | None = None) -> PhaseStarted:
        """The start of a phase with its dispatch; by default of the one that the state stands at. Raises
        `ConfigurationError` for a dispatch that cannot be."""
        phase = phase or state.phase
        decision = self._decision("dispatch_to_agent", self.dispatch_to_agent(state, phase))
        decision = with_options(decision, decisions.dispatch(state, phase, decision.timestamp), state.options)
        return PhaseStarted(phase=phase, iteration=state.iteration, decision=decision)

    def _decision(self, method: str, decision: object) -> AgentDecision:
        if not isinstance(decision, AgentDecision):
            raise ConfigurationError(
                f"{type(self).__name__}.{method} returned {type(decision).__name__}, and no AgentDecision.",
                hint="Return what super() returns, changed with model_copy(update=…).",
            )
        return decision

    async def _to_the_end(self, journal: Journal) -> None:
        try:
            if self._is_new(journal.state):
                await self._begin(journal)
            await self._walk(journal)
        except _Parked:
            return
        except _HookRaised as failure:
            self._raised = failure.__cause__
            await self.abort(journal, AbortReason.ERROR, str(failure))
        except Halted:
            await self.stand_still(journal)
        except StopResearch as request:
            await self.abort(journal, AbortReason.CANCELLED, request.reason)
        except StoreError:
            raise
        except ConfigurationError as error:
            await self._fail(journal, AbortReason.CONFIG, error, str(error))
        except DeepResearchError as error:
            await self._fail(journal, AbortReason.ERROR, error, str(error))
        except Exception as error:
            log.error("run_failed", error=type(error).__name__)
            message = f"Unexpected {describe_error(error)}"
            await self._fail(journal, AbortReason.ERROR, error, message)

    async def opening(self, state: DeepResearchState) -> list[Event]:
        """What a run begins with, where nobody has to be asked first: how it is let in, where its user is known, and its
        first step. Empty where the ``admit`` hook decides, and where the question is read after others."""
        if overridden(self._hooks, "admit") or self._converses(state):
            return []
        let_in = [self._admitted(state)] if _is_decided(state) else []
        return [*let_in, *await self._memories(state), self.first_step(state)]

    def _admitted(self, state: DeepResearchState) -> RunAdmitted:
        planner = self._phases[DeepResearchPhase.PLANNING].spec
        depth, reason = depth_of(state, by_planner=planner.uses_model)
        return RunAdmitted(admission=Admission(user=_user_of(state), depth=depth, depth_reason=reason))

    def _is_new(self, state: DeepResearchState) -> bool:
        """Whether a run has not begun, or was refused the last time."""
        refused = state.admission is not None and not state.admission.safety_check
        return state.status is RunStatus.PENDING or (
            state.status is RunStatus.RUNNING and (refused or not state.decisions)
        )

    async def _begin(self, journal: Journal) -> None:
        """Let a run in, read its question after those before it, and take its first step. Raises `_Parked`, and
        `StopResearch` for one that ends here."""
        state = journal.state
        if state.admission is None or not state.admission.safety_check:
            await self._admit(journal)
        if journal.state.status.is_final:
            raise _Parked
        state = journal.state
        resolved: list[Event] = []
        if self._conversation is not None and self._converses(state) and state.resolution is None:
            resolution = await self._conversation.resolve(state, self._models)
            resolved = [QuestionResolved(resolution=resolution)] if resolution is not None else []
            if resolution is not None:
                resolved += self._depth_of_resolved(state, resolution.question)
            if resolution is not None and not resolution.is_resolved:
                resolved.append(NoticeAdded(notice=Notice(name="conversation", message=UNRESOLVED)))
        memories = await self._memories(state)
        await self.record_to_state(journal, *resolved, *memories, self.first_step(state))
        self._check_moved(journal.state.seq > state.seq)

    async def _memories(self, state: DeepResearchState) -> list[Event]:
        """What of the user's memory is shown to a planner or a writer with a model."""
        phases = (self._phases[DeepResearchPhase.PLANNING], self._phases[DeepResearchPhase.SYNTHESIS])
        if self._memory is None or not any(phase.spec.uses_model for phase in phases):
            return []
        entries = await self._memory.load(state)
        return [MemoryLoaded(entries=entries)] if entries else []

    async def _remember(self, state: DeepResearchState) -> list[Event]:
        """What a run leaves in its user's memory as it completes. It completes without a memory too, and says so."""
        if self._memory is None or not state.options.remember:
            return []
        try:
            entries = await self._memory.write(state, self._models)
        except StopResearch:
            raise
        except DeepResearchError as error:
            message = f"Nothing was remembered: {error.problem} {error.hint}".strip()
            return [NoticeAdded(notice=Notice(name="memory", message=message))]
        return [MemoryWritten(entries=entries)] if entries else []

    def _depth_of_resolved(self, state: DeepResearchState, question: str) -> list[Event]:
        """The depth of the question as it is meant, where that is another than that of the user's words."""
        planner = self._phases[DeepResearchPhase.PLANNING].spec
        meant = state.model_copy(update={"query": question})
        depth, reason = depth_of(meant, by_planner=planner.uses_model)
        return [DepthChanged(depth=depth, reason=reason)] if depth is not state.depth else []

    def _converses(self, state: DeepResearchState) -> bool:
        """Whether the question of a run may point back to others."""
        options = state.options
        turns = options.session_id, options.previous_run_id, options.history or None
        return self._conversation is not None and any(each is not None for each in turns)

    async def _admit(self, journal: Journal) -> None:
        user = _user_of(journal.state)
        answer = await self._hook(
            journal,
            "admit",
            journal.state.query,
            user,
            failed=Refuse("It could not be decided whether it may."),
        )
        if isinstance(answer, Refuse):
            admission = Admission(safety_check=False, user=user, reason=answer.reason)
            await journal.record(RunAdmitted(admission=admission))
            await self.abort(journal, AbortReason.REFUSED, answer.reason or "The run was refused.")
            return
        advice = (
            [guidance_event(DeepResearchPhase.PLANNING, 1, answer, "hook")] if isinstance(answer, str) else []
        )
        if _is_decided(journal.state) or overridden(self._hooks, "admit"):
            await journal.record(self._admitted(journal.state), *advice)

    async def stand_still(self, journal: Journal) -> None:
        """Parked for whoever goes on; without a word where another process waits for the run."""
        await journal.settle()
        if self._halt is Halt.RELEASE:
            return
        if self._halt is Halt.SHUTDOWN:
            parking = Parking(
                waiting_for="another process, since the one that worked on it was stopped",
                until=self._clock(),
                kind=ParkedKind.SHUTDOWN,
            )
        else:
            parking = Parking(waiting_for="a resume: it was paused", kind=ParkedKind.PAUSE, then=WhenDue.STAY)
        await journal.record(RunParked(parking=parking))

    async def _walk(self, journal: Journal) -> None:
        if self._models is not None and journal.state.status is RunStatus.RUNNING:
            for notice in await self._models.assumed_windows():
                if notice not in journal.state.notices:
                    await journal.record(NoticeAdded(notice=notice))
        while journal.state.status is RunStatus.RUNNING:
            journal.check()
            state = journal.state
            phase = state.phase
            with bind(phase=phase.value):
                asked = await self._ask_owner(journal.state)
                if asked:
                    await self.record_to_state(journal, *asked)
                    self._check_moved(journal.state.seq > state.seq)
                    continue
                await self._before(journal, phase)
                await self._work(journal, phase)
                await self._ask_for_more(journal)
                review = await self._review(journal, phase)
                self._deepen(journal.state, review)
                place = _place(journal.state)
                await self._move_on(journal, review)
                self._check_moved(_place(journal.state) != place)

    async def _ask_owner(self, state: DeepResearchState) -> list[Event]:
        """What is to be recorded before the searches begin, after which the run has to be looked at again: it is parked
        with a question, or with its plan, is planned again, or its plan is approved. Empty where nothing is."""
        if state.phase is not DeepResearchPhase.GATHERING or state.iteration != 1 or state.recalling:
            return []  # what was saved costs nothing to read
        events = await ask_about_question(state, self._models, self._clock)
        return events or await ask_for_approval(state, self._clock(), self._estimate, self._data_sources)

    def _check_moved(self, moved: bool) -> None:
        """Raises `ConfigurationError` where a step left the run where it was: the next would be the same, for ever."""
        if not moved:
            raise ConfigurationError(
                f"{type(self).__name__}.record_to_state left out what the run goes on by.",
                hint="It has to hand all events to the journal: `await super().record_to_state(journal, *events)`.",
            )

    def _worker(self, state: DeepResearchState, phase: DeepResearchPhase) -> Phase:
        """The phase with the agent that it was dispatched to."""
        if is_extractive(state, phase) and phase in self._fallbacks:
            return self._fallbacks[phase]
        return self._phases[phase]

    async def _before(self, journal: Journal, phase: DeepResearchPhase) -> None:
        state = journal.state
        advice = await self._hook(journal, "before_phase", state, phase)
        if advice and advice not in state.guidance_for(phase):
            await self.record_to_state(journal, guidance_event(phase, state.iteration, advice, "hook"))

    async def _work(self, journal: Journal, phase: DeepResearchPhase) -> None:
        worker = self._worker(journal.state, phase)
        decision = latest_dispatch(journal.state, phase)
        if decision is not None and is_unknown(decision, phase):
            name = " ".join(decision.agent.split())[:60]
            message = f"The {phase} was dispatched to '{name}', which there is not; the {worker.role} did it."
            await journal.record(NoticeAdded(notice=Notice(name="supervisor", message=message)))
        journal = phase_journal(journal, phase)
        try:
            if phase is DeepResearchPhase.GATHERING:
                await self._gather(worker, journal)
            else:
                await worker.run(journal.state, journal, self._models)
        except WorkError as error:
            await self._instead(journal, phase, worker, error)

    async def _instead(
        self, journal: Journal, phase: DeepResearchPhase, worker: Phase, error: WorkError
    ) -> None:
        """An agent could not do its work: the run waits, gives up, or the extractive agent does what is left."""
        # A report that is there waits for no critic.
        waits = phase is not DeepResearchPhase.REFINEMENT or worth_refining(journal.state)[0]
        way = failure_action(error, parks=self._parks and waits)
        if way is FailureAction.PARK:
            await journal.record(RunParked(parking=parking_for(error, self._clock())))
            raise _Parked
        if way is FailureAction.GIVE_UP:
            raise ConfigurationError(error.problem, hint=error.hint, **error.data)
        fallback = self._fallbacks.get(phase)
        if fallback is None or not worker.falls_back:
            raise error
        limit, share = limit_of(error), share_of(error)
        await self._ask_for_more(journal, *([limit] if limit else []))
        told_of = [LimitReached(limit=limit)] if limit else []
        fell = AgentFellBack(role=worker.fallback_role, error=error.problem, hint=error.hint, limit=share)
        await journal.record(fell, *told_of)
        if phase is DeepResearchPhase.GATHERING:
            await self._gather(fallback, journal)
        else:
            await fallback.run(journal.state, journal)

    async def _ask_for_more(self, journal: Journal, *limits: Limit) -> None:
        """Park at a cap, where the owner of the run wants to be asked."""
        parking = await asking(journal.state, *limits, estimate=self._estimate)
        if parking is not None:
            reached = [LimitReached(limit=limit) for limit in limits if not limit.is_shared]
            await journal.record(*reached, RunParked(parking=parking))
            raise _Parked

    async def _gather(self, worker: Phase, journal: Journal) -> None:
        """Gathering ends when the run's seconds are used up; the report is written from what there is."""
        cap = journal.state.options.budget.max_seconds
        if cap is None:
            await self._search(worker, journal)
            return
        left = cap - self._elapsed()
        try:
            async with asyncio.timeout(max(0.0, left)):
                if left > 0:
                    await self._search(worker, journal)
        except TimeoutError:
            left = 0.0
        skipped = tuple(s.query for s in journal.state.pending_sub_queries())
        if left <= 0 and skipped:
            limit = Limit(
                name="max_seconds",
                message=f"The cap of {cap:g} seconds was reached; {len(skipped)} searches were not made.",
                cap=cap,
                usage=round(self._elapsed(), 3),
                skipped=skipped,
            )
            await journal.record(LimitReached(limit=limit))

    async def _search(self, worker: Phase, journal: Journal) -> None:
        """What a task found is shown to the hook that may overrule its review; what all of them found to the lead."""
        if not isinstance(worker, GatheringPhase) or journal.state.options.gathering != "agents":
            await worker.run(journal.state, journal, self._models)
            return
        lead = LeadAgent(self._models, self._clock) if self._models is not None else None
        if not overridden(self._hooks, "review"):
            await worker.run(journal.state, journal, self._models, lead=lead)
            return

        async def overrule(
            state: DeepResearchState, task: TaskState, finding: TaskFinding
        ) -> TaskReview | None:
            at = f"{task.task.id}.{task.task.attempt}"
            verdict = await self._hook(journal, "review", state, task, finding, at=at)
            if isinstance(verdict, TaskVerdict):
                return TaskReview(**asdict(verdict), by=BY_HOOK)
            return None if verdict is None else TaskReview(approved=True, critique=str(verdict), by=BY_HOOK)

        assert isinstance(worker, GatheringPhase)
        await worker.run(journal.state, journal, self._models, overrule, lead)

    async def _review(self, journal: Journal, phase: DeepResearchPhase) -> Review:
        """The gate and the hooks after a phase: what to do, and what to tell the next agent."""
        state = journal.state
        worker, policy = self._worker(state, phase), self._policies[phase]
        after = await self._hook(journal, "after_phase", state, phase)
        evaluation = self._decision("evaluate_phase_completion", self.evaluate_phase_completion(state, phase))
        validation = decisions.with_evaluation(VALIDATORS[phase](state), evaluation)
        review = Review(phase, validation, evaluation, SupervisorAction.PROCEED)
        if after:
            review.guidance.append((after, "hook"))
        overruled = await self._hook(journal, "gate", state, phase, validation)
        review.guidance += [(issue, "gate") for issue in validation.issues]
        if isinstance(overruled, Verdict):
            overrule(review, overruled, state, worker=worker, policy=policy)
        else:
            if overruled:  # the answer to a pause of this hook
                review.guidance.append((str(overruled), "hook"))
            judge(review, state, worker=worker, policy=policy)
        prompt = self.get_reflection_prompt(state, phase)
        if self._thinking is not None:
            await self._thinking.after(journal, review, worker, prompt)
        if review.action is not SupervisorAction.ABORT:
            thought = await self._hook(journal, "think_pause", state, prompt)
            if thought:
                review.guidance.append((thought, "hook"))
        return review

    def _deepen(self, state: DeepResearchState, review: Review) -> None:
        """A run that found no answer in what its conversation saved is planned anew to search for it; a quick one at the
        standard depth, where nobody chose its depth."""
        blocked = review.action is not SupervisorAction.PROCEED
        ended = review.phase is DeepResearchPhase.ANALYSIS
        unread = state.recalling and review.phase is DeepResearchPhase.GATHERING and not state.sources
        if not (ended or unread) or not falls_short(state, is_blocked=blocked):
            return
        if state.recalling:
            reason = "What the conversation saved does not answer the question."
        else:
            reason = "One search found no answer."
            review.depth = DepthChanged(depth=Depth.STANDARD, reason=reason)
        review.action, review.replan = SupervisorAction.RETRY, True
        review.asked_by, review.rationale = EVIDENCE, reason
        # What the gate says is of the evidence that did not do.
        review.guidance = [(text, origin) for text, origin in review.guidance if origin != GATE]

    async def _move_on(self, journal: Journal, review: Review) -> None:
        """Commit the phase's end, the decision and the next start as one."""
        state = journal.state
        events: list[Event] = [
            PhaseEnded(
                phase=review.phase,
                iteration=state.iteration,
                attempt=state.attempt,
                validation=review.validation,
                decision=review.evaluation,
                seconds=max(0.0, round(self._elapsed() - state.seconds, 3)),
            ),
            *([review.depth] if review.depth is not None else []),
        ]
        situation = situation_of(review)
        decided: list[Event] = []
        if not (situation.retry or situation.replan):
            situation, decided = await self._decide(journal, review, situation)
        way = next_transition(Node(review.phase.value), situation)
        events += decided
        if review.phase is DeepResearchPhase.PLANNING:  # when it is done again, they are told already
            events += [NoticeAdded(notice=each) for each in self._notices if each not in state.notices]
        events += request_events(journal.state, review, _action_of(review, way), self._clock())
        if way.target is Node.ABORTED:
            await self._blocked(journal, review, [*events, *last_advice(state, review)])
            return
        if way.target is Node.COMPLETED:
            events += await self._remember(journal.state)
        events += onward(journal.state, review, way, self._clock(), self.first_step)
        await self.record_to_state(journal, *events)

    async def _decide(
        self, journal: Journal, review: Review, situation: Situation
    ) -> tuple[Situation, list[Event]]:
        """After SYNTHESIS and REFINEMENT: go on or finish."""
        state = journal.state
        if review.phase is DeepResearchPhase.ANALYSIS and situation.blocked:
            return self._search_on(review, situation, state)
        ends = (DeepResearchPhase.SYNTHESIS, DeepResearchPhase.REFINEMENT)
        if review.phase not in ends or situation.blocked:
            return situation, []
        decision = self._decision("decide_iteration", self.decide_iteration(state))
        should = bool((decision.outputs or {}).get("should_iterate")) and not self._out_of_time(state)
        rationale = decision.rationale
        if should and (bound := cannot_iterate(state, review.phase, advised=True)):
            should, rationale = False, f"{rationale} {bound}"
        hook = await self._hook(journal, "decide_iteration", state, decision)
        if isinstance(hook, Verdict):
            refused = NOT_NOW if hook.action in (SupervisorAction.RETRY, SupervisorAction.ABORT) else ""
            asked = RequestedAction(hook.action, "hook", hook.rationale, refused=refused)
            review.requests.insert(0, asked)
            if hook.guidance:
                review.guidance.append((hook.guidance, "hook"))
        elif hook:  # the answer to a pause of this hook
            review.guidance.append((str(hook), "hook"))
        request = review.open_request()
        if request is not None and request.action is SupervisorAction.COMPLETE:
            should, rationale = (
                False,
                request.rationale or f"{request.who} decided that the research is complete.",
            )
        elif request is not None and not cannot_iterate(
            state, review.phase, advised=review.is_advised(state)
        ):
            should, rationale = True, request.rationale or f"{request.who} decided to go on."
        fresh = follow_ups(state) if review.phase is DeepResearchPhase.REFINEMENT else ()
        ended = request is not None and request.action is SupervisorAction.COMPLETE
        may_revise = not ended and not self._worker(state, DeepResearchPhase.SYNTHESIS).spec.deterministic
        improve = bool(
            review.phase is DeepResearchPhase.REFINEMENT
            and (state.report_improvements or state.remarks)
            and may_revise
        )
        critique = may_revise and self._looks_at(state, review.phase)
        if critique and not should:
            rationale = f"{rationale} The report is looked at before it is handed over."
        situation = Situation(
            should_iterate=should,
            follow_ups=len(fresh),
            iterations_left=state.max_iterations - state.iteration,
            improve_report=improve,
            critique=critique,
        )
        way = next_transition(Node(review.phase.value), situation)
        made = decisions.iteration(
            state,
            should_iterate=should,
            rationale=rationale,
            next_phase="COMPLETED" if way.target is Node.COMPLETED else way.target.value,
            at=self._clock(),
        )
        return situation, [DecisionMade(action=_action_of(review, way), decision=made)]

    def _looks_at(self, state: DeepResearchState, phase: DeepResearchPhase) -> bool:
        """Whether a model looks at the report that the writer's model has just written: at the first, and once in an
        iteration at later ones of which something is open."""
        critic = self._phases[DeepResearchPhase.REFINEMENT].spec
        writer = self._worker(state, DeepResearchPhase.SYNTHESIS).spec
        return bool(
            self._revise_with_critic
            and phase is DeepResearchPhase.SYNTHESIS
            and state.refined < state.iteration
            and not is_settled(state)
            and critic.uses_model
            and writer.uses_model
            and state.report_metadata is not None
            and state.report_metadata.writer == writer.name
            and not self._out_of_time(state)
        )

    def _search_on(
        self, review: Review, situation: Situation, state: DeepResearchState
    ) -> tuple[Situation, list[Event]]:
        """After an ANALYSIS that found no answer: whether what was found leads to further searches."""
        fresh = len(follow_ups(state))
        left = state.max_iterations - state.iteration
        no_answer = (
            not state.findings or state.answer_coverage is AnswerCoverage.NO
        ) and review.asked_by == "gate"
        if not (no_answer and fresh and left > 0) or self._out_of_time(state):
            return situation, []
        made = decisions.iteration(
            state,
            should_iterate=True,
            rationale=f"Nothing answers yet; {fresh} follow-up queries lead on from what was found.",
            next_phase=DeepResearchPhase.GATHERING.value,
            at=self._clock(),
        )
        situation = replace(situation, should_iterate=True, follow_ups=fresh, iterations_left=left)
        return situation, [DecisionMade(action=SupervisorAction.ITERATE, decision=made)]

    def _out_of_time(self, state: DeepResearchState) -> bool:
        cap = state.options.budget.max_seconds
        return is_spent(state.limits) or (cap is not None and self._elapsed() >= cap)

    # Ending

    async def _blocked(self, journal: Journal, review: Review, lead: list[Event]) -> None:
        reason, message = termination.blocked(journal.state, review.phase, review.validation)
        if review.asked_by == "hook" and not review.validation.blocking:
            reason, message = AbortReason.CANCELLED, review.rationale or "A hook decided to abort."
        await self.abort(journal, reason, message, lead)

    async def _fail(self, journal: Journal, reason: AbortReason, error: Exception, message: str) -> None:
        await self.abort(journal, reason, message)
        if not overridden(self._hooks, "error"):
            return
        try:  # an observer: the run has ended, whatever comes of this
            await self._calls(self._hooks.error, error, timeout=self._hook_timeout)
        except Exception as failure:
            log.warning("observer_failed", error=describe_error(failure))
            if self._strict_hooks:
                self._raised = failure

    async def abort(
        self, journal: Journal, reason: AbortReason, message: str, lead: Sequence[Event] = ()
    ) -> None:
        """Record the abort with what it leaves behind, after the events of ``lead``."""
        await journal.settle()  # a call in flight when the run was stopped may just have been recorded
        state = journal.state
        if state.status.is_final:
            return
        events = await asyncio.to_thread(termination.last_words, state, reason)
        decision = decisions.action(
            state, name="abort", rationale=message, outputs={"reason": reason.value}, at=self._clock()
        )
        decided = DecisionMade(action=SupervisorAction.ABORT, decision=decision)
        aborted = RunAborted(reason=reason, message=message, phase=state.phase, iteration=state.iteration)
        try:
            await journal.record(*lead, *events, decided, aborted)
        except RunStateError:
            return  # its last word was being stored when it was stopped: it stands

    # Hooks

    async def _hook(self, journal: Journal, name: str, *args: Any, at: str = "", failed: Any = None) -> Any:
        """Call a decision hook, isolated: its failure is recorded and counts as no answer. An answer that was
        given to a pause of this hook counts as its guidance, and it is not called again. ``at`` tells the calls of one
        place apart; ``failed`` is the answer where it fails."""
        # A subclass may think in place of the hook.
        own = name == "think_pause" and type(self).think_pause is not SupervisorOrchestrator.think_pause
        if not (own or overridden(self._hooks, name)):
            return None
        state = journal.state
        pause_id = f"{state.pause_id}.{name}" + (f".{at}" if at else "")
        if pause_id in state.answers:
            return as_advice(state.answers[pause_id])
        function = self.think_pause if name == "think_pause" else getattr(self._hooks, name)
        try:
            answer = await self._calls(function, *args, timeout=self._hook_timeout)
        except (StopResearch, StoreError):
            raise
        except TimeoutError as error:
            await self._hook_failed(journal, name, f"no answer within {self._hook_timeout:g} s", error)
            return failed
        except Exception as error:
            await self._hook_failed(journal, name, describe_error(error), error)
            return failed
        wanted = ANSWERS[name]
        if answer is not None and not isinstance(answer, wanted):
            names = " or ".join(kind.__name__ for kind in wanted)
            wrong = f"answered with {type(answer).__name__}, not {names}"
            await self._hook_failed(journal, name, wrong, TypeError(f"{name} {wrong}"))
            return failed
        if isinstance(answer, str) and not answer.strip():
            return None
        answer = bounded(answer)
        if isinstance(answer, Park):
            parking = Parking(
                waiting_for=answer.waiting_for,
                until=answer.until,
                pause_id=pause_id,
                answer_schema=None if answer.answer_schema is None else dict(answer.answer_schema),
                default=answer.default,
                then=WhenDue(answer.then),
            )
            await journal.record(RunParked(parking=parking))
            raise _Parked
        return answer

    async def _hook_failed(self, journal: Journal, name: str, error: str, cause: Exception) -> None:
        log.warning("hook_failed", hook=name, error=error)
        await journal.record(HookFailed(hook=name, error=error))
        if self._strict_hooks:
            raise _HookRaised(name, error) from cause


def _user_of(state: DeepResearchState) -> UserContext:
    """For whom a run works, as far as anybody knows."""
    known = state.setup.user if state.setup is not None else None
    return known or UserContext(name=state.options.user_id, language=state.options.language)


def _is_decided(state: DeepResearchState) -> bool:
    """Whether there is something to record: a user whom a directory knows, or a depth of its own."""
    is_known = state.setup is not None and state.setup.user is not None
    return is_known or state.options.depth != USUAL
