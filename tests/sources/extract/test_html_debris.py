"""What stands around the text of a page and is none of it: the way to the page, invitations, minutes, the standing of
those who write. And what is of it although it looks like debris: code that a table lays out, ticks that are links."""

from __future__ import annotations

from time import thread_time

import pytest

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.reading import read

PROSE = "".join(
    f"<p>The {ordinal} lamp of the harbour was lit by a keeper who rowed out to it each evening of the year.</p>"
    for ordinal in ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
)
TITLE = "<h1>Lamps of the harbour</h1>"


def page(body: str, head: str = "") -> Document:
    told = f"<head><title>Lamps of the harbour | Port</title>{head}</head>"
    return read(
        f"<!doctype html><html>{told}<body>{body}</body></html>".encode(), "text/html", "l.html", 1_000_000
    )


@pytest.mark.parametrize(
    "said",
    [
        "Estimated reading time: 6 minutes",
        "Lesezeit: ca. 3 Minuten",
        "Temps de lecture : 5 min",
        "2 min. read",
        "• 2 Min. Lesezeit",
        "Bild 3 von 10",
        "Photo 1 of 9",
    ],
)
def test_how_long_a_text_takes_and_which_of_the_pictures_it_is_are_left_out(said: str) -> None:
    text = page(f"{TITLE}<main><div>{said}</div>{PROSE}<p>{said}</p>{PROSE}</main>").text
    assert said not in text
    assert text.count("rowed out") == 16


@pytest.mark.parametrize(
    "said",
    [
        "<p>Picture 3 of 10 is by Ann Kent.</p>",
        "<p>The reading time: 6 minutes of silence for the lamps.</p>",
        "<p>He saw <span>picture 3 of 10</span> at the door.</p>",
        "<table><tr><th>Lamp</th><th>Shown</th></tr><tr><td>East</td><td><p>picture 3 of 10</p></td></tr></table>",
    ],
)
def test_such_words_in_a_sentence_or_a_table_stay(said: str) -> None:
    text = page(f"{TITLE}<main>{PROSE}{said}{PROSE}</main>").text.lower()
    assert "picture 3 of 10" in text or "reading time: 6 minutes" in text


@pytest.mark.parametrize(
    "above",
    [
        "<h2>You are here:</h2><ol><li><a href='/'>Start</a></li><li><a href='/n'>News</a></li>"
        "<li><strong>Lamps of the harbour</strong></li></ol>",
        "<div><p>Port Exchange is a place for keepers who have questions about lamps and harbours.</p>"
        "<p>Sign up to join this community</p></div>",
    ],
)
def test_the_way_to_a_page_and_an_invitation_above_its_title_are_left_out(above: str) -> None:
    text = page(f"<div>{above}<div>{TITLE}{PROSE}</div></div>").text
    assert text.startswith("# Lamps of the harbour\n\nThe first lamp")


@pytest.mark.parametrize(
    "above",
    [
        "<p>Ten lamps, ten keepers and one boat for all of them, in the words of the last who rowed it.</p>",
        "<p>30 March 2020, 13:15 to 19:00</p><p>Granite store, Ellery</p>",
    ],
)
def test_a_standfirst_and_the_place_of_an_event_above_the_title_stay_if_they_were_read(above: str) -> None:
    body = f"<main><article>{above}{TITLE}{PROSE}</article></main>"
    before = page(body).text
    assert before.endswith("of the year.")
    assert "keeper who rowed" in before
    assert above[3:20] in before


def test_code_that_a_table_lays_out_beside_the_numbers_of_its_lines_keeps_its_lines() -> None:
    numbers, code = (
        "<td class='n'><pre>1\n2\n3</pre></td>",
        "<td><pre>def lit():\n    lamp()\n    return 1</pre></td>",
    )
    for cells in (code, numbers + code):
        text = page(f"{TITLE}{PROSE}<div><table><tr>{cells}</tr></table></div>{PROSE}").text
        assert "```\ndef lit():\n    lamp()\n    return 1\n```" in text
        assert "1 2 3" not in text


def test_code_in_a_table_of_facts_stays_in_its_row() -> None:
    rows = "<tr><th>Call</th><th>Lamp</th></tr><tr><td><pre>lit()</pre></td><td>East</td></tr>"
    assert "lit() | East" in page(f"{TITLE}{PROSE}<table>{rows}</table>{PROSE}").text


def test_a_tick_that_is_a_link_is_a_word_and_a_picture_of_a_link_is_none() -> None:
    def link(name: str) -> str:
        return f"<td><a href='/on'><img src='x.svg' alt='{name}'></a></td>"

    rows = f"<tr><td>East</td>{link('yes')}{link('Edit')}</tr>"
    head = "<tr><th>Lamp</th><th>Lit</th><th>More</th></tr>"
    assert "East | yes |\n" in page(f"{TITLE}{PROSE}<table>{head}{rows}</table>{PROSE}").text


BOX = (
    "<section itemscope itemtype='https://schema.org/Person'><span class='avatar'>K</span>"
    "<h4><a itemprop='name'>{name}</a></h4><h5 itemprop='jobTitle'>Old hand</h5>"
    "<dl><dt>Posts</dt><dd>2.206</dd></dl></section>"
)
POSTS = "".join(
    f"<article>{BOX.format(name=name)}<div>{PROSE}</div></article>" for name in ("Ines Okafor", "Ann Kent")
)


def test_of_those_who_write_in_a_discussion_only_the_names_stay() -> None:
    discussion = '<script type="application/ld+json">{"@type": "DiscussionForumPosting"}</script>'
    text = page(f"{TITLE}{POSTS}", discussion).text
    assert "#### Ines Okafor\n\nThe first lamp" in text
    assert "#### Ann Kent\n\nThe first lamp" in text
    assert "Old hand" not in text
    assert "2.206" not in text
    assert text.count("rowed out") == 16


def test_what_a_page_tells_of_persons_stays_where_it_is_no_discussion() -> None:
    text = page(f"{TITLE}{POSTS}").text
    assert "Old hand" in text
    assert "2.206" in text


@pytest.mark.parametrize(
    ("byline", "author"),
    [
        ("<span class='byline'>von Ines Okafor</span>", "Ines Okafor"),
        ("<span class='byline'>Veröffentlicht von Ines Okafor</span>", "Ines Okafor"),
        ("<span class='byline'>Par Ines Okafor</span>", "Ines Okafor"),
        ("<span class='byline'>Vonda Kent</span>", "Vonda Kent"),
        ("<span class='byline'>6 de mayo de 2022</span>", ""),
    ],
)
def test_a_day_is_no_author_and_by_is_said_in_several_languages(byline: str, author: str) -> None:
    assert page(f"{TITLE}<div>{byline}</div>{PROSE}").author == author


@pytest.mark.timed
def test_boxes_without_end_are_soon_read() -> None:
    began = thread_time()
    head = '<script type="application/ld+json">{"@type": "QAPage"}</script>'
    page(TITLE + BOX.format(name="Ann") * 2_000, head)
    page(TITLE + "<section itemtype='x/Person'>" * 150 + "word " * 100_000, head)
    page(TITLE + "<table><tr><td>" * 60 + "<pre>" + "1 " * 200_000)
    assert thread_time() - began < 30
