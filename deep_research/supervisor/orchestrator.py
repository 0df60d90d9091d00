"""The supervisor of one run: it dispatches, evaluates, pauses to think, and follows the transition table.

Everything it decides is recorded before it is acted on, and everything it needs to decide is in the state; so a
new supervisor over the same log goes on where the last one stopped.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from deep_research.budget.metered import ModelRoles, RunModels
from deep_research.budget.shared_budget import SharedBudget
from deep_research.calls import Calls, off_loop
from deep_research.conversation.conversation import Conversation
from deep_research.conversation.user_memory import UserMemory
from deep_research.errors import (
    ConfigurationError,
    DeepResearchError,
    Halted,
    StopResearch,
    StoreError,
    UsageError,
)
from deep_research.logs import bind, describe_error, get_log
from deep_research.phases.base import Phase, WorkLimits
from deep_research.phases.gathering import GatheringPhase
from deep_research.provenance.secret_filter import PROMPT_UNIT_CHARS, confidential
from deep_research.state import (
    AbortReason,
    AgentDecision,
    DeepResearchPhase,
    DeepResearchState,
    Notice,
    RunOptions,
    RunStatus,
    SupervisorAction,
)
from deep_research.state import events as ev
from deep_research.state.journal import Clock, Journal, utc_now
from deep_research.state.transitions import Node, Situation, next_transition
from deep_research.supervisor import decisions, termination
from deep_research.supervisor.decisions import decide, reflection_prompt, with_options
from deep_research.supervisor.hooks import (
    Gates,
    HookCalls,
    HookRaisedError,
    Park,
    ParkedError,
    SupervisorHooks,
    Verdict,
    policies,
)
from deep_research.supervisor.opening import Opening, Stopwatch, ask_about_question, journal_of
from deep_research.supervisor.phase_work import VALIDATORS, Agents, PhaseWork, extractive_phases, phases_of
from deep_research.supervisor.plan_approval import PlanEstimate, ask_for_approval
from deep_research.supervisor.reflection import Thinking
from deep_research.supervisor.review import (
    Review,
    action_of,
    decide_further_searches,
    deepen,
    final_iteration_decision,
    guidance_event,
    judge,
    last_advice,
    next_phase_events,
    overrule,
    request_events,
)
from deep_research.supervisor.review import situation as situation_of

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


def _place(state: DeepResearchState) -> tuple[object, ...]:
    """Where the machine stands; every step of it changes this."""
    return state.status, state.iteration, state.phase, state.attempt


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
        # A subclass may think in place of the hook.
        thinks = type(self).think_pause is not SupervisorOrchestrator.think_pause
        self._hook = HookCalls(
            self._hooks,
            self._calls,
            hook_timeout,
            strict=strict_hooks,
            instead={"think_pause": self.think_pause} if thinks else {},
        )
        self._opening = Opening(phases, self._hook, conversation, memory)
        self._policies = policies(gates)
        self._roles = models
        self._reflection = reflection
        self._revise_with_critic = revise_with_critic
        self._shared = shared
        self._notices = notices
        self._thinking: Thinking | None = None
        self._models: RunModels | None = None
        self._clock = clock
        self._elapsed = elapsed or (lambda: 0.0)
        self._keeps_time = elapsed is None
        self._work = PhaseWork(
            phases,
            fallbacks or {},
            self._hook,
            parks=on_outage == "park",
            estimate=estimate,
            elapsed=lambda: self._elapsed(),
            clock=clock,
        )
        gathering = phases.get(DeepResearchPhase.GATHERING)
        self._estimate = estimate
        # What an edited plan may use.
        self._data_sources = gathering.tasks.sources.names if isinstance(gathering, GatheringPhase) else ()
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
            self._hooks.think_pause, state, prompt, timeout=self._hook.timeout
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

    async def record_to_state(self, journal: Journal, *events: ev.Event) -> None:
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

    def first_step(self, state: DeepResearchState, phase: DeepResearchPhase | None = None) -> ev.PhaseStarted:
        """The start of a phase with its dispatch; by default of the one that the state stands at. Raises
        `ConfigurationError` for a dispatch that cannot be."""
        phase = phase or state.phase
        decision = self._decision("dispatch_to_agent", self.dispatch_to_agent(state, phase))
        decision = with_options(decision, decisions.dispatch(state, phase, decision.timestamp), state.options)
        return ev.PhaseStarted(phase=phase, iteration=state.iteration, decision=decision)

    def _decision(self, method: str, decision: object) -> AgentDecision:
        if not isinstance(decision, AgentDecision):
            raise ConfigurationError(
                f"{type(self).__name__}.{method} returned {type(decision).__name__}, and no AgentDecision.",
                hint="Return what super() returns, changed with model_copy(update=…).",
            )
        return decision

    async def _to_the_end(self, journal: Journal) -> None:
        try:
            if self._opening.is_needed(journal.state):
                await self._begin(journal)
            await self._walk(journal)
        except ParkedError:
            return
        except HookRaisedError as failure:
            self._raised = failure.__cause__
            await self.abort(journal, AbortReason.ERROR, str(failure))
        except Halted:
            await self.stand_still(journal)
        except StopResearch as request:
            await self.abort(journal, AbortReason.CANCELLED, request.reason)
        except StoreError:
            raise
        except Exception as error:
            reason = AbortReason.CONFIG if isinstance(error, ConfigurationError) else AbortReason.ERROR
            message = str(error)
            if not isinstance(error, DeepResearchError):
                log.error("run_failed", error=type(error).__name__)
                message = f"Unexpected {describe_error(error)}"
            await self.abort(journal, reason, message)
            self._raised = await self._hook.observe_error(error)

    async def opening(self, state: DeepResearchState) -> list[ev.Event]:
        """What a run begins with, where nobody has to be asked first: how it is let in, where its user is known, and its
        first step. Empty where the ``admit`` hook decides, and where the question is read after others."""
        if self._opening.asks(state):
            return []
        return [*await self._opening.at_once(state), self.first_step(state)]

    async def _begin(self, journal: Journal) -> None:
        """Let a run in, read its question after those before it, and take its first step. Raises `ParkedError`, and
        `StopResearch` for one that ends here."""
        state = journal.state
        if state.admission is None or not state.admission.safety_check:
            refusal = await self._opening.admit(journal)
            if refusal is not None:
                await self.abort(journal, AbortReason.REFUSED, refusal)
                raise ParkedError
        state = journal.state
        context = await self._opening.context(state, self._models)
        await self.record_to_state(journal, *context, self.first_step(state))
        self._check_moved(journal.state.seq > state.seq)

    async def stand_still(self, journal: Journal) -> None:
        """Parked for the process that goes on; without a word where another process waits for the run."""
        await journal.settle()
        if self._halt is Halt.RELEASE:
            return
        is_shutdown = self._halt is Halt.SHUTDOWN
        parking = termination.shut_down(self._clock()) if is_shutdown else termination.PAUSED
        await journal.record(ev.RunParked(parking=parking))

    async def _walk(self, journal: Journal) -> None:
        if self._models is not None and journal.state.status is RunStatus.RUNNING:
            for notice in await self._models.assumed_windows():
                if notice not in journal.state.notices:
                    await journal.record(ev.NoticeAdded(notice=notice))
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
                advice = await self._hook(journal, "before_phase", journal.state, phase)
                if advice and advice not in journal.state.guidance_for(phase):
                    event = guidance_event(phase, state.iteration, advice, "hook")
                    await self.record_to_state(journal, event)
                await self._work.run(journal, phase, self._models)
                review = await self._review(journal, phase)
                deepen(review, journal.state)
                place = _place(journal.state)
                await self._move_on(journal, review)
                self._check_moved(_place(journal.state) != place)

    async def _ask_owner(self, state: DeepResearchState) -> list[ev.Event]:
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

    async def _review(self, journal: Journal, phase: DeepResearchPhase) -> Review:
        """The gate and the hooks after a phase: what to do, and what to tell the next agent."""
        state = journal.state
        worker, policy = self._work.worker(state, phase), self._policies[phase]
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

    async def _move_on(self, journal: Journal, review: Review) -> None:
        """Commit the phase's end, the decision and the next start as one."""
        state = journal.state
        events: list[ev.Event] = [
            ev.PhaseEnded(
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
        decided: list[ev.Event] = []
        if not (situation.retry or situation.replan):
            situation, decided = await self._decide(journal, review, situation)
        way = next_transition(Node(review.phase.value), situation)
        events += decided
        if review.phase is DeepResearchPhase.PLANNING:  # when it is done again, they are told already
            events += [ev.NoticeAdded(notice=each) for each in self._notices if each not in state.notices]
        events += request_events(journal.state, review, action_of(review, way), self._clock())
        if way.target is Node.ABORTED:
            reason, message = termination.blocked(journal.state, review.phase, review.validation)
            if review.asked_by == "hook" and not review.validation.blocking:
                reason, message = AbortReason.CANCELLED, review.rationale or "A hook decided to abort."
            await self.abort(journal, reason, message, [*events, *last_advice(state, review)])
            return
        if way.target is Node.COMPLETED:
            events += await termination.remembered(self._memory, journal.state, self._models)
        events += next_phase_events(journal.state, review, way, self._clock(), self.first_step)
        await self.record_to_state(journal, *events)

    async def _decide(
        self, journal: Journal, review: Review, situation: Situation
    ) -> tuple[Situation, list[ev.Event]]:
        """Whether the research goes on, after the phases where that is a question."""
        state, phase = journal.state, review.phase
        searches_on = phase is DeepResearchPhase.ANALYSIS and situation.blocked
        ends = phase in (DeepResearchPhase.SYNTHESIS, DeepResearchPhase.REFINEMENT) and not situation.blocked
        if not (searches_on or ends):
            return situation, []
        is_spent = self._out_of_time(state)
        if searches_on:
            return (
                (situation, [])
                if is_spent
                else decide_further_searches(review, situation, state, self._clock)
            )
        decision = self._decision("decide_iteration", self.decide_iteration(state))
        return final_iteration_decision(
            review,
            state,
            decision,
            await self._hook(journal, "decide_iteration", state, decision),
            is_spent=is_spent,
            may_revise=not self._work.worker(state, DeepResearchPhase.SYNTHESIS).spec.deterministic,
            may_critique=self._revise_with_critic and not is_spent and self._work.may_critique(state),
            at=self._clock(),
        )

    def _out_of_time(self, state: DeepResearchState) -> bool:
        cap = state.options.budget.max_seconds
        return termination.is_spent(state.limits) or (cap is not None and self._elapsed() >= cap)

    # Ending

    async def abort(
        self, journal: Journal, reason: AbortReason, message: str, lead: Sequence[ev.Event] = ()
    ) -> None:
        """Record the abort with what it leaves behind, after the events of ``lead``."""
        await termination.abort(journal, reason, message, self._clock(), lead)
