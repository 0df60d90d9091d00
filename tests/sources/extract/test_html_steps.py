"""What leads from a page to others of its site is no text of it: steps of a manual, lists of links with pictures."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.reading import read

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "
TEXT = "".join(f"<p>{number}. {PROSE}</p>" for number in range(8))


def text_of(body: str) -> str:
    html = f"<!doctype html><html><head><title>The wall of Mole</title></head><body>{body}</body></html>"
    return read(html.encode(), "text/html", "https://x.example/mole", 1_000_000).text


PLAIN = text_of(f"<h1>The wall of Mole</h1>{TEXT}")


@pytest.mark.parametrize(
    "steps",
    [
        "<p>Next: <a href='b.html' rel='next'>The gate</a>, Up: <a href='a.html' rel='up'>Walls</a> "
        "&nbsp; [<a href='i.html' rel='index'>Index</a>]</p>",
        "<p>Next: <a href='b.html'>The gate</a>, Up: <a href='a.html'>Walls</a> [<a href='i.html'>Index</a>]</p>",
        "<div><a rel='prev' href='a.html'>Previous: The sea</a> | <a rel='next' href='b.html'>The gate</a></div>",
    ],
)
def test_a_line_of_steps_to_other_pages_is_no_text(steps: str) -> None:
    assert text_of(f"{steps}<h1>The wall of Mole</h1>{TEXT}{steps}") == PLAIN


def test_a_sentence_with_a_link_to_the_next_page_is_text() -> None:
    line = "<p>How it was raised is told on <a rel='next' href='b.html'>the next page</a> of this book.</p>"
    assert "is told on the next page of this book." in text_of(f"<h1>The wall of Mole</h1>{TEXT}{line}{TEXT}")


def test_links_to_other_pages_with_a_picture_before_each_are_a_list_of_links() -> None:
    item = "<li><div class='favicon'></div><a href='/q/{0}'>Who built the {0}th lamp of the island?</a></li>"
    links = f"<h4>Hot questions</h4><ul>{''.join(map(item.format, range(20)))}</ul>"
    text = text_of(f"<main><h1>The wall of Mole</h1>{TEXT}</main><div>{links}</div>")
    assert text == PLAIN


def test_the_parts_of_a_page_by_their_pictures_are_text() -> None:
    items = "".join(f"<li><a href='#{part}'><div></div>The {part}</a></li>" for part in ("gate", "lamp"))
    assert "- The gate\n- The lamp" in text_of(
        f"<h1>The wall of Mole</h1>{TEXT}<ul>{items}</ul>{TEXT}"
    ).replace("- \n", "")
