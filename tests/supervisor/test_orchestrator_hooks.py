"""What hooks may say to a run, and what becomes of failures."""

import asyncio

import pytest
from machines import NO_USE, Library, Machine, P, Scripted, gating, plan, raising, refine, with_gap, write

from deep_research import (
    DeepResearchState,
    Park,
    RunOptions,
    SearchResult,
    StopResearch,
    SupervisorAction,
    SupervisorHooks,
    Verdict,
)
from deep_research.errors import UnknownNameError
from deep_research.state import AbortReason
from deep_research.state.events import PhaseRetried
from deep_research.state.reducer import Fold


def test_think_pauses_come_after_every_phase_and_reach_the_next_handoff():
    prompts = []

    def think(state, prompt):
        prompts.append((state.phase, prompt))
        return f"After {state.phase}: look closer."

    hooks, options = SupervisorHooks(think_pause=think), RunOptions(max_iterations=2)
    machine = Machine(analyzer=with_gap, hooks=hooks, options=options)
    machine.run()
    assert [phase for phase, _ in prompts][:5] == list(P)
    for role, before in (("analyzer", "gathering"), ("synthesizer", "analysis"), ("refiner", "synthesis")):
        assert f"After {before}: look closer." in machine.handoffs(role)[0].guidance
    later = machine.handoffs("analyzer")[1].guidance
    assert later == ("After refinement: look closer.", "After gathering: look closer.")


def test_before_phase_guidance_reaches_that_very_phase():
    machine = Machine(hooks=SupervisorHooks(before_phase=lambda state, phase: f"For {phase}."))
    machine.run()
    assert machine.handoffs("planner")[0].guidance == ("For planning.",)
    assert "For synthesis." in machine.handoffs("synthesizer")[0].guidance


def meddle(state, prompt):
    state.report = "mine"


@pytest.mark.parametrize(
    ("name", "hook", "told"),
    [
        ("think_pause", raising(ZeroDivisionError("by zero")), "hook think_pause failed"),
        ("think_pause", meddle, "frozen"),
        ("before_phase", lambda *_: 42, "hook before_phase failed"),
        ("after_phase", lambda *_: {"a": 1}, "hook after_phase failed"),
        ("think_pause", lambda *_: ["x"], "hook think_pause failed"),
        ("gate", lambda *_: SupervisorAction.ABORT, "hook gate failed"),
        ("decide_iteration", lambda *_: "iterate", "hook decide_iteration failed"),
    ],
    ids=["raises", "writes", *("answers otherwise",) * 5],
)
def test_a_hook_that_fails_writes_or_answers_otherwise_is_recorded_and_passed_over(name, hook, told):
    state = Machine(hooks=SupervisorHooks(**{name: hook})).run()
    assert state.status == "completed"
    assert any(told in notice.message for notice in state.notices)
    assert not any(guidance.origin == "hook" for guidance in state.guidance)
    assert state.report != "mine"


def test_stop_research_is_the_one_exception_that_ends_a_run():
    def stop(state, phase):
        if phase is P.SYNTHESIS:
            raise StopResearch("enough is known")

    state = Machine(hooks=SupervisorHooks(before_phase=stop)).run()
    assert (state.status, state.abort.reason) == ("aborted", "cancelled")
    assert state.abort.message == "enough is known"
    assert state.report_metadata.partial
    assert state.metadata["cancelled"] is True
    assert (state.metadata["abort_phase"], state.metadata["abort_iteration"]) == ("synthesis", 1)


def test_a_gate_hook_may_retry_a_phase_that_passed_a_bounded_number_of_times():
    again = Verdict(action=SupervisorAction.RETRY, guidance="Once more.")
    machine = Machine(hooks=gating(P.SYNTHESIS, again))
    assert machine.run().status == "completed"
    assert machine.asked("synthesizer") == 3
    assert "Once more." in machine.handoffs("synthesizer")[1].guidance


def test_a_gate_hook_may_have_the_plan_made_anew_once_per_iteration():
    anew = Verdict(action=SupervisorAction.RETRY, phase=P.PLANNING)
    machine = Machine(hooks=gating(P.GATHERING, anew))
    assert machine.run().status == "completed"
    assert machine.asked("planner") == 2


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
    written = machine.asked("synthesizer")
    state = machine.resume(pause_id=state.parking.pause_id, answer="Look at the keepers.")
    assert len([c for c in calls if c == "1.synthesis.0"]) == before
    assert any(g.text == "Look at the keepers." for g in state.guidance)
    told = "synthesizer" if hook == "before_phase" else "refiner"
    assert "Look at the keepers." in machine.handoffs(told)[0].guidance
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
    text = "The question of this plan was asked and answered in 1811 by the keepers."
    machine = Machine(
        analyzer=Scripted(raising(ValueError("no idea")), falls_back=True),
        library=Library(lambda r: [SearchResult(address="a.md", title="plan", text=text)]),
        planner=lambda h: plan(h, "question of the plan", "keepers 1811"),
    )
    state = machine.run()
    assert state.status == "completed", state.abort
    assert any("analyzer could not do its work" in notice.message for notice in state.notices)


# What hooks may not do


def test_a_verdict_takes_names_and_refuses_unknown_ones():
    assert Verdict(action="retry", phase="planning").phase is P.PLANNING
    with pytest.raises(UnknownNameError, match="retry"):
        Verdict(action="retri")


@pytest.mark.parametrize(
    "observer", [lambda error: Park("somebody"), raising(StopResearch("from the observer"))]
)
def test_the_error_observer_can_neither_park_nor_stop_nor_escape(observer):
    broken = raising(ValueError("two\nlines"))
    state = Machine(planner=broken, hooks=SupervisorHooks(error=observer)).run()
    assert (state.status, state.abort.reason) == ("aborted", "error")
    assert "\n" not in state.abort.message


@pytest.mark.timed
async def test_a_run_that_is_stopped_while_its_error_is_observed_ends_by_that_error():
    heard = asyncio.Event()

    async def observer(error):
        heard.set()
        await asyncio.sleep(60)

    machine = Machine(planner=raising(ValueError("broken")), hooks=SupervisorHooks(error=observer))
    await machine.begin()
    task = asyncio.create_task(machine.orchestrator.run(machine.journal))
    await heard.wait()
    machine.orchestrator.stop(AbortReason.CANCELLED, "The run was cancelled.")
    await task
    assert machine.journal.state.abort.reason == "error"


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
    writer = Scripted(write, deterministic=True)
    machine = Machine(synthesizer=writer, hooks=SupervisorHooks(think_pause=stop))
    aborted = machine.run()
    assert aborted.report_metadata.partial
    assert aborted.report == stopped[0].report
    state = machine.resume()
    assert state.status == "completed"
    assert not state.report_metadata.partial
    assert machine.asked("synthesizer") == 1


def test_a_pause_that_was_answered_is_asked_again_when_the_run_comes_by_once_more():
    def improving(handoff):
        wanted = {"report_improvements": ("Say more.",), "iteration_recommendation": NO_USE}
        return refine(handoff).model_copy(update=wanted)

    def ask(state, prompt):
        return Park("the owner") if state.phase is P.SYNTHESIS else None

    machine = Machine(analyzer=with_gap, refiner=improving, hooks=SupervisorHooks(think_pause=ask))
    pauses = [machine.run().parking.pause_id]
    pauses.append(machine.resume(pause_id=pauses[0], answer="Once.").parking.pause_id)
    assert len(set(pauses)) == 2
    assert machine.resume(pause_id=pauses[1], answer="Twice.").status == "completed"
