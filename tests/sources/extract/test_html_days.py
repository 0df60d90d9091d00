"""The day on which a page says it was published, as the place of the page has it; no day that is something else's."""

from __future__ import annotations

from datetime import date

import pytest

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.readers import read

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "
TEXT = "".join(f"<p>{number}. {PROSE * 2}</p>" for number in range(6))
TITLE = "<h1>The wall of Mole</h1>"


def page(body: str, head: str = "", kind: str = "") -> Document:
    html = f"<!doctype html><html><head><title>Mole</title>{head}</head><body class='{kind}'>{body}</body></html>"
    return read(html.encode(), "text/html", "https://x.example/mole", 1_000_000)


@pytest.mark.parametrize(
    "head",
    [
        "<meta property='article:published_time' content='2017-02-23T17:18:13-08:00'>"
        '<script type="application/ld+json">{"dateCreated": "2017-02-24T01:18:13Z"}</script>',
        "<meta property='article:published' itemprop='datePublished' content='2017-02-23T08:00'>",
        "<meta name='publishdate' content='2017-02-23'>",
        "<meta property='x:time article:published_time' content='2017-02-23'>",
    ],
)
def test_the_day_is_that_of_the_place(head: str) -> None:
    assert page(f"{TITLE}{TEXT}", head).published == date(2017, 2, 23)


@pytest.mark.parametrize(
    "body",
    [
        f"<article><header>{TITLE}<section class='post-meta'><p class='byline'>Ines Okafor - "
        f"<time datetime='2017-02-23T20:02:01+00:00'></time></p></section></header>{TEXT}</article>",
        f"<div>{TITLE}<span class='post-date'>23 Feb 2017</span><div class='share'></div>{TEXT}</div>",
        f"{TITLE}<time class='date' datetime='2017-02-24T01:18:00Z'>February 23, 2017</time>{TEXT}",
    ],
)
def test_a_day_at_the_head_of_the_text_is_read(body: str) -> None:
    assert page(body).published == date(2017, 2, 23)


def test_an_author_in_a_line_that_is_not_text_is_read_and_that_of_a_teaser_is_not() -> None:
    line = "<div class='entry-meta'><span class='byline'>By {}</span></div>"
    teaser = f"<article><h3>Another</h3>{line.format('Jonas Weber')}</article>"
    own = page(f"<article>{TITLE}{line.format('Ines Okafor')}{TEXT}</article>{teaser}")
    assert own.author == "Ines Okafor"


@pytest.mark.parametrize(
    ("body", "head"),
    [
        (f"{TITLE}{TEXT}<div class='comment'><time datetime='2019-03-10'>March 10</time></div>", ""),
        (
            f"{TITLE}<p class='byline'>Updated <time class='updated' datetime='2019-03-10'></time></p>{TEXT}",
            "",
        ),
        (f"{TITLE}{TEXT}<p>March 10, 2019</p>", ""),
        (
            f"<div>{TITLE}<span class='post-updated'>23 Feb 2017</span><div class='share'></div>{TEXT}</div>",
            "",
        ),
        (
            f"<article class='hentry'>{TITLE}{TEXT}<time class='updated' datetime='2017-02-23'></time></article>",
            "",
        ),
        (
            f"<article class='hentry'>{TITLE}{TEXT}<div class='comments'><time class='published' "
            "datetime='2017-02-23'></time></div></article>",
            "",
        ),
        (f"{TITLE}{TEXT}", '<script type="application/ld+json">{"dateModified": "2019-03-10"}</script>'),
        (f"{TITLE}{TEXT}", "<meta property='article:modified_time' content='2019-03-10'>"),
        (f"{TITLE}{TEXT}", "<meta name='publishdate' content='05/08/2014'>"),
    ],
)
def test_a_day_of_something_else_is_none(body: str, head: str) -> None:
    assert page(body, head).published is None


def test_an_article_of_a_wiki_is_as_old_as_its_last_change() -> None:
    said = '<script type="application/ld+json">{"datePublished": "2001-10-29"%s}</script>'
    changed = said % ', "dateModified": "2019-09-26"'
    assert page(f"{TITLE}{TEXT}", changed, "mediawiki").published == date(2019, 9, 26)
    assert page(f"{TITLE}{TEXT}", said % "", "mediawiki").published is None
    assert page(f"{TITLE}{TEXT}", changed).published == date(2001, 10, 29)


@pytest.mark.parametrize(
    "head",
    [
        "<meta name='revision date' content='2023-05-05'>",
        "<meta name='expiry date' content='2031-05-05'>",
        "<meta name='date format' content='2001-01-01'>",
        '<script type="application/ld+json">{"@type": "Comment", "datePublished": "2015-01-01"}</script>',
        '<script type="application/ld+json">{"@type": "Person", "dateCreated": "2009-01-01"}</script>',
    ],
)
def test_days_of_other_things_in_the_head_are_none_of_the_page(head: str) -> None:
    assert page(f"{TITLE}{TEXT}", head).published is None


@pytest.mark.parametrize(
    "below",
    [
        "<p>July 4, 1776</p>",
        "<div>Born</div><div>12 January 1899</div>",
        "<p>One.</p><p>Two.</p><p>Three.</p><p>May 2, 2020</p>",
    ],
)
def test_a_day_that_merely_stands_there_is_none_of_the_page(below: str) -> None:
    assert page(f"{TITLE}{below}{TEXT}").published is None


@pytest.mark.parametrize(
    "more",
    [
        "<meta name='date' content='2020-05-02T08:00:00+02:00'>",
        '<script type="application/ld+json">{"@type": "Comment", "datePublished": "2020-05-02T09:00:00+02:00"}</script>',
    ],
)
def test_another_moment_does_not_move_the_day(more: str) -> None:
    head = f"<meta property='article:published_time' content='2020-05-01T09:00:00Z'>{more}"
    assert page(f"{TITLE}{TEXT}", head).published == date(2020, 5, 1)
    assert page(f"{TITLE}<p>May 2, 2020</p>{TEXT}", head).published == date(2020, 5, 1)


def test_a_film_has_the_day_of_the_page_only_where_nothing_else_has_one() -> None:
    film = (
        '<script type="application/ld+json">{"@type": "VideoObject", "datePublished": "2015-01-01"}</script>'
    )
    said = "<meta property='article:published_time' content='2020-03-04'>"
    assert page(f"{TITLE}{TEXT}", film + said).published == date(2020, 3, 4)
    assert page(f"{TITLE}{TEXT}", film).published == date(2015, 1, 1)


def test_a_sign_that_tells_the_day_is_read_before_it_goes() -> None:
    sign = "<div style='display: inline'><meta itemprop='datePublished' content='2020-02-03'></div>"
    assert page(f"{TITLE}{sign}{TEXT}").published == date(2020, 2, 3)


def test_a_link_to_all_that_somebody_wrote_names_the_author() -> None:
    link = "<a rel='author' href='/i'>View all posts by Ines Okafor</a>"
    assert page(f"<article>{TITLE}{TEXT}{link}</article>").author == "Ines Okafor"
