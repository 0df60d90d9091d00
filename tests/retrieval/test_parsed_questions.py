"""What a question asks: its parts, the subject of an overview, how broad it is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import cases, listed

from deep_research.retrieval.parsed_question import forms, parse_question
from deep_research.state import QuestionPart


@pytest.mark.parametrize(
    ("question", "parts"),
    cases(
        """
        Who built the Bell Rock, and how tall is it? | Who built the Bell Rock / how tall is it Bell Rock
        Who lit the Mole, and who put it out in 1931? | Who lit the Mole / who put it out in 1931 Mole
        What is a joule? Where is Ghent? | What is a joule / Where is Ghent
        When was it lit, how far did it shine? | When was it lit / how far did it shine lit
        We keep the Mole. Who built it, and how long was it dark? | Who built it Mole / how long was it dark Mole
        Summarise the causes. Who was mayor? | Summarise the causes / Who was mayor Summarise causes
        Who built the Mole? And its colour? | Who built the Mole / And its colour Mole
        When exactly was it lit? Who lit it? | When exactly was it lit / Who lit it exactly lit
        Wo genau steht er? Wer baute ihn? | Wo genau steht er / Wer baute ihn genau steht
        \u0345? Who built it? | \u0345 / Who built it
        Who kept Boston Light and what was his pay? | Who kept Boston Light / what was his pay Boston Light
        who built the bell rock and how tall is it | who built the bell rock / how tall is it built bell rock
        Wer baute die Mole von Orrel, und wie hoch ist sie? | Wer baute die Mole von Orrel / wie hoch ist sie Mole Orrel
        """,
        str,
        listed,
    ),
)
def test_each_part_of_a_question_stands_alone(question, parts):
    assert [part.query for part in parse_question(question).parts] == parts


@pytest.mark.parametrize(
    "question",
    [
        "What did Dr. Mole write?",
        "The Mole is old. Who built it?",
        "When I lit the lamp, how far did it shine?",
        "We keep two lamps in the Mole; which is lit?",
        "Der Turm ist alt. Wer baute ihn?",
        "My lamp smokes. What can I do? It is new.",
        "Who made the film in which Ann Mole sang?",
        "Compare the towers of Mole, Hare and Stoat.",
    ],
)
def test_what_asks_one_thing_has_one_part(question):
    assert [part.query for part in parse_question(question).parts] == [question]


@pytest.mark.parametrize(
    ("question", "expects"),
    cases("""
        We keep the Mole. For how long was it dark? | number
        The Mole is old. To whom did it belong? | person
        I keep two lamps. Which is lit? | list
        I keep two lamps and want a third | ""
        How tall is the Mole? | number
        When was it built? | date
        In the year of the flood, who built it? | person
        Where was she born? | place
        Why did the tower fall? | reason
        How do I light the lamp? | manner
        What is a lens? | definition
        What is the price of a lens? | number
        Is the tower tall? | polar
        The lamp was lit by whom and in what year? | date
        Lamps and lenses | ""
        Wann wurde der Turm gebaut? | date
        Wie hoch ist der Turm? | number
        Wie groß ist der Turm? | number
        Qui a construit la tour du phare ? | person
    """),
)
def test_the_longest_opening_of_a_question_tells_the_kind_of_its_answer(question, expects):
    assert parse_question(question).expects == expects


def test_a_question_of_several_parts_has_each_with_its_kind():
    parts = parse_question("Who built the Mole, how much did it cost, and when was it lit?").parts
    assert [part.expects for part in parts][-1] == "date"
    assert len(parts) > 1


def test_a_part_that_was_put_in_other_words_takes_the_names_told_before_the_question():
    part = QuestionPart(id="part-1", text="How high is its tower")
    assert "Mole" in parse_question("The Mole is old. Who built it? How long was it dark?").of_part(part).text


SUBJECTS = cases("""
    Give me a short overview of lighthouse lamps | lighthouse lamps
    What is the history of lighthouses? | lighthouses
    lighthouse timeline | lighthouse
    lighthouse lamps | lighthouse lamps
    Ein kurzer Überblick über Leuchttürme | Leuchttürme
    Une brève histoire des phares | phares
    When was the history of Rome written? | ""
    Who built it? | ""
    Are lamps old | ""
    What did Mole promote | ""
    Lamps smoke. | ""
    The tower of Mole fell into the harbour | ""
    "" | ""
""")


@pytest.mark.parametrize(("request_", "subject"), [*SUBJECTS, ("overview " * 300, "")])
def test_an_overview_is_asked_for_in_words_or_by_a_bare_subject(request_, subject):
    assert parse_question(request_).subject == subject


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("May I light bonfires in June?", set()),
        ("What was the April Uprising?", {"april", "upris"}),
        ("When did Ada Marsh leave in May?", {"ada", "marsh"}),
        ("Was im März gilt, sagt Frau Kern?", {"frau", "kern"}),
        (
            'Does the Mole light of 1811 use max_file_bytes or "red lamps"?',
            {"mole", "1811", "max_file_bytes", "red", "lamp"},
        ),
    ],
)
def test_names_figures_and_identifiers_are_told_from_months_and_other_words(question, names):
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
