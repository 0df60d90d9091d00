"""Sentences that lean on what stands before them."""

import pytest

from deep_research.evidence.leaning import after_its_subject, goes_on_only, leans_back


@pytest.mark.parametrize(
    "sentence",
    [
        "It is the oldest of all.",
        "On 24 December 1898 it sent the first signal.",
        "Because it is slow, the lamp goes out.",
        "One of them heard the noise.",
        "So the clay was what mattered.",
        "For all this most kept to oil.",
        "In 1697 a French ship carried him off.",
        "In November 1703 he had his wish.",
        "The lamp there was built anew in 1843.",
        "Another difference is the price.",
        "A lamp of this kind is now called a diaphane.",
        "Lamps like these are dear.",
        "Rather it is a plan of a lamp.",
        "Many of these lamps are dear.",
        "The code above will bound the lamp to 16 tons.",
        "Use one of the lamps described below.",
        "At high tide it lies under water.",
        "At\nhigh tide it lies under water.",
        "For more than 120 years it stood in the open sea.",
        "American troops burned it twice.",
        "You’ll use them most often in these situations:",
        "If you can light it by day, do so.",
        "The first one is from the harbour.",
        "The keeper of the second was cast away.",
    ],
)
def test_a_sentence_leans_by_a_pronoun_a_person_or_a_place_that_it_does_not_name(sentence):
    assert leans_back(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "John Mole built the tower and left it to his son.",
        "It is often said that lamps are dear.",
        "Long ago there was a lamp at Orrel.",
        "In Orrel the lamp that stood there was dim.",
        "Lamps need oil.",
        "A lamp of the first kind is dear.",
        "The keeper of the second lamp was cast away.",
        "A surface like that of the Moon covers the plain.",
        "Instead of a lamp they lit a fire.",
        "Rather than oil, Orrel burned coal.",
        "The lamp above the door is lit.",
        "In old books it is often said that lamps are dear.",
        "At Orrel it rains.",
        "The keeper needed oil, and bought it.",
    ],
)
def test_a_sentence_that_names_what_it_means_does_not_lean(sentence):
    assert not leans_back(sentence)


@pytest.mark.parametrize(
    ("sentence", "only"),
    [
        ("So the clay in it was what mattered.", True),
        ("However, lamps are dear.", True),
        ("It was what mattered.", False),
        ("Those that failed left nothing.", False),
        ("Soot falls.", False),
    ],
)
def test_a_sentence_may_only_go_on_from_the_one_before(sentence, only):
    assert goes_on_only(sentence) is only


ROCK = "# The Hare Rock tower\n\nThe Hare Rock is a reef.\n\n## Today\n\nIt still works."


def test_a_pronoun_that_nothing_above_explains_stands_behind_the_name_of_its_document():
    start = ROCK.index("It still")
    assert (
        after_its_subject("It still works.", "The Hare Rock tower", ROCK, start)
        == "The Hare Rock tower: It still works."
    )


@pytest.mark.parametrize(
    ("said", "title", "text"),
    [
        ("This still works.", "The Hare Rock tower", ROCK),
        ("It still works at the Hare Rock.", "Hare Rock", ROCK),
        ("It still works.", "Towers of rocks", ROCK),
        ("It still works.", "The Hare Rock tower in 1999", ROCK),
        ("It still works.", "Hare Rock and Mole", ROCK),
        ("It still works.", "The Hare Rock tower", ROCK.replace("## Today", "## The bell")),
        (
            "It still works.",
            "The Hare Rock tower",
            ROCK.replace("## Today", "## Today\n\nA bell weighs two tons."),
        ),
        ("She still works.", "The Hare Rock tower", ROCK),
    ],
    ids=[
        "no pronoun",
        "named",
        "no name",
        "a year",
        "two",
        "under another thing",
        "behind another",
        "somebody",
    ],
)
def test_what_needs_no_name_or_may_have_another_stands_alone(said, title, text):
    assert after_its_subject(said, title, text, text.index("It still")) == said
