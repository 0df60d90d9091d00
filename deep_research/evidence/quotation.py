"""How a quote reads in a report: one line, a row with the headers of its columns. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from deep_research.evidence.rows import clauses
from deep_research.evidence.sentences import CLOSING, END_MARKS
from deep_research.patterns import regex
from deep_research.state import Quote

_RULE = regex(r"^[ \t]*([-=~^*_#])\1{3,}[ \t]*$", re.MULTILINE)  # what underlines a heading or parts sections
# A line of its own before an item that describes it.
_TERM = regex(r"(?:(?<=\n\n)|\A)(?P<term>[^\n]*[^\n:.!?])\n\n- ")
# The end of a paragraph that no mark ends, as of a byline, before one that opens with a capital.
_UNENDED = regex(r"(?<=[\w)\]\"”’»])[^\S\n]*\n[^\S\n]*\n\s*(?=(?P<next>[^\W\d_]))")
ANNOUNCING = regex(r"[:：][\s*_]*\Z")
_LABEL = r"[^\W\d_][\w .()/'’-]{0,30}: \S"  # how a line of a form begins
LABELLED = regex(_LABEL)
# The end of such a line before the next one.
_NEXT_LABEL = regex(rf"^([ \t]*{_LABEL}[^\n]*(?<=[^\s.,;:!?]))[ \t]*\n[ \t]*(?={_LABEL})", re.MULTILINE)
_ENDS = f"{END_MARKS}{CLOSING}:；"
BREAKS_OFF = " …"  # behind a list of which not all is shown
ITEM_MARK = r"\n\s*(?:[-*+•]|(?P<number>\d{1,3})[.)])[ \t]+"  # for a pattern
_ITEM = regex(ITEM_MARK)


def readable(text: str, start: int = 0, end: int | None = None) -> str:
    """The quote ``text[start:end]`` as a sentence: one line, a row of a table with the headers of its columns (with
    commas, where they are not known), a term with a colon."""
    end = len(text) if end is None else end
    if told := clauses(text, start, end):
        return ". ".join((*(row.removesuffix(".") for row in told[:-1]), told[-1]))
    text = _TERM.sub(r"\g<term>: ", _RULE.sub("", text[start:end]))
    text = _NEXT_LABEL.sub(r"\1; ", _ITEM.sub(_inline, text))
    text = _UNENDED.sub(lambda end: ". " if end["next"].isupper() else " ", text)
    return " ".join(text.replace(" | ", ", ").replace("¶", "").split())


def announced_by(quotes: Sequence[Quote]) -> str:
    """What announces the first of a finding's quotes, as of an item or of code: those after it that stand before it in
    its source and end with a colon, of which the nearest comes first. Empty where none does."""

    def leads(quote: Quote) -> bool:
        first = quotes[0]
        is_before = quote.source_id == first.source_id and quote.end <= first.start
        return is_before and ANNOUNCING.search(quote.quote) is not None

    return " ".join(readable(quote.quote) for quote in reversed(list(takewhile(leads, quotes[1:]))))


def shortened(text: str, most: int) -> str:
    """A text of no more than so many characters, cut between words."""
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"


def ended(text: str) -> str:
    """A text with a mark at its end."""
    return text if text[-1:] in _ENDS else f"{text}."


def _inline(mark: re.Match[str]) -> str:
    """What stands for the mark of an item in a running text."""
    before = mark.string[: mark.start()][-1:]
    between = " " if before in ",;:.!?，；：。！？" else "; "
    return f"{between}({mark['number']}) " if mark["number"] else between
