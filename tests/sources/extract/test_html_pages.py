"""Web pages: what is their text, what they are called, who wrote them, and the day on which they say they were
published, as the place of the page has it."""

from __future__ import annotations

from datetime import date

import pytest
from lxml.html import document_fromstring
from made import web_page

from deep_research.sources.extract import metadata
from deep_research.sources.extract.html import between, blocks_of
from deep_research.sources.extract.readers import read

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "
MORE = "Every vessel that calls is written down with its cargo and the weather of the day, as of old. "
H1 = "<h1>The wall of Mole</h1>"


def paragraphs(text: str, count: int) -> str:
    return "".join(f"<p>{number}. {text}</p>" for number in range(count))


TEXT = paragraphs(PROSE * 2, 6)
ARTICLE = f"<h1>Mole</h1>{paragraphs(PROSE, 12)}"


@pytest.mark.parametrize("name", ["article-body pagination-first", "l-sidebar-fixed", "entry ad-free"])
def test_an_article_whose_class_is_named_like_debris_is_read(name: str) -> None:
    assert web_page(f"<div class='{name}'>{ARTICLE}</div>").text.count(PROSE.strip()) == 12


def test_what_readers_say_is_no_text_and_what_a_script_shows_where_it_is_most_of_the_page() -> None:
    said = f"<section id='comments'><h2>Comments</h2>{paragraphs('I was there, and saw it.', 3)}</section>"
    assert "I was there" not in web_page(f"<main>{ARTICLE}</main>{said}").text
    assert PROSE.strip() in web_page(f"<div style='opacity:0'><article>{ARTICLE}</article></div>").text
    hidden = f"<div hidden>{paragraphs(MORE, 3)}</div>"
    assert MORE.strip() not in web_page(f"<article>{ARTICLE}</article>{hidden}").text


# What of a page is its main content: where trafilatura finds it, as our own reader writes it

FIRST = "The first paragraph tells of the harbour."
SECOND = "The second paragraph tells of the outer wall."
THIRD = "The third paragraph tells of the lamp."
ROWS = "Port | Ships\nMole | 1\nRock | 2"
CODE = "```\nlamp = lit\n```"
LOST = "of some length that was lost although it tells of the wall."


def blocks(*told: str) -> str:
    return "\n\n".join(told)


@pytest.mark.parametrize("lost", [ROWS, CODE, "## The wall", f"A paragraph {LOST}", f"- An item {LOST}"])
def test_what_was_lost_between_stands_where_it_stood(lost: str) -> None:
    whole = blocks(FIRST, lost, SECOND)
    assert between(blocks(FIRST, SECOND), whole) == whole


@pytest.mark.parametrize("label", ["Share this", "- Home\n- Ports", "Read more: the ports of the east"])
def test_a_label_between_is_told_only_where_it_was_found(label: str) -> None:
    whole = blocks(FIRST, label, SECOND)
    assert between(blocks(FIRST, SECOND), whole) == blocks(FIRST, SECOND)
    assert between(whole, whole) == whole


@pytest.mark.parametrize(
    "ran", ["Port Ships Mole 1 Rock 2", "Port | Ships Mole | 1\nRock | 2", "# lamp = lit"]
)
def test_what_ran_together_is_told_once_as_it_was(ran: str) -> None:
    whole = blocks(FIRST, ROWS, CODE, SECOND)
    assert between(blocks(FIRST, ran, SECOND), whole) == whole


@pytest.mark.parametrize(
    "around", ["Ports of the coast", "menu | of the site\nmore | of it", "- Home\n- Ports"]
)
def test_what_stands_around_or_has_little_in_common_is_left_out(around: str) -> None:
    found = blocks(FIRST, SECOND, THIRD)
    assert between(found, blocks(around, found, around)) == found
    assert (
        between(found, blocks("Ports", "Something else stands here, of which nothing was found.", "Ports"))
        == found
    )


def test_code_with_empty_lines_is_one_block_however_long_it_is(seconds) -> None:
    code = "```\n" + "word\n\n" * 300_000 + "word\n```"
    assert blocks_of(f"before\n\n{code}\n\nafter") == ["before", code, "after"]
    assert seconds(2, lambda: blocks_of(code)) < 2  # joined once: .05 s; anew at each line: 6 s


# What a page is called when its head, those who link to it and its headings call it in different ways

WALL, OUTER = "The wall of Mole", "The wall of outer Mole"
CALLED = [  # title, as it is shared, site, heading, what is chosen
    ("Harbour Weekly", WALL, "Harbour Weekly", WALL, WALL),
    (f"{WALL} - Harbour Weekly", "", "Harbour Weekly", "", WALL),
    (f"{WALL} :: Harbour Weekly", "", "Harbour Weekly", "News", WALL),
    (f"{OUTER} — Weekly", OUTER, "", "", OUTER),
    ("A wall raised - Weekly", WALL, "Weekly", WALL, WALL),
    (WALL, "Weekly - News and Ships", "", WALL, WALL),
    ("How walls are raised - Weekly", "Weekly", "Weekly", "Weekly", "How walls are raised"),
    ("How walls are raised", "", "", "About", "How walls are raised"),
    ("", "Raise the wall", "", WALL, WALL),
]


@pytest.mark.parametrize(("title", "shared", "site", "heading", "chosen"), CALLED)
def test_two_that_agree_name_a_page_and_the_site_does_not(
    title: str, shared: str, site: str, heading: str, chosen: str
) -> None:
    metas = f"<meta property='og:title' content='{shared}'><meta property='og:site_name' content='{site}'>"
    heads = f"<h1>{heading}</h1>" * bool(heading)
    assert web_page(f"{heads}{TEXT}", metas, title=title).title == chosen


def test_of_several_headings_the_one_that_the_title_names_heads_the_text_and_no_name_of_the_site() -> None:
    found = web_page(f"<h1>Weekly</h1>{H1}{TEXT}", title=f"{WALL} - Weekly")
    assert found.title == WALL
    assert found.text.startswith(f"# {WALL}")
    site = "The Handbook of Harbours"
    found = web_page(f"<h1>{site}</h1><h1>Walls</h1>{TEXT}", title=f"Walls - {site}")
    assert found.text.startswith("# Walls\n")
    behind = (
        f"<div>An advertisement</div><head><title>{WALL} - Weekly</title></head><h1>Weekly today</h1>{TEXT}"
    )
    assert read(behind.encode(), "text/html", "https://x.example/mole").title == f"{WALL} - Weekly"


def test_to_find_the_heading_among_articles_in_articles_takes_linear_time(seconds) -> None:
    def found(headings: int) -> float:
        """In so many articles, the first of them in each other."""
        deep = headings // 20  # deeper than 250 no tree is made
        inner = "".join(f"<article><h1>Wall {n}</h1><p>Raised.</p></article>" for n in range(headings))
        tree = document_fromstring(f"<html><body>{'<article>' * deep}{inner}</body></html>")
        assert metadata.text_of(metadata.heading(tree, [WALL])) == "Wall 0"
        return seconds(0.0, lambda: metadata.heading(tree, [WALL]))

    assert found(4_000) < 10 * found(1_000)


# Who wrote it, and when

DAY = date(2017, 2, 23)


def data(said: str) -> str:
    return f'<script type="application/ld+json">{{{said}}}</script>'


def meta(name: str, day: str) -> str:
    return f"<meta {'property' if ':' in name else 'name'}='{name}' content='{day}'>"


PUBLISHED = [  # head and body
    (meta("article:published_time", "2017-02-23T17:18:13-08:00") + data('"dateCreated": "2017-02-24T01:18:13Z"'), H1),
    ("<meta property='article:published' itemprop='datePublished' content='2017-02-23T08:00'>", H1),
    (meta("publishdate", "2017-02-23"), H1),
    (meta("x:time article:published_time", "2017-02-23"), H1),
    ("", f"<header>{H1}<section class='post-meta'><p class='byline'>Ines Okafor - "
         "<time datetime='2017-02-23T20:02:01+00:00'></time></p></section></header>"),
    ("", f"{H1}<span class='post-date'>23 Feb 2017</span><div class='share'></div>"),
    ("", f"{H1}<time class='date' datetime='2017-02-24T01:18:00Z'>February 23, 2017</time>"),
    # a sign that tells the day is read before it goes, and another moment does not move the day
    ("", f"{H1}<div style='display: inline'><meta itemprop='datePublished' content='2017-02-23'></div>"),
    (meta("article:published_time", "2017-02-23T09:00:00Z") + meta("date", "2017-02-24T08:00:00+02:00"), H1),
    (meta("article:published_time", "2017-02-23T09:00:00Z")
     + data('"@type": "Comment", "datePublished": "2017-02-24T09:00:00+02:00"'), f"{H1}<p>February 24, 2017</p>"),
    # a film has the day of the page only where nothing else has one
    (data('"@type": "VideoObject", "datePublished": "2015-01-01"') + meta("article:published_time", "2017-02-23"), H1),
    (data('"@type": "VideoObject", "datePublished": "2017-02-23"'), H1),
]  # fmt: skip


@pytest.mark.parametrize(("head", "body"), PUBLISHED)
def test_the_day_is_that_of_the_place(head: str, body: str) -> None:
    assert web_page(f"<article>{body}{TEXT}</article>", head).published == DAY


def time(kind: str) -> str:
    return f"<time class='{kind}' datetime='2017-02-23'></time>"


NONE = [  # head, body, below the text
    ("", H1, f"<div class='comment'>{time('')}</div>"),
    ("", f"{H1}<p class='byline'>Updated {time('updated')}</p>", ""),
    ("", H1, "<p>March 10, 2019</p>"),
    ("", f"{H1}<span class='post-updated'>23 Feb 2017</span><div class='share'></div>", ""),
    ("", H1, time("updated")),
    ("", H1, f"<div class='comments'>{time('published')}</div>"),
    ("", f"{H1}<p>July 4, 1776</p>", ""),
    ("", f"{H1}<div>Born</div><div>12 January 1899</div>", ""),
    ("", f"{H1}<p>One.</p><p>Two.</p><p>Three.</p><p>May 2, 2020</p>", ""),
    (data('"dateModified": "2019-03-10"'), H1, ""),
    (meta("article:modified_time", "2019-03-10"), H1, ""),
    (meta("publishdate", "05/08/2014"), H1, ""),
    (meta("revision date", "2023-05-05"), H1, ""),
    (meta("expiry date", "2031-05-05"), H1, ""),
    (meta("date format", "2001-01-01"), H1, ""),
    (data('"@type": "Comment", "datePublished": "2015-01-01"'), H1, ""),
    (data('"@type": "Person", "dateCreated": "2009-01-01"'), H1, ""),
]


@pytest.mark.parametrize(("head", "body", "below"), NONE)
def test_a_day_of_something_else_or_that_merely_stands_there_is_none(
    head: str, body: str, below: str
) -> None:
    assert web_page(f"<article class='hentry'>{body}{TEXT}{below}</article>", head).published is None


def test_an_article_of_a_wiki_is_as_old_as_its_last_change() -> None:
    first, changed = '"datePublished": "2001-10-29"', ', "dateModified": "2019-09-26"'
    assert web_page(H1 + TEXT, data(first + changed), "mediawiki").published == date(2019, 9, 26)
    assert web_page(H1 + TEXT, data(first), "mediawiki").published is None
    assert web_page(H1 + TEXT, data(first + changed)).published == date(2001, 10, 29)


@pytest.mark.parametrize(
    "wrapped", ["<![CDATA[{}]]>", "//<![CDATA[\n{}\n//]]>", "/*<![CDATA[*/ {} /*]]>*/", "{}"]
)
def test_what_a_page_tells_of_itself_is_read_in_whatever_wrapping(wrapped: str) -> None:
    said = '{"@type": "Article", "datePublished": "2017-02-23T10:00", "author": {"name": "Ines Okafor"}}'
    script = f"<script type='application/ld+json'>{wrapped.replace('{}', said)}</script>"
    found = web_page(f"<main>{ARTICLE}</main>", script)
    assert (found.author, found.published) == ("Ines Okafor", DAY)


LINE = "<div class='entry-meta'><span class='byline'>By {}</span></div>"


@pytest.mark.parametrize(
    "byline",
    [
        "<div itemprop='author'><span>por </span>\n<ul><li><span itemprop='name'>Ines Okafor</span></li></ul></div>",
        "<p class='byline'><span>by</span> <a href='/o'>Ines Okafor</a><span>22 Dec 2016</span><a href='#c'>651</a></p>",
        "<a rel='author' href='/i'>View all posts by Ines Okafor</a>",
        f"{LINE.format('Ines Okafor')}</article><article><h3>Another</h3>{LINE.format('Jonas Weber')}",
    ],
)
def test_an_author_is_a_name_without_what_stands_beside_it_and_none_of_a_teaser(byline: str) -> None:
    assert web_page(f"<article>{H1}{TEXT}{byline}</article>").author == "Ines Okafor"
