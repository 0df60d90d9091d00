"""Entries of a list without marks stay apart in a PDF, however long they are."""

from __future__ import annotations

from made import Line, paged

from deep_research.sources.extract.readers import read

QUESTION = (
    "7. Which of these have you seen at the harbour of Mole in the last twelve",
    "months, by day or by night, from the quay or from a vessel of your own?",
)
ANSWERS = (
    "A lamp that was not lit at the hour that the tables give",
    "The keeper of the lamp at work on the outer wall at noon",
    "Both of these",
    "Neither the lamp nor its keeper nor any vessel of it",
    "Other",
)


def text_of(*lines: Line) -> list[str]:
    return read(paged([lines]), "application/pdf", "survey.pdf", 1_000_000).text.split("\n")


def set_as(*texts: str, left: float = 60, top: float = 700) -> list[Line]:
    return [Line(left, top - 14 * at, text) for at, text in enumerate(texts)]


def test_answers_that_end_where_the_next_word_had_room_stay_apart() -> None:
    told = text_of(*set_as(*QUESTION * 2), *set_as(*ANSWERS, left=80, top=640))
    assert [line for line in told if line][-5:] == list(ANSWERS)


def test_a_sentence_that_goes_on_with_a_name_is_one() -> None:
    prose = (
        "The harbour of Mole was dredged in 1931 to a depth of nine metres, and the",
        "wall was raised by two courses of granite that came by sea from quarries at",
        "Penryn and was set by the men of Mole, whose names are on the stone that",
        "Okafor saw there.",
    )
    assert text_of(*set_as(*prose)) == [" ".join(prose)]


def test_lines_of_a_text_beside_another_are_no_entries() -> None:
    narrow = (
        "The wall of Mole is old,",
        "Mole says, and so does",
        "Penryn, where it came",
        "Okafor wrote of it.",
    )
    lines = [*set_as(*QUESTION, top=740), *set_as(*narrow * 3), *set_as(*narrow * 3, left=240)]
    assert any(" ".join(narrow) in line for line in text_of(*lines))


def test_what_numbers_stand_for_in_data_are_items() -> None:
    told = text_of(
        *set_as("Kind of light", "1 = Oil lamp of the old kind", "2 = Gas", "-99 = Not told at all")
    )
    assert told == ["Kind of light", "", "1 = Oil lamp of the old kind", "2 = Gas", "-99 = Not told at all"]
