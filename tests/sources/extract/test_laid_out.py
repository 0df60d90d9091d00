"""Prose that is laid out in lines: manual pages, memos, archived mail, and words that are broken at the end of a line."""

from __future__ import annotations

import pytest
from made import web_page

from deep_research.sources.extract.readers import read
from deep_research.sources.extract.texts import join_broken_words, read_document
from deep_research.text.passages import BlockKind, blocks

MANUAL = """\
DREDGE(8)                   Harbour Manual                   DREDGE(8)

NAME
       dredge - keeps the harbour deep

DESCRIPTION
       The dredge moves along the mole and takes up what the tide
       has left.  It is moored when the wind is above a strong bree-
       ze; a breeze does it no harm.

LIMITS
       The following limits hold at all times.

       depth_limit (9)
              How deep, in metres, the basin is dredged at most, the
              outer wall left out.

       load_limit (400)
              How much the barge takes on before it goes out to sea.
"""
MAIL = """\
Dear all,

the outer wall was raised in the spring, and the lamp was lit in June.

We ask everybody to keep clear of the mole until the work is done.

Thanks,
Ines
"""
LISTING = """\
int main(void)
{
    int depth = 9;

    for (int i = 0; i < depth; i++) {
        dredge(&basin[i], LIMIT);
    }

    return depth == 9 ? 0 : 1;
}
"""


def of_kind(kind: BlockKind, text: str) -> list[str]:
    return [text[b.start : b.end] for b in blocks(text) if b.kind is kind]


def test_a_manual_page_has_its_headings_and_each_of_its_entries_as_a_paragraph() -> None:
    text = web_page(f"<pre>{MANUAL}</pre>").text
    assert of_kind(BlockKind.HEADING, text)[-3:] == ["## NAME", "## DESCRIPTION", "## LIMITS"]
    told = [" ".join(block.split()) for block in of_kind(BlockKind.PARAGRAPH, text)]
    assert (
        "depth_limit (9) How deep, in metres, the basin is dredged at most, the outer wall left out." in told
    )
    assert "load_limit (400) How much the barge takes on before it goes out to sea." in told


def test_a_small_page_of_a_folder_is_told_the_same_way_without_what_an_element_cannot_hold() -> None:
    page = f"<title>dredge</title><pre>{MANUAL}</pre>".encode()
    small = read_document(page, "dredge.html")
    assert "## LIMITS" in small.text
    assert small.text == read(page, name="dredge.html").text
    struck = MANUAL.replace("depth_limit", "d\bdepth_limit\x01\uffff")
    page = f"<?xml version='1.0' encoding='utf-8'?><pre>{struck}</pre>".encode()
    assert "ddepth_limit (9)" in read_document(page, "dredge.html").text


def test_a_line_of_a_letter_is_no_heading() -> None:
    text = web_page(f"<h1>Re: the mole</h1><pre>{MAIL}</pre>").text
    assert of_kind(BlockKind.HEADING, text) == ["# Re: the mole"]
    assert MAIL.split("\n")[2] in text.split("\n")


PROSE = "<p>The harbour of Mole was dredged to nine metres in the year of the storm.</p>"


@pytest.mark.parametrize(
    ("around", "listing", "line"), [("", LISTING, "int main(void)"), (PROSE * 12, MANUAL, "depth_limit (9)")]
)
def test_code_and_an_example_in_a_page_stay_pieces_of_code(around: str, listing: str, line: str) -> None:
    assert line in of_kind(BlockKind.CODE, web_page(f"{around}<pre>{listing}</pre>").text)[0]


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
        ("a well-built mole, known as well-\nknown", "a well-built mole, known as well-known"),
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
    text, soft, markdown = (
        read(each, name=name, is_file=True).text
        for each, name in (
            (raw, "a.txt"),
            ("The break\xad\r\nwater of stone.".encode(), "a.txt"),
            (raw, "a.md"),
        )
    )
    assert text == "The breakwater\nof Brenn was designed\nby the engineer Marit Haugland\nin 1931."
    assert soft == "The breakwater\nof stone."
    assert "break-\nwater" in markdown.replace("\n\n", "\n")


@pytest.mark.parametrize("text", ["a-\n" * 100_000, "word-\nword " * 50_000, "a" * 500_000, "-\n" * 300_000])
def test_joining_takes_linear_time(text: str, seconds) -> None:
    assert seconds(2, lambda: join_broken_words(text)) < 2
