"""Plans: what the planner without a model searches, the parts that any plan carries, and the one search that a planner
with a model sees before."""

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from orm_light import state
from phases.builders import Found, Model, handoff

from deep_research.errors import SearchError
from deep_research.phases.gathering.gatherer import GLANCED_AT, SearchGatherer
from deep_research.phases.planning import (
    ExtractivePlanner,
    PlannedQuery,
    PlannerInput,
    PlannerOutput,
    PlanningPhase,
)
from deep_research.phases.planning.handoff import PlannedPart
from deep_research.phases.planning.llm import LLMPlanner
from deep_research.retrieval.parsed_question import parse_question
from deep_research.sources.search.base import SearchResult
from deep_research.state import (
    AnswerCoverage,
    AnswerStatus,
    Budget,
    DeepResearchPhase,
    DeepResearchState,
    FirstLook,
    Mention,
    PartVerdict,
    QuestionPart,
    RunOptions,
)
from deep_research.state.journal import MemoryJournal


def planned(question, most=5, look=None):
    handed = handoff(PlannerInput, original_query=question, max_sub_queries=most, first_look=look)
    return asyncio.run(ExtractivePlanner()(handed))


def queries(question, most=5, look=None):
    return [p.query for p in planned(question, most, look).sub_queries]


# What is searched behind the whole question, and what the brief says of it.
SEARCHED = {
    # its parts
    "Who built the Bell Rock, and how tall is it?": (
        ["Who built the Bell Rock", "how tall is it Bell Rock"], "2 parts"),
    # each of its names with what is asked of it
    "Compare the towers of Mole, Hare and Stoat.": (
        ["Hare Compare towers", "Mole Compare towers", "Stoat Compare towers"], "Searched by name: Hare Compare towers"),
    # the same words in another order are not searched twice, unless nothing else would be
    "How tall is the tower of Mole?": (["tall tower Mole"], "Passages that answer"),
    "how tall is the tower?": (["tall tower"], "Passages that answer"),
    # an overview is searched from several sides
    "lamps": (["lamps introduction and overview", "lamps history and first use", "lamps kinds and examples",
               "lamps how it works"], "An overview is wanted of lamps"),
    "Ein kurzer Überblick über Leuchttürme": (["Leuchttürme einführung und überblick"], ""),
    "What did Ann Mole's father build?": (["Ann Mole father build"], ""),
}  # fmt: skip


@pytest.mark.parametrize("question", SEARCHED)
def test_the_whole_question_is_searched_first_and_then_others_and_the_brief_says_which(question):
    searched, brief = SEARCHED[question]
    assert queries(question)[: 1 + len(searched)] == [question, *searched]
    assert brief in planned(question).research_brief


def test_no_more_is_planned_than_allowed_and_names_that_the_corpus_knows():
    assert len(queries("Who is A? Who is B? Who is C? Who is D?", most=3)) == 3
    names = tuple(Mention(name=name, weight=0.9, bearers=1) for name in ("an event", "night mail"))
    question = "did the makers of the film an event also make the film night mail"
    assert "night mail makers film make" in queries(question, look=FirstLook(names=names))


@given(st.text(min_size=1, max_size=200).filter(str.strip))
def test_any_question_gives_a_plan(question):
    assert 1 <= len(queries(question)) <= 5


def test_only_a_long_question_is_planned_in_a_thread(monkeypatch):
    threads = []

    def noted(text):
        threads.append(threading.current_thread())
        return parse_question(text)

    monkeypatch.setattr("deep_research.phases.planning.extractive_planner.parse_question", noted)
    queries("How tall is the Bell Rock?")
    queries("How tall is the Bell Rock? " * 500)
    assert [thread is threading.current_thread() for thread in threads] == [True, False]


def test_a_long_request_is_one_part_and_still_searched_sentence_by_sentence():
    request = (
        "What is known about how lamps were made, fuelled, trimmed, lit and kept over the centuries by lonely keepers?"
        " Why did engineers, ministers, merchants, insurers, captains and fishermen quarrel about towers, harbours,"
        " bells, signals, wrecks, tolls and pensions on northern coasts, islands, reefs, rocks and sandbanks? How did"
        " governments, charities, boards and guilds pay for buildings, repairs, supplies, boats, wages and widows?"
    )
    output = planned(request)
    assert len(output.parts) == 1
    assert len(output.sub_queries) > 2


# The parts that a plan carries, whatever a planner answers

MOLE = DeepResearchState(query="Who built the Mole, and when was it finished?")


def after_a_plan(*parts, queries=((None, "the whole question"),), at=MOLE):
    """``parts`` as ``(text, expects)``; a query may name the number of its part."""
    asked = tuple(
        PlannedQuery(query=str(q), part=n)
        for n, q in ((q if type(q) is tuple else (None, q)) for q in queries)
    )
    told = tuple(PlannedPart(text=text, expects=expects) for text, expects in parts)
    journal = MemoryJournal(at)
    phase = PlanningPhase(lambda handed: PlannerOutput(research_brief="b", parts=told, sub_queries=asked))
    asyncio.run(phase.run(at, journal))
    return journal.state


def test_a_planner_that_sees_no_parts_leaves_those_of_the_question_and_of_too_many_none_is_lost():
    parts = [(p.text, p.expects) for p in after_a_plan().parts]
    assert parts == [("Who built the Mole", "person"), ("when was it finished", "date")]
    made = after_a_plan(*((f"Who built tower {n}", "") for n in range(30)))
    assert len(made.parts) == 20
    assert all(f"tower {n}" in " ".join(p.text for p in made.parts) for n in range(30))


def test_empty_and_repeated_parts_and_unknown_kinds_do_no_harm():
    parts = (" ", ""), ("Who built it", "person"), ("Who built it", "salary" * 50), ("When was it", "salary")
    made = after_a_plan(*parts, queries=((2, "who built the mole"), (1, "a blank one")))
    assert [(p.text, p.expects) for p in made.parts] == [("Who built it", "person"), ("When was it", "")]
    assert [s.part_id for s in made.sub_queries] == [made.parts[0].id, None]


def test_a_new_plan_leaves_no_verdict_on_parts_that_are_none():
    verdict = PartVerdict(part_id="part-old", verdict=AnswerStatus.ANSWERED)
    old = {"parts": (QuestionPart(id="part-old", text="Who built it"),), "verdicts": (verdict,)}
    at = MOLE.model_copy(update={**old, "research_brief": "b"})
    assert at.answer_coverage is AnswerCoverage.YES
    made = after_a_plan(("Where does it lie", ""), at=at)
    assert (made.verdicts, made.answer_coverage) == ((), None)


# What one search shows before the plan: made once, counted, and never in place of a planned search

PLAN = {"research_brief": "b", "sub_queries": [{"query": "q"}, {"query": "r"}]}
OF_CORPUS = FirstLook(passages=31, titles=("The Orm Light",))


QUESTION = state().query
PAGES = tuple(
    SearchResult(address=f"https://ok.example/{n}", title=f"Page {n}", snippet=f"Snippet {n}")
    for n in range(10)
)


async def of_corpus(question):
    return OF_CORPUS


def glanced(work, web, *, look=None, planner=None, **more):
    model = Model(Plan=PLAN)
    phase = PlanningPhase(planner or LLMPlanner(), glance=SearchGatherer([web]).glance, look=look)
    journal = work(phase, state(phase=DeepResearchPhase.PLANNING, sub_queries=(), **more), model)
    return journal.state, model.prompts("Plan")


def test_a_planner_with_a_model_sees_titles_and_snippets_of_one_search_which_counts_and_is_made_once(work):
    web = Found(by_query={QUESTION: PAGES})
    after, (said,) = glanced(work, web, options=RunOptions(domains=("ok.example",)))
    assert "- Page 0: Snippet 0\n- Page 1: Snippet 1" in said
    assert f"Page {GLANCED_AT}" not in said
    assert web.asked == [after.query]
    assert (web.requests[0].filters.domains, web.requests[0].limit) == (("ok.example",), GLANCED_AT)
    assert (after.usage.searches, len(after.first_look.snippets)) == (1, GLANCED_AT)
    later, (again,) = glanced(work, web, first_look=after.first_look, usage=after.usage)
    assert "- Page 0: Snippet 0" in again
    assert len(web.asked) == later.usage.searches == 1


def test_beside_what_a_corpus_says_which_stands_alone_where_the_search_fails(work):
    after, (said,) = glanced(work, Found(by_query={QUESTION: PAGES}), look=of_corpus)
    for told in ("Passages searched: 31.", "Titles that fit best: The Orm Light.", "- Page 0: Snippet 0"):
        assert told in said
    assert len(after.first_look.titles) == len(after.first_look.snippets)
    after, (said,) = glanced(work, Found(SearchError("The service is gone.")), look=of_corpus)
    assert "one search of the web" not in said
    assert after.first_look == OF_CORPUS


LEFT_OUT = {
    "a cap that has room for the plan alone": {"options": RunOptions(budget=Budget(max_searches=5))},
    "a planner without a model": {"planner": ExtractivePlanner()},
}


@pytest.mark.parametrize("more", LEFT_OUT.values(), ids=LEFT_OUT)
def test_nothing_is_searched_before_the_plan_with(work, more):
    web = Found(by_query={QUESTION: PAGES})
    after, _ = glanced(work, web, **more)
    assert not web.asked
    assert after.usage.searches == 0
    assert after.current_sub_queries()
