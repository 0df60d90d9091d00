"""How a quote reads in a report: one line, a row with the headers of its columns, a term with its description. Pure."""

from __future__ import annotations

import re

from deep_research.evidence.defining import term_of
from deep_research.evidence.fragments import ITEM_MARK, SHORT_CODE
from deep_research.evidence.rows import clauses

# A line of its own before an item that describes it.
_TERM = re.compile(r"(?:(?<=\n\n)|\A)(?P<term>[^\n]*[^\n:.!?])\n\n- ")


def readable(text: str, start: int = 0, end: int | None = None) -> str:
    """The quote ``text[start:end]`` as a sentence: one line, a row of a table with the headers of its columns (with
    commas, where they are not known), a term with a colon."""
    end = len(text) if end is None else end
    if told := clauses(text, start, end):
        return ". ".join((*(row.removesuffix(".") for row in told[:-1]), told[-1]))
    text = _TERM.sub(r"\g<term>: ", text[start:end])
    text = ITEM_MARK.sub(_inline, SHORT_CODE.sub(_as_code, text))
    return " ".join(text.replace(" | ", ", ").replace("¶", "").split())


def in_its_place(text: str, start: int, end: int) -> str:
    """The quote as a sentence, after the name of what it helps to describe where that stands above it."""
    term = term_of(text, start, end)
    said = readable(text, start, end)
    return f"{term}: {said}" if term and term.removesuffix("()") not in said else said


def _inline(mark: re.Match[str]) -> str:
    """What stands for the mark of an item in a running text."""
    before = mark.string[: mark.start()][-1:]
    between = " " if before in ",;:.!?" else "; "
    return f"{between}({mark['number']}) " if mark["number"] else between


def _as_code(code: re.Match[str]) -> str:
    """Lines of code within a sentence."""
    return "".join(f" `{line}`" for line in code["lines"].splitlines())
