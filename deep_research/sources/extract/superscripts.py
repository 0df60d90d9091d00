"""Superscripts and subscripts as text, where they are exponents: ``10⁶`` and ``m²``, since ``106`` is another number.
Pure."""

from __future__ import annotations

import re
from html import unescape

from deep_research.patterns import regex

MARKS = {"sup": "\x01", "sub": "\x02"}  # before what is raised or lowered; no clean text has them
END = "\x03"
_MARKED = regex("([\x01\x02])((?:[^\x01-\x03]|\x03\\1){0,40})\x03")  # in one piece or several
_UNMARKED = {1: None, 2: None, 3: None}
_LOOK_BACK_CHARS = 200  # characters
_SEEN = r"(?:\s(?:(?!style|hidden)[^<>]){0,200})?"  # hidden ones are left to others
_INLINE = regex(rf"</?(?:a|b|em|i|small|span|strong|su[bp]|var){_SEEN}>", re.IGNORECASE)
_ELEMENT = regex(
    rf"<(su[bp]){_SEEN}>((?:(?!</?su[bp])(?:[^<>]|</?[a-z]+{_SEEN}>)){{1,20}})</\1>", re.IGNORECASE
)
_BASE_WITHIN_CHARS = 50  # characters, in which it is looked for what is raised
_FIGURES = "0123456789+-−–n"
_FORMS = {"sup": ("^", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻ⁿ"), "sub": ("_", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋ₙ")}
_NUMBER = regex(r"[+\-−–]?\d{1,3}(?:[.,]\d{1,3})?[+\-−–]?|n")
# What may be raised to a power: a letter, a length or a sum in brackets; to one with a sign any unit.
_BASE = regex(r"(?:(?<![^\W\d_])(?:[^\W\d_]|[cdkmnµμ]m|ft|yd|mi)|\((?:(?![^\W\d_]{3})[^()]){1,40}\))\Z")
_UNIT = regex(r"(?<![^\W\d_])[^\W\d_]{1,3}\Z")


def told(text: str) -> str:
    """A text in which `MARKS` and `END` stand around pieces."""

    def piece(found: re.Match[str]) -> str:
        before = text[max(0, found.start() - _LOOK_BACK_CHARS) : found.start()].translate(_UNMARKED)
        said = found[2].translate(_UNMARKED)
        return _exponent(before, said, "sup" if found[1] == MARKS["sup"] else "sub") or said

    return _MARKED.sub(piece, text).translate(_UNMARKED) if END in text else text


def told_in_html(html: str) -> str:
    """HTML with its elements ``sup`` and ``sub`` told."""

    def element(found: re.Match[str]) -> str:
        before = _INLINE.sub("", html[max(0, found.start() - _LOOK_BACK_CHARS) : found.start()])
        return _exponent(unescape(before), unescape(_INLINE.sub("", found[2])), found[1].lower()) or found[0]

    return _ELEMENT.sub(element, html)


def _exponent(before: str, said: str, kind: str) -> str:
    """What is raised (``sup``) or lowered (``sub``) behind a text; nothing where it is no number that belongs to it, as
    that of a note behind a word.

    Example:
        _exponent("5 × 10", "6", "sup")  # "⁶"
    """
    said = said.strip()
    base = _BASE if said.isalnum() else _UNIT
    is_power = kind == "sup" and said != "1" and base.search(before[-_BASE_WITHIN_CHARS:]) is not None
    if not _NUMBER.fullmatch(said) or not (before[-1:].isdigit() or is_power):
        return ""
    mark, forms = _FORMS[kind]
    if "." in said or "," in said:  # of which there is no raised form
        return f"{mark}{said}"
    return said.translate(str.maketrans(_FIGURES, forms))
