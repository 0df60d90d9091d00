"""Web pages whose parts are named like those of a site, or told in other ways than most."""

from __future__ import annotations

from datetime import date

import pytest

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.readers import read

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "
MORE = "Every vessel that calls is written down with its cargo and the weather of the day, as of old. "


def page(body: str, head: str = "") -> Document:
    html = f"<!doctype html><html><head><title>Mole</title>{head}</head><body>{body}</body></html>"
    return read(html.encode(), "text/html", "https://x.example/mole", 1_000_000)


def paragraphs(text: str, count: int) -> str:
    return "".join(f"<p>{number}. {text}</p>" for number in range(count))


@pytest.mark.parametrize("name", ["article-body pagination-first", "l-sidebar-fixed", "entry ad-free"])
def test_an_article_whose_class_is_named_like_debris_is_read(name: str) -> None:
    assert (
        page(f"<div class='{name}'><h1>Mole</h1>{paragraphs(PROSE, 12)}</div>").text.count(PROSE.strip())
        == 12
    )


def test_what_readers_say_below_an_article_is_no_text() -> None:
    said = f"<section id='comments'><h2>Comments</h2>{paragraphs('I was there, and saw it.', 3)}</section>"
    assert "I was there" not in page(f"<main><h1>Mole</h1>{paragraphs(PROSE, 12)}</main>{said}").text


def test_what_a_script_would_show_is_read_where_it_is_most_of_the_page() -> None:
    article = f"<article><h1>Mole</h1>{paragraphs(PROSE, 12)}</article>"
    assert PROSE.strip() in page(f"<div style='opacity:0'>{article}</div>").text
    assert MORE.strip() not in page(f"{article}<div hidden>{paragraphs(MORE, 3)}</div>").text


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
