"""What a text is about: the term that a description belongs to, a kind of things or one of them. Pure.

A term is a paragraph of one line, and its description the items that follow. A term inside of a description is an item
by itself, with the mark of a link to it.
"""

from __future__ import annotations

import re

from deep_research.evidence.names import runs
from deep_research.evidence.passages import Block, BlockKind, blocks

MAX_TERM_CHARS = 120
MAX_LINKED_CHARS = 600  # of a term with the mark of a link to it, such as the signature of a function
FAR = 4_000  # characters above a sentence, in which its term is looked for
LINK = "¶"
DESCRIPTION = "\n\n- "  # what parts a term from what describes it
# "How do lighthouses work?", "How does a lamp work?"
_WORKS = re.compile(
    r"how (?:do|does|did|can)(?: an?)? (?P<kind>(?:(?!the )[a-z-]+ )?[a-z-]{3,})"
    r" (?:actually |really )?(?:work|function|operate)\W*",
    re.IGNORECASE,
)
_WORKING = re.compile(
    r"\b(?:works? (?:by|with|on|as|like)|which works?|by means of|so that|in order to|is (?:used|made) to"
    r"|consists? of)\b",
    re.IGNORECASE,
)
_CALL = re.compile(r"(?:\w+ )*(?P<name>[\w.]+)\(")


def term_start(text: str, start: int) -> int:
    """Where the term begins that the sentence at ``start`` is the first to describe; else ``start``."""
    if not text.endswith(DESCRIPTION, 0, start):
        return start
    end = start - len("- ")
    while end and text[end - 1].isspace():
        end -= 1
    begin = text.rfind("\n", 0, end) + 1
    is_alone = not begin or text.endswith("\n\n", 0, begin)
    return begin if is_alone and _is_term(text[begin:end]) else start


def term_of(text: str, start: int, end: int) -> str:
    """The name of what the sentence ``text[start:end]`` helps to describe, where that is something that programs call and
    the sentence is not the first to describe it; else empty."""
    term = ""
    described: Block | None = None
    for block in blocks(text, max(0, start - FAR), end):
        described = block
        if block.end >= start:
            break
        line = text[block.start : block.end].removeprefix("- ")
        if block.kind is BlockKind.HEADING:
            term = ""
        elif block.kind is BlockKind.PARAGRAPH:
            term = line if line.endswith(LINK) and _is_term(line) else ""
        elif block.kind is BlockKind.ITEM and line.endswith(LINK):
            term = line
    inside = described is not None and described.kind is BlockKind.ITEM
    return called(term) if term and inside else ""


def describes(quote: str) -> bool:
    """Whether a quote begins with a term and goes on with its description."""
    return DESCRIPTION in quote


def called(term: str) -> str:
    """A term without what it is called with: ``csv.reader()`` for ``csv.reader(csvfile, dialect='excel')``."""
    term = term.removesuffix(LINK).strip()
    call = _CALL.match(term)
    return f"{call['name']}()" if call else term


def speaks_generally(text: str, thing: str) -> bool:
    """Whether a text speaks of any thing of a kind, and names no single one."""
    kind = re.escape(thing.removesuffix("s"))
    general = re.search(
        rf"\b(?:an?|any|every|each|most|all|many) (?:\w+ )?{kind}\b|\b{kind}s\b", text, re.IGNORECASE
    )
    return general is not None and next(runs(text), None) is None


def kind_asked(question: str) -> str:
    """The kind of things of which a question asks how they work: "lamps", not "the Orrel lamp"; else empty."""
    match = _WORKS.fullmatch(" ".join(question.split()))
    return match["kind"] if match else ""


def explains_kind(question: str, text: str) -> int:
    """How much a text explains of the kind of which a question asks how it works: nothing, that it speaks of any such
    thing, or also how one works."""
    kind = kind_asked(question)
    if not kind:
        return 0
    word = re.escape(kind.removesuffix("s"))
    general = (
        re.search(rf"\b(?:an?|any|every|each|most) {word}\b|\b{word}s\b", text, re.IGNORECASE) is not None
    )
    return general * (1 + (_WORKING.search(text) is not None))


def _is_term(line: str) -> bool:
    most = MAX_LINKED_CHARS if line.endswith(LINK) else MAX_TERM_CHARS
    return 0 < len(line) <= most and line[0] not in "#-|*`~" and line[-1] not in ".!?:;,"
