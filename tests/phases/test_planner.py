"""The planner without a model: what it searches."""

import asyncio
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.phases.planning import ExtractivePlanner, PlannerInput
from deep_research.retrieval.parsed_question import parse_question
from deep_research.state import DeepResearchPhase, FirstLook, Mention


def planned(question, most=5, look=None):
    handoff = PlannerInput(
        research_id="deepres-000000000000",
        iteration=1,
        original_query=question,
        current_phase=DeepResearchPhase.PLANNING,
        max_sub_queries=most,
        first_look=look,
    )
    return asyncio.run(ExtractivePlanner()(handoff))


def queries(question, most=5, look=None):
    return [p.query for p in planned(question, most, look).sub_queries]


@pytest.mark.parametrize(
    ("question", "searched"),
    [
        # its parts
        (
            "Who built the Bell Rock, and how tall is it?",
            ["Who built the Bell Rock", "how tall is it Bell Rock"],
        ),
        # each of its names with what is asked of it
        (
            "Compare the towers of Mole, Hare and Stoat.",
            ["Hare Compare towers", "Mole Compare towers", "Stoat Compare towers"],
        ),
        # the same words in another order are not searched twice, unless nothing else would be
        ("How tall is the tower of Mole?", ["tall tower Mole"]),
        ("how tall is the tower?", ["tall tower"]),
        # an overview is searched from several sides
        (
            "lamps",
            [
                "lamps introduction and overview",
                "lamps history and first use",
                "lamps kinds and examples",
                "lamps how it works",
            ],
        ),
        ("Ein kurzer Überblick über Leuchttürme", ["Leuchttürme einführung und überblick"]),
        ("What did Ann Mole's father build?", ["Ann Mole father build"]),
    ],
)
def test_the_whole_question_is_searched_first_and_then(question, searched):
    found = queries(question)
    assert found[0] == question
    assert found[1 : 1 + len(searched)] == searched


def test_the_corpus_knows_names_that_spelling_does_not_show():
    names = tuple(Mention(name=name, weight=0.9, bearers=1) for name in ("an event", "night mail"))
    question = "did the makers of the film an event also make the film night mail"
    assert "night mail makers film make" in queries(question, look=FirstLook(names=names))


def test_no_more_is_planned_than_allowed():
    assert len(queries("Who is A? Who is B? Who is C? Who is D?", most=3)) == 3


@given(st.text(min_size=1, max_size=200).filter(str.strip))
def test_any_question_gives_a_plan(question):
    assert 1 <= len(queries(question)) <= 5


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who built the Bell Rock, and how tall is it?", "2 parts"),
        ("Compare the towers of Mole and Hare.", "Searched by name: Hare Compare towers; Mole"),
        ("lamps", "An overview is wanted of lamps"),
        ("How tall is it?", "Passages that answer"),
    ],
)
def test_the_brief_says_what_is_searched(question, said):
    assert said in planned(question).research_brief


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
