"""What the supervisor's model and hooks want to come next: it is done, or stays a request with the reason; the log says
which."""

import random

import pytest
from prompt_reading import ReadingModel, reading

from deep_research import DeepResearch, RunStatus, SupervisorHooks, Verdict
from deep_research.state import DeepResearchPhase
from deep_research.state.events import (
    DecisionMade,
    IterationStarted,
    PhaseEnded,
    PhaseRetried,
    PhaseStarted,
    RunAborted,
    RunCompleted,
)
from deep_research.testing import scripted_agents

ACTIONS = ("proceed", "retry", "iterate", "complete")
PHASES = tuple(DeepResearchPhase)
QUESTION = "What is said about the tower of the reef?"


class Supervisor(ReadingModel):
    """Wants what ``wanted`` gives for a phase and how often it was asked of it, from 0."""

    def __init__(self, wanted):
        super().__init__()
        self.wanted, self.asked = wanted, {}

    def answer(self, call):
        said = call.messages[-1].content
        phase = said.partition("Phase: ")[2].partition(",")[0]
        times = self.asked[phase] = self.asked.get(phase, -1) + 1
        action, guidance = self.wanted(phase, times)
        answer = reading(said, call.form.json_schema).replace('"proceed"', f'"{action}"')
        return answer.replace("Look at figures first.", guidance)


def researched(tmp_path, wanted, *, hooks=None, seconds=0.0, agents=None, **options):
    model = Supervisor(wanted)
    model.seconds = seconds
    parts = {"models": {"supervisor": [model]}, "agents": agents or scripted_agents(iterations=2)}
    more = {"hooks": hooks, "data_dir": tmp_path, "store": "memory", "reflection": "always"}
    with DeepResearch(**parts, **more) as research:
        result = research.run(QUESTION, **options)
        return result, research.events(result.research_id)


TAKEN = {PhaseRetried: "retry", IterationStarted: "iterate", RunCompleted: "complete", RunAborted: "abort"}


def moves(events):
    """For each phase that ended: the phase, its decisions, and the action that was taken."""
    found = []
    for event in events:
        if isinstance(event, PhaseEnded):
            found.append([event.phase, [], None])
        elif not found or found[-1][2] is not None:
            continue
        elif isinstance(event, DecisionMade):
            found[-1][1].append(event)
        elif isinstance(event, PhaseStarted):
            found[-1][2] = "iterate" if event.phase is DeepResearchPhase.REFINEMENT else "proceed"
        else:
            found[-1][2] = TAKEN.get(type(event))
    return found


def holds(events):
    """Whether what the log calls decisions is what was done, and what it calls requests has a reason."""
    for _, decisions, taken in moves(events):
        for made in decisions:
            if made.refused is None:
                assert made.action.value == taken, made
            else:
                assert made.refused.endswith(".")
    return True


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("action", ACTIONS)
def test_what_the_supervisors_model_wants_is_done_or_refused_with_the_reason(tmp_path, phase, action):
    def wanted(at, times):
        return (action if at == phase and not times else "proceed"), f"Look at the ledger of {at}."

    result, events = researched(tmp_path, wanted)
    assert result.status is RunStatus.COMPLETED
    assert holds(events)
    at, decisions, taken = next(one for one in moves(events) if one[0] is phase)
    (thought,) = [made for made in decisions if made.decision.action == "reflect"]
    assert thought.decision.outputs["action"] == action
    can = action in ("proceed", "retry") or at in ("synthesis", "refinement")
    assert (thought.refused is None) is can
    if can and action != "proceed":
        assert taken == action


def test_its_retries_are_bounded_and_then_refused(tmp_path):
    words = {"wanted": lambda at, times: ("retry", f"Word {times}.")}
    result, events = researched(tmp_path, **words, max_supervisor_retries=2)
    assert result.status is RunStatus.COMPLETED
    assert holds(events)
    planning = [decisions for at, decisions, _ in moves(events) if at == "planning"]
    assert [bool(d[0].refused) for d in planning] == [False, False, True]


def test_a_deterministic_agent_is_not_asked_the_same_again(tmp_path):
    agents = scripted_agents(deterministic=True)
    _, events = researched(tmp_path, lambda at, times: ("retry", ""), agents=agents)
    thoughts = [d for at, decisions, _ in moves(events) for d in decisions if at == "planning"]
    assert [t.refused for t in thoughts] == [
        "A retry would give the same result: the agent's input has not changed."
    ]


def test_a_hooks_word_counts_more(tmp_path):
    hooks = SupervisorHooks(gate=lambda state, phase, validation: Verdict(action="proceed"))
    _, events = researched(tmp_path, lambda at, times: ("retry", "Again."), hooks=hooks)
    assert not [e for e in events if isinstance(e, PhaseRetried)]
    assert {d.refused for _, made, _ in moves(events) for d in made if d.decision.action == "reflect"} == {
        "A hook decided otherwise."
    }


def test_advice_is_waited_for_and_reaches_the_next_phase(tmp_path):
    agents = scripted_agents()
    researched(tmp_path, lambda at, times: ("proceed", f"After {at}."), agents=agents)
    (analysed,) = agents["analyzer"].handoffs
    assert "After gathering." in analysed.steering
    assert "After planning." in analysed.steering
    (told,) = agents["synthesizer"].handoffs
    assert "After analysis." in told.steering
    assert "After gathering." not in told.steering


def test_how_long_the_model_takes_changes_nothing(tmp_path):
    reports = set()
    for seconds in (0.0, 0.05, 0.3):
        wanted = {"wanted": lambda at, times: ("proceed", f"After {at}.")}
        reports.add(researched(tmp_path / str(seconds), **wanted, seconds=seconds)[0].report)
    assert len(reports) == 1


def random_run(tmp_path, seed):
    chance = random.Random(seed)

    def wanted(at, times):
        return chance.choice(ACTIONS), chance.choice(("", f"Word {chance.random()}."))

    def overrule(state, *_):
        if chance.random() < 0.2:
            actions = (*ACTIONS, "abort") if chance.random() < 0.1 else ACTIONS
            phase = chance.choice((None, None, "planning"))
            return Verdict(action=chance.choice(actions), phase=phase, rationale="A whim.")
        return None

    roles = ("planner", "gatherer", "analyzer", "synthesizer")
    agents = scripted_agents(
        iterations=chance.randint(1, 3),
        retries={chance.choice(roles): chance.randint(0, 2)},
        deterministic=chance.random() < 0.3,
        improvements=("Say it shorter.",) if chance.random() < 0.3 else (),
    )
    hooks = SupervisorHooks(gate=overrule, decide_iteration=overrule)
    return researched(tmp_path, wanted, hooks=hooks, agents=agents, max_iterations=chance.randint(1, 3))


@pytest.mark.parametrize(
    "block", [0, *(pytest.param(block, marks=pytest.mark.sweep) for block in range(1, 20))]
)
def test_the_decisions_of_a_log_are_the_transitions_that_were_taken(tmp_path, block):
    taken = set()
    for seed in range(block * 25, block * 25 + 25):
        result, events = random_run(tmp_path / str(seed), seed)
        assert result.status.is_final
        assert holds(events)
        taken |= {move for _, _, move in moves(events)}
    assert taken >= {"proceed", "retry", "iterate", "complete"}
