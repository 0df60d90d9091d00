"""The code by which a text shows how something is done: the example right behind a sentence. Pure."""

from __future__ import annotations

import re

from deep_research.state import Span

MAX_LINES = 16
MAX_CHARS = 800
_FENCE = r"[ \t]*\n{1,2}(?P<code>(?P<fence>`{3}|~{3})[\w+-]{0,20}[^\S\n]*\n"
_LINE = r"(?:(?!```|~~~)[^\n\0])*\n"
_CODE = re.compile(rf"{_FENCE}(?P<lines>(?:{_LINE}){{1,{MAX_LINES}}})(?P=fence))[ \t]*(?:\n|\Z)")
# A session at a prompt, whose last answer may be long: what is typed tells how.
_TYPED = r"(?:(?:>>>|\.\.\.)(?= |\n)|\$ )(?:(?!```|~~~)[^\n\0])*\n"
_SESSION = re.compile(rf"{_FENCE}(?P<lines>(?:{_TYPED}){{1,{MAX_LINES}}}))")
_PROMPT = re.compile(r"^(?:>>>|\$) ", re.MULTILINE)
_OF_THE_READER = re.compile(
    r"\{\{#|\b(?:find|src)-[0-9a-f]{12}\b"
)  # stands for a file, or looks like a reference


def example_behind(text: str, end: int) -> Span | None:
    """The short piece of code right behind ``end``, from its opening fence on; of a session at a prompt with a long
    answer what is typed. None where there is none."""
    most = end + MAX_CHARS
    match = _CODE.match(text, end, most)
    if match is None and (match := _SESSION.match(text, end, most)):
        rest = text[match.end() : text.find(match["fence"], match.end())]
        match = None if _PROMPT.search(rest) else match  # it goes on, and half of it tells little
    if match is None or not match["lines"].strip() or _OF_THE_READER.search(match["lines"]):
        return None
    return Span(start=match.start("code"), end=match.end("code"))


def is_example(quote: str) -> bool:
    """Whether a quote is a piece of code, and not words."""
    return quote.startswith(("```", "~~~"))


def shown(quote: str) -> str:
    """A piece of code as a report shows it, without the name of its language: a block that all readers of Markdown end at
    the same place."""
    _, *lines = map(str.rstrip, quote.splitlines())
    while lines and (not lines[-1] or is_example(lines[-1])):
        lines.pop()
    return "\n".join(("```", *lines, "```"))
