"""What formats say to be raised or lowered, told as such where it is an exponent. Pure."""

from __future__ import annotations

import re
from html import unescape

from deep_research.evidence.units import exponent
from deep_research.patterns import regex

MARKS = {"sup": "\x01", "sub": "\x02"}  # before what is raised or lowered; no clean text has them
END = "\x03"
_MARKED = regex("([\x01\x02])((?:[^\x01-\x03]|\x03\\1){0,40})\x03")  # in one piece or several
_UNMARKED = {1: None, 2: None, 3: None}
_LOOK_BACK = 200  # characters
_SEEN = r"(?:\s(?:(?!style|hidden)[^<>]){0,200})?"  # hidden ones are left to others
_INLINE = regex(rf"</?(?:a|b|em|i|small|span|strong|su[bp]|var){_SEEN}>", re.IGNORECASE)
_ELEMENT = regex(
    rf"<(su[bp]){_SEEN}>((?:(?!</?su[bp])(?:[^<>]|</?[a-z]+{_SEEN}>)){{1,20}})</\1>", re.IGNORECASE
)


def told(text: str) -> str:
    """A text in which `MARKS` and `END` stand around pieces."""

    def piece(found: re.Match[str]) -> str:
        before = text[max(0, found.start() - _LOOK_BACK) : found.start()].translate(_UNMARKED)
        said = found[2].translate(_UNMARKED)
        return exponent(before, said, "sup" if found[1] == MARKS["sup"] else "sub") or said

    return _MARKED.sub(piece, text).translate(_UNMARKED) if END in text else text


def told_in_html(html: str) -> str:
    """HTML with its elements ``sup`` and ``sub`` told."""

    def element(found: re.Match[str]) -> str:
        before = _INLINE.sub("", html[max(0, found.start() - _LOOK_BACK) : found.start()])
        return exponent(unescape(before), unescape(_INLINE.sub("", found[2])), found[1].lower()) or found[0]

    return _ELEMENT.sub(element, html)
