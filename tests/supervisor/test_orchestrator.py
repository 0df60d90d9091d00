"""Runs walked end to end: iterations, gates and decisions."""

import pytest
from machines import (
    NO_PLAN,
    NO_USE,
    Library,
    Machine,
    P,
    Scripted,
    gating,
    plan,
    read,
    read_nothing,
    refine,
    seconds,
    with_gap,
)
from tables import cases, listed

from deep_research import (
    DeepResearchState,
    GatePolicy,
    RunOptions,
    SupervisorHooks,
    SupervisorOrchestrator,
    Verdict,
)
from deep_research.errors import UnknownNameError
from deep_research.phases.analysis import AnalyzedGap, AnalyzerOutput
from deep_research.phases.analysis.handoff import SurveyOutput
from deep_research.phases.refinement import ExtractiveRefiner, RefinerOutput
from deep_research.phases.synthesis import SynthesizerOutput
from deep_research.state import AbortReason, Budget


def test_without_gaps_a_run_completes_after_synthesis():
    machine = Machine()
    state = machine.run()
    assert state.status == "completed"
    assert machine.walked == ["planning", "gathering", "analysis", "synthesis"]
    assert state.report
    assert state.completed_at


def test_gaps_lead_through_refinement_to_new_sources_until_the_iterations_are_used_up():
    machine = Machine(analyzer=with_gap)
    state = machine.run()
    assert (state.status, state.iteration) == ("completed", 3)
    assert (machine.walked.count("gathering"), machine.walked.count("planning")) == (3, 1)
    assert machine.walked[-1] == "synthesis"
    given = [[source.id for source in handoff.sources] for handoff in machine.handoffs("analyzer")]
    assert len(given) == 3
    assert len({i for ids in given for i in ids}) == sum(map(len, given))
    second = [decision.inputs for decision in state.decisions if decision.action == "execute_gathering"][1]
    assert (second["iteration"], second["sub_queries"]) == (2, ["follow-up unknown in round 1"])


def test_the_run_ends_when_the_refiner_sees_no_use_in_going_on():
    machine = Machine(analyzer=with_gap, refiner=lambda h: RefinerOutput(iteration_recommendation=NO_USE))
    state = machine.run()
    assert machine.walked[-1] == "refinement"
    assert (state.status, state.iteration) == ("completed", 1)


def test_the_run_converges_when_every_follow_up_was_asked_before():
    same = {"refiner": lambda h: refine(h, "always the same"), "options": RunOptions(max_iterations=10)}
    machine = Machine(analyzer=with_gap, **same)
    assert machine.run().iteration == 2
    assert machine.library.queries.count("always the same") == 1


def test_no_iteration_begins_for_which_a_cap_leaves_no_search():
    def within(**caps):
        return Machine(analyzer=with_gap, options=RunOptions(budget=Budget(**caps))).run()

    used = sum(query.iteration == 1 for query in within().sub_queries)
    state = within(max_searches=used)
    assert (state.status, state.iteration) == ("completed", 1)
    assert not any(limit.name == "max_searches" for limit in state.limits)
    assert within(max_searches=used + 1).iteration == 2
    assert within(max_iterations=2).iteration == 2  # as the setting


# Gates

THINK = SupervisorHooks(after_phase=lambda state, phase: "Think of towers.")
BLOCKED = {
    "it is retried once and the agent is told why": ([NO_PLAN, plan(None)], {}, {}, ("The plan has no question.",)),
    "without attempts left it aborts": ([NO_PLAN] * 2, {}, {}, ("The plan has no question.",)),
    "a deterministic agent is not asked again": ([NO_PLAN], {"deterministic": True}, {}, None),
    "unless a hook gives guidance": (
        [NO_PLAN, plan(None)], {"deterministic": True}, {"hooks": THINK},
        ("The plan has no question.", "Think of towers."),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("answers", "kind", "parts", "told"), BLOCKED.values(), ids=BLOCKED)
def test_what_becomes_of_a_blocking_issue(answers, kind, parts, told):
    left = list(answers)
    machine = Machine(planner=Scripted(lambda handoff: left.pop(0), **kind), **parts)
    state = machine.run()
    assert left == []
    if answers[-1] is NO_PLAN:
        assert (state.status, state.abort.reason) == ("aborted", "no_evidence")
    else:
        assert state.status == "completed"
    assert [set(handoff.guidance) for handoff in machine.handoffs("planner")[1:]] == (
        [set(told)] if told else []
    )


@pytest.mark.parametrize(
    "parts", [{"library": Library(lambda request: [])}, {"analyzer": read_nothing}], ids=["source", "finding"]
)
def test_nothing_found_aborts_for_want_of_evidence_with_gaps_and_no_report(parts):
    state = Machine(**parts).run()
    assert (state.status, state.abort.reason) == ("aborted", AbortReason.NO_EVIDENCE)
    assert state.report is None
    assert "analyzer" in parts or len(state.gaps) >= 2


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
    first, *later = machine.handoffs("analyzer")
    again = next(handoff for handoff in later if handoff.iteration == 2)
    assert {s.id for s in first.sources} < {s.id for s in again.sources}
    decided = [d for d in state.decisions if d.action == "decide_iteration"]
    assert "follow-up queries lead on" in decided[0].rationale


@pytest.mark.timed
def test_without_iterations_or_time_left_nothing_is_searched_on():
    machine = Machine(analyzer=leading_on, options=RunOptions(max_iterations=1))
    assert machine.run().abort.reason is AbortReason.NO_EVIDENCE
    late = Machine(
        analyzer=leading_on, options=seconds(5), elapsed=lambda: 10.0 if late.asked("analyzer") else 0.0
    )
    assert late.run().abort.reason is AbortReason.NO_EVIDENCE


def test_a_hooks_abort_of_an_analysis_is_final():
    hooks = gating(P.ANALYSIS, Verdict(action="abort", rationale="Enough."))
    state = Machine(analyzer=leading_on, hooks=hooks).run()
    assert (state.status, state.iteration) == ("aborted", 1)


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
    def one_of(handoff):
        return read(handoff.model_copy(update={"sources": handoff.sources[:1]}))

    machine = Machine(gates={"analysis": "strict"}, analyzer=one_of)
    machine.run()
    first, second = machine.handoffs("analyzer")
    assert len(first.sources) == 2
    assert [source.id for source in second.sources] == [first.sources[1].id]


def test_advice_goes_to_the_next_agent_and_into_the_notices_until_a_later_iteration_makes_it_good():
    advice, machine = "Only 2 sources were found.", Machine()
    state = machine.run()
    assert advice in machine.handoffs("analyzer")[0].guidance
    assert advice in [notice.message for notice in state.notices]
    later = Machine(analyzer=with_gap).run()
    assert not any("sources were found" in notice.message for notice in later.notices)


@pytest.mark.parametrize(("policy", "asked"), [("proceed", 1), ("retry", 2), ("abort", 1), ("strict", 2)])
def test_the_policy_of_a_gate_decides_what_a_blocking_issue_does(policy, asked):
    no_report = SynthesizerOutput(report="")
    machine = Machine(analyzer=read_nothing, gates={"analysis": policy}, synthesizer=lambda h: no_report)
    assert machine.run().status == "aborted"
    assert machine.asked("analyzer") == asked
    assert bool(machine.asked("synthesizer")) is (policy == "proceed")


def test_unknown_phases_and_policies_are_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'analysis'"):
        SupervisorOrchestrator({}, gates={"analisys": "retry"})
    with pytest.raises(UnknownNameError, match="Did you mean 'retry'"):
        SupervisorOrchestrator({}, gates={P.ANALYSIS: "retri"})
    assert GatePolicy("strict") is GatePolicy.STRICT


# Decisions


def test_every_decision_has_the_form_of_the_spec():
    recorded = Machine(analyzer=with_gap).run().metadata["agent_decisions"]
    made = {decision["action"] for decision in reversed(recorded)}
    assert made >= {*(f"execute_{phase}" for phase in P), "evaluate_phase", "decide_iteration"}
    for decision in recorded:
        assert set(decision) == {"agent", "action", "rationale", "inputs", "outputs", "timestamp"}
        assert decision["rationale"]
    quality = {"quality_ok": True, "quality_score": 5.0}
    planning = next(decision for decision in recorded if decision["action"] == "evaluate_phase")
    assert planning["outputs"] == {"sub_query_count": 2, "has_research_brief": True} | quality
    iterate = next(decision for decision in recorded if decision["action"] == "decide_iteration")
    assert iterate["inputs"] == {"gap_count": 1, "iteration": 1, "max_iterations": 3}
    assert iterate["outputs"] == {"should_iterate": True, "next_phase": "refinement"}


@pytest.mark.parametrize(
    ("phase", "keys", "words"),
    cases(
        """
        planning | system_prompt / max_sub_queries | 0 sub-queries / without a research brief
        gathering | sub_queries / source_types / max_sources_per_query | 0 sources
        analysis | source_count / high_quality_sources | 0 findings / 0 gaps
        synthesis | finding_count / gap_count / has_research_brief | 0 characters / iteration 1 of 3
        refinement | gaps / remaining_iterations / has_report_draft | 0 of 0 gaps
        """,
        P,
        listed,
        listed,
    ),
)
def test_a_dispatch_and_a_reflection_prompt_name_the_inputs_and_figures_of_their_phase(phase, keys, words):
    orchestrator, state = Machine().orchestrator, DeepResearchState(query="q")
    decision = orchestrator.dispatch_to_agent(state, phase)
    assert {*decision.inputs} == {*keys, "research_id", "original_query", "current_phase", "iteration"}
    assert decision.action == f"execute_{phase}"
    prompt = orchestrator.get_reflection_prompt(state, phase)
    assert all(word in prompt for word in words)
    assert prompt.endswith("?")
