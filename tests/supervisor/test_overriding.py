"""Six methods of the supervisor may be overridden, and what they return is done: alone, and in an engine."""

import asyncio
from functools import partial

import pytest
from machines import raising

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


def changed(decision, rationale="", **outputs):
    """A decision with something else in its outputs."""
    words = {"rationale": rationale} if rationale else {}
    return decision.model_copy(update={"outputs": decision.outputs | outputs, **words})


class Dispatching(SupervisorOrchestrator):
    """Plans without the planner that was handed over, and wants shorter plans."""

    def dispatch_to_agent(self, state, phase):
        decision = super().dispatch_to_agent(state, phase)
        if phase == "planning":
            inputs = decision.inputs | {"max_sub_queries": 2}
            return decision.model_copy(update={"inputs": inputs, "rationale": "Two are enough."})
        return decision.model_copy(update={"agent": "extractive"}) if phase == "synthesis" else decision


class Evaluating(SupervisorOrchestrator):
    """Is never content with the first plan."""

    def evaluate_phase_completion(self, state, phase):
        decision = super().evaluate_phase_completion(state, phase)
        is_first = phase == "planning" and not state.attempt
        return changed(decision, "Plan it once more.", quality_ok=False) if is_first else decision


class Prompting(SupervisorOrchestrator):
    def get_reflection_prompt(self, state, phase):
        return f"Is {phase} fair?"


class Thinking(SupervisorOrchestrator):
    async def think_pause(self, state, prompt):
        return "Look at the lamp." if state.phase == "planning" else None


class Deciding(SupervisorOrchestrator):
    """Ends the research however many gaps are open."""

    def decide_iteration(self, state):
        return changed(super().decide_iteration(state), "Enough.", should_iterate=False)


class Recording(SupervisorOrchestrator):
    """Adds a word of its own to the start of each phase."""

    async def record_to_state(self, journal, *events):
        begun = (event for event in events if isinstance(event, PhaseStarted))
        words = {"text": "Be brief.", "origin": "supervisor"}
        told = [Guidance(phase=each.phase, iteration=each.iteration, **words) for each in begun]
        await super().record_to_state(journal, *events, *(GuidanceGiven(guidance=each) for each in told))


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


OVERRIDES = [
    (Dispatching, {}, dispatched_otherwise),
    (Evaluating, {}, planned_twice),
    (Prompting, {"hooks": SupervisorHooks(think_pause=lambda state, prompt: prompt)}, asked_otherwise),
    (Thinking, {}, advised),
    (Deciding, {}, ended_early),
    (Recording, {}, told_more),
]


@pytest.mark.parametrize("run", [alone, in_an_engine])
@pytest.mark.parametrize(("supervisor", "parts", "shows"), OVERRIDES)
def test_a_method_that_is_overridden_changes_the_walk(run, supervisor, parts, shows):
    agents = scripted_agents(iterations=2)
    state = run(supervisor, agents, **parts)
    assert state.status == "completed", state.abort
    shows(state, agents)
    agents = scripted_agents(iterations=2)
    state = run(SupervisorOrchestrator, agents, **parts)
    with pytest.raises(AssertionError):  # without it the walk is another one
        shows(state, agents)


def test_the_options_of_a_dispatch_hold_when_the_phase_is_done_again():
    class Both(Dispatching, Evaluating):
        """Wants shorter plans, and two of them."""

    agents = scripted_agents()
    assert alone(Both, agents).status == "completed"
    assert [h.max_sub_queries for h in agents["planner"].handoffs] == [2, 2]


class Never(SupervisorOrchestrator):
    def evaluate_phase_completion(self, state, phase):
        decision = super().evaluate_phase_completion(state, phase)
        return changed(decision, "Too thin.", quality_ok=phase != "gathering")


class Curt(SupervisorOrchestrator):
    def evaluate_phase_completion(self, state, phase):
        return changed(super().evaluate_phase_completion(state, phase), quality_ok=False)


class Always(SupervisorOrchestrator):
    def decide_iteration(self, state):
        return changed(super().decide_iteration(state), should_iterate=True)


class Boundless(SupervisorOrchestrator):
    def dispatch_to_agent(self, state, phase):
        decision = super().dispatch_to_agent(state, phase)
        return decision.model_copy(update={"inputs": decision.inputs | {"max_sub_queries": 4_000}})


class Halfhearted(SupervisorOrchestrator):
    async def record_to_state(self, journal, *events):
        begun = [event for event in events if event.name != "phase.started" or not journal.state.decisions]
        await super().record_to_state(journal, *begun)


async def forget(self, journal, *events):
    """Nothing is recorded."""


def overriding(name, method):
    return type("Overriding", (SupervisorOrchestrator,), {name: method})


Wordless = overriding("dispatch_to_agent", lambda self, state, phase: None)
Forgetful = overriding("record_to_state", forget)
Stopping = overriding("dispatch_to_agent", raising(StopResearch("not today")))
Failing = overriding("dispatch_to_agent", raising(ValueError("no such thing")))


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


async def test_a_parked_run_is_gone_on_with_once_its_journal_has_the_answer():
    hooks = SupervisorHooks(think_pause=lambda state, prompt: Park("a word"))
    made = partial(SupervisorOrchestrator, agents=scripted_agents(), hooks=hooks)
    parked = MemoryJournal(DeepResearchState(query=QUESTION))
    first, again = await made().run(parked), await made().run(parked)
    assert first.status == again.status == "parked"
    await parked.record(RunResumed(pause_id=first.parking.pause_id, answer="The lamp."))
    last = await made().run(parked)
    assert last.phase == "gathering"
    assert "The lamp." in [guidance.text for guidance in last.guidance]


async def test_options_go_with_a_question_alone():
    orchestrator, pending = (
        SupervisorOrchestrator(agents=scripted_agents()),
        DeepResearchState(query=QUESTION),
    )
    with pytest.raises(UsageError, match="keeps the options"):
        await orchestrator.run(pending, options=RunOptions())


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
    with pytest.raises(ConfigurationError, match="upervisor"):
        in_an_engine(wrong, scripted_agents())


def test_a_resumed_run_wants_the_supervisor_that_it_had():
    hooks = SupervisorHooks(before_phase=lambda s, p: Park("a word"))
    more = {"hooks": hooks, "agents": scripted_agents(), "store": MemoryStore()}
    with DeepResearch(supervisor=Thinking, **more) as engine:
        parked = engine.run(QUESTION)
    with (
        DeepResearch(**more) as engine,
        pytest.raises(SetUpError, match="supervisor was Thinking and is none"),
    ):
        engine.resume(parked.research_id, answer="Go on.")


# Hooks that may not fail


class Oops(Exception):
    pass


@pytest.mark.parametrize("name", ["before_phase", "after_phase", "gate", "think_pause", "event"])
def test_what_a_hook_raises_is_raised_by_run_where_hooks_are_strict(name):
    hooks = SupervisorHooks(**{name: raising(Oops("a bug in a hook"))})
    assert in_an_engine(None, scripted_agents(), hooks=hooks).status == "completed"
    with DeepResearch(hooks=hooks, agents=scripted_agents(), store="memory", strict_hooks=True) as engine:
        with pytest.raises(Oops, match="a bug in a hook"):
            engine.run(QUESTION)
        (row,) = engine.list()
        assert row.status == ("completed" if name == "event" else "aborted")
        handle = engine.start(QUESTION)
        with pytest.raises(Oops):
            handle.result()


@pytest.mark.timed
async def test_a_strict_hook_that_answers_wrongly_or_late_raises_as_well():
    async def hang(*_):
        await asyncio.Event().wait()

    for hook, error in ((lambda *_: 3, TypeError), (hang, TimeoutError)):
        hooks = SupervisorHooks(before_phase=hook)
        strict = {"hooks": hooks, "strict_hooks": True, "hook_timeout": 0.01}
        with pytest.raises(error):
            await SupervisorOrchestrator(agents=scripted_agents(), **strict).run(QUESTION)
