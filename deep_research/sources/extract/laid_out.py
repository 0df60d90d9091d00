"""Prose that a page lays out with spaces in one piece, as manual pages, memos and archived mail are, told as paragraphs.

A ``pre`` is a listing for every reader of web pages: its lines run together or it is kept as code.
"""

from __future__ import annotations

from collections.abc import Iterator

from lxml.html import HtmlElement
from lxml.html.builder import BR, DIV, H2, P

from deep_research.patterns import regex

PROSE_SHARE = 0.75  # of the words of a text that are letters alone; of code it is a half at most
MOSTLY_SHARE = 0.5  # of the text of its page: what is less is an example in it
MIN_BLOCKS = 3
MAX_LINES = 40_000  # each becomes an element of the page
MAX_HEADING_CHARS = 60
_FORBIDDEN = regex(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # in an element
_WORD = regex(r"\S+")
_PLAIN = regex(r"[(\"']?[^\W\d_]+(?:[-'][^\W\d_]+)*[)\"']?[.,;:?!)]*")
_BLANK = regex(r"\n(?:[ \t]*+\n)++")
_APART = regex(r"\S {2,}\S")  # the columns of a header or of a footer of a printed page
_ENDS = (".", ",", ";", ":", "]")


def tell_laid_out(tree: HtmlElement) -> bool:
    """Puts headings and paragraphs in the place of the ``pre`` elements of ``tree``, where most of the page is in them
    and they are prose; whether it did."""
    listings = [(element, element.text_content()) for element in tree.iter("pre")]
    word_count = sum(len(text.split()) for _, text in listings)
    if not word_count or word_count < MOSTLY_SHARE * len(tree.text_content().split()):
        return False
    has_changed = False
    for element, text in listings:
        parent = element.getparent()
        if parent is None or not is_prose(text):
            continue
        paragraphs = DIV(*_elements(_FORBIDDEN.sub("", text).expandtabs()))
        paragraphs.tail = element.tail
        parent.replace(element, paragraphs)
        has_changed = True
    return has_changed


def is_prose(text: str) -> bool:
    """Whether a text is of several paragraphs of words, and no listing."""
    if text.count("\n") > MAX_LINES or len(_BLANK.findall(text.strip())) < MIN_BLOCKS - 1:
        return False
    words = _WORD.findall(text)
    return sum(_PLAIN.fullmatch(word) is not None for word in words) >= PROSE_SHARE * len(words)


def _elements(text: str) -> Iterator[HtmlElement]:
    lines = [line for line in text.split("\n") if line.strip()]
    margin = min(map(_indent, lines))
    has_margin = 2 * sum(_indent(line) > margin for line in lines) > len(lines)  # in which headings stand
    for block in _BLANK.split(text.strip("\n")):
        rest = [line for line in block.split("\n") if line.strip()]
        if rest and has_margin and _is_heading(rest, margin):
            yield H2(" ".join(rest.pop(0).split()))
        if rest:
            first, *others = (line.strip() for line in rest)
            yield P(first, *(piece for line in others for piece in (BR(), line)))


def _is_heading(block: list[str], margin: int) -> bool:
    """Whether a block opens with a line at the margin that what follows is indented under."""
    first = block[0].strip()
    return (
        _indent(block[0]) == margin
        and len(first) <= MAX_HEADING_CHARS
        and not first.endswith(_ENDS)
        and _APART.search(first) is None
        and all(_indent(line) > margin for line in block[1:])
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
