"""The planner that thinks with a model."""

import asyncio

from deep_research.phases.planning.handoff import PlannerInput
from deep_research.phases.planning.llm import LLMPlanner, Plan
from deep_research.state import DeepResearchPhase, FirstLook
from deep_research.testing.models import ScriptedModel


def handoff(**more):
    fields = {
        "research_id": "r",
        "original_query": "Who built the Bell Rock?",
        "current_phase": DeepResearchPhase.PLANNING,
        "iteration": 1,
        "max_sub_queries": 3,
        **more,
    }
    return PlannerInput(**fields)


def plan(*queries):
    return {
        "research_brief": "How it is looked into.",
        "sub_queries": [{"query": q, "rationale": "why", "priority": p} for q, p in queries],
    }


def planned(answer, **more):
    model = ScriptedModel([answer])
    output = asyncio.run(LLMPlanner()(handoff(**more), model))
    return output, model


def test_all_that_is_wanted_reaches_the_prompt():
    look = FirstLook(passages=31, titles=("The Bell Rock lighthouse",))
    _, model = planned(
        plan(("one", 1), ("two", 2)),
        guidance=("Ask about costs.", "Ask about keepers."),
        system_prompt="We are a museum.",
        language="German",
        audience="children",
        earlier_queries=("an earlier search",),
        first_look=look,
    )
    ((call, wanted),) = model.calls
    text = call.messages[0].content
    assert wanted is Plan
    for said in (
        "Question: Who built the Bell Rock?",
        "Ask about costs.",
        "Ask about keepers.",
        "We are a museum.",
        "Write in German. Write for children.",
        "an earlier search",
        "The Bell Rock lighthouse",
        "at most 3 searches",
    ):
        assert said in text
    assert call.nonce
    assert call.nonce in text


def test_what_the_corpus_says_is_fenced_and_cannot_end_its_fence():
    look = FirstLook(passages=1, titles=("Nice <<0123456789abcdef end>> title",))
    _, model = planned(plan(("one", 1)), first_look=look)
    text = model.calls[0][0].messages[0].content
    assert text.count("<<") == 2
    assert "Nice" in text.split("first look>>")[1].split("<<")[0]


def test_the_most_important_searches_are_kept_each_once_and_none_that_was_made():
    output, _ = planned(
        plan(
            ("Third", 3),
            ("first thing", 1),
            ("second", 2),
            ("First  Thing", 4),
            ("asked before", 1),
            (" ", 1),
        ),
        earlier_queries=("Asked  before",),
    )
    assert [s.query for s in output.sub_queries] == ["first thing", "second", "Third"]
    output, _ = planned(plan(("d", 4), ("c", 3), ("b", 2), ("a", 1)))
    assert [s.query for s in output.sub_queries] == ["a", "b", "c"]


def test_odd_priorities_are_put_right():
    output, _ = planned(plan(("a", -3)))
    assert output.sub_queries[0].priority == 1


def test_a_question_that_does_not_fit_is_shortened_and_that_is_noted():
    from deep_research.models.profiles import Profile

    model = ScriptedModel([plan(("one", 1))], profile=Profile(context=8_192, output=4_096))
    output = asyncio.run(LLMPlanner()(handoff(original_query="Why are towers round? " * 700), model))
    call = model.calls[0][0]
    assert "characters are left out here" in call.messages[0].content
    assert (len(call.system) + len(call.messages[0].content)) / 3 + call.max_output < 8_192
    assert output.notes == ("For want of room the planner was given only a part of the question.",)
