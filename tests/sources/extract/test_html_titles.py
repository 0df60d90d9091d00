"""What a page is called when its head, those who link to it and its headings call it in different ways."""

from __future__ import annotations

from time import process_time

import pytest
from lxml.html import document_fromstring

from deep_research.sources.extract import titles
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.readers import read

pytestmark = pytest.mark.timed

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "
TEXT = "".join(f"<p>{number}. {PROSE}</p>" for number in range(6))


def page(title: str, *headings: str, shared: str = "", site: str = "", before: str = "") -> Document:
    metas = f"<meta property='og:title' content='{shared}'><meta property='og:site_name' content='{site}'>"
    heads = "".join(f"<h1>{heading}</h1>" for heading in headings)
    html = f"{before}<head><title>{title}</title>{metas}</head><body>{heads}{TEXT}</body>"
    return read(
        f"<!doctype html><html>{html}</html>".encode(), "text/html", "https://x.example/mole", 1_000_000
    )


@pytest.mark.parametrize(
    ("title", "shared", "site", "heading", "chosen"),
    [
        ("Harbour Weekly", "The wall of Mole", "Harbour Weekly", "The wall of Mole", "The wall of Mole"),
        ("The wall of Mole - Harbour Weekly", "", "Harbour Weekly", "", "The wall of Mole"),
        ("The wall of Mole :: Harbour Weekly", "", "Harbour Weekly", "News", "The wall of Mole"),
        ("The wall of outer Mole — Weekly", "The wall of outer Mole", "", "", "The wall of outer Mole"),
        ("A wall raised - Weekly", "The wall of Mole", "Weekly", "The wall of Mole", "The wall of Mole"),
        ("The wall of Mole", "Weekly - News and Ships", "", "The wall of Mole", "The wall of Mole"),
        ("How walls are raised - Weekly", "Weekly", "Weekly", "Weekly", "How walls are raised"),
        ("How walls are raised", "", "", "About", "How walls are raised"),
        ("", "Raise the wall", "", "The wall of Mole", "The wall of Mole"),
    ],
)  # fmt: skip
def test_two_that_agree_name_a_page_and_the_site_does_not(
    title: str, shared: str, site: str, heading: str, chosen: str
) -> None:
    assert page(title, *filter(None, [heading]), shared=shared, site=site).title == chosen


def test_the_title_of_a_head_behind_text_is_read() -> None:
    found = page("The wall of Mole - Weekly", "Weekly today", before="<div>An advertisement</div>")
    assert found.title == "The wall of Mole - Weekly"


def test_of_several_headings_the_one_that_the_title_names_heads_the_text() -> None:
    found = page("The wall of Mole - Weekly", "Weekly", "The wall of Mole")
    assert found.title == "The wall of Mole"
    assert found.text.startswith("# The wall of Mole")


def test_the_name_of_the_site_at_the_end_of_a_title_is_no_heading_of_the_text() -> None:
    assert page("Walls - The Handbook of Harbours", "The Handbook of Harbours", "Walls").text.startswith(
        "# Walls\n"
    )


def time_to_find_the_heading(headings: int) -> float:
    """In so many articles, the first of them in each other. The shortest of some: others use the machine, too."""
    deep = headings // 20  # deeper than 250 no tree is made
    inner = "".join(f"<article><h1>Wall {number}</h1><p>Raised.</p></article>" for number in range(headings))
    tree = document_fromstring(f"<html><body>{'<article>' * deep}{inner}</body></html>")
    took = []
    for _ in range(5):
        begun = process_time()
        assert titles.text_of(titles.heading(tree, ["The wall of Mole"])) == "Wall 0"
        took.append(process_time() - begun)
    return min(took)


def test_to_find_the_heading_among_articles_in_articles_takes_linear_time() -> None:
    assert time_to_find_the_heading(4_000) < 10 * time_to_find_the_heading(1_000)
