"""Raised and lowered figures as characters that say so: ``10⁶`` and ``m²``, where ``106`` would be another number. What
refers to a note, as the figure behind a word does, stays as it is. Pure.
"""

from __future__ import annotations

import re
from html import unescape

from deep_research.patterns import regex

MARKS = {"sup": "\x01", "sub": "\x02"}  # before what is raised or lowered; no clean text has them
END = "\x03"
_MARKED = regex("([\x01\x02])((?:[^\x01-\x03]|\x03\\1){0,40})\x03")  # in one piece or several
_FIGURES = "0123456789+-−–n"
_FORMS = {"sup": ("^", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻ⁿ"), "sub": ("_", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋ₙ")}
_LOOK_BACK = 200  # characters, in which it is looked for what is raised
_NUMBER = regex(r"[+\-−–]?\d{1,3}(?:[.,]\d{1,3})?[+\-−–]?|n")
# What may be raised to a power: a letter, a length or a sum in brackets; to one with a sign any unit.
_BASE = regex(r"(?:(?<![^\W\d_])(?:[^\W\d_]|[cdkmnµμ]m|ft|yd|mi)|\((?:(?![^\W\d_]{3})[^()]){1,40}\))\Z")
_UNIT = regex(r"(?<![^\W\d_])[^\W\d_]{1,3}\Z")
_SEEN = r"(?:\s(?:(?!style|hidden)[^<>]){0,200})?"  # hidden ones are left to others
_INLINE = regex(rf"</?(?:a|b|em|i|small|span|strong|su[bp]|var){_SEEN}>", re.IGNORECASE)
_ELEMENT = regex(
    rf"<(su[bp]){_SEEN}>((?:(?!</?su[bp])(?:[^<>]|</?[a-z]+{_SEEN}>)){{1,20}})</\1>", re.IGNORECASE
)


def told(text: str) -> str:
    """A text in which `MARKS` and `END` stand around pieces."""
    if END not in text:
        return text

    def piece(found: re.Match[str]) -> str:
        before = text[max(0, found.start() - _LOOK_BACK) : found.start()].translate(_UNMARKED)
        kind, said = next(kind for kind in MARKS if MARKS[kind] == found[1]), found[2].translate(_UNMARKED)
        return _told(before, said, kind) or said

    return _MARKED.sub(piece, text).translate(_UNMARKED)


def told_in_html(html: str) -> str:
    """HTML with the elements ``sup`` and ``sub`` that are no notes told."""

    def element(found: re.Match[str]) -> str:
        before = _INLINE.sub("", html[max(0, found.start() - _LOOK_BACK) : found.start()])
        said = unescape(_INLINE.sub("", found[2]))
        return _told(unescape(before), said, found[1].lower()) or found[0]

    return _ELEMENT.sub(element, html)


_UNMARKED = {ord(mark): None for mark in (*MARKS.values(), END)}


def _told(before: str, said: str, kind: str) -> str:
    """What is raised or lowered behind a text; nothing where it is no number that belongs to it."""
    said = said.strip()
    is_number = _NUMBER.fullmatch(said) is not None
    is_power = before[-1:].isdigit() or (
        kind == "sup"
        and said != "1"
        and (_BASE if said.isalnum() else _UNIT).search(before, max(0, len(before) - 50)) is not None
    )
    mark, forms = _FORMS[kind]
    if not is_number or not is_power:
        return ""
    written = said.translate(str.maketrans(_FIGURES, forms))
    return f"{mark}{said}" if set(".,") & set(said) else written
