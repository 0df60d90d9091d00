"""What a day is written as in the head of a web page and in the elements that mark one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from lxml.html import HtmlElement

from deep_research.sources.extract.datelines import dateline
from deep_research.sources.extract.texts import parse_date

_AS_UNIX = re.compile(r"\b([A-Z][a-z]{2}) +(\d{1,2}) \d\d:\d\d:\d\d [A-Z]{2,5} (\d{4})\b")
_SLASHED = re.compile(r"\A\s*(\d\d?)/(\d\d?)/(\d{4})\b")


def day_of(value: str) -> date | None:
    if found := _AS_UNIX.search(value[:100]):
        value = f"{found[1]} {found[2]}, {found[3]}"
    elif found := _SLASHED.match(value):
        value = _ordered(int(found[1]), int(found[2]), found[3])
    day = parse_date(value)
    return day if day and 1000 < day.year < 2100 else None


def _ordered(one: int, other: int, year: str) -> str:
    """A day with its month first or second, where only one can be meant."""
    if one > 12 or one == other:
        return f"{year}-{other}-{one}"
    return f"{year}-{one}-{other}" if other > 12 else ""


def values_of(element: HtmlElement) -> Iterator[str]:
    """The day as it is shown goes first, as that of the place; unless it is quite another."""
    exact = element.get("content") or element.get("datetime") or element.get("title") or ""
    text = " ".join(element.text_content()[:200].split())
    seen, meant = parse_date(text) or dateline(text), day_of(exact)
    if seen and (meant is None or abs((seen - meant).days) <= 1):
        yield seen.isoformat()
    yield exact
