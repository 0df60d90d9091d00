"""The line below a title that says who wrote a page and when, where nothing but its words marks it as such."""

from __future__ import annotations

from datetime import date

import pytest

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.readers import read

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "
TEXT = "".join(f"<p>{number}. {PROSE * 2}</p>" for number in range(6))
TITLE = "<h1>The wall of Mole</h1>"
LINE = "Posted by Ines Okafor on 2019-02-15"


def page(body: str, head: str = "") -> Document:
    head = f"<head><title>The wall of Mole | Mole Weekly</title>{head}</head>"
    html = f"<!doctype html><html>{head}<body>{body}</body></html>"
    return read(html.encode(), "text/html", "https://x.example/mole", 1_000_000)


@pytest.mark.parametrize(
    ("line", "author"),
    [
        (LINE, "Ines Okafor"),
        (
            "Posted by Ines Okafor, Tom Marsh on 2019-02-15, <a href='/'>all posts</a>",
            "Ines Okafor, Tom Marsh",
        ),
        ("Posted by <a href='/i'>Ines Okafor</a> on Friday, February 15, 2019 at 11:29 a.m.", "Ines Okafor"),
        ("posted on February 15, 2019, at 11:29 a.m.", ""),
        ("Posted on 15th of February, 2019", ""),
        ("Posted on Friday 15 February 2019 at 09:11 by Ines B. Okafor.", "Ines B. Okafor"),
        ("Published: 15th February 2019 | 5 min read", ""),
        ("First published on 15 Feb. 2019, updated 3 March 2020", ""),
        ("By Ines Okafor, February 15, 2019", "Ines Okafor"),
        ("By Ines Okafor<br>February 15th, 2019", "Ines Okafor"),
        ("by iokafor on 2019/02/15 - 11:29", "iokafor"),
        ("<span>By Ines Okafor</span> <span>|</span> <span>Published Feb 15, 2019</span>", "Ines Okafor"),
        ("February 15, 2019 by Ines Okafor", "Ines Okafor"),
    ],
)
@pytest.mark.parametrize("tag", ["p", "div", "span"])
def test_a_line_below_the_title_tells_the_day_and_the_author(line: str, author: str, tag: str) -> None:
    found = page(f"{TITLE}<{tag}>{line}</{tag}>{TEXT}")
    assert (found.published, found.author) == (date(2019, 2, 15), author)


def test_the_title_may_be_a_lower_heading_that_the_head_of_the_page_repeats() -> None:
    title = "<h1>Mole Weekly</h1><p>All of it</p><h2>The wall of Mole</h2>"
    assert page(f"{title}<div>{LINE}</div>{TEXT}").published == date(2019, 2, 15)
    assert page(f"{title.replace('wall', 'gate')}<div>{LINE}</div>{TEXT}").published is None


@pytest.mark.parametrize(
    "body",
    [
        f"{TITLE}{TEXT}<p>{LINE}</p>",
        f"{TITLE}<h2>The gate</h2><p>{LINE}</p>{TEXT}",
        f"{TITLE}<ul><li><span>{LINE}</span></li></ul>{TEXT}",
        f"{TITLE}<aside><p>{LINE}</p></aside>{TEXT}",
        f"{TITLE}<p style='display:none'>{LINE}</p>{TEXT}",
        f"{TITLE}<p>One.</p><p>Two.</p><p>Three.</p><p>Four.</p><p>{LINE}</p>{TEXT}",
        f"{TITLE}<p>Updated by Ines Okafor on 2019-02-15</p>{TEXT}",
        f"{TITLE}<p>By Ines Okafor. Last updated February 15, 2019</p>{TEXT}",
        f"{TITLE}<p>By Ines Okafor, reviewed on 15 February 2019</p>{TEXT}",
        f"{TITLE}<p>Posted to Malta on 15 February 2019</p>{TEXT}",
        f"{TITLE}<p>By 15 February 2019 all ships had left.</p>{TEXT}",
        f"{TITLE}<p>By Friday, 15 February 2019, all ships had left.</p>{TEXT}",
        f"{TITLE}<p>By order of the king, May 5, 1999 was a holiday.</p>{TEXT}",
        f"{TITLE}<p>By Ines Okafor, 15 February 1819</p>{TEXT}",
        f"{TITLE}<p>Published by the Mole Press in 2019</p>{TEXT}",
        f"{TITLE}<p>Posted by Ines Okafor on 05/08/2014</p>{TEXT}",
        f"{TITLE}<p>Posted by Ines Okafor on 2019-02-31</p>{TEXT}",
    ],
)
def test_another_line_tells_no_day(body: str) -> None:
    assert page(body).published is None


def test_what_is_marked_goes_before_the_line() -> None:
    head = "<meta property='article:published_time' content='2018-01-02'><meta name='author' content='Tom Marsh'>"
    found = page(f"{TITLE}<p>{LINE}</p>{TEXT}", head)
    assert (found.published, found.author) == (date(2018, 1, 2), "Tom Marsh")
