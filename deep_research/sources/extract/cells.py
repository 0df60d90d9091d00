"""What a cell of a web page's table says, in a line: the paragraphs and items within it told apart."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lxml import etree
from lxml.html import HtmlElement

from deep_research.sources.extract.hiding import is_hidden
from deep_research.sources.extract.plaintext import words
from deep_research.sources.extract.tables import in_one

_BLOCKS = words(
    "address article blockquote center dd details div dl dt figcaption figure li ol p section summary ul"
)
_UNSAID = words("script style template svg noscript textarea select button")
_INLINE = re.compile(r"display\s*:\s*inline", re.IGNORECASE)
_BREAK = "\n"


def said(cell: HtmlElement) -> str:
    """Its words. What opens with a bracket goes on with what is before."""
    lines: list[str] = []
    for line in filter(None, map(str.strip, "".join(_pieces(cell)).split(_BREAK))):
        if lines and line.startswith("("):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return in_one(lines)


def has_blocks(cell: HtmlElement) -> bool:
    """Whether it is more than a line: blocks, or names with a picture before each, one beside the other."""
    return next(cell.iterdescendants(*_BLOCKS), None) is not None or any(map(_is_item, cell.iter("span")))


def _pieces(cell: HtmlElement) -> Iterator[str]:
    """Its texts, with a break before and behind each block."""
    walk: Any = etree.iterwalk(cell, events=("start", "end"))
    for event, element in walk:
        is_within = element is not cell
        yield _BREAK if is_within and _is_break(element) else ""
        if event == "end":
            yield _plain(element.tail) if is_within else ""
        elif is_within and (element.tag in _UNSAID or is_hidden(element)):
            walk.skip_subtree()
        else:
            yield _plain(element.text)


def _is_break(element: HtmlElement) -> bool:
    if element.tag in _BLOCKS:
        return not _INLINE.search((element.get("style") or "")[:300])
    return _is_item(element)


def _is_item(element: HtmlElement) -> bool:
    """Whether it is a name with a picture before it, beside another such."""
    if not _is_pictured(element):
        return False
    before, behind = element.getprevious(), element.getnext()
    is_behind = before is not None and not (before.tail or "").strip() and _is_pictured(before)
    return is_behind or (behind is not None and not (element.tail or "").strip() and _is_pictured(behind))


def _is_pictured(element: HtmlElement) -> bool:
    first = next(element.iterdescendants(), None) if element.tag == "span" else None
    if first is None or first.tag != "img" or (element.text or "").strip():
        return False
    return any(text.strip() for text in element.itertext())


def _plain(text: str | None) -> str:
    """With the space at its ends; the line breaks of the source are none of the text."""
    return " ".join(f"|{text}|".split())[1:-1] if text else ""
