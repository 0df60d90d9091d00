"""A draft is split into what it claims: each sentence, item and cell, with its references and where it stands."""

import random

import pytest

from deep_research.report.draft_claims import draft_claims
from deep_research.report.references import UNSUPPORTED, ids_in, unmarked
from deep_research.state import ClaimKind

ONE, TWO = "find-000000000001", "find-000000000002"
SOURCE = "src-000000000003"
SENTENCE, ITEM, CELL = ClaimKind.SENTENCE, ClaimKind.ITEM, ClaimKind.CELL


A, B = f"[{ONE}]", f"[{TWO}]"
# A draft and its claims: what each cites, and after a stroke what stands for it.
CITATIONS = {
    "before the full stop": (f"It is long {A}. It is old {B}.", "long: 1; old: 2"),
    "after the full stop": (f"It is long. {A} It is old. {B}", "long: 1; old: 2"),
    "several in one bracket": (f"It is old [{ONE}, {TWO}; {SOURCE}].", "old: 1 2 3"),
    "several brackets, one twice": (f"It is old {A} {B}{A}.", "old: 1 2"),
    "in the midst": (f"It is 3.5 m high {A} and 4 m wide {B} there.", "3.5 m high and 4 m wide there: 1 2"),
    "one at the end for all of a paragraph": (f"It is long. It is old. It is grey {A}.", "long: /1; old: /1; grey: 1"),
    "the next one stands for a sentence, and the last for those after it": (
        f"It is long. It is old {A}. It is grey. It is wet {B}. It is cold.",
        "long: /1; old: 1; grey: /2; wet: 2; cold: /2",
    ),
    "none stands for another paragraph": (f"It is long {A}.\n\nIt is old.", "long: 1; old:"),
    "on a line of its own": (
        f"It is long.\n{A}\n\nIt is old.\n\n{B}\n\n## More\n\nIt is grey.", "long: 1; old: 2; grey:",
    ),
    "at the beginning of a paragraph or an item": (
        f"It is long.\n\n{A} It is old.\n\n- {B} It is grey.", "long:; old: 1; grey: 2",
    ),
    "each item has its own": (
        f"- It is long {A}.\n- It is old.\n- It is grey\n  and wet {B}.", "long: 1; old:; grey and wet: 2",
    ),
    "what is no id is words, and a number of a reference is nothing": ("It is old [find-7] [1].", "old [find-7]:"),
}  # fmt: skip


@pytest.mark.parametrize(("draft", "expected"), CITATIONS.values(), ids=CITATIONS)
def test_a_claim_has_the_references_that_stand_for_it(draft, expected):
    numbers = {ONE: "1", TWO: "2", SOURCE: "3"}
    told = []
    for claim in draft_claims(draft):
        assert not (claim.cites and claim.near)
        cited = " ".join(numbers[each] for each in claim.cites)
        near = " ".join(f"/{numbers[each]}" for each in claim.near)
        told.append(f"{claim.text.removeprefix('It is ').removesuffix('.')}: {cited}{near}".strip())
    assert "; ".join(told) == expected


SHOWN = {
    r"A \* is no \[note\] of *hers* or __his__ **own**.": "A * is no [note] of hers or his own.",
    "AT&amp;T &lt; 5 and 6 &gt; 5.": "AT&T < 5 and 6 > 5.",
    "Call `tower_height` of snake_case, not _this_.": "Call tower_height of snake_case, not this.",
    "See [the mole](https://ok.example/a_b) and ![a view](view.png).": "See the mole and a view.",
    "It is long\nand   old.": "It is long and old.",
    "> It is long\n> and old.": "It is long and old.",
    "1. It is long.": "It is long.",
    "- 1987 is the year.": "1987 is the year.",
}


@pytest.mark.parametrize(("written", "shown"), SHOWN.items())
def test_the_words_of_a_claim_are_those_that_a_reader_sees(written, shown):
    (claim,) = draft_claims(f"# T\n\n## S\n\n{written}\n")
    assert claim.text == shown


def test_a_claim_is_marked_where_a_mark_follows_it():
    draft = f"It is long. {UNSUPPORTED} It is old [{ONE}]. {UNSUPPORTED} It is grey {UNSUPPORTED} [{TWO}]. It is wet."
    without = f"It is long. It is old [{ONE}]. It is grey [{TWO}]. It is wet."
    told = draft_claims(draft)
    assert [claim.is_marked for claim in told] == [True, True, True, False]
    assert unmarked(draft) == without
    assert [claim.text for claim in draft_claims(without)] == [claim.text for claim in told]


NO_CLAIMS = {
    "titles and headings": ("# The mole\n\n## Its height\n\n### In feet\n", []),
    "code and what announces it": ("Run this:\n\n```sh\nls [x]\nIt is long.\n```\n\nIt is old.", ["It is old."]),
    "of what stands before code only that": ("It is old. Run:\n\n```\nls\n```", ["It is old."]),
    "what announces with a figure": ("It fell in 1850:\n\n- It is long\n", ["It fell in 1850:", "It is long"]),
    "what announces and cites": (f"It is old [{ONE}]:\n\n- It is long\n", ["It is old:", "It is long"]),
    "what announces a list": ("The moles are\n\n- the first one,\n- and another.", ["the first one,", "and another."]),
    "only its last sentence": ("It is long. They are:\n\n- one is old", ["It is long.", "one is old"]),
    "a whole sentence before a list stays": ("They are two.\n\n- one is old", ["They are two.", "one is old"]),
    "of items without a stop none": ("- It is long\n- It is old\n- He is", ["It is long", "It is old", "He is"]),
    "what cites is none": (f"It is long [{ONE}]\n\n- It is old", ["It is long", "It is old"]),
    "an item that announces others": ("- It is old.\n- They are:\n  - it is long\n", ["It is old.", "it is long"]),
    "a bold line before a table": ("**What is known**\n\n| A | B |\n|---|---|\n| x | it is old |", ["it is old"]),
    "rules, marks and empty items": ("***\n\n---\n\n- \n\n…\n\nIt is old.", ["It is old."]),
    "nothing": ("", []),
    "an open fence": ("It is old.\n\nSo:\n\n```\nIt is long.", ["It is old."]),
}  # fmt: skip


@pytest.mark.parametrize(("draft", "texts"), NO_CLAIMS.values(), ids=NO_CLAIMS)
def test_what_says_nothing_is_no_claim(draft, texts):
    assert [claim.text for claim in draft_claims(draft)] == texts


def test_a_claim_stands_under_its_headings_but_not_under_the_title():
    draft = "# T\n\nIt is a.\n\n## S *one*\n\nIt is b.\n\n### U\n\nIt is c.\n\n## W\n\nIt is d.\n\n#### X\n\n- It is e."
    assert [(claim.text, claim.heading) for claim in draft_claims(draft)] == [
        ("It is a.", ""),
        ("It is b.", "S one"),
        ("It is c.", "S one > U"),
        ("It is d.", "W"),
        ("It is e.", "W > X"),
    ]


TABLE = f"""\
## Moles

| Mole | Height | Note |
|:-----|-------:|------|
| North \\| East [{ONE}] | 5 m | - |
| South | 6 m [{TWO}] | It is *old*. {UNSUPPORTED} |

Both are wet.
"""


def test_a_cell_is_claimed_of_its_row_under_its_column_with_the_references_of_its_row():
    told = [(c.kind, c.text, c.heading, c.row, c.cites, c.near, c.is_marked) for c in draft_claims(TABLE)]
    north = "North | East"
    assert told == [
        (CELL, north, "Moles > Mole", "", (ONE,), (ONE,), False),  # it cites something of its own
        (CELL, "5 m", "Moles > North | East > Height", north, (), (ONE,), False),
        (CELL, "6 m", "Moles > South > Height", "South", (TWO,), (TWO,), False),
        (CELL, "It is old.", "Moles > South > Note", "South", (), (TWO,), True),
        (SENTENCE, "Both are wet.", "Moles", "", (), (), False),
    ]


TABLES = {
    "without outer bars": ("Mole | Height\n--- | ---\nNorth | 5 m\n", [("5 m", "North > Height")]),
    "more cells than columns": ("| A | B |\n|---|---|\n| x | y | z |", [("y", "x > B"), ("z", "x")]),
    "fewer cells than columns": ("| A | B |\n|---|---|\n| x |", []),
    "one column": ("| A |\n|---|\n| It is old |", [("It is old", "A")]),
    "a sentence first": (
        "| A | B |\n|---|---|\n| It is very old. | y |",
        [("It is very old.", "A"), ("y", "It is very old. > B")],
    ),
    "a header alone": ("| A | B |\n|---|---|\n", []),
    "an empty cell in the midst": ("| A | B | C |\n|---|---|---|\n| x |  | z |", [("z", "x > C")]),
}


@pytest.mark.parametrize(("draft", "cells"), TABLES.values(), ids=TABLES)
def test_tables_are_read_whatever_they_lack(draft, cells):
    assert [(claim.text, claim.heading) for claim in draft_claims(draft)] == cells


# Where a claim stands

WORDS = [
    "mole", "height", "3.5", "Größe", "灯台", "*grey*", "AT&amp;T", "\\*", "`code`", "old", "&lt;", "[x](y)",
]  # fmt: skip
REFERENCES = ("", "", f" [{ONE}]", f" [{ONE}, {TWO}]", f" [{SOURCE}]", f" {UNSUPPORTED}", f"  [{TWO}]")


def drawn(chance):
    """A draft, with the sentences, items and cells that were put in it: their words and their references."""
    parts, pieces = ["# A title"], []
    for _ in range(chance.randint(1, 6)):
        kind = chance.choice(["paragraph", "items", "table", "heading", "code"])
        told = [_drawn_sentence(chance) for _ in range(chance.randint(1, 4))]
        if kind == "heading":
            parts.append(f"## {chance.choice(WORDS)}")
        elif kind == "code":
            parts.append("```\nIt is code. [x]\n```")
        elif kind == "paragraph":
            parts.append(" ".join(map("".join, told)))
        elif kind == "items":
            parts.append("\n".join(f"- {words}{reference}" for words, reference in told))
        else:
            rows = [f"| row | {words}{reference} |" for words, reference in told]
            parts.append("\n".join(["| a | b |", "|---|---|", *rows]))
        pieces += told if kind not in ("heading", "code") else []
        if kind == "paragraph":  # so that it announces nothing
            parts.append("## Next")
    return "\n\n".join(parts) + "\n", pieces


def _drawn_sentence(chance):
    words = " ".join(chance.choice(WORDS) for _ in range(chance.randint(1, 6)))
    return f"The {words} stands.", chance.choice(REFERENCES)


@pytest.mark.parametrize("seed", range(5))
def test_the_place_of_a_claim_holds_its_words_and_its_references(seed):
    for number in range(40):
        draft, pieces = drawn(random.Random(f"{seed} {number}"))
        claims = draft_claims(draft)
        stands = [draft[claim.place.start : claim.place.end] for claim in claims]
        assert stands == [f"{words}{reference}" for words, reference in pieces], draft
        assert [claim.cites for claim in claims] == [ids_in(reference) for _, reference in pieces], draft
        assert [claim.is_marked for claim in claims] == [UNSUPPORTED in reference for _, reference in pieces]
        ends = [claim.place.end for claim in claims]
        assert all(end <= claim.place.start for end, claim in zip(ends, claims[1:], strict=False))


def test_the_place_of_a_claim_holds_references_that_stand_elsewhere_than_behind_it():
    pieces = [f"[{ONE}] It is old.", f"[{TWO}] It is long.", f"It is grey.\n[{ONE}]"]
    draft = f"- {pieces[0]}\n\n{pieces[1]}\n\n{pieces[2]}\n"
    assert [draft[claim.place.start : claim.place.end] for claim in draft_claims(draft)] == pieces


HOSTILE = {
    "paragraphs": lambda n: f"It is old [{ONE}].\n\n" * n,
    "a long cell": lambda n: f"| A | B |\n|---|---|\n| {'old ' * n} | y |",
    "sentences": lambda n: f"It is old [{ONE}]. " * n,
    "sentences without references": lambda n: "It is old. " * n,
    "items": lambda n: "- x\n" * n,
    "rows": lambda n: "| A | B |\n|---|---|\n" + f"| x | 5 m [{ONE}] |\n" * n,
    "cells": lambda n: f"|{' A |' * n}\n|{'---|' * n}\n|{f' 5 m [{ONE}] |' * n}",
    "underscores": lambda n: f"a{'_' * n * 10}b",
    "stars": lambda n: f"a{'*' * n * 10}b",
    "brackets": lambda n: "[" * n * 10,
    "links": lambda n: "[x](a" * n,
    "marks": lambda n: f"{UNSUPPORTED} " * n,
    "a bracket that never closes": lambda n: "[" + f"{ONE}, " * n,
    "spaces": lambda n: f"[{ONE}{' ' * n * 10}x",
    "quote marks": lambda n: "> " * n * 5,
    "references on lines of their own": lambda n: f"It is old.\n\n{f'[{ONE}]' + chr(10)}" * n,
}


@pytest.mark.timed
@pytest.mark.parametrize("made", HOSTILE.values(), ids=HOSTILE)
def test_splitting_takes_linear_time(made, seconds):
    def ratio():
        few, many = made(500), made(4_000)
        return seconds(0, lambda: draft_claims(many)) / max(seconds(0, lambda: draft_claims(few)), 0.002)

    assert ratio() < 8 * 3.5  # squared: 64
