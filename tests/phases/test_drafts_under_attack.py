"""What a draft and a reading may not claim, whoever made the model write it."""

import pytest

from deep_research.phases.analysis.findings_merge import _says_no_more
from deep_research.phases.prompting import Aliases, Room
from deep_research.phases.synthesis.model_drafts import is_cut, with_ids
from deep_research.phases.synthesis.writer_material import WriterMaterial
from deep_research.state import ConfidenceLevel, Finding


def finding(content):
    return Finding(
        id="find-000000000001",
        content=content,
        confidence=ConfidenceLevel.LOW,
        source_ids=("src-000000000001",),
    )


GIVEN = WriterMaterial((finding("c"),), Aliases("F", ["find-000000000001"]), {}, Room(1_000))


@pytest.mark.parametrize(
    ("body", "after"),
    [
        ("It is so [F1].", "It is so [find-000000000001]."),
        ("It is so [3].", "It is so."),
        ("It is so. [1, 2] Then", "It is so. Then"),
        ("It is so [S2][^1].", "It is so."),
        ("It is so [F9].", "It is so."),
        ("of the interval [0, 1] and", "of the interval [0, 1] and"),
        ("the list `x[1]` and `y [2]` of", "the list `x[1]` and `y [2]` of"),
        ("a [1](http://evil.example)", "a [1](http://evil.example)"),  # rendering takes the link out
        ("```\nx = [1]\n```\nSo [1].", "```\nx = [1]\n```\nSo."),
    ],
)
def test_numbers_that_look_like_references_go(body, after):
    assert with_ids(body, GIVEN.names)[0] == after


SAID = "One thing is so. Another is not.\n\n"


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        (f"{SAID}It ends.", False),
        (f"{SAID}It ends [F1]", False),
        (f"{SAID}The light", True),
        (f"{SAID}## What remains", True),
        (f"{SAID}| a | b", False),
        (f"{SAID}- one\n- two", False),
        (f"{SAID}- One.\n- Two.\n- thr", True),
        ("eins\n\nzwei", False),
        ("这里没有结束\n\n也没有", False),
        ("", False),
    ],
)
def test_a_text_that_breaks_off_is_known_by_how_its_other_lines_end(text, cut):
    assert is_cut(text) is cut


def test_a_model_cannot_make_one_of_statements_that_have_nothing_in_common():
    towers = "The towers of the coast were built of stone by the board."
    assert _says_no_more(finding("The board built the towers of stone."), than=finding(towers))
    assert not _says_no_more(finding("Everyone agrees that the vendor sells best."), than=finding(towers))
