"""What of a page only counts, and what is said to those alone who hear it, is none of its text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deep_research.sources.extract import Extractor

PROSE = "".join(
    f"<p>The {ordinal} crane of the harbour lifts {tons} tons, and the mole it stands on was built of granite.</p>"
    for ordinal, tons in (("first", 4), ("second", 8), ("third", 12), ("fourth", 15))
)


@pytest.fixture(scope="module")
def extractor() -> Iterator[Extractor]:
    one = Extractor()
    yield one
    one.close()


def text_of(extractor: Extractor, body: str, title: str = "Cranes of Ellery | Port") -> str:
    page = f"<html><head><title>{title}</title></head><body>{body}</body></html>"
    return extractor.extract_now(page.encode(), media_type="text/html").text


@pytest.mark.parametrize(
    ("count", "debris"),
    [
        ('<div class="vote" itemprop="upvoteCount">2217</div>', "2217"),
        ('<span class="d-none" itemprop="commentCount">2217</span>', "2217"),
        ('<div class="reputation-score">22.6k</div>', "22.6k"),
        ('<div>By <a>Ann Kent</a><span class="d-none" itemprop="name">Ann Kent</span></div>', "KentAnn"),
        ('<div>By Ann Kent<span class="v-visible-sr">9 gold badges</span></div>', "badges"),
        ("<figcaption>Slideshow <span>( 15 images )</span></figcaption>", "15 images"),
    ],
)
def test_counts_of_votes_comments_and_pictures_are_left_out(
    extractor: Extractor, count: str, debris: str
) -> None:
    text = text_of(extractor, f"<h1>Cranes of Ellery</h1><main>{PROSE}{count}{PROSE}</main>")
    assert debris not in text
    assert text.count("built of granite") == 8


@pytest.mark.parametrize(
    "said",
    [
        '<p class="votes">2217</p>',
        "<table><tr><th>Ann Kent</th><th>Votes</th></tr><tr><td>Ellery</td><td class='reputation'>2217</td></tr></table>",
        '<p class="reputation">Its reputation of 2217 was not undeserved.</p>',
        "<figure><figcaption>The mole with its 2217 images of saints</figcaption></figure>",
        '<p><span itemprop="name">Mole 2217</span> was the last.</p>',
    ],
)
def test_figures_that_the_page_is_about_stay(extractor: Extractor, said: str) -> None:
    assert "2217" in text_of(extractor, f"<h1>Cranes of Ellery</h1><main>{PROSE}{said}{PROSE}</main>")


@pytest.mark.parametrize("name", ["aural", "sr-only", "visually-hidden"])
def test_a_heading_that_names_the_site_to_those_who_hear_it_is_left_out(
    extractor: Extractor, name: str
) -> None:
    heard = f'<h1 class="{name}">Port Authority</h1>'
    text = text_of(extractor, f"{heard}<h1>Cranes of Ellery</h1>{PROSE}", "Works of the year")
    assert text.startswith("# Cranes of Ellery\n")
    assert "# Port Authority" in text_of(extractor, f"{heard}{PROSE}")
    assert "# Cranes of Ellery" in text_of(
        extractor, f'<h1>Port Authority</h1><h1 class="{name}">Cranes of Ellery</h1>{PROSE}'
    )


def test_a_heading_with_what_it_is_filed_under_is_that_of_the_page(extractor: Extractor) -> None:
    body = f"<h1>Harbours</h1><h1>Topic: works. New cranes for the port of Ellery</h1>{PROSE}"
    text = text_of(extractor, body, "Port | Cranes for the port of Ellery")
    assert text.startswith("# Topic: works. New cranes for the port of Ellery\n")
