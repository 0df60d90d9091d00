"""The work of a phase: by which agent it is done, under which options, and what happens where the agent cannot do it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from deep_research.budget.metered import RunModels
from deep_research.budget.spend_ledger import limit_of, share_of
from deep_research.errors import ConfigurationError, NoSearchProviderError, UnknownNameError, WorkError
from deep_research.phases.analysis import AnalysisPhase, ExtractiveAnalyzer
from deep_research.phases.analysis.phase import validate_analysis
from deep_research.phases.base import Phase, WorkLimits
from deep_research.phases.gathering import GatheringPhase
from deep_research.phases.gathering.phase import validate_gathering
from deep_research.phases.planning import ExtractivePlanner, PlanningPhase
from deep_research.phases.planning.phase import validate_planning
from deep_research.phases.refinement import ExtractiveRefiner, RefinementPhase
from deep_research.phases.refinement.phase import validate_refinement
from deep_research.phases.synthesis import ExtractiveSynthesizer, SynthesisPhase
from deep_research.phases.synthesis.phase import validate_synthesis
from deep_research.setting_fields import with_values
from deep_research.state import (
    PHASE_TO_AGENT,
    AgentRole,
    DeepResearchPhase,
    DeepResearchState,
    Limit,
    Notice,
    TaskFinding,
    TaskReview,
    TaskState,
    ValidationResult,
)
from deep_research.state import events as ev
from deep_research.state.journal import Clock, Content, Journal
from deep_research.state.tasks import BY_HOOK
from deep_research.supervisor.decisions import (
    EXTRACTIVE,
    OPTIONS,
    by_path,
    is_settled,
    latest_dispatch,
    worth_refining,
)
from deep_research.supervisor.hooks import HookCalls, ParkedError, TaskVerdict
from deep_research.supervisor.plan_approval import PlanEstimate
from deep_research.supervisor.reflection import LeadAgent
from deep_research.supervisor.termination import FailureAction, asking, failure_action, parking_for

Validator = Callable[[DeepResearchState], ValidationResult]

VALIDATORS: dict[DeepResearchPhase, Validator] = {
    DeepResearchPhase.PLANNING: validate_planning,
    DeepResearchPhase.GATHERING: validate_gathering,
    DeepResearchPhase.ANALYSIS: validate_analysis,
    DeepResearchPhase.SYNTHESIS: validate_synthesis,
    DeepResearchPhase.REFINEMENT: validate_refinement,
}
Agents = Mapping[AgentRole, Any] | Mapping[AgentRole | str, Any] | Mapping[str, Any]
Phases = dict[DeepResearchPhase, Phase]

PHASE_TYPES: dict[DeepResearchPhase, Callable[..., Phase]] = {
    DeepResearchPhase.PLANNING: PlanningPhase,
    DeepResearchPhase.GATHERING: GatheringPhase,
    DeepResearchPhase.ANALYSIS: AnalysisPhase,
    DeepResearchPhase.SYNTHESIS: SynthesisPhase,
    DeepResearchPhase.REFINEMENT: RefinementPhase,
}
EXTRACTIVE_AGENTS: dict[DeepResearchPhase, Callable[[], Any]] = {
    DeepResearchPhase.PLANNING: ExtractivePlanner,
    DeepResearchPhase.ANALYSIS: ExtractiveAnalyzer,
    DeepResearchPhase.SYNTHESIS: ExtractiveSynthesizer,
    DeepResearchPhase.REFINEMENT: ExtractiveRefiner,
}


def checked_agents(agents: Agents | None) -> dict[AgentRole, Any]:
    """Agents by role. Raises `UnknownNameError`."""
    by_role: dict[AgentRole, Any] = {}
    roles = [role.value for role in AgentRole if role is not AgentRole.SUPERVISOR]
    for role, agent in (agents or {}).items():
        if role not in roles:
            raise UnknownNameError.of("agent role", str(role), roles)
        by_role[AgentRole(role)] = agent
    return by_role


def phases_of(agents: Agents, limits: WorkLimits) -> Phases:
    """All five phases; a role that has no agent is done by the extractive one. Raises as `checked_agents`, and
    `NoSearchProviderError` without a gatherer: nothing else could search."""
    by_role = checked_agents(agents)
    if AgentRole.GATHERER not in by_role:
        raise NoSearchProviderError(
            "There is nothing to search: no gatherer was handed over.",
            hint="For example: agents={'gatherer': SearchGatherer([provider])}, of deep_research.phases.gathering.",
        )
    return {
        phase: phase_type(by_role.get(PHASE_TO_AGENT[phase]) or EXTRACTIVE_AGENTS[phase](), limits=limits)
        for phase, phase_type in PHASE_TYPES.items()
    }


def extractive_phases(limits: WorkLimits) -> Phases:
    """Phases with extractive agents, which finish a phase if its own agent fails."""
    return {phase: PHASE_TYPES[phase](agent(), limits=limits) for phase, agent in EXTRACTIVE_AGENTS.items()}


class PhaseWork:
    """Has a phase done by the agent that it was dispatched to, or by the one of ``fallbacks`` where that cannot be.
    ``parks``: an outage parks the run; ``elapsed`` are its seconds of work."""

    def __init__(
        self,
        phases: Mapping[DeepResearchPhase, Phase],
        fallbacks: Mapping[DeepResearchPhase, Phase],
        hook: HookCalls,
        *,
        parks: bool,
        estimate: PlanEstimate | None,
        elapsed: Callable[[], float],
        clock: Clock,
    ) -> None:
        self._phases = phases
        self._fallbacks = fallbacks
        self._hook = hook
        self._parks = parks
        self._estimate = estimate
        self._elapsed = elapsed
        self._clock = clock

    def worker(self, state: DeepResearchState, phase: DeepResearchPhase) -> Phase:
        """The phase with the agent that it was dispatched to."""
        decision = latest_dispatch(state, phase)
        is_extractive = decision is not None and decision.agent == EXTRACTIVE
        return self._fallbacks[phase] if is_extractive and phase in self._fallbacks else self._phases[phase]

    def may_critique(self, state: DeepResearchState) -> bool:
        """Whether a model looks at the report that the writer's model has just written: at the first, and once in an
        iteration at later ones of which something is open."""
        critic = self._phases[DeepResearchPhase.REFINEMENT].spec
        writer = self.worker(state, DeepResearchPhase.SYNTHESIS).spec
        return bool(
            state.phase is DeepResearchPhase.SYNTHESIS
            and state.refined < state.iteration
            and not is_settled(state)
            and critic.uses_model
            and writer.uses_model
            and state.report_metadata is not None
            and state.report_metadata.writer == writer.name
        )

    async def run(self, journal: Journal, phase: DeepResearchPhase, models: RunModels | None) -> None:
        """Raises `ParkedError` where the run waits: for a service, or for more at a cap."""
        worker = self.worker(journal.state, phase)
        decision = latest_dispatch(journal.state, phase)
        own_journal = journal
        if decision is not None:
            if decision.agent not in (PHASE_TO_AGENT[phase].value, EXTRACTIVE):
                name = " ".join(decision.agent.split())[:60]
                message = (
                    f"The {phase} was dispatched to '{name}', which there is not; the {worker.role} did it."
                )
                await journal.record(ev.NoticeAdded(notice=Notice(name="supervisor", message=message)))
            if options := decision.inputs.get(OPTIONS):
                own_journal = PhaseJournal(journal, options)
        try:
            await self._do(worker, own_journal, phase, models)
        except WorkError as error:
            await self._fall_back(worker, own_journal, phase, models, error)
        await self._ask_for_more(journal)

    async def _do(
        self, worker: Phase, journal: Journal, phase: DeepResearchPhase, models: RunModels | None
    ) -> None:
        if phase is DeepResearchPhase.GATHERING:
            await self._gather(worker, journal, models)
        else:
            await worker.run(journal.state, journal, models)

    async def _fall_back(
        self,
        worker: Phase,
        journal: Journal,
        phase: DeepResearchPhase,
        models: RunModels | None,
        error: WorkError,
    ) -> None:
        """An agent could not do its work: the run waits, gives up, or the extractive agent does what is left."""
        # A report that is there waits for no critic.
        waits = phase is not DeepResearchPhase.REFINEMENT or worth_refining(journal.state)[0]
        way = failure_action(error, parks=self._parks and waits)
        if way is FailureAction.PARK:
            await journal.record(ev.RunParked(parking=parking_for(error, self._clock())))
            raise ParkedError
        if way is FailureAction.GIVE_UP:
            raise ConfigurationError(error.problem, hint=error.hint, **error.data)
        fallback = self._fallbacks.get(phase)
        if fallback is None or not worker.falls_back:
            raise error
        limit, share = limit_of(error), share_of(error)
        limits = (limit,) if limit else ()
        await self._ask_for_more(journal, *limits)
        fell = ev.AgentFellBack(role=worker.fallback_role, error=error.problem, hint=error.hint, limit=share)
        await journal.record(fell, *(ev.LimitReached(limit=each) for each in limits))
        await self._do(fallback, journal, phase, models if phase is DeepResearchPhase.GATHERING else None)

    async def _ask_for_more(self, journal: Journal, *limits: Limit) -> None:
        """Park at a cap, where the owner of the run wants to be asked."""
        parking = await asking(journal.state, *limits, estimate=self._estimate)
        if parking is not None:
            reached = [ev.LimitReached(limit=limit) for limit in limits if not limit.is_shared]
            await journal.record(*reached, ev.RunParked(parking=parking))
            raise ParkedError

    async def _gather(self, worker: Phase, journal: Journal, models: RunModels | None) -> None:
        """Gathering ends when the run's seconds are used up; the report is written from what there is."""
        cap = journal.state.options.budget.max_seconds
        if cap is None:
            await self._search(worker, journal, models)
            return
        left = cap - self._elapsed()
        try:
            async with asyncio.timeout(max(0.0, left)):
                if left > 0:
                    await self._search(worker, journal, models)
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
            await journal.record(ev.LimitReached(limit=limit))

    async def _search(self, worker: Phase, journal: Journal, models: RunModels | None) -> None:
        """What a task found is shown to the hook that may overrule its review; what all of them found to the lead."""
        if not isinstance(worker, GatheringPhase) or journal.state.options.gathering != "agents":
            await worker.run(journal.state, journal, models)
            return

        async def overrule(
            state: DeepResearchState, task: TaskState, finding: TaskFinding
        ) -> TaskReview | None:
            at = f"{task.task.id}.{task.task.attempt}"
            verdict = await self._hook(journal, "review", state, task, finding, at=at)
            if isinstance(verdict, TaskVerdict):
                return TaskReview(**asdict(verdict), by=BY_HOOK)
            return None if verdict is None else TaskReview(approved=True, critique=str(verdict), by=BY_HOOK)

        lead = LeadAgent(models, self._clock) if models is not None else None
        may_overrule = overrule if self._hook.has("review") else None
        await worker.run(journal.state, journal, models, may_overrule, lead)


class PhaseJournal:
    """The journal of a run, whose state shows options of one phase."""

    def __init__(self, journal: Journal, options: dict[str, Any]) -> None:
        self._journal = journal
        self._options = options
        self._last_view: tuple[DeepResearchState, DeepResearchState] | None = (
            None  # the run's, and with the options
        )

    @property
    def state(self) -> DeepResearchState:
        state = self._journal.state
        if self._last_view is None or self._last_view[0] is not state:
            options = with_values(state.options, by_path(self._options))
            self._last_view = state, state.model_copy(update={"options": options})
        return self._last_view[1]

    async def record(self, *events: ev.Event, contents: Sequence[Content] = ()) -> None:
        await self._journal.record(*events, contents=contents)

    async def settle(self) -> None:
        await self._journal.settle()

    def check(self) -> None:
        self._journal.check()

    @property
    def watched(self) -> bool:
        return self._journal.watched

    def progress(self, note: ev.Progress) -> None:
        self._journal.progress(note)

    async def texts(self, hashes: Sequence[str]) -> list[str]:
        return await self._journal.texts(hashes)
