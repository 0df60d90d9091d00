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
    raising,
    read,
    read_nothing,
    refine,
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
from deep_research.errors import ConfigurationError, UnknownNameError
from deep_research.phases.analysis import AnalyzedGap, AnalyzerOutput
from deep_research.phases.analysis.handoff import SurveyOutput
from deep_research.phases.refinement import ExtractiveRefiner, RefinerOutput
from deep_research.phases.synthesis import SynthesizerOutput
from deep_research.state import Budget


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
    guidance = [set(handoff.guidance) for handoff in machine.handoffs("planner")[1:]]
    assert guidance == ([set(told)] if told else [])


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
    made = {decision["action"] for decision in recorded}
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


def deciding(action):
    verdict = Verdict(action=action, rationale="Good enough.")
    return SupervisorHooks(decide_iteration=lambda state, decision: verdict)


def ticking(looks, most=10):
    """Seconds that are used up after so many looks at the clock."""
    clock = iter([0.0] * looks + [99.0] * 50)
    return {"elapsed": lambda: next(clock), "options": RunOptions(budget=Budget(max_seconds=most))}


ABORT = Verdict(action="abort", rationale="The budget went elsewhere.")
GO = Verdict(action="proceed")
ONCE, NO_SOURCE = RunOptions(max_iterations=1), Library(lambda request: [])
NO_MORE = RefinerOutput(iteration_recommendation=NO_USE)
WRONG = raising(ConfigurationError("The key is wrong."))
ENDINGS = {  # the parts of a machine, why its run is aborted, and in which iteration it ends
    "the refiner sees no use in going on": ({"analyzer": with_gap, "refiner": lambda h: NO_MORE}, None, 1),
    "no source": ({"library": NO_SOURCE}, "no_evidence", 1),
    "no finding": ({"analyzer": read_nothing}, "no_evidence", 1),
    "no answer, and no iteration left": ({"analyzer": leading_on, "options": ONCE}, "no_evidence", 1),
    "no answer, and no time left": ({"analyzer": leading_on, **ticking(4)}, "no_evidence", 1),
    "a hook aborts an analysis that leads on": (
        {"analyzer": leading_on, "hooks": gating(P.ANALYSIS, ABORT)}, "no_evidence", 1,
    ),
    "a hook aborts a good phase": ({"hooks": gating(P.PLANNING, ABORT)}, "cancelled", 1),
    "a hook aborts a refinement": ({"analyzer": with_gap, "hooks": gating(P.REFINEMENT, ABORT)}, "cancelled", 1),
    "a hook lets a blocking issue pass": (
        {"analyzer": read_nothing, "hooks": gating(P.ANALYSIS, GO)}, None, 2,
    ),
    "a hook completes early": ({"analyzer": with_gap, "hooks": deciding("complete")}, None, 1),
    "a hook goes on within what is allowed": ({"analyzer": with_gap, "hooks": deciding("iterate")}, None, 3),
    "a hook goes on with nothing to ask": ({"hooks": deciding("iterate")}, None, 1),
    "a wrong configuration": ({"analyzer": WRONG}, "config", 1),
    "seconds used up when gathering begins": ({"analyzer": with_gap, **ticking(2)}, None, 1),
    "no seconds at all": (ticking(0), "budget", 1),
}  # fmt: skip


@pytest.mark.timed
@pytest.mark.parametrize(("parts", "reason", "iteration"), ENDINGS.values(), ids=ENDINGS)
def test_how_a_run_ends(parts, reason, iteration):
    machine = Machine(**parts)
    state = machine.run()
    assert state.status == ("aborted" if reason else "completed")
    assert (state.abort and state.abort.reason, state.iteration) == (reason, iteration)
    if reason == "no_evidence":
        assert state.report is None
        assert "library" not in parts or len(state.gaps) >= 2
    if reason == "cancelled":
        assert state.abort.message == "The budget went elsewhere."
    if reason == "budget":
        assert next(limit for limit in state.limits if limit.name == "max_seconds").skipped
