"""Words that are broken at the end of a line are whole again; what has a hyphen of its own keeps it."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.readers import read
from deep_research.sources.extract.texts import join_broken_words


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("The break-\nwater of Brenn", "The breakwater\nof Brenn"),
        ("by Marit Haug-\nland, in 1931", "by Marit Haugland,\nin 1931"),
        ("  set in a break-\n  water of stone", "  set in a breakwater\n  of stone"),
        ("the pre-\nview\n\nNext", "the preview\n\nNext"),
        ("the break‐\nwater", "the breakwater"),
        ("the break- \nwater", "the breakwater"),
        ("BREAK-\nWATER here", "BREAKWATER\nhere"),
        ("Hafen-\nmole am Meer", "Hafenmole\nam Meer"),
        ("волно-\nлом стоит", "волнолом\nстоит"),
        # As the text has it elsewhere.
        ("well-known then; well-\nknown now", "well-known then; well-known\nnow"),
        (
            "a well-built mole, known to be well-\nknown here",
            "a well-built mole, known to be well-known\nhere",
        ),
        ("a cooperative, a co-\noperative", "a cooperative, a cooperative"),
        ("a co-operative, a co-\noperative", "a co-operative, a co-operative"),
        # With a hyphen of its own.
        ("an Anglo-\nSaxon wall", "an Anglo-Saxon\nwall"),
        ("a state-of-\nthe-art pier", "a state-of-the-art\npier"),
        ("short-\nand long-term", "short-\nand long-term"),
        ("Haupt-\nund Nebenmole", "Haupt-\nund Nebenmole"),
        ("from 1990-\n1995", "from 1990-\n1995"),
        ("- an item -\n- another", "- an item -\n- another"),
        ("he left -\nand came", "he left -\nand came"),
    ],
)
def test_a_broken_word_is_written_as_the_text_has_it(text: str, says: str) -> None:
    assert join_broken_words(text) == says


def test_a_text_file_is_read_with_whole_words_and_its_lines() -> None:
    raw = b"The break-\nwater of Brenn was de-\nsigned by the engineer Marit Haug-\nland in 1931."
    text = read(raw, name="a.txt", is_file=True).text
    assert text == "The breakwater\nof Brenn was designed\nby the engineer Marit Haugland\nin 1931."
    assert (
        read("The break\xad\r\nwater of stone.".encode(), name="a.txt", is_file=True).text
        == "The breakwater\nof stone."
    )
    assert "break-\nwater" in read(raw, name="a.md", is_file=True).text.replace("\n\n", "\n")


@pytest.mark.parametrize("text", ["a-\n" * 100_000, "word-\nword " * 50_000, "a" * 500_000, "-\n" * 300_000])
def test_joining_takes_linear_time(text: str, seconds) -> None:
    assert seconds(2, lambda: join_broken_words(text)) < 2
