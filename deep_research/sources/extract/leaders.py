"""Dots that lead from a name to a number, as to that of a page. Pure, in linear time: a line may be nothing but dots."""

from __future__ import annotations

import re

_NUMBER = re.compile(r"(?:\d{1,4}|[ivxlc]{1,6})\Z")
_LONGEST = 6  # characters of a number
_DOTS = ". \t\xa0"
_FEWEST = 4  # that lead somewhere
_MORE_THAN_A_STOP = 2


def led(text: str, fewest: int = _FEWEST) -> tuple[str, str] | None:
    """The name and the number, empty where the dots lead to none; None of a line that has not the ``fewest`` dots."""
    plain = text.rstrip()
    found = _NUMBER.search(plain[-_LONGEST:])
    number = found[0] if found else ""
    before = plain[: len(plain) - len(number)].rstrip()
    name = before.rstrip(_DOTS)
    return (name, number) if before.count(".", len(name)) >= fewest else None


def without_dots(text: str) -> str:
    """A cell without the dots that lead to the next."""
    name = text.rstrip(_DOTS)
    return name if text.count(".", len(name)) >= _MORE_THAN_A_STOP else text
