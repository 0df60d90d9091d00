"""A plan that is edited by hand: words and lines become an answer, and a slip of the hand changes nothing."""

import pytest

from deep_research.research.plan_edits import PlanDraft, SlipError, estimate_line

ABOUT = {
    "sub_queries": [
        {"id": f"subq-{n}", "query": f"query {n}", "rationale": f"why {n}", "priority": 1} for n in (1, 2, 3)
    ],
    "most": 4,
}


SLIPS = [
    "",
    "drop",
    "drop 4",
    "drop 0",
    "drop x",
    "drop 1 2 3",
    "add",
    "add QUERY  2",
    "reword 1",
    "reword 9 x",
]
SLIPS += [
    "reword 1 query 2",
    "move 1",
    "move 1 9",
    "move ² 1",
    "limit moons 2",
    "limit max_usd x",
    "drp 2",
    "\x1b[2J",
]


def answered(*lines):
    draft = PlanDraft(ABOUT)
    for line in lines:
        assert draft.take(line) is None
    return draft.take("ok")


@pytest.mark.parametrize(
    ("lines", "lines_of"),
    [
        (("drop 2",), [{"id": "subq-1"}, {"id": "subq-3"}]),
        (("drop 1, 3",), [{"id": "subq-2"}]),
        (
            ("add oil  of the lamps",),
            [{"id": "subq-1"}, {"id": "subq-2"}, {"id": "subq-3"}, {"query": "oil of the lamps"}],
        ),
        (
            ("reword 3 other words",),
            [{"id": "subq-1"}, {"id": "subq-2"}, {"id": "subq-3", "query": "other words"}],
        ),
        (("MOVE 3 1",), [{"id": "subq-3"}, {"id": "subq-1"}, {"id": "subq-2"}]),
        (
            ("drop 1", "add oil", "reword 3 the oil", "move 3 1"),
            [{"query": "the oil"}, {"id": "subq-2"}, {"id": "subq-3"}],
        ),
    ],
)
def test_lines_edit_the_list(lines, lines_of):
    assert answered(*lines) == {"sub_queries": lines_of}


def test_a_limit_goes_along():
    assert answered("limit max_searches 2", "limit max_usd 0.5")["limits"] == {
        "max_searches": 2,
        "max_usd": 0.5,
    }


@pytest.mark.parametrize("lines", [(), ("move 1 2", "move 2 1")])
def test_a_list_that_is_as_it_was_is_approved(lines):
    assert answered(*lines) == "approve"


def test_a_sentence_is_an_answer_by_itself():
    assert PlanDraft(ABOUT).take("  Look at the   wages, too. ") == "Look at the wages, too."


@pytest.mark.parametrize("word", ["no", "Cancel."])
def test_a_plan_may_be_refused(word):
    assert PlanDraft(ABOUT).take(word) == word


@pytest.mark.parametrize(
    "line",
    SLIPS,
)
def test_a_slip_changes_nothing_and_says_what_is_wrong(line):
    draft = PlanDraft(ABOUT)
    before = list(draft.searches)
    with pytest.raises(SlipError) as slip:
        draft.take(line)
    assert str(slip.value)
    assert "\n" not in str(slip.value)
    assert draft.searches == before


def test_no_more_is_added_than_a_plan_may_have():
    draft = PlanDraft(ABOUT)
    draft.take("add a fourth")
    with pytest.raises(SlipError, match="At most 4"):
        draft.take("add a fifth")


def test_the_list_is_numbered_and_says_why():
    draft = PlanDraft(ABOUT)
    draft.take("reword 2 other words")
    draft.take("limit max_searches 2")
    assert [*draft.lines()] == [
        "  1. query 1  (why 1)",
        "  2. other words",
        "  3. query 3  (why 3)",
        "     max_searches 2",
    ]


@pytest.mark.parametrize(
    ("estimate", "line"),
    [
        ({}, ""),
        (
            {
                "searches": {"low": 1, "high": 24},
                "tokens": {"low": 0, "high": 0},
                "usd": {"low": 0, "high": 0},
            },
            "It may take 1 to 24 searches.",
        ),
        (
            {
                "searches": {"low": 2, "high": 2},
                "tokens": {"low": 900, "high": 12_000},
                "usd": {"low": 0.1, "high": 2},
            },
            "It may take 2 searches, 900 to 12,000 tokens, $0.10 to $2.00.",
        ),
        (
            {"searches": {"low": 1, "high": 2}, "usd": None},
            "It may take 1 to 2 searches, at a price that is not known.",
        ),
    ],
)
def test_the_estimate_is_told_in_a_line(estimate, line):
    assert estimate_line(estimate) == line
