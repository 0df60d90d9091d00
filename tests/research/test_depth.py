"""How thoroughly a question is researched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_reading import ReadingModel

from deep_research import DeepResearch, RunStatus, SearchResult
from deep_research.models.base import ModelCall
from deep_research.state import Depth
from deep_research.state.events import DepthChanged, RunAdmitted
from deep_research.store import MemoryStore
from deep_research.testing import ScriptedSearch, scripted_agents

pytestmark = pytest.mark.timed

CORPUS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"
TALL = "How tall is the Cape Hatteras lighthouse?"
PARTS = "Who designed the Bell Rock lighthouse, what did it cost, and when was it lit?"


@pytest.fixture(scope="module")
def research(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeepResearch]:
    with DeepResearch(corpus=CORPUS, data_dir=tmp_path_factory.mktemp("home"), local_only=True) as made:
        yield made


def scripted(**more: Any) -> DeepResearch:
    agents = scripted_agents(without=["gatherer"])
    return DeepResearch(search=[ScriptedSearch()], agents=agents, store=MemoryStore(), **more)


def admission(research: DeepResearch, run_id: str) -> Any:
    (found,) = (e.admission for e in research.events(run_id) if isinstance(e, RunAdmitted))
    return found


def test_a_quick_run_searches_once_and_answers_shortly(research: DeepResearch) -> None:
    quick, standard = (research.run(TALL, depth=depth) for depth in ("quick", "standard"))
    assert quick.status is RunStatus.COMPLETED
    assert quick.usage.searches == 1 < standard.usage.searches
    assert [query.query for query in quick.state.sub_queries] == [TALL]
    assert quick.iterations == 1
    assert "198.49 feet" in str(quick.answer)
    assert quick.claims
    assert quick.report_metadata is not None
    assert quick.report_metadata.word_count < 300
    found = admission(research, quick.research_id)
    assert (found.depth, found.depth_reason) == (Depth.QUICK, "It was asked for.")


def test_a_quick_run_asks_no_planner_and_no_critic() -> None:
    asked: list[str] = []

    async def note(handoff: Any) -> None:
        asked.append(str(handoff.current_phase))

    agents = scripted_agents(without=["gatherer"], before=note)
    with DeepResearch(search=[ScriptedSearch()], agents=agents, store="memory") as engine:
        assert engine.run("What is known of towers?", depth="quick").status is RunStatus.COMPLETED
    assert asked == ["analysis", "synthesis"]


@pytest.mark.parametrize(
    ("question", "depth", "reason"),
    [
        (TALL, Depth.QUICK, "short"),
        (PARTS, Depth.STANDARD, "parts"),
        ("Give an overview of lighthouse lamps", Depth.STANDARD, "overview"),
        (" ".join(["Why is the tower"] + ["so very"] * 20 + ["tall?"]), Depth.STANDARD, "long"),
    ],
    ids=["one thing", "parts", "overview", "long"],
)
def test_the_rule_chooses_a_depth_and_says_why(
    research: DeepResearch, question: str, depth: Depth, reason: str
) -> None:
    run = research.run(question, depth="auto")
    found = admission(research, run.research_id)
    assert found.depth is depth
    assert reason in found.depth_reason


def test_a_run_whose_depth_nobody_chose_goes_up_once_where_one_search_finds_nothing() -> None:
    empty = ScriptedSearch(lambda request: [])
    with DeepResearch(search=[empty], agents=scripted_agents(without=["gatherer"]), store="memory") as engine:
        auto = engine.run("What is known of towers?", depth="auto")
        raised = [e for e in engine.events(auto.research_id) if isinstance(e, DepthChanged)]
        assert len(raised) <= 1
        assert auto.status is RunStatus.ABORTED
        quick = engine.run("What is known of towers?", depth="quick")
        assert not [e for e in engine.events(quick.research_id) if isinstance(e, DepthChanged)]
        assert quick.usage.searches <= auto.usage.searches


def test_a_question_without_an_answer_is_planned_anew(research: DeepResearch) -> None:
    auto = research.run("What is the melting point of tungsten carbide?", depth="auto")
    names = [event.name for event in research.events(auto.research_id)]
    assert names.count("depth.changed") == 1
    assert names.count("plan.made") == 2
    assert auto.state.depth is Depth.STANDARD
    again = research.run("What is the melting point of tungsten carbide?", depth="standard")
    assert (auto.status, auto.reason) == (again.status, again.reason)


class PlanningModel(ReadingModel):
    """Says of each plan for which it is asked whether one search will do."""

    def __init__(self, *, is_quick: bool) -> None:
        super().__init__()
        self.is_quick = is_quick
        self.plans: list[bool] = []  # whether it was asked that

    def answer(self, call: ModelCall) -> str:
        answer = super().answer(call)
        if not call.system.startswith("You plan research"):
            return answer
        assert call.form is not None
        self.plans.append("is_quick" in call.form.json_schema["properties"])
        return json.dumps({**json.loads(answer), **({"is_quick": self.is_quick} if self.plans[-1] else {})})


@pytest.mark.parametrize("is_quick", [True, False])
def test_a_planner_with_a_model_says_whether_one_search_will_do(tmp_path: Path, is_quick: bool) -> None:
    model = PlanningModel(is_quick=is_quick)
    with DeepResearch(corpus=CORPUS, data_dir=tmp_path, model=[model], local_only=True) as engine:
        auto = engine.run(TALL, depth="auto")
        changed = [e for e in engine.events(auto.research_id) if isinstance(e, DepthChanged)]
        assert admission(engine, auto.research_id).depth is Depth.STANDARD
        standard = engine.run(TALL, depth="standard")
    assert model.plans == [True, False]
    assert auto.state.depth is (Depth.QUICK if is_quick else Depth.STANDARD)
    assert [event.depth for event in changed] == [Depth.QUICK] * is_quick
    assert (auto.usage.searches == 1) is is_quick
    assert standard.usage.searches > 1


def test_a_planner_that_finds_one_search_enough_is_asked_anew_once_where_that_finds_nothing() -> None:
    model = PlanningModel(is_quick=True)
    empty = ScriptedSearch(lambda request: [])
    with DeepResearch(search=[empty], model=[model], store="memory") as engine:
        run = engine.run("What is known of towers?", depth="auto")
        assert run.state.depth is Depth.QUICK  # no source at all ends a run as ever
        found = ScriptedSearch(
            lambda request: [SearchResult(address="https://a.example", title="A", text="Nothing.")]
        )
    with DeepResearch(search=[found], model=[model], store="memory") as engine:
        run = engine.run("What is known of towers?", depth="auto")
        depths = [e.depth for e in engine.events(run.research_id) if isinstance(e, DepthChanged)]
        assert depths == [Depth.QUICK, Depth.STANDARD]
    assert model.plans[-2:] == [True, False]


def test_a_deep_run_takes_the_values_of_its_preset_where_nobody_named_others() -> None:
    with scripted(max_sub_queries=4) as engine:
        options = engine.run("What is known of towers?", depth="deep", report_words=700).state.options
        assert (options.max_iterations, options.max_sub_queries, options.report_words) == (5, 4, 700)


def test_a_killed_quick_run_stays_quick() -> None:
    store = MemoryStore()
    agents = scripted_agents(without=["gatherer"])
    with DeepResearch(search=[ScriptedSearch()], agents=agents, store=store) as engine:
        run_id = engine.submit("What is known of towers?", depth="quick")
    with DeepResearch(search=[ScriptedSearch()], agents=agents, store=store) as engine:
        engine.work(once=True)
        result = engine.result(run_id)
        assert (result.status, result.usage.searches) == (RunStatus.COMPLETED, 1)
