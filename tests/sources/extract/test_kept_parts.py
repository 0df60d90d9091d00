"""Pages of five shapes keep their terms, captions and notes, and what a visitor can unfold."""

# ruff: noqa: E501

from __future__ import annotations

import re
from pathlib import Path

import pytest
from lxml import html
from made import web_page

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.readers import read
from deep_research.text.passages import passages

PAGES = sorted((Path(__file__).parents[2] / "data" / "pages").glob("*.html"))
WORD = re.compile(r"\w+")
NOTES = {
    "article": ("It will hold.", "The wall in figures"),
    "docbook": ("Ask first.", "Never in a gale."),
    "docs-site": ("Not in a gale.", "Oil it on Mondays, see oil."),
    "manpage": ("Tip | Count at noon.",),
    "sphinx-api": ("Note", "Names are in UTF-8."),
}
PROSE = "".join(
    f"<p>The keepers of pier {n} count the boats that come and go on each day.</p>" for n in range(30)
)


def document(page: Path, *, is_file: bool) -> Document:
    if is_file:
        return read(page.read_bytes(), name=page.name, is_file=True)
    return read(page.read_bytes(), "text/html; charset=utf-8", f"https://x.example/{page.name}")


def words(text: str) -> str:
    return f" {' '.join(WORD.findall(text))} "


def of_the_text(page: Path, *tags: str) -> list[html.HtmlElement]:
    """The elements of a page that stand in no navigation."""
    around = "ancestor::nav or ancestor::header or ancestor::footer or ancestor::*[@class='toc']"
    tree = html.document_fromstring(page.read_bytes())
    return [each for tag in tags for each in tree.xpath(f"//{tag}[not({around})]")]


@pytest.mark.parametrize("is_file", [False, True], ids=["of a site", "of a folder"])
def test_terms_are_kept_and_stand_before_what_they_mean(is_file: bool) -> None:
    found = {page: words(document(page, is_file=is_file).text) for page in PAGES}
    terms = [(page, words(each.text_content())) for page in PAGES for each in of_the_text(page, "dt")]
    assert len(terms) > 100
    lost = [(page.name, term) for page, term in terms if term not in found[page]]
    assert len(lost) * 50 <= len(terms), lost
    defined = of_the_text(PAGES[0], "dd") + of_the_text(PAGES[3], "dd")
    for each in defined:
        assert (
            words(f"{each.getprevious().text_content()} {each.text_content()}")
            in found[PAGES[0]] + found[PAGES[3]]
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_caption_and_note_is_kept(page: Path) -> None:
    text = document(page, is_file=False).text
    for caption in of_the_text(page, "caption", "figcaption"):
        assert words(caption.text_content()) in words(text)
    assert [note for note in NOTES[page.stem] if note not in text] == []


def test_what_else_is_called_an_aside_is_no_text() -> None:
    article, site = (document(page, is_file=False).text for page in (PAGES[0], PAGES[2]))
    for words_of_a_menu in ("Ferry fares", "Get our letter", "Storm warning", "Imprint"):
        assert words_of_a_menu not in article
    assert "On this page" not in site
    assert "Guide 7" not in site
    assert "canary" not in site


def test_a_definition_is_in_the_passage_of_its_term() -> None:
    text = document(PAGES[1], is_file=False).text
    cuts = passages(text)
    assert len(cuts) > 3
    for term in of_the_text(PAGES[1], "dd"):
        said = " ".join(term[0].text_content().split())
        name = " ".join(term.getprevious().find("span").text_content().split())
        assert any(name in text[cut.start : cut.end] and said in text[cut.start : cut.end] for cut in cuts)


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ("<dl><dt>Mole</dt><dd><p>A wall.</p><p>Of stone.</p></dd></dl>", "- Mole: A wall.\n  Of stone."),
        ("<dl><dt>-q</dt><dt>--quiet</dt><dd>Say nothing.</dd></dl>", "- -q, --quiet: Say nothing."),
        ("<dl><dt>Mole</dt><dd>A wall.</dd><dt>Rock</dt><dd>A stone.</dd></dl>", "- Mole: A wall.\n- Rock: A stone."),
        ("<dl><dt>May I?</dt><dd>You may.</dd></dl>", "- May I? You may."),
        ("<dl><dt>Mole</dt><dt>Rock</dt></dl>", "- Mole\n- Rock"),
        ("<dl><dt>run</dt><dd><pre>a = 1\nb = 2</pre></dd></dl>", "- run\n\n```\na = 1\nb = 2\n```"),
        ("<dl><div><dt>Mole</dt><dd>A wall.</dd></div></dl>", "- Mole: A wall."),
        ("<dl><dt>Mole</dt><dd>A wall.<dl><dt>East</dt><dd>Its end.</dd></dl></dd></dl>", "- Mole: A wall.\n\n- East: Its end."),
        ("<ul><li>an item</li></ul><dl><dt>Mole</dt><dd>A wall.</dd></dl>", "- an item\n\n- Mole: A wall."),
    ],
)  # fmt: skip
def test_a_definition_is_one_item_with_its_terms(part: str, says: str) -> None:
    assert says in web_page(f"<main><h1>Piers</h1>{PROSE}{part}{PROSE}</main>").text


FOLDED = "<p>Dogs are kept on a lead.</p>"
BUTTON = "<button aria-expanded='false' aria-controls='p1'>May I bring a dog?</button>"


@pytest.mark.parametrize(
    "part",
    [
        f"{BUTTON}<div id='p1' style='display:none'>{FOLDED}</div>",
        f"{BUTTON}<div id='p1' hidden>{FOLDED}</div>",
        f"{BUTTON}<div id='p1' aria-hidden='true' style='visibility:hidden'>{FOLDED}</div>",
        f"<h3>{BUTTON}</h3><section id='p1' hidden>{FOLDED}</section>",
        f"<div id='p1' hidden>{FOLDED}</div><p>{BUTTON}</p>",
        f"<a role='button' data-bs-toggle='collapse' href='#p1'>May I bring a dog?</a><div id='p1' hidden>{FOLDED}</div>",
        f"<button data-bs-toggle='collapse' data-bs-target='#p1'>May I bring a dog?</button><div id='p1' hidden>{FOLDED}</div>",
        f"<div role='tab' id='t1'>May I bring a dog?</div><div role='tabpanel' aria-labelledby='t1' hidden>{FOLDED}</div>",
        f"<details><summary>May I bring a dog?</summary>{FOLDED}</details>",
        f"{BUTTON}<div id='p1'>{FOLDED}</div>",
        f"<button aria-expanded='false'>May I bring a dog?</button><div style='display:none'>{FOLDED}</div>",
        f"<h3><button aria-expanded='false'>May I bring a dog?</button></h3><div hidden>{FOLDED}</div>",
        f"<button aria-controls='p0'>More</button><div id='p0' hidden>{BUTTON}<div id='p1' hidden>{FOLDED}</div></div>",
    ],
)
@pytest.mark.parametrize("around", [PROSE, "<p>The keepers count.</p>"], ids=["large", "small"])
def test_what_a_visitor_can_open_is_read_behind_what_opens_it(part: str, around: str) -> None:
    page = f"<html><body><main><h1>Piers</h1>{around}{part}{around}</main></body></html>"
    text = read(page.encode(), name="p.html", is_file=True).text
    assert re.search(r"May I bring a dog\?\s+Dogs are kept on a lead\.", text)


@pytest.mark.parametrize(
    "part",
    [
        f"<div id='p1' hidden>{FOLDED}</div>",
        f"<button>May I?</button><div id='p1' hidden>{FOLDED}</div>",
        f"<button aria-expanded='false'>May I?</button><p>No.</p><div hidden>{FOLDED}</div>",
        f"<button aria-controls='p2'>May I?</button><div id='p1' hidden>{FOLDED}</div>",
        f"<button aria-controls='p1' hidden>May I?</button><div id='p1' hidden>{FOLDED}</div>",
        f"<div style='display:none'><button aria-controls='p1'>May I?</button></div><div id='p1' hidden>{FOLDED}</div>",
        f"<button aria-controls='p1'> … </button><div id='p1' hidden>{FOLDED}</div>",
        f"<button aria-controls='p1'>May I?</button><div id='p1' style='font-size:0'>{FOLDED}</div>",
        f"<button aria-controls='p1'>May I?</button><div id='p1' style='display:none;position:absolute;left:-9999px'>{FOLDED}</div>",
        f"<button aria-controls='p1'>May I?</button><div id='p1' hidden><div style='opacity:0'>{FOLDED}</div></div>",
        f"<button aria-controls='p1'>May I?</button><div id='p1' role='dialog' hidden>{FOLDED}</div>",
        "<button aria-controls='p1'>Menu</button><div id='p1' hidden><a href='/'>Dogs are kept on a lead.</a></div>",
        f"<a href='#p1'>May I?</a><div id='p1' hidden>{FOLDED}</div>",
        f"<button aria-controls='p1' aria-expanded='false'>Menu</button><aside id='p1' hidden>{FOLDED}</aside>",
        f"<button aria-controls='p1'>May I?<div id='p1' hidden>{FOLDED}</div></button>",
    ],
)  # fmt: skip
def test_what_nothing_opens_stays_hidden(part: str) -> None:
    assert "on a lead" not in web_page(f"<main><h1>Piers</h1>{PROSE}{part}{PROSE}</main>").text


def test_a_page_of_many_buttons_takes_linear_time(seconds) -> None:
    pairs = "".join(
        f"<button aria-controls='p{n}'>b{n}</button><div id='p{n}' hidden>x{n}</div>" for n in range(3_000)
    )
    menu = f"<div id='menu' hidden>{'<a href=/>link</a> ' * 5_000}</div>"
    buttons = "<button aria-controls=p1>b</button><button aria-controls=menu>m</button>" * 3_000
    page = f"<html><body>{menu}{pairs}{buttons}</body></html>"
    assert seconds(3, lambda: read(page.encode(), "text/html", "https://x.example/p")) < 3
