"""The sentences of a text, one that announces a list or a line of code together with what it announces. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deep_research.evidence.defining import term_start
from deep_research.evidence.fragments import ITEM_MARK, SHORT_CODE, flows
from deep_research.evidence.passages import Block, BlockKind, blocks
from deep_research.state import Span

MAX_LIST_CHARS = 700  # of a sentence with the list that it announces
MAX_SET_APART = 250  # of a paragraph that a sentence announces
LOOK = MAX_LIST_CHARS + 300  # behind a passage, for what it announces
MOST_SENTENCES = 200  # that are looked at for one list
OPENING_WORDS = 8  # of an item, that name what it is about


def units(text: str, span: Span) -> Iterator[Span]:
    """The sentences of a passage without lines of code. A sentence that announces a list is one with all its items, one
    that announces a short piece of code is one with that, and the few words that open an item are one with what it
    says of them."""
    told = _sentences(text, span.start, span.end)
    behind: list[Span] | None = None
    here = 0
    while here < len(told):
        end, count = told[here].end, 1
        if text[end - 1] == ":" and text[told[here].start] != "#":
            window = told[here : here + MOST_SENTENCES]
            if here + len(window) == len(told):  # a passage may end within a list
                behind = _sentences(text, told[-1].end, told[-1].end + LOOK) if behind is None else behind
                window += behind
            count = _in_list(text, window)
            code = SHORT_CODE.match(text, end, end + LOOK)
            end = max(window[count - 1].end, code.end() if code else end)
        yield Span(start=told[here].start, end=end)
        here += count


def _in_list(text: str, told: Sequence[Span]) -> int:
    """How many sentences the first is one with: that of itself alone where what it announces is too long."""
    count = 1
    while steps := _next(text, told[count - 1 : count + 2]):
        count += steps
        if told[count - 1].end - told[0].start > MAX_LIST_CHARS:
            return 1
    return count


def _sentences(text: str, start: int, end: int) -> list[Span]:
    return [
        Span(start=first, end=last)
        for block in blocks(text, start, end)
        if block.kind is not BlockKind.CODE
        for first, last in _with_opening_words(text, block)
    ]


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
    if text[other.start] == "#":
        return False
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
        and text[other.end : other.end + 2].strip(" ") in ("\n\n", "\n", "")
    )
