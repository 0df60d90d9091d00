"""A page of HTML as a stream of tags and text, in linear time whatever the input.

The standard library's parser takes quadratic time on unclosed tags (120 KB of ``<a `` cost two minutes), so
the few rules that are needed here are written out: text, tags, comments, raw elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape

from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import words

_NAME = regex(r"[a-zA-Z][^\s/>]*+")
_ATTRIBUTE = regex(r"[\s/]*+([^\s/>][^\s/>=]*+)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]*+)))?")
_TAG_END = regex(r"[\s/]*+>")
_OPENING = regex(r"<(?=[a-zA-Z/!?])")
_LONG_REFERENCE = regex(r"&#[0-9]{9,};?")  # `unescape` raises for thousands of digits
_COMMENT_END = regex(r"--!?>")
_RAW = words("script style title textarea xmp iframe noembed noframes")
_RAW_END = {name: regex(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW}


@dataclass(frozen=True, slots=True)
class Text:
    data: str


@dataclass(frozen=True, slots=True)
class Start:
    name: str
    attributes: dict[str, str]


@dataclass(frozen=True, slots=True)
class End:
    name: str


def tokens(html: str) -> Iterator[Text | Start | End]:
    """The page as a stream. What browsers do not show (comments, an unfinished tag at the end) is not in
    it."""
    here = 0
    while opening := _OPENING.search(html, here):
        if opening.start() > here:
            yield Text(_decoded(html[here : opening.start()]))
        closes = html.startswith("/", opening.end())
        name = _NAME.match(html, opening.end() + closes)
        if not name:
            here = _after_declaration(html, opening.start())
            continue
        tag = name.group().lower()
        attributes, here = _attributes(html, name.end())
        if here > len(html):
            return
        if closes:
            yield End(tag)
            continue
        yield Start(tag, attributes)
        if tag in _RAW:
            closing = _RAW_END[tag].search(html, here)
            stop = closing.start() if closing else len(html)
            yield Text(_decoded(html[here:stop]))
            here = stop
    if here < len(html):
        yield Text(_decoded(html[here:]))


def _after_declaration(html: str, opening: int) -> int:
    """Where the comment, doctype or other declaration is over that begins at ``opening``."""
    if html.startswith("<!--", opening):
        closing = _COMMENT_END.search(html, opening + 2)
        return closing.end() if closing else len(html)
    closing_mark = html.find(">", opening)
    return closing_mark + 1 if closing_mark >= 0 else len(html)


def _attributes(html: str, here: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag, the first of each name, and where the tag ends: past the page when it never
    does."""
    found: dict[str, str] = {}
    while attribute := _ATTRIBUTE.match(html, here):
        here = attribute.end()
        name, *values = attribute.groups()
        found.setdefault(name.lower(), _decoded(next((value for value in values if value is not None), "")))
    end = _TAG_END.match(html, here)
    return found, end.end() if end else len(html) + 1


def _decoded(text: str) -> str:
    return unescape(_LONG_REFERENCE.sub("\ufffd", text)) if "&" in text else text
