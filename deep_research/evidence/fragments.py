"""Whole statements and scraps: what of a text says something by itself, and what follows what. Pure."""

from __future__ import annotations

import re

from deep_research.evidence.rows import headers
from deep_research.state import Span

MIN_QUOTE_CHARS = 25
_RULE = re.compile(r"([-=~^*_#])\1{3}")  # what underlines a heading or parts sections
ITEM_MARK = re.compile(r"\n\s*(?:[-*+•]|(?P<number>\d{1,3})[.)])[ \t]+")
# A short line of code as it can stand within a sentence, or a few commands to type.
_LINE = r"(?![^\n]{0,100}(?: \| |¶|  |(?i:://|www\.)))"  # of what would not be shown as it is
SHORT_CODE = re.compile(
    r"(?<!\s)\s*\n(?P<fence>`{3}|~{3})[^\n`]*\n"
    rf"(?P<lines>{_LINE}[^\s`\[\]<][^\n`\[\]<]{{0,99}}\n|(?:{_LINE}[$>] ?[^\n`\[\]<]{{1,99}}\n){{2,3}})(?P=fence)(?!\S)"
)
# What says nothing without the code behind it: "Here is an example:", "The folder then looks like this:".
_ONLY_POINTS = re.compile(
    r"\b(?:examples?|like (?:this|that|so)|looks?|here(?:['’]s)?|follow(?:s|ing)|below|equivalent|imagine|consider"
    r"|let['’]s|usage|output|next|case \d)\b"
    r"|\b(?:this|these) (?:\w+ ){0,2}\w+\W*(?::|\.{3})\Z"
    r"|\b(?:this|that|these|those|them|then|instead|do|be|used|contents?|code|hand|same|it|values)\W*(?::|\.{3})\Z",
    re.IGNORECASE,
)
_SMALL_NAME = re.compile(r"[a-z]{1,3}[A-Z]")
LEAST_WORDS = 8  # of a sentence that says something without the code that it announces
_CODE = re.compile(r"\w[_.(\[=]\w|\w_|_\w|\(\)")
_PROSE = re.compile(r"[^\W\d_]{2,}")


def is_enough(piece: str) -> bool:
    """Whether a quote says something by itself: names as programs write them are no words."""
    spoken = " ".join(token for token in piece.split() if _CODE.search(token) is None)
    return len(piece) >= MIN_QUOTE_CHARS and len(_PROSE.findall(spoken)) >= 4


def is_list(text: str) -> bool:
    """Whether a quote is a list with what announces it."""
    return ITEM_MARK.search(text) is not None


def flows(text: str, one: Span, other: Span) -> bool:
    """Whether two sentences follow each other in one paragraph: nothing but a space or line end between them,
    and neither is a row of a table."""
    between = text[one.end : other.start]
    return (
        not between.strip()
        and between.count("\n") < 2
        and " | " not in text[one.start : one.end]
        and " | " not in text[other.start : other.end]
    )


def follows(text: str, one: Span, other: Span) -> bool:
    """Whether a sentence opens the paragraph or item after the one that another ends: nothing but space between them, or
    the mark of an item after one; and neither is a row of a table or a list's announcement."""
    between = text[one.end : other.start]
    listed = ITEM_MARK.match(text, max(0, text.rfind("\n", 0, one.start))) is not None
    return (
        between.strip() == "-" * listed
        and between.count("\n") <= 2
        and text[one.end - 1] in ".!…”\"'’)"
        and " | " not in text[one.start : one.end] + text[other.start : other.end]
    )


def is_scrap(text: str, first: Span, last: Span) -> bool:
    """A heading, a list's fragment, a half sentence. A row of a table has no full stop and is none."""
    piece = text[first.start : last.end]
    if _RULE.search(piece):
        return True
    if " | " in piece:
        row, space = _line_above(text, first.start)
        opens = " | " not in row or space.count("\n") > 1
        # The first row of a table names its columns; two cells say enough only with their names.
        return opens or (piece.count("|") < 2 and not headers(text, first.start, last.end))
    if ITEM_MARK.search(piece) or piece.endswith(("```", "~~~")):
        return _opens_small(piece)  # neither the items of a list nor code need a full stop
    if announces_code(text, last):
        short = len(text[last.start : last.end].split()) < LEAST_WORDS
        return short or _ONLY_POINTS.search(text, last.start, last.end) is not None
    return _opens_small(piece) or piece[-1] not in ".!…”\"'’)"


def _opens_small(piece: str) -> bool:
    """Whether it opens within a sentence: with a small letter, but not that of a name such as "iPod"."""
    return piece[0].islower() and _SMALL_NAME.match(piece) is None


def _line_above(text: str, start: int) -> tuple[str, str]:
    """The last line before ``start`` that is not blank, and the white space between."""
    stop = start
    while stop and text[stop - 1] in " \n":
        stop -= 1
    return text[text.rfind("\n", 0, stop) + 1 : stop], text[stop:start]


def announces_code(text: str, span: Span) -> bool:
    """Whether a sentence is whole but for the colon by which it points to the code behind it."""
    opens = not _opens_small(text[span.start : span.end]) and text.endswith((":", "..."), 0, span.end)
    return opens and text[span.end : span.end + 8].lstrip().startswith(("```", "~~~"))


def is_statement(text: str, span: Span, *, broken: bool = False) -> bool:
    """Whether a sentence says something by itself: no heading, question, fragment or row of a table. One that is
    known to be ``broken`` off need not end as sentences do."""
    if text[span.start] == "#" or text[span.end - 1] == "?" or " | " in text[span.start : span.end]:
        return False
    if broken:
        return (
            not _opens_small(text[span.start : span.end]) and _RULE.search(text, span.start, span.end) is None
        )
    return not is_scrap(text, span, span)
