"""Marks that refer to notes, and the notes themselves."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.readers import read

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "
MARK = "<sup class='reference'><a href='#n1'>[1]</a></sup>"


def text_of(body: str) -> str:
    text = "".join(f"<p>{number}. {PROSE}</p>" for number in range(6))
    html = f"<!doctype html><html><head><title>Mole</title></head><body><h1>Mole</h1>{text}{body}{text}</body></html>"
    return read(html.encode(), "text/html", "https://x.example/mole", 1_000_000).text


def test_a_mark_that_refers_to_a_note_is_no_text() -> None:
    assert "The wall was raised. It stands." in text_of(f"<p>The wall was raised.{MARK} It stands.</p>")


@pytest.mark.parametrize("raised", ["2", "th", ":a", "1:2"])
def test_what_is_raised_and_no_mark_is_text(raised: str) -> None:
    assert f"The wall{raised} stands" in text_of(
        f"<p>The wall<sup>{raised}</sup> stands on the rocks of Mole.</p>"
    )


def test_a_sign_in_the_line_does_not_part_a_reference() -> None:
    sign = "<div style='display: inline-block; width: 16px'><div><div></div></div></div>"
    found = text_of(
        f"<ol><li>Okafor, Ines. <a href='/w'>“The wall”</a>{sign}. Harbour Weekly. 1999.</li></ol>"
    )
    assert "- Okafor, Ines. “The wall”. Harbour Weekly. 1999." in found
