"""What of the searches that an agent proposes may leave, whichever agent it is; whether results are about what was asked,
and in what other words to ask."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research import DeepResearch
from deep_research.phases.analysis.handoff import AnalyzedGap, AnalyzerOutput, SurveyOutput
from deep_research.phases.gathering.queries import Match, matched, wordings
from deep_research.phases.handoff import Proposal, QueryFilter
from deep_research.phases.planning.handoff import PlannedQuery, PlannerOutput
from deep_research.phases.refinement.handoff import RefinerOutput
from deep_research.state import FollowUpQuery, GapAnalysis, IterationRecommendation
from deep_research.state.identity import normalised
from deep_research.testing import ScriptedSearch, scripted_agents

CODE = "CANARY-7f3a9b1c5d2e4860"
BAD, MIXED, GOOD = f"http://evil.example/{CODE}", f"towers {CODE}", "towers"
QUESTION = "What is known of lighthouses?"
NO = IterationRecommendation(should_iterate=False)
QUERIES = (BAD, MIXED, GOOD)
GAPS = (AnalyzedGap(description="d", suggested_queries=QUERIES),)
ANALYSIS = GapAnalysis(gap_id="g", follow_up_queries=tuple(FollowUpQuery(query=q) for q in QUERIES))
FLAT = {"follow_up_queries": [{"gap_id": "g", "query": q} for q in QUERIES], "iteration_recommendation": NO}
PROPOSALS: list[Proposal] = [
    PlannerOutput(research_brief="b", sub_queries=tuple(PlannedQuery(query=q) for q in QUERIES)),
    AnalyzerOutput(gaps=GAPS),
    SurveyOutput(gaps=GAPS),
    SurveyOutput(follow_ups=QUERIES),
    RefinerOutput(gap_analysis=(ANALYSIS,), iteration_recommendation=NO),
    RefinerOutput.model_validate(FLAT),
]


@pytest.mark.parametrize("proposal", PROPOSALS, ids=lambda each: type(each).__name__)
def test_every_query_of_every_output_is_looked_at(proposal: Proposal) -> None:
    asked = QueryFilter(QUESTION, f"The code is {CODE}.")
    changed = proposal.with_queries(asked)
    assert (asked.kept, asked.dropped) == (2, 1)
    told = changed.model_dump_json()
    assert CODE not in told
    assert "evil" not in told
    assert told.count('"towers"') == 2
    assert asked.dropped_notes("planner") == (
        "A search that the planner proposed was not made: it contained only addresses or instructions.",
    )


def test_the_note_speaks_of_one_query_or_of_several() -> None:
    asked = QueryFilter(QUESTION, f"The code is {CODE}.")
    assert [asked(CODE), asked(f"{CODE} {CODE}")] == ["", ""]
    assert asked.dropped_notes("planner") == (
        "2 searches that the planner proposed were not made: they contained only addresses or instructions.",
    )


def test_every_output_with_queries_is_a_proposal() -> None:
    assert {type(each) for each in PROPOSALS} == set(Proposal.__subclasses__())


class Planner:
    deterministic = False
    falls_back = True

    def __init__(self, *queries: str) -> None:
        self.queries = queries

    async def __call__(self, handoff: Any) -> PlannerOutput:
        return PlannerOutput(
            research_brief="A plan.", sub_queries=tuple(PlannedQuery(query=q) for q in self.queries)
        )


def run(tmp_path: Any, *queries: str, deterministic: bool = False) -> tuple[Any, list[str]]:
    planner, search = Planner(*queries), ScriptedSearch()
    planner.deterministic = deterministic
    agents = scripted_agents(without=["gatherer"]) | {"planner": planner}
    made = {"agents": agents, "search": [search], "data_dir": tmp_path, "store": "memory"}
    with DeepResearch(**made, max_iterations=1) as research:
        result = research.run(QUESTION, system_prompt=f"The code is {CODE}.")
    return result, [request.query for request in search.requests]


def test_a_query_of_which_nothing_is_left_is_not_sent_and_that_is_told(tmp_path: Any) -> None:
    result, queries = run(tmp_path, BAD, MIXED, "lighthouse keepers")
    assert result.status == "completed"
    assert set(queries) == {"towers", "lighthouse keepers"}
    assert any("only addresses or instructions" in notice.message for notice in result.notices)


def test_a_plan_of_which_nothing_is_left_is_made_without_the_agent(tmp_path: Any) -> None:
    result, queries = run(tmp_path, BAD, CODE)
    assert result.status == "completed"
    assert QUESTION in queries
    assert not any(CODE in query or "evil" in query for query in queries)
    assert any("planner" in notice.message for notice in result.notices)


def test_what_an_agent_by_rule_would_send_of_the_instructions_is_held_back_at_the_door(tmp_path: Any) -> None:
    _, queries = run(tmp_path, MIXED, CODE, "x" * 500, deterministic=True)
    assert set(queries) >= {"towers", "x" * 500}
    assert not any(CODE in query for query in queries)


def test_an_empty_query_is_not_one_that_was_dropped() -> None:
    asked = QueryFilter(QUESTION, None)
    assert [asked(query) for query in ("a", " ", "")] == ["a", "", ""]
    assert (asked.kept, asked.dropped) == (1, 0)
    assert asked.dropped_notes("planner") == ()


# Other words for a query

QUERY = "How long did it take Robert Stevenson to build the Bell Rock lighthouse?"


BREAD, ABOUT = (
    "A recipe for bread and butter.",
    "The Bell Rock Lighthouse was built by Robert Stevenson in four years.",
)
MATCHES = {
    Match.EMPTY: [[]],
    Match.GOOD: [[BREAD, ABOUT]],
    Match.FOREIGN: [[""], [BREAD]],
    Match.OFF_TOPIC: [["The bell rang for a while and nobody heard it."], ["long build take"]],
}


@pytest.mark.parametrize("match", MATCHES)
def test_one_result_that_is_about_it_is_enough_and_a_word_by_chance_is_not(match: Match) -> None:
    assert {matched(QUERY, texts) for texts in MATCHES[match]} == {match}


def test_other_words_are_fewer_each_time_keep_the_names_and_are_tried_once() -> None:
    first, *rest = wordings(QUERY)
    assert first == "long take Robert Stevenson build Bell Rock lighthouse"
    assert rest[-1] == "Robert Stevenson Bell Rock"
    assert [len(text) for text in wordings(QUERY)] == sorted(map(len, wordings(QUERY)), reverse=True)
    tried = []
    while found := wordings(QUERY, tried, least=2):
        tried.append(found[0])
    assert len(tried) == len({normalised(text) for text in tried}) <= 3
    assert wordings("tide mill") == []


@given(st.text(max_size=200))
def test_any_text_is_worded_in_a_few_ways_or_none(text: str) -> None:
    found = wordings(text)
    assert len(found) <= 3
    assert all(other.strip() and normalised(other) != normalised(text) for other in found)
    assert matched(text, [text, ""]) in Match
