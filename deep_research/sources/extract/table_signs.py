"""Cells of a web page's tables that say their word by a sign: a picture, an icon, a box that is ticked.

What is said is what the page says of the sign to those who cannot see it, else the sign. Of all that nobody sees only
this is read, in a cell without other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from lxml.html import HtmlElement

from deep_research.patterns import regex
from deep_research.sources.extract.hiding import hides

_MOST_SIGNS = 3  # of a cell
_MOST_ELEMENTS = 40  # of which they consist
_GLYPH = 3  # characters of a sign that is hidden from those to whom its name is read
_FOR_READERS = regex(
    r"(?:^|[\s_-])(?:sr-only|visually-hidden|visuallyhidden|screen-reader-text)(?=$|[\s_-])", re.IGNORECASE
)
_YES = regex(r"(?:^|[\s_-])(?:check|checkmark|tick|ok|yes)(?=$|[\s_-])", re.IGNORECASE)
_NO = regex(r"(?:^|[\s_-])(?:times|cross|crossmark|xmark|remove|no)(?=$|[\s_-])", re.IGNORECASE)
_BOXES = ("checkbox", "radio")
_SIGNS = ("img", "svg", "i", "span", "em", "b", "input", "abbr")
_PRESSED = ("button", "select", "textarea", "label", "form")
# What a sign in a link has to be called, not to be a sign of where the link leads.
_ANSWERS = frozenset(
    ("yes", "no", "ja", "nein", "oui", "non", "sí", "si", "true", "false", "✓", "✔", "✗", "✘")
)


def tell_ticks(tree: HtmlElement) -> None:
    """Puts words into the cells that have none. Tables that hold others lay out a page, and what is there to be pressed
    says nothing."""
    for table in list(tree.iter("table")):
        if next(table.iterdescendants("table"), None) is None and _has_rows(table):
            for cell in list(table.iter("td")):
                if not _has_words(cell) and (told := _told(cell)):
                    for inner in list(cell):
                        cell.remove(inner)
                    cell.text = told


def _has_rows(table: HtmlElement) -> bool:
    """Whether it is a table of facts: several rows, of which the first names several columns."""
    rows = [list(row.iterchildren("td", "th")) for row in table.iter("tr")]
    return len(rows) > 1 and sum(map(_has_words, rows[0])) > 1


def _has_words(cell: HtmlElement) -> bool:
    """Whether it says anything to those who see it and to those who do not."""
    return _plain("".join(_seen(cell))) != ""


def _seen(element: HtmlElement) -> Iterator[str]:
    if not isinstance(element.tag, str) or element.tag in ("script", "style", "svg") or not _is_seen(element):
        return
    yield element.text or ""
    for inner in element:
        yield from _seen(inner)
        yield inner.tail or ""


def _is_seen(element: HtmlElement) -> bool:
    return (
        not _is_hidden(element)
        and (element.get("aria-hidden") or "").lower() != "true"
        and not _FOR_READERS.search((element.get("class") or "")[:300])
    )


def _is_hidden(element: HtmlElement) -> bool:
    return element.get("hidden") is not None or hides(element.get("style") or "")


def _told(cell: HtmlElement) -> str:
    if next(cell.iterdescendants(*_PRESSED), None) is not None:
        return ""
    is_link = next(cell.iterdescendants("a"), None) is not None
    within = list(islice(cell.iterdescendants(), _MOST_ELEMENTS + 1))
    shown = [each for each in within[:_MOST_ELEMENTS] if not _is_out_of_sight(each, cell)]
    for names in (_names, _glyphs, _boxes, _drawn):
        told = list(dict.fromkeys(filter(None, map(_plain, names(shown)))))
        if told and len(told) <= _MOST_SIGNS:
            return ", ".join(told) if not is_link or told[0].lower() in _ANSWERS else ""
    return ""


def _is_out_of_sight(element: HtmlElement, cell: HtmlElement) -> bool:
    """Whether it is shown to nobody at all. What is only for those who cannot see is told by its class."""
    for each in (element, *element.iterancestors()):
        if each is cell:
            return False
        is_for_readers = _FOR_READERS.search((each.get("class") or "")[:300]) is not None
        if _is_hidden(each) and not is_for_readers:
            return True
    return False


def _names(shown: list[HtmlElement]) -> Iterator[str]:
    """What the signs are called."""
    for sign in shown:
        if _FOR_READERS.search((sign.get("class") or "")[:300]):
            yield as_name(sign.text_content())
        elif sign.tag in _SIGNS and sign.tag != "input":
            yield as_name(sign.get("aria-label") or sign.get("alt") or sign.get("title") or "")
        elif sign.tag == "title":
            yield as_name(sign.text or "")


def _glyphs(shown: list[HtmlElement]) -> Iterator[str]:
    for sign in shown:
        text = _plain(sign.text or "")
        if (sign.get("aria-hidden") or "").lower() == "true" and len(text) <= _GLYPH:
            yield text


def _boxes(shown: list[HtmlElement]) -> Iterator[str]:
    for box in shown:
        if box.tag == "input" and (box.get("type") or "").lower() in _BOXES:
            yield "☐" if box.get("checked") is None else "☑"


def _drawn(shown: list[HtmlElement]) -> Iterator[str]:
    """The signs of fonts of icons, which are empty elements of a class."""
    for sign in shown:
        if sign.tag in ("i", "span", "svg", "em") and not _plain(sign.text or ""):
            said = (sign.get("class") or "")[:300]
            yield "✓" if _YES.search(said) else "✗" if _NO.search(said) else ""


def _plain(text: str) -> str:
    return " ".join(text.split())


_LONGEST = 30  # characters
_MOST_WORDS = 4
_FILE = regex(r"[\w-]+\.(?:png|jpe?g|gif|svg|webp)\b", re.IGNORECASE)
_NO_SIGN = regex(
    r"\b(?:avatar|logo|icon|image|photo|picture|spacer|thumbnail|banner|arrow|bullet|sort|expand|collapse|close|menu|"
    r"link|share|copy|edit|delete|search|back|next|previous)\b",
    re.IGNORECASE,
)


def as_name(text: str) -> str:
    name = " ".join(text.split())
    is_short = len(name) <= _LONGEST and len(name.split()) <= _MOST_WORDS
    return "" if not is_short or _FILE.search(name) or _NO_SIGN.search(name) else name
