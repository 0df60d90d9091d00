"""Themes, tables, and what on a page says nothing."""

import pytest

from deep_research.evidence.contradictions import measures_of, sides
from deep_research.evidence.debris import is_debris, standing_alone, without_marks
from deep_research.evidence.quoting import best_quote
from deep_research.evidence.ranking import TermScanner, scan
from deep_research.evidence.tables import table
from deep_research.evidence.themes import themes


@pytest.mark.parametrize(
    "text",
    [
        "Skip to content.",
        "Edit this page on the site.",
        "All rights reserved by the owner.",
        "Figure 3: The tower from the sea.",
        "The code is available at https://x.example/y.",
        "See \\href{x}{this}.",
        "Sign in to continue.",
        "This page was last edited in May.",
        "See https://x.example/y for more.",
        "Read the <a href='x'>note</a> of the keeper.",
        "{{cite web|title=Towers}} on the keepers.",
    ],
)
def test_what_belongs_to_the_page_is_told_from_what_it_says(text):
    assert is_debris(text)


@pytest.mark.parametrize(
    "text",
    [
        "The tower is 35 metres tall.",
        "Users sign in with their e-mail address and a password.",
        "A table of contents is made from the headings of a document.",
        "The lamp was last modified in 1910 by the keepers.",
        "Oil was retrieved from the wreck by divers.",
        "The server listens on http://localhost:8000 unless told otherwise.",
        "Use List<String> to hold the names of all keepers.",
        "Data from the keepers are available to all researchers today.",
        "The figure of the saint stood above the door.",
    ],
)
def test_a_sentence_of_the_text_is_kept(text):
    assert not is_debris(text)


def test_marks_and_linking_words_are_left_out():
    assert without_marks("The tower¶ is old [edit].") == "The tower is old."
    assert standing_alone("However, the tower fell.") == "The tower fell."
    assert standing_alone("However tall it is, it fell.") == "However tall it is, it fell."


def test_statements_that_share_a_name_are_a_theme_with_that_name():
    found, others = themes(
        [
            "The lens came from Augustin Fresnel.",
            "In 1822 Augustin Fresnel showed it.",
            "Oil was dear.",
        ],
        "How was the lamp made?",
    )
    assert [(t.heading, t.places) for t in found] == [("Augustin Fresnel", (0, 1))]
    assert others == [2]


def test_what_the_question_names_is_no_theme():
    statements = ["The keeper of Mole slept.", "The cook of Mole sang."]
    assert themes(statements, "Who lived at Mole?") == ([], [0, 1])


def test_things_that_are_compared_stand_side_by_side():
    made = table(
        "Which is taller, Mole or Hare?",
        ["The tower of Mole is 35 m tall.", "The tower of Hare is 30 m tall and 9 m wide.", "It cost $20."],
        ["a", "b", "c"],
    )
    assert made is not None
    assert [(name, cells[0].text) for name, cells in made.rows] == [("Mole", "35 m"), ("Hare", "30 m")]
    assert made.header == ("", "Height")


def test_values_of_several_years_are_a_table_in_their_order():
    made = table(
        "How has the number of people at Mole changed over time?",
        ["In 1950 Mole had 200 people.", "In 1900 Mole had 100 people.", "In 2000 Mole had 90 people."],
        ["a", "a", "b"],
    )
    assert made is not None
    assert [name for name, _ in made.rows] == ["1900", "1950", "2000"]


def test_figures_of_several_sources_that_differ_stand_side_by_side():
    statements = [
        "Mole is 198 feet tall.",
        "The tower of Mole is 208 feet tall.",
        "The first one was 20 feet.",
    ]
    made = table("How tall is Mole?", statements, ["One", "Two", "Two about Mole"])
    assert made is not None
    assert [(name, cells[0].text) for name, cells in made.rows] == [("One", "198 feet"), ("Two", "208 feet")]


@pytest.mark.parametrize(
    ("question", "statements"),
    [
        ("How tall is Mole?", ["Mole is 57 m tall.", "Mole is 187 ft tall."]),
        ("Which is taller, Mole or Hare?", ["Mole is 57 m tall.", "Hare is old."]),
        ("Who built Mole?", ["Mole is 57 m tall.", "Mole is 61 m tall."]),
    ],
)
def test_without_numbers_to_compare_there_is_no_table(question, statements):
    assert table(question, statements, ["One", "Two"]) is None


def test_a_row_of_a_long_table_is_judged_without_reading_all_rows_above_it(seconds):
    text = "| tower | height |\n" + "| Mole tower | 57 m tall |\n" * 40_000
    last = scan(text, 0, TermScanner(["tower"]))[-24:]

    def judged():
        for passage in last:
            best_quote(text, passage, {"tower": 1.0}, set(), None)

    assert seconds(1, judged) < 1  # .02 s; several when each row looks at all above it


@pytest.mark.parametrize(
    ("content", "measures"),
    [
        ("The tower, called 208 feet high, was carried away on rails.", {"height"}),
        ("The tower is 208 feet (63 metres) tall and stands far away.", {"height"}),
        ("The tower stands 2,900 feet away from the sea.", {"distance"}),
    ],
)
def test_a_value_is_the_measure_of_what_the_word_behind_it_says(content, measures):
    (side,) = sides(content)
    assert measures_of(side, side.values[0]) == measures


def test_heights_are_no_distances():
    statements = [
        "The Orrel tower, called 208 feet high, was carried away.",
        "The Orrel tower measures 198 feet.",
    ]
    assert table("How far was the Orrel tower moved?", statements, ["One", "Two"]) is None
    moved = [
        "The Orrel tower was moved a distance of 2,900 feet.",
        "The distance of the Orrel tower is 2,870 feet.",
    ]
    told = table("How far was the Orrel tower moved?", moved, ["One", "Two"])
    assert told is not None
    assert told.header == ("Source", "Distance")
