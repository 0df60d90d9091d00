"""Passages and sentences: exact spans, nothing lost, nothing split that belongs together."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import cases, listed

from deep_research.text.passages import KEPT_WHOLE, TARGET_CHARS, blocks, passages, sentences

MARKUP = (
    "# Title\n", "## Part\n", "- item one\n", "* item\n", "1. first\n", "a | b\n", "|---|\n", "```\n~~~\n",
)  # fmt: skip
SPACE = ("\n", "\n\n", " ", "\t", "\u3000", "\r\n", "\x1c")
WORDS = ("word ", "Dr. Who met J. Smith. ", "It is 3.14! ", "漢字。", "e\u0301", "...", "?! ")
LONG = ("x" * 700 + ". ", "y" * 2000)
PIECES = st.sampled_from((*MARKUP, *SPACE, *WORDS, *LONG))
TEXTS = st.one_of(st.lists(PIECES, max_size=60).map("".join), st.text(max_size=300))


def cut(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentences(text)]


@given(TEXTS)
@settings(max_examples=300, deadline=None)
def test_every_visible_character_is_in_exactly_one_passage_and_none_is_too_long(text: str) -> None:
    covered = [0] * len(text)
    last = 0
    for passage in passages(text):
        piece = text[passage.start : passage.end]
        assert piece
        assert piece == piece.strip()
        assert len(piece) <= KEPT_WHOLE + 20
        assert passage.start >= last
        last = passage.end
        for at in range(passage.start, passage.end):
            covered[at] += 1
    assert all(count == 1 for count, character in zip(covered, text, strict=True) if not character.isspace())


@given(TEXTS, st.integers(0, 50), st.integers(0, 400))
@settings(max_examples=200, deadline=None)
def test_sentences_are_ordered_trimmed_and_inside_their_window(text: str, start: int, length: int) -> None:
    last = start
    for span in sentences(text, start, start + length):
        piece = text[span.start : span.end]
        assert piece
        assert piece == piece.strip()
        assert last <= span.start < span.end <= min(len(text), start + length)
        last = span.end


def test_passages_of_prose_have_about_the_target_length() -> None:
    text = "\n\n".join(f"Paragraph {n} has a few sentences. " * 9 for n in range(60))
    lengths = [passage.end - passage.start for passage in passages(text)]
    assert max(lengths) <= TARGET_CHARS + 200
    assert sorted(lengths)[len(lengths) // 2] >= 600


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("This sentence has exactly eight words in it. " * 100, "words in it."),
        ("word " * 2000, " word"),
        ("cell one | cell two\n" * 500, "cell two"),
    ],
    ids=["a paragraph at the end of a sentence", "a line between words", "a table between rows"],
)
def test_what_is_long_is_cut_where_something_ends(text: str, end: str) -> None:
    cuts = [text[p.start : p.end] for p in passages(text)]
    assert len(cuts) > 1
    assert all(f" {cut}".endswith(end) for cut in cuts)


def test_a_passage_knows_the_headings_above_it() -> None:
    body = "Words of the section. " * 20
    text = f"# Guide\n\n{body}\n\n## Install\n\n{body}\n\n### Linux\n\n{body}\n\n## Use\n\n{body}"
    assert [passage.heading for passage in passages(text)] == [
        "Guide",
        "Guide / Install",
        "Guide / Install / Linux",
        "Guide / Use",
    ]


def test_a_heading_goes_with_what_follows_it() -> None:
    body = "Words of the section. " * 40
    text = f"{body}\n\n## Next\n\n{body}"
    second = passages(text)[1]
    assert text[second.start : second.end].startswith("## Next")


def test_tiny_sections_share_a_passage() -> None:
    text = "\n\n".join(f"## Option {n}\n\nShort." for n in range(10))
    assert len(passages(text)) < 4


@pytest.mark.parametrize("block", ["a | b\n" * 300, "```\n" + "x = 1\n\n" * 250 + "```"])
def test_a_table_or_code_below_the_limit_is_kept_whole(block: str) -> None:
    text = f"Intro.\n\n{block}\n\nOutro."
    assert any(block.strip() in text[p.start : p.end] for p in passages(text))


SENTENCES = cases(
    r"""
    Dr. Smith met Mr. Jones. / They talked.
    Use tools, e.g. Make or i.e. Ninja. / Done.
    The U.S. Army left the U.S. / It was late.
    J. R. R. Tolkien wrote it. / George W. Bush read.
    Pi is 3.14 or so. / See Fig. 3 and No. 5.
    Er wurde am 17. Mai 1923 gegründet. / Bis zum 31. Dezember. / Im 19. Jahrhundert.
    Die Fa. Huber trägt nach Abs. 2 z. B. die Heizung, u. a. Öl. / Sonst nicht.
    He was 19. / Mary was 12. / We use plan b. / It works.
    He died (d. 20 March 851) there.
    Acme Inc. / The firm grew. / Acme Inc. Paris too.
    He said “Go!” and left. / “Why?” / She asked.
    It rose.[12] / Then it fell.[3][4] / End
    Wait... what? / No… / Yes.
    One line\nwraps here. / Next\none too.
    It takes 3 hr. / Passengers eat.
    Des 20. / La France. / Von 8 bis 12. / Danach zu.
    Hunde usw. / Die Tiere. / Solve for x. / 2.5 is it.
    Robert M. La Follette met A. El Din. / He won.
    10.8. Documents. / They are 10.8. / Then none.
    ...
    """,
    lambda cell: listed(cell.replace(r"\n", "\n")),
)
OTHERWISE_JOINED = {
    "これは本です。「はい。」と言った！次": ["これは本です。", "「はい。」", "と言った！", "次"],
    "# A heading. Of two\nText.": ["# A heading. Of two", "Text."],
    "- First item. More.\n- Second\n  goes on\n": ["First item.", "More.", "Second\n  goes on"],
    "1. Open it. 2. Close it.": ["Open it.", "2. Close it."],
    "a | b\n|---|---|\nc. D | d": ["a | b", "c. D | d"],
    "```python\nx = 1. \n\ny\n```\nEnd.": ["x = 1.", "y", "End."],
    "No end mark\n\nnew paragraph": ["No end mark", "new paragraph"],
    "": [],
    "  \n\t\n ": [],
}


@pytest.mark.parametrize(
    ("text", "expected"), [*((" ".join(each), each) for (each,) in SENTENCES), *OTHERWISE_JOINED.items()]
)
def test_a_text_is_cut_into_its_sentences(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@pytest.mark.parametrize(
    "piece", ["a\n", ".", ". ", "A. ", "- ", "#", "# a\n", "|", "x", "```\n", "。", ".)", "`", " "]
)
def test_no_text_takes_more_than_linear_time(piece: str, seconds: Callable[..., float]) -> None:
    text = piece * (200_000 // len(piece))
    assert seconds(5, lambda: (passages(text), sentences(text))) < 5  # linear: under .6 s; quadratic: minutes


def test_a_text_of_very_many_lines_is_cut_as_a_short_one() -> None:
    text = f"- a\nb\n# c\n\nd | e\n{'x' * 70_000}\n\n" * 30
    expected = ["- a\nb", "# c", "d | e", "x" * 70_000] * 30
    assert [text[block.start : block.end] for block in blocks(text)] == expected
    text = "- a\n\n# b\n" * 20_000
    assert [text[block.start : block.end] for block in blocks(text)] == ["- a", "# b"] * 20_000
