"""What of a page is its main content: where trafilatura finds it, as our own reader writes it."""

from __future__ import annotations

import pytest

from deep_research.sources.extract.main_content import between, blocks_of

FIRST = "The first paragraph tells of the harbour."
SECOND = "The second paragraph tells of the outer wall."
THIRD = "The third paragraph tells of the lamp."
TABLE = "Port | Ships\nMole | 1\nRock | 2"
CODE = "```\nlamp = lit\n```"


def page(*blocks: str) -> str:
    return "\n\n".join(blocks)


@pytest.mark.parametrize(
    "lost",
    [
        TABLE,
        CODE,
        "## The wall",
        "A paragraph of some length that was lost although it tells of the wall.",
        "- An item of some length that was lost although it tells of the wall.",
    ],
)
def test_what_was_lost_between_stands_where_it_stood(lost: str) -> None:
    whole = page(FIRST, lost, SECOND)
    assert between(page(FIRST, SECOND), whole) == whole


@pytest.mark.parametrize("label", ["Share this", "- Home\n- Ports", "Read more: the ports of the east"])
def test_a_label_between_is_told_only_where_it_was_found(label: str) -> None:
    whole = page(FIRST, label, SECOND)
    assert between(page(FIRST, SECOND), whole) == page(FIRST, SECOND)
    assert between(whole, whole) == whole


@pytest.mark.parametrize(
    "ran", ["Port Ships Mole 1 Rock 2", "Port | Ships Mole | 1\nRock | 2", "# lamp = lit"]
)
def test_what_ran_together_is_told_once_as_it_was(ran: str) -> None:
    whole = page(FIRST, TABLE, CODE, SECOND)
    assert between(page(FIRST, ran, SECOND), whole) == whole


@pytest.mark.parametrize(
    "around", ["Ports of the coast", "menu | of the site\nmore | of it", "- Home\n- Ports"]
)
def test_what_stands_around_is_left_out(around: str) -> None:
    whole = page(around, FIRST, SECOND, THIRD, around)
    assert between(page(FIRST, SECOND, THIRD), whole) == page(FIRST, SECOND, THIRD)


def test_of_texts_that_have_little_in_common_the_found_one_is_told() -> None:
    found = page(FIRST, SECOND)
    assert (
        between(found, page("Ports", "Something else stands here, of which nothing was found.", "Ports"))
        == found
    )


def test_code_with_empty_lines_is_one_block_however_long_it_is(seconds):
    code = "```\n" + "word\n\n" * 300_000 + "word\n```"
    assert blocks_of(f"before\n\n{code}\n\nafter") == ["before", code, "after"]
    assert seconds(2, lambda: blocks_of(code)) < 2  # joined once: .05 s; anew at each line: 6 s
