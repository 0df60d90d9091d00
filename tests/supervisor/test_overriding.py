"""Six methods of the supervisor may be overridden, and what they return is done: alone, and in an engine."""

import asyncio
from functools import partial

import pytest

from deep_research import (
    DeepResearch,
    DeepResearchState,
    Park,
    RunOptions,
    StopResearch,
    SupervisorHooks,
    SupervisorOrchestrator,
)
from deep_research.errors import (
    ConfigurationError,
    InvalidQuestionError,
    NoSearchProviderError,
    SettingsError,
    SetUpError,
    UnknownNameError,
    UsageError,
)
from deep_research.phases.gathering import SearchGatherer
from deep_research.state import Guidance
from deep_research.state.events import GuidanceGiven, PhaseStarted, RunResumed
from deep_research.state.journal import MemoryJournal
from deep_research.store import MemoryStore
from deep_research.testing import ScriptedSearch, scripted_agents

QUESTION = "Who built the tower on the rock?"


class Dispatching(SupervisorOrchestrator):
    """Plans without the planner that was handed over, and wants shorter plans."""

    def dispatch_to_agent(self, state, phase):
        decision = super().dispatch_to_agent(state, phase)
        if phase == "planning":
            inputs = decision.inputs | {"max_sub_queries": 2}
            return decision.model_copy(update={"inputs": inputs, "rationale": "Two are enough."})
        if phase == "synthesis":
            return decision.model_copy(update={"agent": "extractive"})
        return decision


class Evaluating(SupervisorOrchestrator):
    """Is never content with the first plan."""

    def evaluate_phase_completion(self, state, phase):
        decision = super().evaluate_phase_completion(state, phase)
        if phase == "planning" and not state.attempt:
            outputs = decision.outputs | {"quality_ok": False}
            return decision.model_copy(update={"outputs": outputs, "rationale": "Plan it once more."})
        return decision


class Prompting(SupervisorOrchestrator):
    def get_reflection_prompt(self, state, phase):
        return f"Is {phase} fair?"


class Thinking(SupervisorOrchestrator):
    async def think_pause(self, state, prompt):
        return "Look at the lamp." if state.phase == "planning" else None


class Deciding(SupervisorOrchestrator):
    """Ends the research however many gaps are open."""

    def decide_iteration(self, state):
        decision = super().decide_iteration(state)
        return decision.model_copy(update={"outputs": {"should_iterate": False}, "rationale": "Enough."})


class Recording(SupervisorOrchestrator):
    """Adds a word of its own to the start of each phase."""

    async def record_to_state(self, journal, *events):
        told = [
            GuidanceGiven(
                guidance=Guidance(phase=e.phase, iteration=e.iteration, text="Be brief.", origin="supervisor")
            )
            for e in events
            if isinstance(e, PhaseStarted)
        ]
        await super().record_to_state(journal, *events, *told)


def alone(supervisor, agents, **parts):
    return asyncio.run(supervisor(agents=agents, **parts).run(QUESTION))


def in_an_engine(supervisor, agents, **parts):
    with DeepResearch(supervisor=supervisor, agents=agents, store="memory", **parts) as engine:
        return engine.run(QUESTION).state


def phases(state):
    return [d.inputs["current_phase"] for d in state.decisions if d.action.startswith("execute_")]


def dispatched_otherwise(state, agents):
    assert sum(s.iteration == 1 for s in state.sub_queries) == 2
    assert agents["planner"].handoffs[0].max_sub_queries == 2
    assert not agents["synthesizer"].handoffs
    assert [d.rationale for d in state.decisions if d.action == "execute_planning"] == ["Two are enough."]


def planned_twice(state, agents):
    assert [d.rationale for d in state.decisions if d.action == "retry_phase"] == ["Plan it once more."]
    assert [h.guidance for h in agents["planner"].handoffs] == [(), ("Plan it once more.",)]


def asked_otherwise(state, agents):
    """The hook of this run gives back what it was asked."""
    assert "Is planning fair?" in agents["gatherer"].handoffs[0].guidance


def advised(state, agents):
    assert "Look at the lamp." in agents["gatherer"].handoffs[0].guidance


def ended_early(state, agents):
    assert state.iteration == 1
    assert state.has_unresolved_gaps()
    assert not agents["refiner"].handoffs


def told_more(state, agents):
    assert all("Be brief." in agents[role].handoffs[0].guidance for role in ("planner", "analyzer"))


def echo(state, prompt):
    return prompt


OVERRIDES = [
    (Dispatching, {}, dispatched_otherwise),
    (Evaluating, {}, planned_twice),
    (Prompting, {"hooks": SupervisorHooks(think_pause=echo)}, asked_otherwise),
    (Thinking, {}, advised),
    (Deciding, {}, ended_early),
    (Recording, {}, told_more),
]


@pytest.mark.parametrize("run", [alone, in_an_engine])
@pytest.mark.parametrize(("supervisor", "parts", "changed"), OVERRIDES)
def test_a_method_that_is_overridden_changes_the_walk(run, supervisor, parts, changed):
    agents = scripted_agents(iterations=2)
    state = run(supervisor, agents, **parts)
    assert state.status == "completed", state.abort
    changed(state, agents)
    agents = scripted_agents(iterations=2)
    state = run(SupervisorOrchestrator, agents, **parts)
    with pytest.raises(AssertionError):  # without it the walk is another one
        changed(state, agents)


def test_the_options_of_a_dispatch_hold_when_the_phase_is_done_again():
    class Both(Dispatching, Evaluating):
        """Wants shorter plans, and two of them."""

    agents = scripted_agents()
    assert alone(Both, agents).status == "completed"
    assert [h.max_sub_queries for h in agents["planner"].handoffs] == [2, 2]


@pytest.mark.parametrize("run", [alone, in_an_engine])
def test_a_supervisor_that_changes_nothing_walks_as_ours(run):
    class Mine(SupervisorOrchestrator):
        """Another name for the same."""

    agents = scripted_agents(iterations=2)
    state = run(Mine, agents)
    ours = run(SupervisorOrchestrator, scripted_agents(iterations=2))
    assert phases(state) == phases(ours)
    assert state.report == ours.report


class Never(SupervisorOrchestrator):
    def evaluate_phase_completion(self, state, phase):
        decision = super().evaluate_phase_completion(state, phase)
        ok = phase != "gathering"
        return decision.model_copy(
            update={"outputs": decision.outputs | {"quality_ok": ok}, "rationale": "Too thin."}
        )


class Curt(SupervisorOrchestrator):
    def evaluate_phase_completion(self, state, phase):
        decision = super().evaluate_phase_completion(state, phase)
        return decision.model_copy(update={"outputs": decision.outputs | {"quality_ok": False}})


class Always(SupervisorOrchestrator):
    def decide_iteration(self, state):
        decision = super().decide_iteration(state)
        return decision.model_copy(update={"outputs": {"should_iterate": True}})


class Wordless(SupervisorOrchestrator):
    def dispatch_to_agent(self, state, phase):
        return None


class Boundless(SupervisorOrchestrator):
    def dispatch_to_agent(self, state, phase):
        decision = super().dispatch_to_agent(state, phase)
        return decision.model_copy(update={"inputs": decision.inputs | {"max_sub_queries": 4_000}})


class Forgetful(SupervisorOrchestrator):
    async def record_to_state(self, journal, *events):
        pass


class Halfhearted(SupervisorOrchestrator):
    async def record_to_state(self, journal, *events):
        await super().record_to_state(
            journal, *(e for e in events if e.name != "phase.started" or not journal.state.decisions)
        )


class Stopping(SupervisorOrchestrator):
    def dispatch_to_agent(self, state, phase):
        raise StopResearch("not today")


class Failing(SupervisorOrchestrator):
    def dispatch_to_agent(self, state, phase):
        raise ValueError("no such thing")


@pytest.mark.parametrize("run", [alone, in_an_engine])
@pytest.mark.parametrize(
    ("supervisor", "reason", "words"),
    [
        (Never, "no_evidence", "Too thin."),
        (Curt, "error", "evaluation does not let the phase pass"),
        (Wordless, "config", "returned NoneType"),
        (Boundless, "config", "max_sub_queries"),
        (Forgetful, "config", "left out what the run goes on by"),
        (Halfhearted, "config", "left out what the run goes on by"),
        (Stopping, "cancelled", "not today"),
        (Failing, "error", "no such thing"),
    ],
)
def test_what_cannot_be_done_ends_the_run_and_says_why(run, supervisor, reason, words):
    state = run(supervisor, scripted_agents())
    assert (state.status, state.abort.reason) == ("aborted", reason)
    assert words in state.abort.message


@pytest.mark.parametrize("run", [alone, in_an_engine])
def test_who_always_wants_to_go_on_is_bound_by_the_iterations(run):
    state = run(Always, scripted_agents(iterations=5))
    assert (state.status, state.iteration) == ("completed", 3)


def test_an_agent_that_there_is_not_is_told_and_the_phases_own_does_the_work():
    class Mistaken(SupervisorOrchestrator):
        def dispatch_to_agent(self, state, phase):
            return super().dispatch_to_agent(state, phase).model_copy(update={"agent": "oracle"})

    state = alone(Mistaken, scripted_agents())
    assert state.status == "completed"
    told = [notice.message for notice in state.notices if notice.name == "supervisor"]
    assert "The planning was dispatched to 'oracle', which there is not; the planner did it." in told


# Alone


def test_a_gatherer_is_enough_and_the_extractive_agents_do_the_rest():
    orchestrator = SupervisorOrchestrator(agents={"gatherer": SearchGatherer([ScriptedSearch()])})
    state = asyncio.run(orchestrator.run(QUESTION, options=RunOptions(max_iterations=1)))
    assert state.query == QUESTION
    assert state.sources
    assert state.status.is_final


def test_agents_are_checked_as_an_engine_checks_them():
    with pytest.raises(NoSearchProviderError, match="no gatherer"):
        SupervisorOrchestrator(agents={})
    with pytest.raises(UnknownNameError, match="Did you mean 'planner'"):
        SupervisorOrchestrator(agents={"planer": print})
    with pytest.raises(UsageError, match="Both phases and agents"):
        SupervisorOrchestrator({}, agents=scripted_agents())
    for nothing in ("  ", None, 3):
        with pytest.raises(InvalidQuestionError):
            asyncio.run(SupervisorOrchestrator(agents=scripted_agents()).run(nothing))


@pytest.mark.parametrize("in_journal", [True, False])
def test_a_pending_state_is_started(in_journal):
    pending = DeepResearchState(query=QUESTION)
    work = MemoryJournal(pending) if in_journal else pending
    state = asyncio.run(SupervisorOrchestrator(agents=scripted_agents()).run(work))
    assert state.status == "completed"
    assert phases(state)[0] == "planning"


def test_a_parked_run_is_gone_on_with_once_its_journal_has_the_answer():
    hooks = SupervisorHooks(think_pause=lambda state, prompt: Park("a word"))

    async def walk():
        made = partial(SupervisorOrchestrator, agents=scripted_agents(), hooks=hooks)
        parked = MemoryJournal(DeepResearchState(query=QUESTION))
        first = await made().run(parked)
        again = await made().run(parked)
        await parked.record(RunResumed(pause_id=first.parking.pause_id, answer="The lamp."))
        return first, again, await made().run(parked)

    first, again, last = asyncio.run(walk())
    assert first.status == again.status == "parked"
    assert last.phase == "gathering"
    assert "The lamp." in [g.text for g in last.guidance]


def test_options_go_with_a_question_alone():
    with pytest.raises(UsageError, match="keeps the options"):
        asyncio.run(
            SupervisorOrchestrator(agents=scripted_agents()).run(
                DeepResearchState(query=QUESTION), options=RunOptions()
            )
        )


# In an engine


def make(phases, **parts):
    return Thinking(phases, **parts)


def test_a_supervisor_may_be_a_class_a_function_or_a_partial_one_and_has_its_name_in_the_set_up():
    for supervisor, name in (
        (Thinking, "Thinking"),
        (make, "make"),
        (partial(make), "make"),
        (SupervisorOrchestrator, None),
        (None, None),
    ):
        state = in_an_engine(supervisor, scripted_agents())
        assert (state.status, state.setup.supervisor) == ("completed", name)


@pytest.mark.parametrize("wrong", [Thinking(agents=scripted_agents()), "Thinking", dict, 3])
def test_what_makes_no_supervisor_is_refused(wrong):
    with pytest.raises(SettingsError, match="subclass of SupervisorOrchestrator"):
        DeepResearch(supervisor=wrong, store="memory")


@pytest.mark.parametrize("wrong", [lambda phases: None, lambda *a, **k: "walk"])
def test_what_turns_out_to_make_none_is_told(wrong):
    with (
        DeepResearch(supervisor=wrong, agents=scripted_agents(), store="memory") as engine,
        pytest.raises(ConfigurationError, match="upervisor"),
    ):
        engine.run(QUESTION)


def test_a_resumed_run_wants_the_supervisor_that_it_had():
    store, pausing = MemoryStore(), SupervisorHooks(before_phase=lambda s, p: Park("a word"))
    with DeepResearch(supervisor=Thinking, hooks=pausing, agents=scripted_agents(), store=store) as engine:
        parked = engine.run(QUESTION)
    with (
        DeepResearch(hooks=pausing, agents=scripted_agents(), store=store) as engine,
        pytest.raises(SetUpError, match="supervisor was Thinking and is none"),
    ):
        engine.resume(parked.research_id, answer="Go on.")


# Hooks that may not fail


class Oops(Exception):
    pass


def fail(*_):
    raise Oops("a bug in a hook")


@pytest.mark.parametrize("name", ["before_phase", "after_phase", "gate", "think_pause", "event"])
def test_what_a_hook_raises_is_raised_by_run_where_hooks_are_strict(name):
    hooks = SupervisorHooks(**{name: fail})
    with DeepResearch(hooks=hooks, agents=scripted_agents(), store="memory") as engine:
        assert engine.run(QUESTION).status == "completed"
    with DeepResearch(hooks=hooks, agents=scripted_agents(), store="memory", strict_hooks=True) as engine:
        with pytest.raises(Oops, match="a bug in a hook"):
            engine.run(QUESTION)
        (row,) = engine.list()
        assert row.status == ("completed" if name == "event" else "aborted")
        handle = engine.start(QUESTION)
        with pytest.raises(Oops):
            handle.result()


@pytest.mark.timed
def test_a_strict_hook_that_answers_wrongly_or_late_raises_as_well():
    async def hang(*_):
        await asyncio.Event().wait()

    for hook, error in ((lambda *_: 3, TypeError), (hang, TimeoutError)):
        orchestrator = SupervisorOrchestrator(
            agents=scripted_agents(),
            hooks=SupervisorHooks(before_phase=hook),
            strict_hooks=True,
            hook_timeout=0.01,
        )
        with pytest.raises(error):
            asyncio.run(orchestrator.run(QUESTION))
