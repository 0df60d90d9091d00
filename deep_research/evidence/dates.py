"""When something happened, as a sentence tells it. Pure."""

from __future__ import annotations

import re

YEAR = re.compile(r"1\d{3}|20\d\d")
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = "|".join(name.capitalize() for name in MONTHS)
_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}}) )?(?P<month>{_MONTH}),? (?P<of>{YEAR.pattern})\b"
    rf"|\b(?P<first>{_MONTH}) (?P<on>\d{{1,2}}), (?P<in>{YEAR.pattern})\b"
    rf"|(?<![\d.,£$€#-])\b(?P<year>{YEAR.pattern})(?:s\b|\b(?![.,]?\d| (?:feet|metres|miles|tons|m|ft|pounds|bricks)\b))"
)
_CENTURY = re.compile(r"\b(?P<number>\d{1,2})(?:st|nd|rd|th)[ -]century\b")
# "when" where it asks, and not in "What is raised when a file is missing?"
# "When should I use a lamp?" asks for no date.
OCCASION = r"when (?:should|would|must) (?:i|we|you|one|people)\b|when to\b"
WHEN = (
    rf"(?:^\s*|(?:and|or|but) |[?;,] )(?!{OCCASION})when\b"
    rf"|\b(?!{OCCASION})when (?:was|were|did|do|does|is|are|will|has|have|had|can|should)\b"
)
_OPENING = re.compile(rf"\W*(?:\w+ of )?(?:{_DATE.pattern})\W*\s[—–:-]\s")
_BEFORE_CHRIST = re.compile(r"\s*(?:BC|BCE)\b")


def date_of(text: str) -> tuple[int, int, int] | None:
    """The first date that a text tells, as year, month and day, with 0 for what it leaves open; None without any."""
    match = _DATE.search(text)
    if match is None:
        century = _CENTURY.search(text)
        return (100 * (int(century["number"]) - 1), 0, 0) if century else None
    year = int(match["of"] or match["in"] or match["year"])
    month = match["month"] or match["first"]
    place = MONTHS.index(month.casefold()) + 1 if month else 0
    era = -1 if _BEFORE_CHRIST.match(text, match.end()) else 1
    return era * year, place, int(match["day"] or match["on"] or 0)


def opens_with_date(text: str) -> bool:
    """Whether a text is an entry of a timeline, such as "1907 — The valve is invented"."""
    return _OPENING.match(text) is not None
