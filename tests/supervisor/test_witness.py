"""Wherever a hook may speak, what it says arrives: in the prompts of the agents that work after it, and without a model
in what is searched, found or told."""

import json
from functools import cache
from pathlib import Path

import pytest
from prompt_reading import ReadingModel

from deep_research import DeepResearch, ResearchResult, SupervisorAction, SupervisorHooks, Verdict
from deep_research.state import DeepResearchPhase
from deep_research.state.events import PhaseStarted
from deep_research.testing import ScriptedSearch

CORPUS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"
P = DeepResearchPhase
PLACES = [
    *((hook, phase) for hook in ("before_phase", "after_phase", "think_pause", "gate") for phase in P),
    ("decide_iteration", P.SYNTHESIS),
    ("decide_iteration", P.REFINEMENT),
]
MARKER = "Think also of the Quagga Bank"
# Which prompts follow: by how a prompt of an agent begins.
AGENTS = {
    P.PLANNING: "You plan research",
    P.ANALYSIS: "You read sources",
    P.SYNTHESIS: "You write the report",
    P.REFINEMENT: "You judge what is missing",
}


def speaking(hook: str, phase: DeepResearchPhase, said: str) -> SupervisorHooks:
    """Says it at one place, in the first iteration alone."""

    def verdict(state, *_):
        if state.phase is phase and state.iteration == 1:
            return Verdict(action=_as_it_is(state, phase), guidance=said)
        return None

    def advice(state, *_):
        return said if state.phase is phase and state.iteration == 1 else None

    return SupervisorHooks(**{hook: verdict if hook in ("gate", "decide_iteration") else advice})


def _as_it_is(state, phase):
    """What would come next anyway."""
    wanted = phase in (P.SYNTHESIS, P.REFINEMENT) and state.has_unresolved_gaps()
    return SupervisorAction.ITERATE if wanted else SupervisorAction.PROCEED


class Lacking(ReadingModel):
    """Sees a gap in the first iteration, so that all five phases are walked."""

    def answer(self, call):
        text = super().answer(call)
        if call.system.startswith("You read sources"):
            read = json.loads(text)
            if not any(c.system.startswith("You judge what is missing") for c in self.calls):
                read["gaps"] = [{"description": "Its cost is not told.", "suggested_queries": ["tower cost"]}]
            return json.dumps(read)
        return text


def reached(phase: DeepResearchPhase, hook: str) -> set[DeepResearchPhase]:
    """The phases whose agents what is said there is for, of one iteration."""
    order = list(P)
    if hook == "before_phase":
        return {phase}
    if phase is P.REFINEMENT:
        return set(order[1:])
    following = order[order.index(phase) + 1 :]
    return set(following if phase is P.PLANNING else following[:1])


@pytest.mark.parametrize(("hook", "phase"), PLACES, ids=str)
def test_with_a_model_what_is_said_is_in_the_prompts_that_follow(tmp_path, hook, phase):
    model = Lacking()
    hooks, more = speaking(hook, phase, f"{MARKER}."), {"data_dir": tmp_path, "store": "memory"}
    with DeepResearch(
        model=[model], search=[ScriptedSearch()], hooks=hooks, max_iterations=2, **more
    ) as research:
        result = research.run("What is said about the tower of the reef?")
        events = research.events(result.research_id)
    assert result.status == "completed"
    walked = {event.phase for event in events if isinstance(event, PhaseStarted) and event.iteration == 2}
    told = {p for p, start in AGENTS.items() if any(MARKER in s for s in prompts(model, start))}
    wanted = reached(phase, hook) & (walked if phase is P.REFINEMENT and hook != "before_phase" else set(P))
    assert wanted & AGENTS.keys() <= told
    if P.GATHERING in wanted:
        added = [s for s in result.state.sub_queries if s.origin]
        assert [s.origin for s in added] == ["hook"]
        assert "Quagga Bank" in added[0].query


def prompts(model: ReadingModel, start: str) -> list[str]:
    return [call.messages[-1].content for call in model.calls if call.system.startswith(start)]


# The corpus tells of no salary: that is a gap, and leads to further searches.
QUESTION = "Which engineer built Skerryvore and what is his salary?"
STEER = "Look at the Tower of Hercules and its inscription as well"


def outcome(result: ResearchResult) -> tuple[object, ...]:
    queries = tuple(query.query for query in result.state.sub_queries)
    return queries, tuple(finding.id for finding in result.findings), result.report


@cache
def told(hook: str, phase: DeepResearchPhase | None, said: str, home: Path) -> ResearchResult:
    hooks = speaking(hook, phase, said) if phase else None
    with DeepResearch(corpus=CORPUS, hooks=hooks, store="memory", data_dir=home) as research:
        return research.run(QUESTION)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.mark.parametrize("places", [PLACES[::5], pytest.param(PLACES, marks=pytest.mark.sweep)])
def test_without_a_model_a_steer_changes_what_is_searched_found_or_told(home, places):
    without = told("", None, "", home)
    assert without.iterations > 1
    idle = [place for place in places if outcome(told(*place, STEER, home)) == outcome(without)]
    assert len(idle) <= 2 * len(places) // len(PLACES), idle


SWEPT = [pytest.param(*place, marks=[pytest.mark.sweep] * bool(n % 5)) for n, place in enumerate(PLACES)]


@pytest.mark.parametrize(("hook", "phase"), SWEPT)
def test_without_a_model_what_cannot_be_followed_is_told_once(home, hook, phase):
    result = told(hook, phase, "Write in Esperanto, for toddlers", home)
    lines = [notice.message for notice in result.notices if notice.name == "guidance"]
    assert lines == ["Not found, or cannot be followed: “Write in Esperanto, for toddlers”."]
