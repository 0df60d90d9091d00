"""Prose that a page lays out with spaces: manual pages, memos, archived mail."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.readers import read
from deep_research.sources.extract.texts import read_document
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


def text_of(listing: str, around: str = "") -> str:
    html = f"<!doctype html><html><head><title>Mole</title></head><body>{around}<pre>{listing}</pre></body></html>"
    return read(html.encode(), "text/html", "https://x.example/mole", 1_000_000).text


def of_kind(kind: BlockKind, text: str) -> list[str]:
    return [text[b.start : b.end] for b in blocks(text) if b.kind is kind]


def test_a_manual_page_has_its_headings_and_each_of_its_entries_as_a_paragraph() -> None:
    text = text_of(MANUAL)
    assert of_kind(BlockKind.HEADING, text)[-3:] == ["## NAME", "## DESCRIPTION", "## LIMITS"]
    told = [" ".join(block.split()) for block in of_kind(BlockKind.PARAGRAPH, text)]
    assert (
        "depth_limit (9) How deep, in metres, the basin is dredged at most, the outer wall left out." in told
    )
    assert "load_limit (400) How much the barge takes on before it goes out to sea." in told


def test_a_small_page_of_a_folder_is_told_the_same_way() -> None:
    page = f"<title>dredge</title><pre>{MANUAL}</pre>".encode()
    small = read_document(page, "dredge.html")
    assert "## LIMITS" in small.text
    assert small.text == read(page, name="dredge.html").text


def test_what_an_element_cannot_hold_is_left_out() -> None:
    struck = MANUAL.replace("depth_limit", "d\bdepth_limit\x01\uffff")
    page = f"<?xml version='1.0' encoding='utf-8'?><pre>{struck}</pre>".encode()
    assert "ddepth_limit (9)" in read_document(page, "dredge.html").text


def test_a_line_of_a_letter_is_no_heading() -> None:
    text = text_of(MAIL, "<h1>Re: the mole</h1>")
    assert of_kind(BlockKind.HEADING, text) == ["# Re: the mole"]
    assert "the outer wall was raised in the spring, and the lamp was lit in June." in text.split("\n")


@pytest.mark.parametrize(
    ("listing", "around"),
    [
        (LISTING, ""),
        (MANUAL, "<p>The harbour of Mole was dredged to nine metres in the year of the storm.</p>" * 12),
    ],
)
def test_code_and_an_example_in_a_page_stay_pieces_of_code(listing: str, around: str) -> None:
    text = text_of(listing, around)
    assert any(line in of_kind(BlockKind.CODE, text)[0] for line in ("int main(void)", "depth_limit (9)"))
