"""Parses the days that documents name."""

from __future__ import annotations

import re
from datetime import date

from deep_research.patterns import regex

_ISO_DATE = regex(r"\b(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_NAMED_DATE = regex(
    rf"\b(?:{_DAY}\.?[\s-]+)?({'|'.join(_MONTHS)})[a-z]*\.?[\s-]+(?:{_DAY},?\s+)?(\d{{4}})\b", re.IGNORECASE
)


def parse_date(value: str) -> date | None:
    """The first day that ``value`` names: ``2024-03-05…``, ``2024/3/5``, ``5 March 2024``."""
    value = value[:100]
    try:
        if found := _ISO_DATE.search(value):
            return date(int(found[1]), int(found[3]), int(found[4]))
        if found := _NAMED_DATE.search(value):
            return date(int(found[4]), _MONTHS.index(found[2].lower()) + 1, int(found[1] or found[3] or 1))
    except ValueError:
        return None
    return None
