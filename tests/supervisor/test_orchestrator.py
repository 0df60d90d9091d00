"""The machine walked end to end over a journal in memory, with agents that do as they are told."""

import asyncio
import inspect

import pytest

from deep_research import (
    DeepResearchState,
    GatePolicy,
    Park,
    RunOptions,
    SearchProvider,
    SearchResult,
    SourceQuality,
    StopResearch,
    SupervisorAction,
    SupervisorHooks,
    SupervisorOrchestrator,
    Verdict,
)
from deep_research.errors import ConfigurationError, UnknownNameError
from deep_research.phases.analysis import (
    AnalysisPhase,
    AnalyzedFinding,
    AnalyzedGap,
    AnalyzedQuote,
    AnalyzerOutput,
    ExtractiveAnalyzer,
)
from deep_research.phases.analysis.handoff import SurveyOutput
from deep_research.phases.gathering import GatheringPhase, SearchGatherer
from deep_research.phases.planning import PlannedQuery, PlannerOutput, PlanningPhase
from deep_research.phases.refinement import ExtractiveRefiner, RefinementPhase, RefinerOutput
from deep_research.phases.synthesis import SynthesisPhase, SynthesizerOutput
from deep_research.state import (
    AbortReason,
    Budget,
    DeepResearchPhase,
    FollowUpQuery,
    GapAnalysis,
    IterationRecommendation,
)
from deep_research.state.events import PhaseRetried, PhaseStarted, RunCreated, RunResumed
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


def plan(handoff):
    queries = tuple(PlannedQuery(query=f"sub-query {n} of the plan") for n in range(2))
    return PlannerOutput(research_brief="A brief.", sub_queries=queries)


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


def with_gap(handoff):
    return read(handoff).model_copy(
        update={"gaps": (AnalyzedGap(description=f"unknown in round {handoff.iteration}"),)}
    )


def write(handoff):
    lines = "\n\n".join(f"{f.content} [{f.id}]" for f in handoff.findings)
    return SynthesizerOutput(report=f"# Report\n\n## Summary\n\n{'A sentence. ' * 10}\n\n{lines}")


def refine(handoff):
    return RefinerOutput(
        gap_analysis=tuple(
            GapAnalysis(
                gap_id=g.id,
                follow_up_queries=(FollowUpQuery(query=f"follow-up {g.description}"),),
            )
            for g in handoff.gaps
        ),
        iteration_recommendation=IterationRecommendation(should_iterate=True),
    )


class Library(SearchProvider):
    name = "library"

    def __init__(self, answer=None):
        self.answer, self.queries = answer, []

    async def search(self, request):
        self.queries.append(request.query)
        if self.answer is not None:
            return self.answer(request)
        return [
            SearchResult(
                address=f"{request.query}.md",
                title=request.query,
                text=f"Text about {request.query}.",
                quality=SourceQuality.HIGH,
            )
        ]


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


def test_without_gaps_a_run_completes_after_synthesis():
    machine = Machine()
    state = machine.run()
    assert state.status == "completed"
    assert machine.walked == ["planning", "gathering", "analysis", "synthesis"]
    assert state.report
    assert state.completed_at


def test_gaps_lead_through_refinement_to_gathering_until_the_iterations_are_used_up():
    machine = Machine(analyzer=with_gap)
    state = machine.run()
    assert state.status == "completed"
    assert state.iteration == 3
    assert machine.walked.count("gathering") == 3
    assert machine.walked.count("planning") == 1
    assert machine.walked[-1] == "synthesis"


def test_later_iterations_read_only_new_sources():
    machine = Machine(analyzer=with_gap)
    machine.run()
    given = [[s.id for s in h.sources] for h in machine.agents["analyzer"].handoffs]
    assert len(given) == 3
    assert len({i for ids in given for i in ids}) == sum(map(len, given))


def test_the_run_ends_when_the_refiner_sees_no_use_in_going_on():
    stop = RefinerOutput(iteration_recommendation=IterationRecommendation(should_iterate=False))
    machine = Machine(analyzer=with_gap, refiner=lambda h: stop)
    state = machine.run()
    assert machine.walked[-1] == "refinement"
    assert state.iteration == 1
    assert state.status == "completed"


def test_the_run_converges_when_every_follow_up_was_asked_before():
    def same(handoff):
        return RefinerOutput(
            gap_analysis=tuple(
                GapAnalysis(gap_id=g.id, follow_up_queries=(FollowUpQuery(query="always the same"),))
                for g in handoff.gaps
            ),
            iteration_recommendation=IterationRecommendation(should_iterate=True),
        )

    machine = Machine(analyzer=with_gap, refiner=same, options=RunOptions(max_iterations=10))
    assert machine.run().iteration == 2
    assert machine.library.queries.count("always the same") == 1


def test_a_budget_of_iterations_counts_like_the_setting():
    machine = Machine(analyzer=with_gap, options=RunOptions(budget=Budget(max_iterations=2)))
    assert machine.run().iteration == 2


def test_no_iteration_begins_for_which_the_cap_leaves_no_search():
    first = Machine(analyzer=with_gap).run()
    used = sum(s.iteration == 1 for s in first.sub_queries)
    state = Machine(analyzer=with_gap, options=RunOptions(budget=Budget(max_searches=used))).run()
    assert (state.status, state.iteration) == ("completed", 1)
    assert not any(limit.name == "max_searches" for limit in state.limits)
    more = Machine(analyzer=with_gap, options=RunOptions(budget=Budget(max_searches=used + 1))).run()
    assert more.iteration == 2


# Gates


def test_a_blocking_issue_is_retried_once_and_the_agent_is_told_why():
    answers = [PlannerOutput(research_brief="b", sub_queries=()), plan(None)]
    machine = Machine(planner=lambda h: answers.pop(0))
    state = machine.run()
    assert state.status == "completed"
    assert machine.agents["planner"].handoffs[1].guidance == ("The plan has no question.",)


def test_without_attempts_left_a_blocking_issue_aborts():
    empty = PlannerOutput(research_brief="b", sub_queries=())
    machine = Machine(planner=lambda h: empty)
    state = machine.run()
    assert (state.status, state.abort.reason) == ("aborted", "no_evidence")
    assert len(machine.agents["planner"].handoffs) == 2


def test_a_deterministic_agent_is_not_asked_again_without_a_change():
    empty = PlannerOutput(research_brief="b", sub_queries=())
    machine = Machine(planner=Scripted(lambda h: empty, deterministic=True))
    machine.run()
    assert len(machine.agents["planner"].handoffs) == 1


def test_a_deterministic_agent_is_asked_again_when_a_hook_gives_guidance():
    answers = [PlannerOutput(research_brief="b", sub_queries=()), plan(None)]
    machine = Machine(
        planner=Scripted(lambda h: answers.pop(0), deterministic=True),
        hooks=SupervisorHooks(after_phase=lambda state, phase: "Think of towers."),
    )
    assert machine.run().status == "completed"
    assert "Think of towers." in machine.agents["planner"].handoffs[1].guidance


def test_no_source_aborts_for_want_of_evidence_with_gaps_and_no_report():
    machine = Machine(library=Library(lambda r: []))
    state = machine.run()
    assert (state.status, state.abort.reason) == ("aborted", "no_evidence")
    assert state.report is None
    assert len(state.gaps) >= 2


def test_no_finding_aborts_for_want_of_evidence():
    machine = Machine(analyzer=lambda h: AnalyzerOutput())
    state = machine.run()
    assert state.abort.reason is AbortReason.NO_EVIDENCE
    assert state.report is None


def leading_on(handoff):
    """Nothing answers in the first iteration, but something is to be asked next."""
    if handoff.iteration > 1:
        return read(handoff)
    return AnalyzerOutput(gaps=(AnalyzedGap(description="unknown", suggested_queries=("ask this next",)),))


def test_an_analysis_without_an_answer_searches_on_and_reads_everything_again():
    machine = Machine(analyzer=leading_on)
    state = machine.run()
    assert state.status == "completed"
    assert machine.walked[1:6] == ["gathering", "analysis", "gathering", "analysis", "synthesis"]
    assert machine.library.queries[2] == "ask this next"
    first, *_ = handoffs = machine.agents["analyzer"].handoffs
    again = next(handoff for handoff in handoffs if handoff.iteration == 2)
    assert {s.id for s in first.sources} < {s.id for s in again.sources}
    decided = [d for d in state.decisions if d.action == "decide_iteration"]
    assert "follow-up queries lead on" in decided[0].rationale


@pytest.mark.timed
def test_without_iterations_or_time_left_nothing_is_searched_on():
    machine = Machine(analyzer=leading_on, options=RunOptions(max_iterations=1))
    assert machine.run().abort.reason is AbortReason.NO_EVIDENCE
    late = Machine(
        analyzer=leading_on,
        options=RunOptions(budget=Budget(max_seconds=5)),
        elapsed=lambda: 10.0 if late.agents["analyzer"].handoffs else 0.0,
    )
    assert late.run().abort.reason is AbortReason.NO_EVIDENCE


def test_a_hooks_abort_of_an_analysis_is_final():
    hooks = SupervisorHooks(
        gate=lambda state, phase, validation: (
            Verdict(action="abort", rationale="Enough.") if phase is P.ANALYSIS else None
        )
    )
    state = Machine(analyzer=leading_on, hooks=hooks).run()
    assert state.status == "aborted"
    assert state.iteration == 1


def test_the_survey_orders_the_sources_and_its_queries_fill_the_first_open_gap():
    class Surveying(Scripted):
        async def survey(self, handoff):
            scores = {source.id: float(place) / 10 for place, source in enumerate(handoff.sources)}
            return SurveyOutput(scores=scores, follow_ups=("the survey's query",), completeness=0.5)

    analyzer = Surveying(lambda h: with_gap(h) if h.iteration == 1 else read(h))
    machine = Machine(analyzer=analyzer, refiner=Scripted(ExtractiveRefiner()))
    state = machine.run()
    assert "the survey's query" in machine.library.queries
    assert [s.score for s in state.sources] == sorted((s.score for s in state.sources), reverse=True)
    assert state.completeness == 0.5


def test_a_retry_of_analysis_reads_only_what_no_finding_cites():
    machine = Machine(gates={"analysis": "strict"}, analyzer=lambda h: one_of(h))

    def one_of(handoff):
        return read(handoff.model_copy(update={"sources": handoff.sources[:1]}))

    machine.run()
    first, second = machine.agents["analyzer"].handoffs
    assert len(first.sources) == 2
    assert [s.id for s in second.sources] == [first.sources[1].id]


def test_advice_goes_to_the_next_agent_and_into_the_notices():
    machine = Machine()
    state = machine.run()
    advice = "Only 2 sources were found."
    assert advice in machine.agents["analyzer"].handoffs[0].guidance
    assert advice in [notice.message for notice in state.notices]


def test_advice_that_a_later_iteration_made_good_is_no_limit_any_more():
    machine = Machine(analyzer=with_gap)
    state = machine.run()
    assert not any("sources were found" in notice.message for notice in state.notices)


@pytest.mark.parametrize(
    ("policy", "status", "asked"),
    [("proceed", "aborted", 1), ("retry", "aborted", 2), ("abort", "aborted", 1), ("strict", "aborted", 2)],
)
def test_the_policy_of_a_gate_decides_what_a_blocking_issue_does(policy, status, asked):
    machine = Machine(
        analyzer=lambda h: AnalyzerOutput(),
        gates={"analysis": policy},
        synthesizer=lambda h: SynthesizerOutput(report=""),
    )
    state = machine.run()
    assert state.status == status
    assert len(machine.agents["analyzer"].handoffs) == asked
    assert bool(machine.agents["synthesizer"].handoffs) is (policy == "proceed")


def test_unknown_phases_and_policies_are_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'analysis'"):
        SupervisorOrchestrator({}, gates={"analisys": "retry"})
    with pytest.raises(UnknownNameError, match="Did you mean 'retry'"):
        SupervisorOrchestrator({}, gates={P.ANALYSIS: "retri"})
    assert GatePolicy("strict") is GatePolicy.STRICT


# Decisions


def test_every_decision_has_the_form_of_the_spec():
    state = Machine(analyzer=with_gap).run()
    recorded = state.metadata["agent_decisions"]
    assert {d["action"] for d in recorded} >= {
        "execute_planning",
        "execute_gathering",
        "execute_analysis",
        "execute_synthesis",
        "execute_refinement",
        "evaluate_phase",
        "decide_iteration",
    }
    for decision in recorded:
        assert set(decision) == {"agent", "action", "rationale", "inputs", "outputs", "timestamp"}
        assert decision["rationale"]
    planning = next(d for d in recorded if d["action"] == "evaluate_phase")
    assert planning["outputs"] == {
        "sub_query_count": 2,
        "has_research_brief": True,
        "quality_ok": True,
        "quality_score": 5.0,
    }
    iterate = next(d for d in recorded if d["action"] == "decide_iteration")
    assert iterate["inputs"] == {"gap_count": 1, "iteration": 1, "max_iterations": 3}
    assert iterate["outputs"] == {"should_iterate": True, "next_phase": "refinement"}


@pytest.mark.parametrize(
    ("phase", "keys"),
    [
        (P.PLANNING, {"system_prompt", "max_sub_queries"}),
        (P.GATHERING, {"sub_queries", "source_types", "max_sources_per_query"}),
        (P.ANALYSIS, {"source_count", "high_quality_sources"}),
        (P.SYNTHESIS, {"finding_count", "gap_count", "has_research_brief"}),
        (P.REFINEMENT, {"gaps", "remaining_iterations", "has_report_draft"}),
    ],
)
def test_a_dispatch_names_the_agent_and_the_inputs_of_its_phase(phase, keys):
    decision = Machine().orchestrator.dispatch_to_agent(DeepResearchState(query="q"), phase)
    common = {"research_id", "original_query", "current_phase", "iteration"}
    assert set(decision.inputs) == keys | common
    assert decision.action == f"execute_{phase}"


@pytest.mark.parametrize(
    ("phase", "words"),
    [
        (P.PLANNING, ["0 sub-queries", "without a research brief"]),
        (P.GATHERING, ["0 sources"]),
        (P.ANALYSIS, ["0 findings", "0 gaps"]),
        (P.SYNTHESIS, ["0 characters", "iteration 1 of 3"]),
        (P.REFINEMENT, ["0 of 0 gaps"]),
    ],
)
def test_every_phase_has_its_reflection_prompt_with_its_figures(phase, words):
    prompt = Machine().orchestrator.get_reflection_prompt(DeepResearchState(query="q"), phase)
    assert all(word in prompt for word in words)
    assert prompt.endswith("?")


# Hooks


def test_think_pauses_come_after_every_phase_and_reach_the_next_handoff():
    prompts = []

    def think(state, prompt):
        prompts.append((state.phase, prompt))
        return f"After {state.phase}: look closer."

    machine = Machine(
        analyzer=with_gap, hooks=SupervisorHooks(think_pause=think), options=RunOptions(max_iterations=2)
    )
    machine.run()
    assert [phase for phase, _ in prompts][:5] == list(P)
    for role, before in (("analyzer", "gathering"), ("synthesizer", "analysis"), ("refiner", "synthesis")):
        assert f"After {before}: look closer." in machine.agents[role].handoffs[0].guidance
    later = machine.agents["analyzer"].handoffs[1].guidance
    assert later == ("After refinement: look closer.", "After gathering: look closer.")


def test_before_phase_guidance_reaches_that_very_phase():
    machine = Machine(hooks=SupervisorHooks(before_phase=lambda state, phase: f"For {phase}."))
    machine.run()
    assert machine.agents["planner"].handoffs[0].guidance == ("For planning.",)
    assert "For synthesis." in machine.agents["synthesizer"].handoffs[0].guidance


def test_a_failing_hook_is_recorded_and_passed_over():
    def broken(state, prompt):
        raise ZeroDivisionError("by zero")

    machine = Machine(hooks=SupervisorHooks(think_pause=broken))
    state = machine.run()
    assert state.status == "completed"
    assert any("think_pause failed" in notice.message for notice in state.notices)


def test_stop_research_is_the_one_exception_that_ends_a_run():
    def stop(state, phase):
        if phase is P.SYNTHESIS:
            raise StopResearch("enough is known")

    state = Machine(hooks=SupervisorHooks(before_phase=stop)).run()
    assert (state.status, state.abort.reason, state.abort.message) == (
        "aborted",
        "cancelled",
        "enough is known",
    )
    assert state.report_metadata.partial
    assert state.metadata["cancelled"] is True
    assert (state.metadata["abort_phase"], state.metadata["abort_iteration"]) == ("synthesis", 1)


def test_a_gate_hook_may_retry_a_phase_that_passed_a_bounded_number_of_times():
    again = Verdict(action=SupervisorAction.RETRY, guidance="Once more.")
    machine = Machine(hooks=SupervisorHooks(gate=lambda s, p, v: again if p is P.SYNTHESIS else None))
    state = machine.run()
    assert state.status == "completed"
    assert len(machine.agents["synthesizer"].handoffs) == 3
    assert "Once more." in machine.agents["synthesizer"].handoffs[1].guidance


def test_a_gate_hook_may_have_the_plan_made_anew_once_per_iteration():
    anew = Verdict(action=SupervisorAction.RETRY, phase=P.PLANNING)
    machine = Machine(hooks=SupervisorHooks(gate=lambda s, p, v: anew if p is P.GATHERING else None))
    state = machine.run()
    assert state.status == "completed"
    assert len(machine.agents["planner"].handoffs) == 2


def test_a_gate_hook_may_let_a_blocking_issue_pass_or_abort_a_good_phase():
    go = Verdict(action=SupervisorAction.PROCEED)
    passed = Machine(
        analyzer=lambda h: AnalyzerOutput(),
        hooks=SupervisorHooks(gate=lambda s, p, v: go if p is P.ANALYSIS else None),
    )
    assert passed.run().status == "completed"
    stop = Verdict(action=SupervisorAction.ABORT)
    aborted = Machine(hooks=SupervisorHooks(gate=lambda s, p, v: stop)).run()
    assert (aborted.status, aborted.abort.reason) == ("aborted", "cancelled")


def test_a_hook_may_complete_early_or_go_on_within_what_is_allowed():
    complete = Verdict(action=SupervisorAction.COMPLETE, rationale="Good enough.")
    early = Machine(analyzer=with_gap, hooks=SupervisorHooks(decide_iteration=lambda s, d: complete))
    assert early.run().iteration == 1
    go_on = Verdict(action=SupervisorAction.ITERATE)
    bounded = Machine(analyzer=with_gap, hooks=SupervisorHooks(decide_iteration=lambda s, d: go_on))
    assert bounded.run().iteration == 3
    nothing = Machine(hooks=SupervisorHooks(decide_iteration=lambda s, d: go_on))
    assert nothing.run().status == "completed"


@pytest.mark.parametrize("hook", ["before_phase", "after_phase", "gate", "think_pause", "decide_iteration"])
def test_a_run_parks_at_any_decision_hook_and_goes_on_with_the_answer_as_guidance(hook):
    calls = []

    def ask(state, *rest):
        calls.append(state.pause_id)
        return Park("the owner") if state.phase is P.SYNTHESIS else None

    machine = Machine(analyzer=with_gap, hooks=SupervisorHooks(**{hook: ask}))
    state = machine.run()
    assert state.status == "parked"
    assert state.parking.waiting_for == "the owner"
    before = len([c for c in calls if c == "1.synthesis.0"])
    written = len(machine.agents["synthesizer"].handoffs)
    state = machine.resume(pause_id=state.parking.pause_id, answer="Look at the keepers.")
    assert len([c for c in calls if c == "1.synthesis.0"]) == before
    assert any(g.text == "Look at the keepers." for g in state.guidance)
    told = "synthesizer" if hook == "before_phase" else "refiner"
    assert "Look at the keepers." in machine.agents[told].handoffs[0].guidance
    assert written == (0 if hook == "before_phase" else 1)


def test_a_park_without_an_answer_asks_the_hook_again():
    answers = [Park("the owner"), "Now I know."]
    machine = Machine(hooks=SupervisorHooks(think_pause=lambda s, p: answers.pop(0) if answers else None))
    assert machine.run().status == "parked"
    assert machine.resume().status == "completed"


def test_unknown_hook_names_are_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'think_pause'"):
        SupervisorHooks(think_pauze=lambda s, p: None)
    with pytest.raises(UnknownNameError, match="Did you mean 'before_phase'"):

        class Wrong(SupervisorHooks):
            async def befor_phase(self, state, phase):
                return None


def test_hooks_see_a_frozen_state():
    def meddle(state, prompt):
        state.report = "mine"

    state = Machine(hooks=SupervisorHooks(think_pause=meddle)).run()
    assert state.report != "mine"
    assert any("frozen" in notice.message for notice in state.notices)


# Failures


def test_an_agent_that_fails_aborts_with_its_error_and_the_run_can_be_taken_up_again():
    answers = [ZeroDivisionError("by zero"), None]

    def fail_once(handoff):
        if error := answers.pop(0):
            raise error
        return write(handoff)

    machine = Machine(synthesizer=fail_once)
    state = machine.run()
    assert (state.status, state.abort.reason) == ("aborted", "error")
    assert "by zero" in state.abort.message
    assert state.report is None
    resumed = machine.resume()
    assert resumed.status == "completed"
    assert len(machine.library.queries) == 2


def test_an_agent_that_says_so_falls_back_to_the_extractive_one_and_the_report_tells():
    def fail(handoff):
        raise ValueError("no idea")

    text = "The question of this plan was asked and answered in 1811 by the keepers."
    library = Library(lambda r: [SearchResult(address="a.md", title="plan", text=text)])
    machine = Machine(
        analyzer=Scripted(fail, falls_back=True),
        library=library,
        planner=lambda h: PlannerOutput(
            research_brief="b",
            sub_queries=(PlannedQuery(query="question of the plan"), PlannedQuery(query="keepers 1811")),
        ),
    )
    state = machine.run()
    assert state.status == "completed", state.abort
    assert any("analyzer could not do its work" in notice.message for notice in state.notices)


def test_a_wrong_configuration_aborts_as_such():
    def refuse(handoff):
        raise ConfigurationError("The key is wrong.")

    state = Machine(analyzer=refuse).run()
    assert state.abort.reason is AbortReason.CONFIG


@pytest.mark.timed
def test_seconds_used_up_stop_gathering_and_the_report_is_written_from_what_there_is():
    seconds = iter([0.0, 0.0] + [99.0] * 50)  # at the end of PLANNING, and when GATHERING begins
    machine = Machine(
        analyzer=with_gap,
        elapsed=lambda: next(seconds),
        options=RunOptions(budget=Budget(max_seconds=10)),
    )
    state = machine.run()
    assert state.status == "completed"
    assert state.iteration == 1


@pytest.mark.timed
def test_no_seconds_at_all_abort_for_the_budget():
    machine = Machine(elapsed=lambda: 99.0, options=RunOptions(budget=Budget(max_seconds=10)))
    state = machine.run()
    assert (state.status, state.abort.reason) == ("aborted", "budget")
    assert next(limit for limit in state.limits if limit.name == "max_seconds").skipped


@pytest.mark.timed
def test_stop_from_outside_drops_the_call_in_flight_and_writes_a_partial_report():
    machine = Machine()
    reached = asyncio.Event()

    async def hang(handoff):
        reached.set()
        await asyncio.Event().wait()

    machine.agents["synthesizer"].__class__ = type(
        "Hanging", (Scripted,), {"__call__": lambda self, h: hang(h)}
    )

    async def walk():
        await machine.begin()
        task = asyncio.create_task(machine.orchestrator.run(machine.journal))
        await asyncio.wait_for(reached.wait(), 300)
        machine.orchestrator.stop(AbortReason.TIMEOUT, "too long")
        await asyncio.wait_for(task, 300)

    asyncio.run(walk())
    state = machine.journal.state
    assert (state.status, state.abort.reason) == ("aborted", "timeout")
    assert "Partial report" in state.report
    assert state.report_metadata.partial
    assert state.metadata["timeout"] is True


# What hooks may not do


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("before_phase", 42),
        ("after_phase", {"a": 1}),
        ("think_pause", ["x"]),
        ("gate", SupervisorAction.ABORT),
        ("decide_iteration", "iterate"),
    ],
)
def test_an_answer_of_another_kind_is_a_failed_hook_and_no_guidance(name, answer):
    state = Machine(hooks=SupervisorHooks(**{name: lambda *_: answer})).run()
    assert state.status == "completed"
    assert any(f"hook {name} failed" in notice.message for notice in state.notices)
    assert not any(guidance.origin == "hook" for guidance in state.guidance)


def test_a_verdict_takes_names_and_refuses_unknown_ones():
    assert Verdict(action="retry", phase="planning").phase is P.PLANNING
    with pytest.raises(UnknownNameError, match="retry"):
        Verdict(action="retri")


def test_a_hook_may_abort_in_refinement_and_its_reason_is_kept():
    stop = Verdict(action=SupervisorAction.ABORT, rationale="The budget went elsewhere.")
    hooks = SupervisorHooks(gate=lambda s, p, v: stop if p is P.REFINEMENT else None)
    state = Machine(analyzer=with_gap, hooks=hooks).run()
    assert (state.status, state.abort.reason) == ("aborted", "cancelled")
    assert state.abort.message == "The budget went elsewhere."


def _stopping(error):
    raise StopResearch("from the observer")


@pytest.mark.parametrize("observer", [lambda error: Park("somebody"), _stopping])
def test_the_error_observer_can_neither_park_nor_stop_nor_escape(observer):
    def broken(handoff):
        raise ValueError("two\nlines")

    state = Machine(planner=broken, hooks=SupervisorHooks(error=observer)).run()
    assert (state.status, state.abort.reason) == ("aborted", "error")
    assert "\n" not in state.abort.message


@pytest.mark.timed
def test_a_run_that_is_stopped_while_its_error_is_observed_ends_by_that_error():
    async def journey():
        heard = asyncio.Event()

        async def observer(error):
            heard.set()
            await asyncio.sleep(60)

        def broken(handoff):
            raise ValueError("broken")

        machine = Machine(planner=broken, hooks=SupervisorHooks(error=observer))
        await machine.begin()
        task = asyncio.create_task(machine.orchestrator.run(machine.journal))
        await heard.wait()
        machine.orchestrator.stop(AbortReason.CANCELLED, "The run was cancelled.")
        await task
        return machine.journal.state

    assert asyncio.run(journey()).abort.reason == "error"


def test_the_dispatch_of_a_new_iteration_names_its_number_and_its_queries():
    state = Machine(analyzer=with_gap).run()
    second = [d.inputs for d in state.decisions if d.action == "execute_gathering"][1]
    assert second["iteration"] == 2
    assert second["sub_queries"] == ["follow-up unknown in round 1"]


def test_a_new_plan_has_no_more_gate_retries_than_the_first():
    """The gate's retries are the attempts but for those that hooks asked for, in the same phase."""
    state = Fold(DeepResearchState(query="q", status="running", phase=P.GATHERING, supervisor_retries=1))
    state.apply(PhaseRetried(seq=1, phase=P.PLANNING, attempt=0, asked_by="hook"))
    assert (state.phase, state.attempt, state.supervisor_retries) == (P.PLANNING, 0, 0)


def test_a_report_that_was_written_survives_a_stop_in_the_pause_after_it_and_is_not_written_twice():
    def stop(state, prompt):
        if state.phase is P.SYNTHESIS and not stopped:
            stopped.append(state)
            raise StopResearch("for now")

    stopped = []
    machine = Machine(
        synthesizer=Scripted(write, deterministic=True), hooks=SupervisorHooks(think_pause=stop)
    )
    aborted = machine.run()
    assert aborted.report_metadata.partial
    assert aborted.report == stopped[0].report
    state = machine.resume()
    assert state.status == "completed"
    assert not state.report_metadata.partial
    assert len(machine.agents["synthesizer"].handoffs) == 1


def test_a_pause_that_was_answered_is_asked_again_when_the_run_comes_by_once_more():
    def improving(handoff):
        recommended = IterationRecommendation(should_iterate=False)
        return refine(handoff).model_copy(
            update={"report_improvements": ("Say more.",), "iteration_recommendation": recommended}
        )

    def ask(state, prompt):
        return Park("the owner") if state.phase is P.SYNTHESIS else None

    machine = Machine(analyzer=with_gap, refiner=improving, hooks=SupervisorHooks(think_pause=ask))
    pauses = [machine.run().parking.pause_id]
    pauses.append(machine.resume(pause_id=pauses[0], answer="Once.").parking.pause_id)
    assert len(set(pauses)) == 2
    assert machine.resume(pause_id=pauses[1], answer="Twice.").status == "completed"
