"""Two things compared: side by side, each by itself, and nothing of something else."""

import pytest

from deep_research.evidence.contrasting import says_what_it_does
from deep_research.evidence.question import compared
from deep_research.evidence.rows import beside, cells

TABLE = "Tower | Height | Lit\nHare Rock | 35 m | 1811\nMole | 48 m | 1844\nStoat | 20 m | 1900"
ROWS = ("Tower: Hare Rock; Height: 35 m; Lit: 1811", "Tower: Mole; Height: 48 m; Lit: 1844")


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Compare the Hare Rock and Mole lighthouses.", ("Hare Rock", "Mole")),
        ("What is the difference between a list and a tuple in Python?", ("list", "tuple")),
        ("lists vs tuples", ("lists", "tuples")),
        ("How does urllib differ from http.client?", ("urllib", "http.client")),
        ("Which is taller, the Hare Rock tower or the Mole tower?", ("Hare Rock", "Mole")),
        ("What happened between 1900 and 1910?", ()),
        ("Who built Hare Rock and Mole?", ()),
        ("What is the difference between Orrel's tower and Penryn's tower?", ("Orrel", "Penryn")),
        ("Compare McOrrel's and Penryn's", ("McOrrel's", "Penryn's")),
        ("Compare Orrel's tower and Orrel's lamp", ("Orrel's tower", "Orrel's lamp")),
    ],
)
def test_the_sides_of_a_comparison_are_those_it_names(question, sides):
    assert compared(question) == sides


def test_rows_that_one_table_has_of_both_are_found():
    assert [TABLE[a:b].partition(" |")[0] for a, b in beside(TABLE, ["hare rock", "mole"])] == [
        "Hare Rock",
        "Mole",
    ]
    assert beside(TABLE, ["hare rock", "otter"]) == []
    assert cells(ROWS[0]) == {"Tower": "Hare Rock", "Height": "35 m", "Lit": "1811"}
    assert cells("Note: the tower is old.") == {}


def test_what_a_table_has_of_both_stands_side_by_side_and_only_there(draft_of):
    report = draft_of("Compare Hare Rock and Mole", [(ROWS[0], 0, 0.7), (ROWS[1], 0, 0.2)])
    assert "|  | Hare Rock [find-000000000000] | Mole [find-000000000001] |" in report
    assert "| Height | 35 m | 48 m |" in report
    assert "Tower: Mole" not in report


def test_each_side_has_its_section_and_is_introduced_by_its_own_document(draft_of):
    report = draft_of(
        "Compare Hare Rock and Mole",
        [
            ("Bob's best work is Hare Rock, they say", 2, 0.9),
            ("Hare Rock is a reef in the sea", 0, 0.8),
            ("Mole is a rock near Ghent", 1, 0.8),
            ("At Hare Rock men slept on a ship", 0, 0.8),
        ],
        titles=("Hare Rock", "Mole", "Bob"),
    )
    summary = report.partition("## Summary")[2].partition("##")[0]
    assert "a reef in the sea" in summary
    assert "near Ghent" in summary
    assert "Bob" in report.partition("## Hare Rock")[2]


def test_what_is_asked_which_is_more_of_something_is_answered_by_measures_first(draft_of):
    report = draft_of(
        "Which is taller, Hare Rock or Mole?",
        [
            ("Hare Rock is a reef in the sea", 0, 0.9),
            ("Hare Rock is 35 m tall", 0, 0.8),
            ("Mole is 48 m tall", 1, 0.8),
        ],
        titles=("Hare Rock", "Mole"),
    )
    summary = report.partition("## Summary")[2].partition("##")[0]
    assert "35 m" in summary
    assert "48 m" in summary
    assert "reef" not in summary


def test_rows_of_one_table_stand_in_a_table_again(draft_of):
    report = draft_of(
        "How tall are the towers?",
        [("The towers were measured by the keepers", 0, 0.9), (ROWS[0], 0, 0.8), (ROWS[1], 0, 0.8)],
    )
    assert "| Tower | Height | Lit [find-000000000001, find-000000000002] |" in report
    assert "| Mole | 48 m | 1844 |" in report
    assert "Tower: Mole" not in report


def test_a_table_with_columns_for_what_is_asked_is_found_whole(analyzed):
    contents = [f.content for f in analyzed("Compare the heights of towers", ("Towers of Orrel", TABLE))]
    assert sum(content.startswith("Tower: ") for content in contents) == 3
    assert "Tower: Stoat; Height: 20 m; Lit: 1900" in contents


def test_a_table_is_no_answer_to_a_question_for_one_thing_by_its_name(analyzed):
    contents = [f.content for f in analyzed("What is the height of the tower of Mole?", ("A list", TABLE))]
    assert not any("Stoat" in content for content in contents)


def test_who_asks_which_is_taller_is_told_of_each_how_tall_it_is(draft_of):
    statements = [
        ("Hare Rock is a reef 11 miles from Orrel.", 0, 0.8),
        ("The tower of Hare Rock is 35 metres tall.", 0, 0.7),
        ("Mole is 48 metres tall.", 1, 0.7),
    ]
    report = draft_of("Which is taller, Hare Rock or Mole?", statements)
    summary = report.partition("## Summary")[2].partition("##")[0]
    assert "35 metres tall" in summary
    assert "11 miles" not in summary


def test_where_nothing_tells_how_tall_one_of_two_is_that_is_said_before_what_is_told_of_the_other(draft_of):
    statements = [
        ("Hare Rock is a reef, about 15 metres by 7 at low tide.", 0, 0.8),
        ("Mole is 48 metres tall.", 1, 0.7),
    ]
    report = draft_of("Which is taller, Hare Rock or Mole?", statements)
    assert "*No height of Hare Rock was found, by which to choose. What comes nearest:*" in report
    assert "Mole is 48 metres tall" in report
    assert "Side by side" not in report


def test_things_that_are_compared_by_a_measure_are_told_of_by_that(draft_of):
    statements = [
        ("Hare Rock is a reef 11 miles from Orrel.", 0, 0.8),
        ("A study put the height of Hare Rock between 30 and 40 metres.", 0, 0.7),
        ("Mole was lit in 1844.", 1, 0.8),
        ("Mole is 48 metres tall.", 1, 0.7),
    ]
    report = draft_of("Compare the heights of Hare Rock and Mole.", statements)
    summary = report.partition("## Summary")[2].partition("##")[0]
    assert "between 30 and 40 metres" in summary
    assert "48 metres tall" in summary
    assert "11 miles" not in summary


def test_two_things_of_which_one_statement_tells_which_is_taller_are_chosen_from(draft_of):
    statements = [
        ("Hare Rock is a reef 11 miles from Orrel.", 0, 0.8),
        ("Mole stands taller than Hare Rock by a third.", 1, 0.7),
    ]
    assert "No height" not in draft_of("Which is taller, Hare Rock or Mole?", statements)


def test_a_statement_on_both_that_tells_no_height_does_not_choose(draft_of):
    statements = [
        ("Mole is 48 metres tall.", 1, 0.7),
        ("Mole and Hare Rock were both lit in 1844.", 1, 0.7),
    ]
    assert "No height of Hare Rock" in draft_of("Which is taller, Hare Rock or Mole?", statements)


@pytest.mark.parametrize(
    "question",
    [
        "Which is older, Hare Rock or Mole?",
        "Which was first built at sea, Hare Rock or Mole?",
        "Which was seen first from afar, Hare Rock or Mole?",
    ],
)
def test_only_a_comparative_says_by_what_measure_one_of_two_is_chosen(draft_of, question):
    assert "*No " not in draft_of(question, [("Hare Rock is a reef 11 miles from Orrel.", 0, 0.8)])


def test_how_two_things_differ_is_a_comparison_too():
    assert compared("How do the Hare Rock and the Mole lighthouses differ?") == ("Hare Rock", "Mole")
    assert compared("Compare Orrel and uLamp.") == ("Orrel", "uLamp")


def test_where_nothing_sets_two_things_apart_it_is_told_what_each_does(analyzed):
    text = (
        "# Hooks\n\nAny open_lamp functions are called. If one of them returns a value, the rest are left out.\n\n"
        "Any shut_lamp functions are called at the end.\n\nopen_lamp and shut_lamp functions may be many."
    )
    found = analyzed("What is the difference between open_lamp and shut_lamp?", ("Hooks", text))
    assert [f.content for f in found] == [
        "Any open_lamp functions are called. If one of them returns a value, the rest are left out.",
        "Any shut_lamp functions are called at the end.",
    ]


def test_what_each_is_used_for_is_told_as_well_but_not_of_one_side_alone(analyzed):
    text = "# Hooks\n\nTo light a lamp by its name, use the light_lamp function.\n\n{}"
    question = "What is the difference between light_lamp and shut_lamp?"
    both = ("Hooks", text.format("To shut a lamp that is lit, call shut_lamp with its name."))
    assert [f.content for f in analyzed(question, both)] == [
        "To light a lamp by its name, use the light_lamp function.",
        "To shut a lamp that is lit, call shut_lamp with its name.",
    ]
    one = ("Hooks", text.format("Nobody knows what shut_lamp is good for."))
    assert not any(f.relevance > 0.9 for f in analyzed(question, one))


def test_a_definition_takes_along_the_list_that_goes_on_about_it(analyzed):
    text = "# uLamp\n\nuLamp is a fast lamp for harbours.\n\n- It is green.\n- It burns no oil.\n\n- Others do.\n"
    found = analyzed("What is uLamp?", ("uLamp", text))
    assert found[0].content == "uLamp is a fast lamp for harbours. It is green. It burns no oil."


def test_two_things_that_nothing_sets_apart_are_introduced_one_by_one(draft_of):
    said = [
        ("Orrel and Ghent have lamps that are good.", 0, 0.9),
        ("Orrel is a harbour in the east.", 1, 0.7),
        ("Ghent is a town with a gate.", 2, 0.7),
    ]
    report = draft_of("Compare Orrel and Ghent.", said, ("Lamps", "Orrel", "Ghent"))
    summary = report.partition("## Summary")[2].partition("\n## ")[0]
    assert "Orrel is a harbour" in summary
    assert "Ghent is a town" in summary
    assert "## On both" in report


def test_the_name_of_the_other_within_a_longer_one_is_not_the_other(analyzed):
    text = (
        "# Paths\n\nThe lamp.path.join function joins the parts of a path.\n\n"
        "lamp.path holds the path of the lamp as it was set.\n\nlamp.path and lamp.path.join are many."
    )
    found = analyzed("What is the difference between lamp.path and lamp.path.join?", ("Paths", text))
    assert [f.content for f in found] == [
        "lamp.path holds the path of the lamp as it was set.",
        "The lamp.path.join function joins the parts of a path.",
    ]


@pytest.mark.parametrize(
    "said", ["The open_lamp settings of old.", "The open_lamp and shut_lamp are both good."]
)
def test_a_plural_is_no_verb_and_what_names_both_tells_of_none(said):
    assert not says_what_it_does("open_lamp").match(said) or "shut_lamp" in said


def test_of_a_long_list_what_there_is_room_for_is_told_whole(analyzed):
    items = "".join(f"- It has a part of number {n} that is good for nothing.\n" for n in range(30))
    found = analyzed("What is uLamp?", ("uLamp", f"# uLamp\n\nuLamp is a fast lamp.\n\n{items}"))
    assert found[0].content.startswith("uLamp is a fast lamp. It has a part of number 0")
    assert found[0].content.endswith("good for nothing.")
    assert len(found[0].quotes[0].quote) <= 700
