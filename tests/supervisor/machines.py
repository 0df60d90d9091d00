"""A machine that is walked end to end over a journal in memory, with agents that do as they are told."""

import asyncio
import inspect

from deep_research import (
    DeepResearchState,
    RunOptions,
    SearchProvider,
    SearchResult,
    SourceQuality,
    SupervisorHooks,
    SupervisorOrchestrator,
)
from deep_research.phases.analysis import (
    AnalysisPhase,
    AnalyzedFinding,
    AnalyzedGap,
    AnalyzedQuote,
    AnalyzerOutput,
    ExtractiveAnalyzer,
)
from deep_research.phases.gathering import GatheringPhase, SearchGatherer
from deep_research.phases.planning import PlannedQuery, PlannerOutput, PlanningPhase
from deep_research.phases.refinement import RefinementPhase, RefinerOutput
from deep_research.phases.synthesis import SynthesisPhase, SynthesizerOutput
from deep_research.state import DeepResearchPhase, FollowUpQuery, GapAnalysis, IterationRecommendation
from deep_research.state.events import PhaseStarted, RunCreated, RunResumed
from deep_research.state.journal import MemoryJournal
from deep_research.state.reducer import Fold

P = DeepResearchPhase


class Scripted:
    """An agent that answers from a function of its handoff, and remembers the handoffs."""

    def __init__(self, answer, *, deterministic=False, falls_back=False):
        self.answer, self.deterministic, self.falls_back = answer, deterministic, falls_back
        self.handoffs = []

    async def __call__(self, handoff):
        self.handoffs.append(handoff)
        answer = self.answer(handoff)
        return await answer if inspect.isawaitable(answer) else answer


NO_PLAN = PlannerOutput(research_brief="b", sub_queries=())
GO_ON, NO_USE = (IterationRecommendation(should_iterate=each) for each in (True, False))


def plan(handoff, *queries):
    queries = queries or ("sub-query 0 of the plan", "sub-query 1 of the plan")
    return PlannerOutput(research_brief="A brief.", sub_queries=tuple(PlannedQuery(query=q) for q in queries))


def read(handoff):
    return AnalyzerOutput(
        findings=tuple(
            AnalyzedFinding(
                content=f"Finding of {s.title}.",
                source_ids=(s.id,),
                quotes=(AnalyzedQuote(source_id=s.id, quote=s.content[:20]),),
            )
            for s in handoff.sources
        )
    )


def read_nothing(handoff):
    return AnalyzerOutput()


def with_gap(handoff):
    gap = AnalyzedGap(description=f"unknown in round {handoff.iteration}")
    return read(handoff).model_copy(update={"gaps": (gap,)})


def write(handoff):
    lines = "\n\n".join(f"{f.content} [{f.id}]" for f in handoff.findings)
    return SynthesizerOutput(report=f"# Report\n\n## Summary\n\n{'A sentence. ' * 10}\n\n{lines}")


def refine(handoff, said="follow-up {}"):
    asked = {gap.id: FollowUpQuery(query=said.format(gap.description)) for gap in handoff.gaps}
    gaps = tuple(GapAnalysis(gap_id=gap, follow_up_queries=(query,)) for gap, query in asked.items())
    return RefinerOutput(gap_analysis=gaps, iteration_recommendation=GO_ON)


def raising(error):
    """An agent, or a hook, that fails."""

    def fail(*_):
        raise error

    return fail


def gating(phase, verdict):
    """Hooks that say what becomes of a phase."""
    return SupervisorHooks(gate=lambda state, at, validation: verdict if at is phase else None)


class Library(SearchProvider):
    name = "library"

    def __init__(self, answer=None):
        self.answer, self.queries = answer, []

    async def search(self, request):
        self.queries.append(request.query)
        if self.answer is not None:
            return self.answer(request)
        about = {"title": request.query, "text": f"Text about {request.query}."}
        return [SearchResult(address=f"{request.query}.md", quality=SourceQuality.HIGH, **about)]


class Machine:
    """A run and its parts. ``agents`` replaces some of the scripted ones by functions or agents."""

    def __init__(
        self, *, library=None, hooks=None, gates=None, clock=None, elapsed=None, options=None, **agents
    ):
        made = {"planner": plan, "analyzer": read, "synthesizer": write, "refiner": refine, **agents}
        self.agents = {n: a if isinstance(a, Scripted) else Scripted(a) for n, a in made.items()}
        self.library = library or Library()
        phases = {
            P.PLANNING: PlanningPhase(self.agents["planner"]),
            P.GATHERING: GatheringPhase(SearchGatherer([self.library])),
            P.ANALYSIS: AnalysisPhase(self.agents["analyzer"]),
            P.SYNTHESIS: SynthesisPhase(self.agents["synthesizer"]),
            P.REFINEMENT: RefinementPhase(self.agents["refiner"]),
        }
        self.make = lambda: SupervisorOrchestrator(
            phases,
            hooks=hooks,
            gates=gates,
            fallbacks={P.ANALYSIS: AnalysisPhase(ExtractiveAnalyzer())},
            elapsed=elapsed or (lambda: 0.0),
        )
        self.orchestrator = self.make()
        self.journal = MemoryJournal(DeepResearchState(query=""))
        self.journal._fold = Fold()
        self.options = options or RunOptions()

    async def begin(self):
        created = RunCreated(research_id="deepres-000000000001", query="The question?", options=self.options)
        start = self.orchestrator.dispatch_to_agent(DeepResearchState(query="The question?"), P.PLANNING)
        await self.journal.record(created, PhaseStarted(phase=P.PLANNING, iteration=1, decision=start))

    def run(self):
        async def walk():
            await self.begin()
            await self.orchestrator.run(self.journal)

        asyncio.run(walk())
        return self.journal.state

    def resume(self, **answer):
        async def walk():
            await self.journal.record(RunResumed(**answer))
            self.orchestrator = self.make()
            await self.orchestrator.run(self.journal)

        asyncio.run(walk())
        return self.journal.state

    @property
    def walked(self):
        return [f"{e.phase}" for e in self.journal.events if e.name == "phase.started"]

    def handoffs(self, role):
        return self.agents[role].handoffs

    def asked(self, role):
        """How often."""
        return len(self.handoffs(role))
