"""The sentences of a text, one that announces a list or a line of code together with what it announces. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deep_research.evidence.defining import term_start
from deep_research.evidence.fragments import ITEM_MARK, SHORT_CODE, flows
from deep_research.evidence.passages import Block, BlockKind, blocks
from deep_research.state import Span

MAX_LIST_CHARS = 700  # of a sentence with the list that it announces
MAX_SET_APART = 250  # of a paragraph that a sentence announces
OPENING_WORDS = 8  # of an item, that name what it is about


def units(text: str, span: Span) -> Iterator[Span]:
    """The sentences of a passage without lines of code. A sentence that announces a list is one with all its items, one
    that announces a short piece of code is one with that, and the few words that open an item are one with what it
    says of them."""
    told = _sentences(text, span.start, span.end)
    here = 0
    while here < len(told):
        last, end = here, told[here].end
        if text[end - 1] == ":" and text[told[here].start] != "#":
            if code := SHORT_CODE.match(text, end, span.end):
                end = code.end()
            every = told
            while steps := _next(text, every[last : last + 3]):
                last += steps
                if last + 2 >= len(told) and every is told:
                    every = [*told, *_behind(text, told[-1].end)]  # a passage may end within a list
            if every[last].end - told[here].start <= MAX_LIST_CHARS:
                end = max(end, every[last].end)
            else:
                last = here
        yield Span(start=told[here].start, end=end)
        here = last + 1


def _sentences(text: str, start: int, end: int) -> list[Span]:
    return [
        Span(start=first, end=last)
        for block in blocks(text, start, end)
        if block.kind is not BlockKind.CODE
        for first, last in _with_opening_words(text, block)
    ]


def _behind(text: str, end: int) -> list[Span]:
    """What stands there as far as a list may go, without the sentence that this cuts."""
    bound = end + MAX_LIST_CHARS
    return [span for span in _sentences(text, end, bound) if span.end < bound]


def _with_opening_words(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """The sentences of a block; in an item, the few words before its first full stop belong to what follows them."""
    told = list(block.sentences(text))
    if block.kind is BlockKind.ITEM and len(told) > 1 and len(text[slice(*told[0])].split()) <= OPENING_WORDS:
        told[:2] = [(told[0][0], told[1][1])]
    return iter(told)


def _next(text: str, told: Sequence[Span]) -> int:
    """How many of the sentences after the first go on with what is announced: one of an item or of a short paragraph, or
    two, a term with its description."""
    if len(told) > 1 and (_is_next_item(text, told[0], told[1]) or _is_set_apart(text, told[0], told[1])):
        return 1
    return 2 if len(told) > 2 and told[1].start == term_start(text, told[2].start) else 0


def _is_next_item(text: str, one: Span, other: Span) -> bool:
    """Whether a sentence opens the next item of a list, or goes on with one."""
    return ITEM_MARK.fullmatch(text[one.end : other.start].lstrip(" ")) is not None or (
        text[one.end - 1] != ":" and flows(text, one, other)
    )


def _is_set_apart(text: str, one: Span, other: Span) -> bool:
    """Whether a sentence is the short paragraph that the one before announces, such as a quotation."""
    return (
        text[one.end - 1] == ":"
        and not text[one.end : other.start].strip()
        and text[other.start] != "#"
        and text[other.end - 1] in ".!"
        and other.end - other.start <= MAX_SET_APART
        and text[other.end : other.end + 2] in ("\n\n", "")
    )
