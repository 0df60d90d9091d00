"""When something happened, as a sentence tells it."""

import pytest

from deep_research.evidence.dates import date_of, opens_with_date


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("31 March 1998 — Fair Isle", (1998, 3, 31)),
        ("It opened on October 5, 1900.", (1900, 10, 5)),
        ("In May 1921 it was lit.", (1921, 5, 0)),
        ("In the 1970s a deck was built.", (1970, 0, 0)),
        ("It fell in the 12th century.", (1100, 0, 0)),
        ("It was finished in 1858, of granite.", (1858, 0, 0)),
        ("About 1,250,000 bricks were used, for £1900.", None),
        ("The shore was 1500 feet away.", None),
        ("", None),
    ],
)
def test_the_first_date_of_a_text_is_told(text, when):
    assert date_of(text) == when


@pytest.mark.parametrize(
    "text", ["1907 — The valve.", "31 March 1998 — Fair Isle.", "End of 2023: it retires."]
)
def test_an_entry_of_a_timeline_opens_with_its_date(text):
    assert opens_with_date(text) == (":" not in text)
    assert not opens_with_date(f"The valve, {text}")
