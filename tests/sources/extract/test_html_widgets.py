"""What is there to be pressed or filled in is no text of a page."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from deep_research.sources.extract.reading import read

PROSE = "The harbour of Mole was dredged to nine metres in the year in which the outer wall was raised. "
TEXT = "".join(f"<p>{number}. {PROSE}</p>" for number in range(8))
FIELD = "<input type='email' name='mail'>"
SPACE = "\n" + " " * 300


def text_of(body: str) -> str:
    html = f"<!doctype html><html><head><title>The wall of Mole</title></head><body>{body}</body></html>"
    return read(html.encode(), "text/html", "https://x.example/mole", 1_000_000).text


def in_the_text(widget: str) -> str:
    return text_of(f"<main><h1>The wall of Mole</h1>{TEXT}{widget}{TEXT}</main>")


PLAIN = in_the_text("")


@pytest.mark.parametrize(
    "widget",
    [
        "<h2><button class='primary'>Join us today</button></h2>",
        "<h2><a class='btn btn-primary' href='/join'>Join us today</a></h2>",
        "<h3><button>Join us</button> <a class='btn' href='/today'>today</a></h3>",
        "<h3><a role='button' href='/join'>Join us today</a></h3>",
        "<h3><span><a class='cta' href='/join'><b>Join</b> us today</a></span></h3>",
    ],
)
def test_a_heading_that_is_there_to_be_pressed_is_none(widget: str) -> None:
    assert in_the_text(widget) == PLAIN


@pytest.mark.parametrize(
    "heading",
    [
        "<h2><button aria-expanded='false'>Depth of the harbour</button></h2>",
        "<h2><button data-bs-toggle='collapse'>Depth of the harbour</button></h2>",
        "<h2 class='accordion-header'><button>Depth of the harbour</button></h2>",
        "<div class='faq'><h2><button>Depth of the harbour</button></h2></div>",
        "<h2><a class='button' href='#depth'>Depth of the harbour</a></h2>",
        "<h2><a class='title' href='/depth'>Depth of the harbour</a></h2>",
        "<h2>Depth of <button>the harbour</button> <a class='btn' href='/x'>and more</a></h2>",
    ],
)
def test_a_heading_that_unfolds_a_part_or_has_words_of_its_own_is_one(heading: str) -> None:
    assert "## Depth of" in in_the_text(heading)


@pytest.mark.parametrize(
    "widget",
    [
        f"<div><h3>The best of the Courier</h3><p>In your inbox.</p><form>{FIELD}<button>Go</button></form></div>",
        f"<div>{SPACE}<div><p>The best of the Courier.</p></div>{SPACE}<form><ul><li>{FIELD}</li></ul></form></div>",
        "<section><p>The best of the Courier.</p><div><input placeholder='Your e-mail address'></div></section>",
        f"<h3>The best of the Courier</h3><form>{FIELD}</form>",
        f"<div><h3>Leave a reply</h3><form><textarea></textarea>{FIELD}</form></div>",
    ],
)
def test_a_box_that_asks_for_an_address_is_left_out_with_what_it_says(widget: str) -> None:
    assert in_the_text(widget) == PLAIN


@pytest.mark.parametrize(
    "body",
    [
        f"<div><h1>The wall of Mole</h1><p>{PROSE}</p><form>{FIELD}</form></div>{TEXT}",
        f"<form><h1>The wall of Mole</h1><p>{PROSE}</p>{FIELD}{TEXT}</form>",
        f"<main><h1>The wall of Mole</h1><div><p>{PROSE * 3}</p><form>{FIELD}</form></div>{TEXT}</main>",
        f"<p>{PROSE}</p><form>{FIELD}</form>",
    ],
)
def test_what_is_more_than_a_few_words_beside_a_form_is_text(body: str) -> None:
    assert PROSE.strip() in text_of(body)


@pytest.mark.parametrize(
    "widget",
    [
        "<a role='button' href='#'>Read later</a>",
        "<div><span role='button' tabindex='0'>Add to list</span> <span role='button'>Share</span></div>",
        "<ul><li><a role='button' aria-expanded='false'>Save for later</a></li></ul>",
        "<p><span><a role=' Button' href='/save?x'>Save <b>for later</b></a></span></p>",
        "<button aria-expanded='false'><h6>Read later</h6></button>",
        "<div role='tooltip'><h6>Read later</h6></div>",
        "<div role='toolbar'><span>Smaller</span> <span>Larger</span></div>",
        f"<button aria-expanded='false'>Parts</button><nav><p>{PROSE}</p></nav>",
        "<span role='switch' aria-checked='false'>Dark mode</span>",
        "<div><i role='button' data-toggle='box'>Copy</i><div></div></div>",
        "<details><summary>Share</summary><nav><a href='/x'>Post</a></nav></details>",
        "<details><summary>Share this</summary><button>Post</button> </details>",
    ],
)
def test_what_is_pressed_or_unfolds_nothing_is_no_text(widget: str) -> None:
    assert in_the_text(widget) == PLAIN


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>The <span role='button'>draught</span> of a ship counts.</p>", "The draught of a ship counts."),
        ("<p><a role='button' href='#'>Draught</a> counts.</p>", "Draught counts."),
        ("<p><b>The</b> <a role='button' href='#'>draught</a></p>", "The draught"),
        (f"<div role='button' aria-expanded='false'>How deep is it?</div><div>{PROSE}</div>", "How deep is it?"),
        (f"<div><button aria-expanded='false'>How deep is it?</button></div><div>{PROSE}</div>", "How deep is it?"),
        (f"<div class='faq'><i role='button'>How deep is it?</i><p>{PROSE}</p></div>", "How deep is it?"),
        (f"<details><summary>How deep is it?</summary>{PROSE}</details>", "How deep is it?"),
        ("<details><summary>Of nine metres.</summary>Says the survey.</details>", "Of nine metres."),
        (f"<div role='button'><p>{PROSE}</p></div>", PROSE.strip()),
        ("<pre>press <i role='button'>Enter</i></pre>", "press Enter"),
        ("<h2><span role='button' data-toggle='x'>The depth</span></h2>", "## The depth"),
    ],
)  # fmt: skip
def test_what_is_pressed_in_a_sentence_or_names_a_part_is_text(body: str, text: str) -> None:
    assert text in in_the_text(body)


def test_many_buttons_in_boxes_take_no_longer_than_the_rest_of_the_page(
    seconds: Callable[..., float],
) -> None:
    deep = "<div>" * 150 + "<i><b role='button'>Save</b></i>" * 4_000 + "</div>" * 150
    assert seconds(2, lambda: in_the_text(deep)) < 4 + 2 * seconds(
        2, lambda: in_the_text(deep.replace("role", "data-x"))
    )


def test_a_search_or_a_name_is_no_address() -> None:
    box = "<div><p>The walls of the harbour, by name.</p><form><input type='text' name='wall'></form></div>"
    assert "The walls of the harbour, by name." in in_the_text(box)


def test_many_boxes_in_boxes_take_no_longer_than_the_rest_of_the_page(seconds: Callable[..., float]) -> None:
    deep = "<div>" * 150 + f"<i></i>{FIELD}" * 4_000 + "</div>" * 150
    assert seconds(2, lambda: in_the_text(deep)) < 4 + 2 * seconds(
        2, lambda: in_the_text(deep.replace("email", "tel"))
    )
