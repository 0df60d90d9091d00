"""A line that says nothing but a day, in whatever language, is the day of the text whose title it stands beside."""

from __future__ import annotations

from datetime import date
from time import thread_time

import pytest

from deep_research.sources.extract.datelines import dateline, says_published
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.readers import read

TITLE = "<h1>The wall of Mole</h1>"
PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "
TEXT = "".join(f"<p>{number}. {PROSE * 2}</p>" for number in range(6))
DAY = date(2017, 2, 23)


def page(body: str, head: str = "", title: str = "Mole") -> Document:
    html = f"<!doctype html><html><head><title>{title}</title>{head}</head><body>{body}</body></html>"
    return read(html.encode(), "text/html", "https://x.example/mole", 1_000_000)


@pytest.mark.parametrize(
    "line",
    [
        "23.02.2017",
        "23. 2. 2017.",
        "23. Februar 2017, 10:39 Uhr",
        "Donnerstag, den 23. Februar 2017 |",
        "Do 23. Feb. 2017",
        "le 23 février 2017",
        "Publié le jeudi 23 février 2017 à 10h",
        "Jueves 23 de febrero de 2017 5:03 PM",
        "Febrero 23, 2017",
        "23 de fevereiro de 2017",
        "23 febbraio 2017",
        "opublikowano: 23 lutego 2017, 11:49",
        "23 februari 2017",
        "Published on February 23rd, 2017",
        "23/02/2017",
        "02/23/2017 05:22 pm",
        "2017-02-23",
        "2017年2月23日",
        "/ 23.02.2017 / 06:15 /",
        "Pressemitteilung vom 23.02.2017",
    ],
)
def test_a_day_is_read_as_it_is_written_in_several_languages(line: str) -> None:
    assert dateline(line) == DAY
    assert page(f"{TITLE}<p>{line}</p>{TEXT}").published == DAY


@pytest.mark.parametrize(
    "line",
    [
        "03/02/2017",
        "31.02.2017",
        "23.02.17",
        "23 lamps 2017",
        "Stand: 23.02.2017",
        "Beginn: 23.02.2017",
        "Am 23. Februar 2017 brach der Damm",
        "Geboren 23.02.2017",
        "23.02.2017 bis 25.02.2017",
        "Version 23.2.2017.4",
    ],
)
def test_what_may_be_another_day_or_says_more_is_no_day(line: str) -> None:
    assert dateline(line) is None
    assert page(f"{TITLE}<p>{line}</p>{TEXT}").published is None


@pytest.mark.parametrize(
    "body",
    [
        f"{TITLE}<div><span class='label'>Jahr</span> <span>2017</span><br><span class='label'>Datum</span> "
        f"<span class='value'>23.02.2017</span></div>{TEXT}",
        f"{TITLE}<ul><li><span>Datum:</span>23. Februar 2017</li><li><span>Band:</span>7</li></ul>{TEXT}",
        f"{TITLE}<time datetime='2017-02-23'>23.02.2017</time><p>Photo</p>{TEXT}",
        f"<div class='day'><i class='icon'></i> 23.02.2017</div>{TITLE}{TEXT}",
        f"<h3>23.02.2017</h3>{TITLE}{TEXT}",
        f"<div><div><span class='headline-date'>23. Februar 2017</span></div></div><div>{TITLE}</div>{TEXT}",
        f"<h2>The wall of Mole</h2><div>23. Februar 2017</div>{TEXT}",
        f"{TITLE}<p>{PROSE * 2}</p><div>Veröffentlicht am 23.02.2017</div>{TEXT}",
        f"<article>{TITLE}<div class='metadata'><time datetime='2017-02-23T11:10:00Z'>Do, 23. Februar 2017 12:10</time>"
        f"</div>{TEXT}</article>",
    ],
)
def test_a_day_beside_the_title_is_that_of_the_page(body: str) -> None:
    assert page(body, title="The wall of Mole | Harbours").published == DAY


@pytest.mark.parametrize(
    "body",
    [
        f"<div><p class='date'>23. Februar 2017</p></div>{'<div>' * 5}{TITLE}{'</div>' * 5}{TEXT}",
        f"<p>23.02.2017</p><p>One.</p><p>Two.</p><p>Three.</p><p>Four.</p>{TITLE}{TEXT}",
        f"{TITLE}{TEXT}<div>Veröffentlicht am 23.02.2017</div><div>Veröffentlicht am 24.02.2017</div>",
        f"{TITLE}<ul><li>23.02.2017</li><li>24.02.2017</li></ul>{TEXT}",
        f"{TITLE}<p>Start</p><div><span>Anfang</span><span>23.02.2017</span></div>{TEXT}",
        f"{TITLE}<p style='display:none'>23.02.2017</p>{TEXT}",
        f"{TITLE}<p><a href='/other'>23.02.2017</a></p>{TEXT}",
        f"{TITLE}<p>23. Februar 1899</p>{TEXT}",
    ],
)
def test_a_day_of_the_site_of_other_stories_or_of_an_event_is_none(body: str) -> None:
    assert page(body).published is None


def test_the_day_that_is_shown_is_that_of_the_place() -> None:
    head = "<meta property='article:published_time' content='2017-02-22T23:11:59+00:00'>"
    assert page(f"{TITLE}<p>Donnerstag, 23. Februar 2017</p>{TEXT}", head).published == DAY
    assert page(f"{TITLE}<p>Freitag, 3. März 2017</p>{TEXT}", head).published == date(2017, 2, 22)
    shown = "<time class='published' datetime='2017-02-23T00:11:59+01:00'>23 de febrero de 2017</time>"
    entry = f"<div class='hentry'>{shown}</div>"
    assert page(f"{TITLE}{TEXT}{entry}", head).published == DAY


def test_the_day_of_a_review_of_what_is_sold_is_none_of_the_page() -> None:
    day = "<meta itemprop='datePublished' content='2017-02-23'>"
    scope = f"<div {{}} itemscope itemtype='https://schema.org/Review'>{day}</div>"
    thing = "<div itemscope itemtype='https://schema.org/Product'>{}</div>"
    assert page(TITLE + TEXT + thing.format(scope.format("itemprop='review'"))).published is None
    assert page(TITLE + TEXT + scope.format("")).published == DAY


def test_only_words_of_publication_say_so() -> None:
    assert says_published("Veröffentlicht am 23.02.2017")
    assert not says_published("Donnerstag, 23.02.2017")


@pytest.mark.timed
def test_lines_without_end_are_soon_read() -> None:
    began = thread_time()
    for line in (
        "1" * 100_000,
        " de" * 50_000,
        "am " * 50_000,
        "23. " * 50_000,
        "23.02.2017" + " |" * 50_000,
    ):
        assert dateline(line) is None
    page(TITLE + "<div>" * 150 + "<span>23.02.2017</span>" * 4_000 + "<h1>x</h1>" * 300)
    assert thread_time() - began < 20
