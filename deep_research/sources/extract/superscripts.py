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


def resolve_marks(text: str) -> str:
    """A text in which `MARKS` and `END` stand around pieces."""

    def piece(match: re.Match[str]) -> str:
        before = text[max(0, match.start() - _LOOK_BACK_CHARS) : match.start()].translate(_UNMARKED)
        content = match[2].translate(_UNMARKED)
        return _exponent(before, content, "sup" if match[1] == MARKS["sup"] else "sub") or content

    return _MARKED.sub(piece, text).translate(_UNMARKED) if END in text else text


def resolve_tags(html: str) -> str:
    """HTML with its elements ``sup`` and ``sub`` told."""

    def element(match: re.Match[str]) -> str:
        before = _INLINE.sub("", html[max(0, match.start() - _LOOK_BACK_CHARS) : match.start()])
        return _exponent(unescape(before), unescape(_INLINE.sub("", match[2])), match[1].lower()) or match[0]

    return _ELEMENT.sub(element, html)


def _exponent(before: str, content: str, kind: str) -> str:
    """What is raised (``sup``) or lowered (``sub``) behind a text; nothing where it is no number that belongs to it, as
    that of a note behind a word.

    Example:
        _exponent("5 × 10", "6", "sup")  # "⁶"
    """
    content = content.strip()
    base = _BASE if content.isalnum() else _UNIT
    is_power = kind == "sup" and content != "1" and base.search(before[-_BASE_WITHIN_CHARS:]) is not None
    if not _NUMBER.fullmatch(content) or not (before[-1:].isdigit() or is_power):
        return ""
    mark, forms = _FORMS[kind]
    if "." in content or "," in content:  # of which there is no raised form
        return f"{mark}{content}"
    return content.translate(str.maketrans(_FIGURES, forms))
