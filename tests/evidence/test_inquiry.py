"""What a question asks: its parts, the subject of an overview, how broad it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.retrieval.parsed_question import forms, parse_question, standing
from deep_research.state import QuestionPart


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        (
            "Who built the Bell Rock, and how tall is it?",
            ["Who built the Bell Rock", "how tall is it Bell Rock"],
        ),
        (
            "Who lit the Mole, and who put it out in 1931?",
            ["Who lit the Mole", "who put it out in 1931 Mole"],
        ),
        ("What is a joule? Where is Ghent?", ["What is a joule", "Where is Ghent"]),
        ("What did Dr. Mole write?", ["What did Dr. Mole write?"]),
        ("The Mole is old. Who built it?", ["The Mole is old. Who built it?"]),
        ("When I lit the lamp, how far did it shine?", ["When I lit the lamp, how far did it shine?"]),
        ("When was it lit, how far did it shine?", ["When was it lit", "how far did it shine lit"]),
        ("We keep two lamps in the Mole; which is lit?", ["We keep two lamps in the Mole; which is lit?"]),
        (
            "We keep the Mole. Who built it, and how long was it dark?",
            ["Who built it Mole", "how long was it dark Mole"],
        ),
        ("Der Turm ist alt. Wer baute ihn?", ["Der Turm ist alt. Wer baute ihn?"]),
        ("Summarise the causes. Who was mayor?", ["Summarise the causes", "Who was mayor Summarise causes"]),
        ("Who built the Mole? And its colour?", ["Who built the Mole", "And its colour Mole"]),
        ("When exactly was it lit? Who lit it?", ["When exactly was it lit", "Who lit it exactly lit"]),
        ("Wo genau steht er? Wer baute ihn?", ["Wo genau steht er", "Wer baute ihn genau steht"]),
        ("My lamp smokes. What can I do? It is new.", ["My lamp smokes. What can I do? It is new."]),
        ("\u0345? Who built it?", ["\u0345", "Who built it"]),
        (
            "Who kept Boston Light and what was his pay?",
            ["Who kept Boston Light", "what was his pay Boston Light"],
        ),
        (
            "who built the bell rock and how tall is it",
            ["who built the bell rock", "how tall is it built bell rock"],
        ),
        (
            "Wer baute die Mole von Orrel, und wie hoch ist sie?",
            ["Wer baute die Mole von Orrel", "wie hoch ist sie Mole Orrel"],
        ),
        ("Who made the film in which Ann Mole sang?", ["Who made the film in which Ann Mole sang?"]),
        ("Compare the towers of Mole, Hare and Stoat.", ["Compare the towers of Mole, Hare and Stoat."]),
    ],
)
def test_each_part_of_a_question_stands_alone(question, parts):
    assert [part.query for part in parse_question(question).parts] == parts


@pytest.mark.parametrize(
    ("question", "expects"),
    [
        ("We keep the Mole. For how long was it dark?", "number"),
        ("The Mole is old. To whom did it belong?", "person"),
        ("I keep two lamps. Which is lit?", "list"),
        ("I keep two lamps and want a third", ""),
    ],
)
def test_what_is_told_before_a_question_leaves_the_kind_of_its_answer(question, expects):
    assert parse_question(question).expects == expects


def test_a_part_that_was_put_in_other_words_takes_the_names_told_before_the_question():
    part = QuestionPart(id="part-1", text="How high is its tower")
    assert "Mole" in standing(part, "The Mole is old. Who built it? How long was it dark?").text


@pytest.mark.parametrize(
    ("request_", "subject"),
    [
        ("Give me a short overview of lighthouse lamps", "lighthouse lamps"),
        ("What is the history of lighthouses?", "lighthouses"),
        ("lighthouse timeline", "lighthouse"),
        ("lighthouse lamps", "lighthouse lamps"),
        ("Ein kurzer Überblick über Leuchttürme", "Leuchttürme"),
        ("Une brève histoire des phares", "phares"),
        ("When was the history of Rome written?", ""),
        ("Who built it?", ""),
        ("Are lamps old", ""),
        ("What did Mole promote", ""),
        ("Lamps smoke.", ""),
        ("The tower of Mole fell into the harbour", ""),
        ("overview " * 300, ""),
        ("", ""),
    ],
)
def test_an_overview_is_asked_for_in_words_or_by_a_bare_subject(request_, subject):
    assert parse_question(request_).subject == subject


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("May I light bonfires in June?", set()),
        ("What was the April Uprising?", {"april", "upris"}),
        ("When did Ada Marsh leave in May?", {"ada", "marsh"}),
        ("Was im März gilt, sagt Frau Kern?", {"frau", "kern"}),
    ],
)
def test_a_month_is_no_name(question, names):
    assert parse_question(question).names == names


def test_a_request_of_many_different_words_is_broad():
    assert parse_question(" ".join(f"word{n}" for n in range(80))).is_broad
    assert not parse_question("How tall is the tower of Mole?").is_broad
    assert not parse_question("word " * 80).is_broad


@given(st.text(max_size=300))
def test_any_text_can_be_read_as_a_question(text):
    inquiry = parse_question(text)
    assert inquiry.parts
    assert inquiry.names <= set(inquiry.terms)


@pytest.mark.parametrize("piece", [" ", "and ", "? ", ", who ", "overview "])
def test_a_question_is_read_in_linear_time(piece, seconds):
    def spent(size):
        question = "How tall " + piece * (size // len(piece)) + "is the Mole?"
        return seconds(3, lambda: parse_question.__wrapped__(question))

    assert spent(80_000) < 16 * max(spent(10_000), 0.005)


def test_every_language_says_how_its_questions_go_on():
    for language in ("en", "de", "fr"):
        assert forms(language).breaks
        assert len(forms(language).sides) == 4
    assert forms("xx") is forms("en")
