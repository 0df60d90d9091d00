"""What stands in a heading is its text, whatever it is named; signs that link to it are not."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.readers import read

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "


def text_with(heading: str) -> str:
    part = f"{heading}{''.join(f'<p>{number}. {PROSE}</p>' for number in range(4))}"
    body = f"<main><h1>Mole</h1>{part * 2}</main>"
    html = f"<!doctype html><html><head><title>Mole</title></head><body>{body}</body></html>"
    return read(html.encode(), "text/html", "https://x.example/mole", 1_000_000).text


@pytest.mark.parametrize(
    "inner",
    [
        "<a class='toc-backref' href='#id7' role='doc-backlink'>Dredging the harbour</a>",
        "<a class='toc-backref' href='#id7'><span class='section-number'>2. </span>Dredging the harbour</a>"
        "<a class='headerlink' href='#d'>¶</a>",
        "<button class='accordion' type='button'>Dredging the harbour</button>",
    ],
)
def test_a_heading_keeps_its_words_whatever_they_are_named(inner: str) -> None:
    assert text_with(f"<h2>{inner}</h2>").count("Dredging the harbour\n") == 2


@pytest.mark.parametrize(
    "mark",
    [
        "<a class='headerlink' href='#d'>Permalink</a>",
        "<span class='mw-editsection'>[<a href='/edit'>edit</a>]</span>",
        "<a class='anchorjs-link' href='#d'>Link</a>",
        "<a href='#d'><span class='visually-hidden'>Link to this section</span></a>",
        "<span style='display:none'>unseen</span>",
        "<button class='copy'>Copy the link</button>",
        "<svg><title>chain</title></svg>",
        "<span class='share'>Share</span>",
    ],
)
def test_what_only_links_to_a_heading_is_not_in_it(mark: str) -> None:
    assert text_with(f"<h2>Dredging the harbour {mark}</h2>").count("## Dredging the harbour\n") == 2
