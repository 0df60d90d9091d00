"""Which nuggets a report covers."""

from __future__ import annotations

from evals.datasets import Nugget
from evals.reports import NuggetJudge, body_sentences

REPORT = """# A question about herrings

## Summary

Herrings swim in shoals. [1] They are eaten smoked. [2]

- Cod is another fish.

## Gaps and limits

- Nothing was found on salmon.

## More on the question

Plaice is flat.

## References

1. Herrings everywhere. d1
"""


def judge() -> NuggetJudge:
    return NuggetJudge({"fish": 90, "swim": 40, "shoal": 2}, 100)


def covered(report: str, nugget: str) -> bool:
    ((_, found),) = judge().verdicts(report, [Nugget(nugget, vital=True)])
    return found


def test_the_body_is_without_headings_references_and_what_is_said_of_gaps() -> None:
    assert body_sentences(REPORT) == [
        "Herrings swim in shoals.",
        "They are eaten smoked.",
        "Cod is another fish.",
        "Plaice is flat.",
    ]


def test_only_the_first_words_are_looked_at() -> None:
    assert body_sentences(REPORT, 7) == ["Herrings swim in shoals.", "They are"]
    assert covered("word " * 549 + "shoals", "shoal")
    assert not covered("word " * 550 + "shoals", "shoal")


def test_a_rare_word_decides_whether_a_nugget_is_covered() -> None:
    assert covered("It lives in a shoal.", "The fish swim in shoals")
    assert not covered("The fish swim.", "The fish swim in shoals")


def test_three_sentences_may_cover_a_nugget_together_but_not_four() -> None:
    nugget = "alpha beta gamma delta epsilon"
    assert covered("Alpha. Beta. Gamma. Other.", nugget)
    assert not covered("Alpha. Beta. Other. More.", nugget)
    nugget = "alpha beta gamma delta epsilon zeta eta"
    assert not covered("Alpha. Beta. Gamma. Delta.", nugget)
    assert covered("Alpha beta. Gamma. Delta.", nugget)


def test_a_nugget_of_stop_words_and_an_empty_report_cover_nothing() -> None:
    assert not covered(REPORT, "it is the")
    assert not covered("", "shoals")
