"""How a follow-up question is completed by rule, from the turns before it."""

from __future__ import annotations

import pytest

from deep_research.conversation.follow_up import MAX_TURNS_BACK, read_follow_up
from deep_research.conversation.turn import Turn
from deep_research.state import Mention


def turns(*asked: str, answer: str = "") -> list[Turn]:
    return [Turn(user_message=question, question=question, answer=answer) for question in asked]


HATTERAS = turns("How tall is Cape Hatteras Lighthouse?")
ENGINEER = turns(
    "Who was the engineer of Skerryvore?", answer="The engineer of Skerryvore was Alan Stevenson."
)
FASTNET = turns("Who designed the iron tower on the Fastnet?")


@pytest.mark.parametrize(
    ("before", "asked", "question"),
    [
        # A pronoun stands for what was asked of
        (HATTERAS, "And how old is it?", "How old is Cape Hatteras Lighthouse?"),
        (HATTERAS, "and what is its colour", "What is Cape Hatteras Lighthouse's colour"),
        (HATTERAS, "Who kept the light there?", "Who kept the light at Cape Hatteras Lighthouse?"),
        (HATTERAS, "Is it red?", "Is Cape Hatteras Lighthouse red?"),
        (HATTERAS, "Are there any stairs?", "Are there any stairs (Cape Hatteras Lighthouse)?"),
        (ENGINEER, "When was he born?", "When was Alan Stevenson born?"),
        (turns("Who was Grace Darling?"), "Where was she born?", "Where was Grace Darling born?"),
        (turns("Who was Grace Darling?"), "Who was her father?", "Who was Grace Darling's father?"),
        (turns("Who was Grace Darling?"), "Who painted her?", "Who painted Grace Darling?"),
        (FASTNET, "When was it pulled down?", "When was the iron tower on the Fastnet pulled down?"),
        (HATTERAS, "How far from Nags Head is it?", "How far from Nags Head is Cape Hatteras Lighthouse?"),
        # What is left out is taken from the last question
        (HATTERAS, "How many bricks?", "How many bricks (Cape Hatteras Lighthouse)?"),
        (HATTERAS, "What about Bell Rock?", "How tall is Bell Rock?"),
        (HATTERAS, "and Bell Rock", "How tall is Bell Rock?"),
        (HATTERAS, "Bell Rock?", "How tall is Bell Rock?"),
        (
            turns("When was the light at the South Foreland lit?"),
            "and at Dungeness?",
            "When was the light at the Dungeness lit?",
        ),
        # A correction
        (HATTERAS, "No, I meant Boston Light.", "How tall is Boston Light?"),
        (HATTERAS, "sorry, Boston Light not Cape Hatteras", "How tall is Boston Light?"),
        (HATTERAS, "I didn't mean that one, I meant Boston Light", "How tall is Boston Light?"),
        (
            HATTERAS,
            "I meant the first tower: when was it lit?",
            "When was Cape Hatteras Lighthouse lit (the first tower)?",
        ),
        (HATTERAS, "no, Boston Light I meant", "How tall is Boston Light?"),
        (HATTERAS, "İİİİ I mean Boston Light", "How tall is Boston Light?"),
        (HATTERAS, "Sorry, who built it?", "Who built Cape Hatteras Lighthouse?"),
    ],
)
def test_a_follow_up_becomes_a_question_that_stands_by_itself(
    before: list[Turn], asked: str, question: str
) -> None:
    assert read_follow_up(asked, before).question == question


@pytest.mark.parametrize(
    "asked",
    [
        "Who built Bell Rock?",
        "Is the Tower of Hercules older?",
        "What is photosynthesis?",
        "What is the speed of light?",
        "How do fog signals work?",
        "When was the Eiffel Tower built and who designed it?",
        "What is photosynthesis and how does it work?",
        "Is it true that Paris is larger than Rome?",
        "What time is it in Tokyo?",
        "How long did it take to build Ar-Men?",
        "What does it mean to be free?",
        "Why do people like lighthouses, and do they visit them?",
        "Which lamps were used before electricity?",
        "Can a lens be cleaned?",
        "Explain what hydraulic lime is and where it was used.",
        "Are lighthouses still needed today?",
        "How is glass made?",
        "Thanks!",
        "What causes fog?",
        "Does salt water corrode iron?",
        "Give me an overview of lighthouse lamps",
        "Compare Bell Rock and Skerryvore",
        "Who won the race between Scott and Amundsen?",
        "How many lighthouses are there in Norway?",
    ],
)
def test_a_question_that_stands_by_itself_stays_as_it_is(asked: str) -> None:
    for before in (HATTERAS, ENGINEER, FASTNET, []):
        assert read_follow_up(asked, before).question == asked


@pytest.mark.parametrize(
    ("before", "asked", "points_back", "is_resolved"),
    [
        (HATTERAS, "How old is it?", True, True),
        (HATTERAS, "Who built Bell Rock?", False, True),
        ([], "How old is it?", True, False),
        ([], "And how old is it?", True, False),
        (HATTERAS, "And him?", True, False),
        (turns("and then?"), "and him?", True, False),
    ],
)
def test_a_reading_says_whether_it_points_back_and_to_what(
    before: list[Turn], asked: str, points_back: bool, is_resolved: bool
) -> None:
    reading = read_follow_up(asked, before)
    assert (reading.points_back, reading.is_resolved) == (points_back, is_resolved)


def test_a_name_that_documents_know_is_one_in_lower_case_too() -> None:
    known = [Mention(name="bell rock", bearers=1, weight=1.0)]
    assert read_follow_up("who built bell rock", HATTERAS, known).question == "who built bell rock"


def test_turns_that_are_long_past_are_not_meant() -> None:
    many = turns("How tall is Bell Rock?", *["Why?"] * MAX_TURNS_BACK)
    assert "Bell Rock" not in read_follow_up("How old is it?", many).question


@pytest.mark.parametrize(
    "asked", ["?", "…", " ", "((((", "it" * 5_000, "no, no, no,", "not", "I meant", "and"]
)
def test_anything_can_be_asked_after_anything(asked: str) -> None:
    for before in ([], HATTERAS, turns(asked, asked)):
        assert isinstance(read_follow_up(asked, before).question, str)
