"""Where a text points to for more, near what is quoted of it."""

import pytest

from deep_research.evidence.references import AROUND, references
from deep_research.state import Span


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("It is off by default (see Section 20.4.4).", "Section 20.4.4"),
        ("This is described in Chapter 25 at length.", "Chapter 25"),
        ("See also CREATE INDEX and the rest.", "CREATE INDEX"),
        ("For details see [Vacuuming](routine-vacuuming.html).", "routine-vacuuming.html"),
        ("See the “Large Objects” page.", "Large Objects"),
        ("Näheres siehe Abschnitt 3.2.", "Abschnitt 3.2"),
        ("I see Paris, and we see it every day.", None),
        ("The section has 12 pages.", None),
    ],
)
def test_what_a_text_points_to_is_named(text, target):
    found = references("src-1", text, [Span(start=0, end=5)])
    assert [r.target for r in found] == ([target] if target else [])
    assert all(r.source_id == "src-1" and r.text for r in found)


def test_only_what_stands_near_a_passage_counts_and_each_target_once():
    text = "See Section 1.1. " + "x " * AROUND + "The lock. See Section 2.2. And see Section 2.2."
    at = text.index("The lock")
    found = references("src-1", text, [Span(start=at, end=at + 8), Span(start=at, end=at + 4)])
    assert [r.target for r in found] == ["Section 2.2"]
