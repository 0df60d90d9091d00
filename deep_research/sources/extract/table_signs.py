"""Cells of a web page's tables that say their word by a sign: a picture, an icon, a box that is ticked.

What is said is what the page calls the sign for those who cannot see it; of an icon without a name, yes or no by its
class. Only a cell without words is read so, and none that is there to be pressed.
"""

from __future__ import annotations

import re
from itertools import islice, takewhile

from lxml.html import HtmlElement

from deep_research.patterns import regex
from deep_research.sources.extract.hiding import hides

_MAX_SIGNS = 3  # of a cell
_MAX_ELEMENTS = 40  # of which they consist
_YES = regex(r"(?:^|[\s_-])(?:check|checkmark|tick|ok|yes)(?=$|[\s_-])", re.IGNORECASE)
_NO = regex(r"(?:^|[\s_-])(?:times|cross|crossmark|xmark|remove|no)(?=$|[\s_-])", re.IGNORECASE)
_SIGNS = ("img", "svg", "i", "span", "em", "b", "abbr")
_PRESSED = ("a", "button", "select", "textarea", "label", "form")


def tell_ticks(tree: HtmlElement) -> None:
    """Puts words into the cells that have none."""
    for table in list(tree.iter("table")):
        for cell in list(table.iter("td")) if _has_names(table) else ():
            is_still = next(cell.iterdescendants(*_PRESSED), None) is None
            inner = islice(cell.iterdescendants(), _MAX_ELEMENTS)
            if is_still and not cell.text_content().strip():
                names = list(dict.fromkeys(filter(None, map(_name_of, inner))))
                if 0 < len(names) <= _MAX_SIGNS:
                    del cell[:]
                    cell.text = ", ".join(names)


def _has_names(table: HtmlElement) -> bool:
    """Whether its first row names several columns. A table that holds others lays out a page."""
    first = next(table.iter("tr"), None)
    if first is None or next(table.iterdescendants("table"), None) is not None:
        return False
    return len([cell for cell in first.iterchildren("td", "th") if cell.text_content().strip()]) > 1


def _name_of(sign: HtmlElement) -> str:
    around = (sign, *takewhile(lambda outer: outer.tag != "td", sign.iterancestors()))
    if any(each.get("hidden") is not None or hides(each.get("style") or "") for each in around):
        return ""
    if sign.tag == "input" and (sign.get("type") or "").lower() in ("checkbox", "radio"):
        return "☐" if sign.get("checked") is None else "☑"
    if sign.tag not in _SIGNS:
        return ""
    classes = (sign.get("class") or "")[:300] if sign.tag != "img" else ""
    name = as_name(sign.get("aria-label") or sign.get("alt") or sign.get("title") or "")
    return name or ("✓" if _YES.search(classes) else "✗" if _NO.search(classes) else "")


_MAX_SIGN_CHARS = 30  # characters
_MAX_WORDS = 4
_FILE = regex(r"(?<![\w-])[\w-]++\.(?:png|jpe?g|gif|svg|webp)\b", re.IGNORECASE)
_NO_SIGN = regex(
    r"\b(?:avatar|logo|icon|image|photo|picture|spacer|thumbnail|banner|arrow|bullet|sort|expand|collapse|close|menu|"
    r"link|share|copy|edit|delete|search|back|next|previous)\b",
    re.IGNORECASE,
)


def as_name(text: str) -> str:
    name = " ".join(text.split())
    is_short = len(name) <= _MAX_SIGN_CHARS and len(name.split()) <= _MAX_WORDS
    return "" if not is_short or _FILE.search(name) or _NO_SIGN.search(name) else name
