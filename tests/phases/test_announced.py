"""What stands under a heading that asks the same is the answer, and rows that say the same are their table."""

import pytest

BUILT = """# The Orrel light

The Orrel is a reef off Penryn. Its light can be seen from the quay.

## Why it was built

In December 1799 a storm drove the Hester Grey on the Orrel. Ships had been lost on the reef for years.

## Who designed it

Two engineers shared the work. Ann Mole made the drawings, and Tom Hare lived on the rock until it was done.

## Its cost

The Orrel Account puts the expense of the building at 61,331 pounds.
"""


def test_a_heading_that_asks_the_same_in_a_related_word_announces_the_answer(analyzed):
    first, *others = analyzed("Who built the Orrel light?", ("The Orrel light", BUILT))
    assert "Ann Mole made the drawings" in first.content
    assert not any("Hester Grey" in finding.content for finding in others)


def test_a_heading_that_asks_something_else_lends_its_words_to_that_alone(analyzed):
    first, *_ = analyzed("Why was the Orrel light built?", ("The Orrel light", BUILT))
    assert "In December 1799 a storm" in first.content
    without = BUILT.replace("## Who designed it", "## At work")
    assert not any(
        finding.content.startswith("In December 1799") and finding.relevance > 0.8
        for finding in analyzed("Who built the Orrel light?", ("The Orrel light", without))
    )


def test_a_page_is_no_better_for_being_called_like_the_question(analyzed):
    question = "Who designed the Orrel light?"
    told = "In the end Ann Mole designed the Orrel light for the town."
    found = analyzed(question, ("A", f"# {question}\n\n{told}\n"), ("A", f"# On the light\n\n{told}\n"))
    assert len(found) == 2
    assert found[0].relevance == found[1].relevance


def test_what_stands_under_the_same_question_about_another_thing_is_no_answer(analyzed):
    found = analyzed("Who built the Penryn mill?", ("The Orrel light", BUILT))
    assert not any("Ann Mole" in finding.content for finding in found)


def test_the_kind_of_answer_and_the_words_of_the_question_may_stand_in_two_sentences(analyzed):
    text = (
        "The reef has a tower from 1843, near the Penryn Sands. It was often painted.\n\n"
        "On 8 December 1858 the arc was tried by Ann Mole. No tower in the world had an electric lamp before.\n"
    )
    first, *_ = analyzed("Who tried the electric lamp in a tower?", ("Arcs", text))
    assert first.content.startswith("On 8 December 1858 the arc was tried by Ann Mole. No tower")


SHAKEN = """# The Pharo of Orrel

The Pharo was the great tower of Orrel. It stood on an island.

## How it was lost

The tower outlived every other. Earthquakes broke it down by degrees:

Year (AD) | What happened
956 | damage from an earthquake
1303 | heavy damage from an earthquake
1323 | further damage; the light was finished
"""


def test_rows_that_say_the_same_of_the_question_come_as_the_table_they_are_of(analyzed):
    """The name is that of the title, small word and all."""
    found = analyzed("Which earthquakes damaged the Pharo of Orrel?", ("The Pharo of Orrel", SHAKEN))
    told = [finding.content for finding in found]
    assert told[-3:] == [
        "Year (AD): 956; What happened: damage from an earthquake",
        "Year (AD): 1303; What happened: heavy damage from an earthquake",
        "Year (AD): 1323; What happened: further damage; the light was finished",
    ]


def test_one_row_of_many_that_answers_stays_one_row(analyzed):
    text = "Tower | Height | Place\nMole | 57 m | at Penryn\nHare | 31 m | at Orrel\nGannet | 44 m | at sea\n"
    told = [f.content for f in analyzed("How high is the Hare tower?", ("Heights of towers", text))]
    assert told == ["Tower: Hare; Height: 31 m; Place: at Orrel"]


def test_a_table_that_says_how_things_work_answers_how_they_work(analyzed):
    text = (
        "Horns are old. In 1719 a horn was put on the quay to signal in fog.\n\n"
        "Kind | How it works\nGun | a cannon, fired by hand\nReed | air moves a tongue\n"
    )
    told = [f.content for f in analyzed("How do fog signals work?", ("Fog signals", text))]
    assert "Kind: Gun; How it works: a cannon, fired by hand" in told
    assert "Kind: Reed; How it works: air moves a tongue" in told
    other = [f.content for f in analyzed("How do fog signals work?", ("Mills of Penryn", text))]
    assert "Kind: Reed; How it works: air moves a tongue" not in other


def test_a_report_that_is_one_table_shows_it_at_once(draft_of):
    rows = ["Year: 956; Event: first damage", "Year: 1303; Event: heavy damage"]
    report = draft_of("Which earthquakes?", [(row, 0, 0.8) for row in rows], titles=("The Pharo",))
    table = report.partition("## Summary\n\n")[2].partition("\n\n##")[0].splitlines()
    assert table[0].startswith("| Year | Event [find-")
    assert table[1:] == ["| --- | --- |", "| 956 | first damage |", "| 1303 | heavy damage |"]
    assert "## The Pharo" not in report


@pytest.mark.parametrize(
    ("question", "comes"),
    [("What happened to the keepers of the Orrel?", False), ("When did the keepers leave the Orrel?", True)],
)
def test_a_date_and_a_name_answer_only_who_asks_for_a_date(analyzed, question, comes):
    texts = (
        ("The keepers leave: a timeline", "- 1971 — The Orrel, Outer Isles.\n- 1988 — Mole Head, Penryn.\n"),
        ("The Orrel", "Three keepers of the Orrel vanished. What happened to them nobody knows."),
    )
    told = [finding.content for finding in analyzed(question, *texts)]
    assert told[0].startswith("1971") is comes


ASKED = """# The Orrel light: questions of visitors

What happened in December 1900?
Three keepers vanished. They were Ann Mole, Tom Hare and a boy.

When was it noticed?
On 15 December 1900 a steamer passed, and the news was slow.
"""


def test_what_happened_in_a_year_stands_under_the_question_what_happened_in_a_month_of_it(analyzed):
    first, *_ = analyzed("What happened at the Orrel light in 1900?", ("The Orrel light", ASKED))
    assert first.content.startswith("Three keepers vanished.")
    first, *_ = analyzed("What happened at the Orrel light in 1911?", ("The Orrel light", ASKED)) or [None]
    assert first is None or not first.content.startswith("Three keepers")


def test_what_happened_is_told_to_the_end_of_its_paragraph(analyzed):
    text = "The Hester Grey left Penryn. Her boilers leaked. She struck a rock and broke in two.\n\nLater it rained.\n"
    (found,) = analyzed("What happened to the Hester Grey?", ("Wrecks", text))
    assert found.content == text.partition("\n")[0]


VISITORS = """# The Orrel isles: questions that visitors ask

Where are the Orrel isles?
They are small, and lie off Penryn. The lamp of the Orrel isles is high.

What happened in December 1900?
Three keepers vanished. They were never found.

Who looked for them?
The office did.
"""


def test_what_happened_somewhere_is_told_under_what_happened_in_a_year(analyzed):
    first, *_ = analyzed("What happened on the Orrel isles?", ("The Orrel isles: questions", VISITORS))
    assert first.content == "Three keepers vanished. They were never found."


def test_what_happened_in_another_year_is_not(analyzed):
    found = analyzed("What happened on the Orrel isles in 1850?", ("The Orrel isles: questions", VISITORS))
    assert not any("vanished" in f.content for f in found)
