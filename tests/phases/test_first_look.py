"""A plan for the web is made with what one search shows: made once, counted, and never in place of a planned search."""

import pytest
from orm_light import state

from deep_research.errors import SearchError
from deep_research.phases.gathering.gatherer import GLANCED_AT, SearchGatherer
from deep_research.phases.planning import PlanningPhase
from deep_research.phases.planning.extractive_planner import ExtractivePlanner
from deep_research.phases.planning.llm import LLMPlanner
from deep_research.sources.search.base import SearchProvider, SearchResult
from deep_research.state import Budget, DeepResearchPhase, FirstLook, RunOptions
from deep_research.testing.models import ScriptedProvider

PLAN = {"research_brief": "b", "sub_queries": [{"query": "q"}, {"query": "r"}]}
OF_CORPUS = FirstLook(passages=31, titles=("The Orm Light",))


class Web(SearchProvider):
    """Finds ten pages, or fails."""

    name = "web"

    def __init__(self, fails=False):
        self.asked = []
        self._fails = fails

    async def search(self, request):
        self.asked.append(request)
        if self._fails:
            raise SearchError("The service is gone.")
        return [
            SearchResult(address=f"https://ok.example/{n}", title=f"Page {n}", snippet=f"Snippet {n}")
            for n in range(10)
        ]


async def of_corpus(question):
    return OF_CORPUS


def planned(work, web, *, look=None, planner=None, **more):
    seen = []

    def answer(call):
        seen.append(call.messages[-1].content)
        return PLAN

    phase = PlanningPhase(planner or LLMPlanner(), glance=SearchGatherer([web]).glance, look=look)
    at = state(phase=DeepResearchPhase.PLANNING, sub_queries=(), **more)
    journal = work(phase, at, ScriptedProvider(answer))
    return journal.state, seen


def test_a_planner_with_a_model_sees_titles_and_snippets_of_one_search_which_counts(work):
    web = Web()
    after, (said,) = planned(work, web, options=RunOptions(domains=("ok.example",)))
    assert "- Page 0: Snippet 0\n- Page 1: Snippet 1" in said
    assert f"Page {GLANCED_AT}" not in said
    assert [request.query for request in web.asked] == [after.query]
    assert web.asked[0].filters.domains == ("ok.example",)
    assert after.usage.searches == 1
    assert len(after.first_look.snippets) == GLANCED_AT


def test_beside_what_a_corpus_says(work):
    after, (said,) = planned(work, Web(), look=of_corpus)
    assert "Passages searched: 31." in said
    assert "Titles that fit best: The Orm Light." in said
    assert "- Page 0: Snippet 0" in said
    assert len(after.first_look.titles) == len(after.first_look.snippets)


def test_a_second_plan_is_made_with_the_first_look(work):
    web = Web()
    after, _ = planned(work, web)
    again = after.model_copy(update={"phase_done": False})
    fields = {"first_look": again.first_look, "usage": again.usage}
    later, (said,) = planned(work, web, **fields)
    assert "- Page 0: Snippet 0" in said
    assert len(web.asked) == 1
    assert later.usage.searches == 1


LEFT_OUT = {
    "a cap that has room for the plan alone": ({"options": RunOptions(budget=Budget(max_searches=5))}, None),
    "a planner without a model": ({}, ExtractivePlanner()),
}


@pytest.mark.parametrize(("more", "planner"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_nothing_is_searched_before_the_plan_with(work, more, planner):
    web = Web()
    after, _ = planned(work, web, planner=planner, **more)
    assert not web.asked
    assert after.usage.searches == 0
    assert after.current_sub_queries()


def test_where_the_search_fails_the_plan_is_made_without(work):
    after, (said,) = planned(work, Web(fails=True), look=of_corpus)
    assert "one search of the web" not in said
    assert after.first_look == OF_CORPUS
