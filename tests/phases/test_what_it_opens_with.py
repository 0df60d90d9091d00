"""What a statement speaks of first, and what it points at, decide between statements that say as much."""

import pytest

FILLER = "The harbour of Orrel is old, and many ships come and go there in every month of the year."


def order(analyzed, question, *said):
    """The statements, each of a source of its own, as they are ranked."""
    texts = [(f"Harbour {n}", f"# Harbour {n}\n\n{FILLER}\n\n{each}") for n, each in enumerate(said)]
    found = [f.content for f in analyzed(question, *texts)]
    return [each for content in found for each in said if each in content]


@pytest.mark.parametrize(
    "beside",
    [
        "Many lamps: if you have many boats, mending the Hare engine spares you trouble.",
        "If you own it, the Hare engine mends nets.",
    ],
)
def test_a_statement_about_what_is_asked_about_comes_first(analyzed, beside):
    about = "The Hare engine mends nets by a hook that ties knots."
    assert order(analyzed, "How does the Hare engine mend nets?", beside, about)[0] == about


def test_a_statement_that_points_through_the_text_comes_last(analyzed):
    points = "Next, we'll look at how the Hare engine mends nets."
    about = "In Orrel the Hare engine mends nets by a hook."
    assert order(analyzed, "How does the Hare engine mend nets?", points, about)[0] == about


def test_what_a_list_goes_on_about_stands_before_it(analyzed):
    text = (
        "# The Hare engine\n\nHare engines have few parts. You'll use them most often in these situations:\n\n"
        "- When a net is torn\n- When a rope is short\n\nNets can be dear.\n"
    )
    first, *_ = analyzed("When should I use the Hare engine?", ("The Hare engine", text))
    assert first.content.startswith("Hare engines have few parts. You'll use them")
    assert "When a rope is short" in first.content
