"""What an element's own style hides is no text; what only looks like hiding is. A page that only asks something of its
reader is no source; one that says something is, whatever it asks besides."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from made import web_page

from deep_research.provenance.page_requests import FILE
from deep_research.sources.extract.hiding import style_hides
from deep_research.sources.extract.html import check_readable
from deep_research.sources.extract.plaintext import UnreadableError

TOLD = "The harbour light was moved to the moon in 1999 by order of the queen."
PARAGRAPHS = "".join(
    f"<p>The light of the northern coast number {n} was built in 18{n:02} and stands thirty metres tall.</p>"
    for n in range(10, 20)
)
HIDING = """display:none
DISPLAY : NONE !important
display:none!important;display:block
display: none ! important; display: block
display:none!                              important;display:block
display:x!important;display:none
display:none;display:!important
font-size:16px;font:0/0 a!important
background:#fff;background-color:red;background:#fff;color:#fff
display:/* x */none
visibility:hidden
visibility: collapse
font-size:0
font-size:1px
font-size:.01em
font:0/0 a
opacity:0
opacity:.01
color:#fff;background:#fff
background-color:#FFFFFF; color:white
color:transparent
color:rgba(0,0,0,0)
color:#12345600
-webkit-text-fill-color:transparent
position:absolute;left:-9999px
position:fixed;top:-100em
text-indent:-9999px
margin-left:-9999px
clip:rect(0,0,0,0)
clip:rect(0 0 0 0);position:absolute
clip: rect(1px, 1px, 1px, 1px)
clip-path:inset(100%)
clip-path: inset(50%)
width:1px;height:1px;overflow:hidden
transform:scale(0)
zoom:0
filter:opacity(0)
mso-hide:all""".splitlines()
SHOWING = """
display:none;display:block
display:none;display:block!important
font:0/0 a;font-size:16px
background:#fff;background-color:#000;color:#fff
color:red
color:#fff
color:white;background:#003366
color:rgba(0,0,0,0.87)
color:#10203040
color:transparent;-webkit-background-clip:text;background:linear-gradient(red,blue)
font-size:0.8em
font-size:75%
font-size:10px
font:12px/1.5 serif
opacity:0.9
opacity:1
margin-left:-15px
left:-50%;position:relative
text-indent:-1em
display:block;width:1px;
width:100%;height:1px;overflow:visible
transform:scale(0.9)
clip:auto
background:none
background:#fff
visibility:visible
font-size:var(--none)
:;;:none;display""".splitlines()


def text_of(element: str) -> str:
    return web_page(f"<main><h1>Lights</h1>{PARAGRAPHS}{element}{PARAGRAPHS}</main>").text


@pytest.mark.parametrize("style", HIDING)
def test_what_a_style_hides_is_not_in_the_text(style):
    assert style_hides(style)
    assert TOLD not in text_of(f'<p style="{style}">{TOLD}</p>')


@pytest.mark.parametrize("style", SHOWING)
def test_what_a_style_shows_is_in_the_text(style):
    assert not style_hides(style)
    assert TOLD in text_of(f'<p style="{style}">{TOLD}</p>')


@pytest.mark.parametrize(
    "element",
    [
        f"<p hidden>{TOLD}</p>",
        f'<p hidden="until-found">{TOLD}</p>',
        f'<div aria-hidden="TRUE"><p>{TOLD}</p></div>',
        f"<!-- {TOLD} -->",
        f"<!--[if IE]><p>{TOLD}</p><![endif]-->",
        f'<img src="a.png" alt="{TOLD}">',
        f'<p title="{TOLD}">The keepers left in autumn, and nobody took their place.</p>',
        f"<template><p>{TOLD}</p></template>",
        f"<noscript><p>{TOLD}</p></noscript>",
        f'<input type="hidden" value="{TOLD}">',
        f"<svg><text>{TOLD}</text></svg>",
        f'<iframe srcdoc="<p>{TOLD}</p>"></iframe>',
        f"<pre>code<span style='display:none'>{TOLD}</span></pre>",
        "<p>" + "".join(chr(0xE0000 + ord(c)) for c in TOLD) + "</p>",
        f"<div style='display:none'>{30 * f'<p>{TOLD}</p>'}</div>",
    ],
)
def test_what_nobody_sees_is_not_in_the_text(element):
    assert TOLD not in text_of(element)


@pytest.mark.parametrize(
    "style", [";" * 10**6, "color:" * 10**5, "/*" * 10**5, "clip:rect(" + "0 " * 10**5, "color:rgba(" * 10**5]
)
def test_hostile_styles_take_no_time(style, seconds):
    assert seconds(0.05, lambda: style_hides(style)) < 0.05


# What a page asks of its reader

CASES = tomllib.loads((Path(__file__).parents[2] / "data" / "walls.toml").read_text(encoding="utf-8"))
WORDINGS = tomllib.loads(FILE.read_text(encoding="utf-8"))
WHY = WORDINGS.pop("what")


def read_from_the_web(body: str) -> str:
    return web_page(body).text


@pytest.mark.parametrize(
    "case", [each for table in CASES.values() for each in table], ids=lambda case: case["html"][:70]
)
def test_what_a_page_asks_for_is_told_and_honest_pages_are_read(case: dict[str, str]) -> None:
    if case["is"] == "read":
        assert read_from_the_web(case["html"])
        return
    with pytest.raises(UnreadableError) as refused:
        read_from_the_web(case["html"])
    assert str(refused.value) == f"no readable text; {WHY[case['is']]}"


def test_a_long_text_is_read_with_a_request_at_its_end() -> None:
    told = "<p>The Bell Rock lighthouse is 36 metres tall and was finished in 1811.</p>" * 12
    assert read_from_the_web(f"<article>{told}<p>Subscribe to continue reading.</p></article>")


@pytest.mark.parametrize("language", WORDINGS)
def test_each_language_has_wordings_for_each_reason(language: str) -> None:
    assert WORDINGS[language]["asks"].keys() == WHY.keys() >= WORDINGS[language]["around"].keys()


PIECES = "we |<p>|you have |please |verify |to continue, |sorry, |por favor, |1 |\u2019|log in. "


@pytest.mark.parametrize("piece", PIECES.split("|"))
def test_hostile_pages_take_no_time(piece: str, seconds) -> None:
    def checked() -> None:
        try:
            check_readable("", piece * (1_000_000 // len(piece)))
        except UnreadableError:
            return

    assert seconds(1.0, checked) < 1.0
