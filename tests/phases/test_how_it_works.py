"""How a thing works is told by what is about it, whole; what is counted or listed is looked up in tables."""

import pytest

LAMP = """# The Orrel lamp and what came after

Tom Hare of Orrel was a smith. About 1780 he made a lamp with a wick like a tube. Air rose inside the ring of flame.
A chimney drew it faster. The flame was steady.

He died poor, in the town where he had learned his trade.
"""
KINDS = """# Horns of the coast

Kind | How it works | Where
Siren | air chopped by a disc that spins | Penryn
Diaphone | air chopped by a piston that slides | Orrel

The diaphone was loved by sailors, and Ann Mole of Penryn was the first to have one.
"""
FUELS = """# What burned in the lantern

A lighthouse is as good as its flame.

## Before 1780

Fuel | Good | Bad
Coal in a grate | bright in a calm | smoky
Candles | easy to handle | weak
"""
CASES = "country | cases | deaths\nGermany | 1200 | 4\nFrance | 900 | 7\n"


def test_an_explanation_goes_on_to_the_end_of_its_paragraph(analyzed):
    (found,) = analyzed("How did the Orrel lamp work?", ("The Orrel lamp and what came after", LAMP))
    assert found.content.endswith("The flame was steady.")
    assert "A chimney drew it faster." in found.content


def test_what_only_mentions_the_thing_does_not_explain_it(analyzed):
    other = "The Penryn light was rebuilt in 1790. It was given an Orrel lamp in the same year.\n"
    found = analyzed("How did the Orrel lamp work?", ("The Orrel lamp", LAMP), ("The Penryn light", other))
    assert found
    assert not any("Penryn light" in finding.content for finding in found)


def test_where_no_source_is_about_the_thing_mentions_are_better_than_nothing(analyzed):
    other = "The Penryn light was rebuilt in 1790. Its Orrel lamp worked with air that a chimney drew.\n"
    assert analyzed("How did the Orrel lamp work?", ("The Penryn light", other))


def test_a_row_under_how_it_works_is_the_answer(analyzed):
    (found,) = analyzed("How does a diaphone work?", ("Horns of the coast", KINDS))
    assert found.content == "Kind: Diaphone; How it works: air chopped by a piston that slides; Where: Orrel"


def test_a_table_of_the_kind_of_thing_that_is_asked_for_answers(analyzed):
    found = analyzed(
        "What fuel did lighthouses burn before electricity?", ("What burned in the lantern", FUELS)
    )
    assert [finding.content.partition(";")[0] for finding in found] == [
        "Fuel: Coal in a grate",
        "Fuel: Candles",
    ]


@pytest.mark.parametrize(
    "question", ["What fuel did the ships of the navy carry to the ice?", "Which lamp did lighthouses burn?"]
)
def test_a_table_of_other_things_or_about_something_else_does_not(analyzed, question):
    assert not any("Fuel:" in f.content for f in analyzed(question, ("What burned in the lantern", FUELS)))


@pytest.mark.parametrize(
    ("question", "row"),
    [
        ("How many confirmed cases did Germany report?", "country: Germany; cases: 1200; deaths: 4"),
        ("How many deaths were recorded in France?", "country: France; cases: 900; deaths: 7"),
    ],
)
def test_a_number_is_looked_up_by_name_and_column(analyzed, question, row):
    assert [finding.content for finding in analyzed(question, ("cases", CASES))] == [row]


@pytest.mark.parametrize(
    "question", ["How many cases did Spain report?", "How many lighthouses has Germany?"]
)
def test_a_number_of_another_name_or_of_something_else_is_not(analyzed, question):
    assert not analyzed(question, ("cases", CASES))


def test_what_is_done_with_numbers_is_not_what_was_not_found(analyzed):
    from deep_research.evidence.text import ASKING_WEIGHT, question_terms, stem

    assert question_terms("How many cases did Germany report?")[stem("report")] == ASKING_WEIGHT
    assert question_terms("What does the report say?")[stem("report")] == 1.0


def test_who_asks_for_the_people_is_told_of_the_country(analyzed):
    text = "26 November 1998 saw the end at North Foreland, in Kent, the last lighthouse in England to lose its keeper.\n"
    found = analyzed("Which English lighthouse was the last to have a keeper?", ("The keepers leave", text))
    assert [finding.content for finding in found] == [text.strip()]


@pytest.mark.parametrize(
    ("question", "title", "table"),
    [
        (
            "Which countries have left the Orrel Union?",
            "The Orrel Union",
            "Country | Joined\nMole | 1958\nStoat | 2004",
        ),
        ("What fuel did Mole 11 use?", "Mole 11", "Fuel | Density\nPetrol | low\nCoal | high"),
        ("Which lamps were destroyed in Orrel?", "Lamps of Orrel", "Lamp | Built\nOtter | 1900\nMole | 1911"),
    ],
)
def test_a_table_that_does_not_say_what_is_asked_of_its_rows_is_not_told_whole(
    analyzed, question, title, table
):
    assert len(analyzed(question, (title, f"{table}\n"))) < 2


def test_a_number_beside_a_name_that_it_is_not_of_is_not_looked_up(analyzed):
    table = "country | cases | note\nPoland | 300 | border with Germany\nSpain | 200 | none\n"
    assert not analyzed("How many confirmed and certified cases did Germany report?", ("cases", table))
