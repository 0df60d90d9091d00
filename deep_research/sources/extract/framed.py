"""Listings that a table lays out: the numbers of their lines in one cell, the lines in another. Read as a row they would
lose their lines; they are taken out of their table, and the numbers with it."""

from __future__ import annotations

import re
from itertools import islice

from lxml.html import HtmlElement

_CELLS = 3  # of such a table, at most
_NUMBERS = re.compile(r"[\d\s]{0,20000}")


def unframe_listings(tree: HtmlElement) -> None:
    for table in list(tree.iter("table")):
        listing = _listing(table)
        if listing is not None and table.getparent() is not None:
            listing.tail = table.tail
            table.getparent().replace(table, listing)


def _listing(table: HtmlElement) -> HtmlElement | None:
    """The only piece of code in a table that holds nothing else."""
    cells = list(islice(table.iter("td", "th"), _CELLS + 1))
    if not cells or len(cells) > _CELLS or next(table.iterdescendants("table"), None) is not None:
        return None
    told = [cell for cell in cells if _NUMBERS.fullmatch(cell.text_content()) is None]
    listings = list(islice(told[0].iter("pre"), 2)) if len(told) == 1 else []
    if len(listings) != 1 or table.find(".//caption") is not None:
        return None
    return listings[0] if _size(listings[0]) == _size(told[0]) else None


def _size(element: HtmlElement) -> int:
    return sum(not character.isspace() for character in element.text_content())
