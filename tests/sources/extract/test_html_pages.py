"""Web pages whose parts are named like those of a site, or told in other ways than most."""

from __future__ import annotations

from datetime import date

import pytest

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.reading import read
from deep_research.sources.extract.votes import main_part

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "
MORE = "Every vessel that calls is written down with its cargo and the weather of the day, as of old. "


def page(body: str, head: str = "") -> Document:
    html = f"<!doctype html><html><head><title>Mole</title>{head}</head><body>{body}</body></html>"
    return read(html.encode(), "text/html", "https://x.example/mole", 1_000_000)


def paragraphs(text: str, count: int) -> str:
    return "".join(f"<p>{number}. {text}</p>" for number in range(count))


@pytest.mark.parametrize(
    ("name", "heading"),
    [
        ("sharing-with-other-harbours", "Sharing with other harbours"),
        ("comments", "Comments<a href='#comments'>¶</a>"),
    ],
)
def test_a_section_that_is_named_by_its_heading_is_text_whatever_the_name(name: str, heading: str) -> None:
    section = f"<section id='{name}'><h2>{heading}</h2>{paragraphs(MORE, 3)}</section>"
    found = page(f"<main><h1>Mole</h1>{paragraphs(PROSE, 12)}{section}{paragraphs(PROSE, 3)}</main>")
    assert found.text.count(MORE.strip()) == 3


def test_a_box_for_sharing_and_what_readers_say_are_no_text() -> None:
    box = "<div id='sharing'><h3>Sharing is caring</h3><p>Send it on.</p></div>"
    said = f"<section id='comments'><h2>Comments</h2>{paragraphs('I was there, and saw it.', 3)}</section>"
    found = page(f"<main><h1>Mole</h1>{paragraphs(PROSE, 12)}{box}</main>{said}")
    assert "Send it on" not in found.text
    assert "I was there" not in found.text


@pytest.mark.parametrize("name", ["read-more", "paywall"])
def test_the_rest_of_an_article_is_text_and_the_invitation_to_it_is_none(name: str) -> None:
    rest = f"<div class='{name}'>{paragraphs(MORE, 6)}</div>"
    invitation = f"<div class='{name}'><p>Subscribe now to go on.</p></div>"
    found = page(f"<article><h1>Mole</h1>{paragraphs(PROSE, 12)}{rest}{invitation}</article>")
    assert found.text.count(MORE.strip()) == 6
    assert "Subscribe" not in found.text


def test_a_first_paragraph_that_stands_with_a_caption_is_not_lost() -> None:
    whole = f"A picture by I. Okafor {MORE * 2}\n\n{PROSE * 2}\n\nSend it on."
    assert main_part(whole, f"{MORE * 2}\n\n{PROSE * 2}") == whole.removesuffix("\n\nSend it on.").strip()


@pytest.mark.parametrize(
    "wrapped", ["<![CDATA[{}]]>", "//<![CDATA[\n{}\n//]]>", "/*<![CDATA[*/ {} /*]]>*/", "{}"]
)
def test_what_a_page_tells_of_itself_is_read_in_whatever_wrapping(wrapped: str) -> None:
    said = '{"@type": "Article", "datePublished": "2024-03-05T10:00", "author": {"name": "Ines Okafor"}}'
    script = f"<script type='application/ld+json'>{wrapped.replace('{}', said)}</script>"
    found = page(f"<main><h1>Mole</h1>{paragraphs(PROSE, 3)}</main>", script)
    assert (found.author, found.published) == ("Ines Okafor", date(2024, 3, 5))


@pytest.mark.parametrize(
    "byline",
    [
        "<div itemprop='author'><span>por </span>\n<ul><li><span itemprop='name'>Ines Okafor</span></li></ul></div>",
        "<p class='byline'><span>by</span> <a href='/o'>Ines Okafor</a><span>22 Dec 2016</span><a href='#c'>651</a></p>",
    ],
)
def test_an_author_is_a_name_without_what_stands_beside_it(byline: str) -> None:
    assert page(f"<main><h1>Mole</h1>{byline}{paragraphs(PROSE, 3)}</main>").author == "Ines Okafor"
