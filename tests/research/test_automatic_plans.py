"""``max_sub_queries="auto"``: the planner decides how many sub-queries a question needs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from deep_research import DeepResearch
from deep_research.errors import SettingsError
from deep_research.phases.planning import ExtractivePlanner, PlannerInput
from deep_research.phases.planning.llm import LLMPlanner
from deep_research.settings import load_settings, setting_from_text
from deep_research.state import DeepResearchPhase, DeepResearchState, RunOptions, SubQuery
from deep_research.state.run import MAX_SUB_QUERIES
from deep_research.supervisor.decisions import follow_ups
from deep_research.testing import ScriptedSearch, scripted_agents
from deep_research.testing.doubles import codeword
from deep_research.testing.models import ScriptedModel

QUESTION = "What is known of towers?"
CORPUS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"


def asking(count: int) -> str:
    """A question of so many parts."""
    return f"{', and '.join(f'who built {codeword(str(n))} Tower' for n in range(count))}?"


def planned(question: str, **more: object) -> tuple[str, ...]:
    handoff = PlannerInput(
        research_id="deepres-000000000000",
        iteration=1,
        original_query=question,
        current_phase=DeepResearchPhase.PLANNING,
        max_sub_queries=MAX_SUB_QUERIES,
        decides=True,
        **more,
    )
    return tuple(each.query for each in asyncio.run(ExtractivePlanner()(handoff)).sub_queries)


@pytest.mark.parametrize(
    ("question", "count"),
    [
        ("How tall is the tower of Mole?", 2),  # the question, and its key words
        ("Who built the Bell Rock, and how tall is it?", 3),  # the question, and each part
        ("lamps", 5),  # the subject, and its sides
        ("Compare the towers of Mole, Hare and Stoat.", 4),  # the question, and each name
        (asking(8), 9),
        (asking(30), MAX_SUB_QUERIES),
    ],
)
def test_without_a_model_the_question_tells_how_many(question: str, count: int) -> None:
    queries = planned(question)
    assert len(queries) == len(set(queries)) == count


def test_a_model_is_told_that_the_number_is_its_own() -> None:
    model = ScriptedModel(
        [{"research_brief": "b", "sub_queries": [{"query": f"tower number {n}"} for n in range(30)]}]
    )
    handoff = PlannerInput(
        research_id="r",
        iteration=1,
        original_query=QUESTION,
        current_phase=DeepResearchPhase.PLANNING,
        max_sub_queries=MAX_SUB_QUERIES,
        decides=True,
    )
    output = asyncio.run(LLMPlanner()(handoff, model))
    assert len(output.sub_queries) == MAX_SUB_QUERIES
    ((call, _),) = model.calls
    assert "is yours to decide" in call.messages[0].content
    assert "at most 20" in call.messages[0].content


def test_a_run_searches_as_many_as_were_planned() -> None:
    with DeepResearch(
        agents=scripted_agents(without=["gatherer"], sub_queries=9),
        search=[ScriptedSearch()],
        store="memory",
        max_sub_queries="auto",
    ) as research:
        assert len(research.run(QUESTION).state.sub_queries) == 9
        assert len(research.run(QUESTION, max_sub_queries=3).state.sub_queries) == 3
        assert len(research.run(QUESTION, depth="quick").state.sub_queries) == 1


def test_a_later_round_has_no_more_than_the_plan_had() -> None:
    with DeepResearch(
        agents=scripted_agents(without=["gatherer"], sub_queries=3, iterations=2, follow_ups=9),
        search=[ScriptedSearch()],
        store="memory",
    ) as research:
        state = research.run(QUESTION, max_sub_queries="auto").state
    assert [s.iteration for s in state.sub_queries] == [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(("plan", "most"), [(0, 2), (1, 2), (7, 7), (20, 20)])
def test_follow_ups_are_as_many_as_the_plan_and_never_none(plan: int, most: int) -> None:
    queries = tuple(SubQuery(id=f"s{n}", query=f"q{n}", index=n) for n in range(plan))
    options = RunOptions(max_sub_queries="auto")
    state = DeepResearchState(query=QUESTION, options=options, sub_queries=queries)
    assert (state.max_sub_queries, state.max_follow_ups, follow_ups(state)) == (MAX_SUB_QUERIES, most, ())


def test_the_estimate_foresees_the_plan_that_no_model_makes() -> None:
    with DeepResearch(corpus=CORPUS, store="memory", max_iterations=1) as research:
        question = "Who built Bell Rock, and how tall is it?"
        many = len(research.run(question, max_sub_queries="auto").state.sub_queries)
        assert research.estimate(question, max_sub_queries="auto").searches.high == many
        assert research.estimate(question, max_sub_queries=20).searches.high == 20


def test_the_estimate_of_another_planner_is_of_the_most_there_may_be() -> None:
    with DeepResearch(
        agents=scripted_agents(without=["gatherer"]),
        search=[ScriptedSearch()],
        store="memory",
        max_iterations=1,
    ) as research:
        assert research.estimate(QUESTION, max_sub_queries="auto").searches.high >= MAX_SUB_QUERIES


@pytest.mark.parametrize("value", ["automatic", "Auto", "", "5.5", 1, 21, 5.0, None, True])
def test_only_a_number_in_bounds_or_auto_is_taken(value: object) -> None:
    given = "none" if value is None else value
    with pytest.raises(SettingsError, match=r"max_sub_queries must be .*between 2 and 20 or 'auto', got"):
        load_settings(overrides={"max_sub_queries": given}, environ={})


def test_auto_is_read_from_every_place(tmp_path: Path) -> None:
    assert setting_from_text("max_sub_queries", "auto") == ("max_sub_queries", "auto")
    (tmp_path / "own.toml").write_text('[research]\nmax_sub_queries = "auto"\n')
    for settings in (
        load_settings(overrides={"max_sub_queries": "auto"}, environ={}),
        load_settings(overrides={}, environ={"DEEP_RESEARCH_MAX_SUB_QUERIES": "auto"}),
        load_settings(overrides={}, config=tmp_path / "own.toml", environ={}),
    ):
        assert settings.settings.run_options().max_sub_queries == "auto"
        assert settings.settings.run_options(max_sub_queries=4).max_sub_queries == 4
