"""The claims of a draft: each sentence, item and cell, with the findings that it cites. Pure.

A draft is Markdown that refers to findings as ``[find-…]`` and to sources as ``[src-…]``. A reference belongs to what
stands before it; where a paragraph or a row has but one at its end, that stands for all of it.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import chain, pairwise

from deep_research.evidence.passages import Block, BlockKind, blocks
from deep_research.patterns import regex
from deep_research.report.ledger import ids_in, marks_in
from deep_research.state import ClaimKind, Span

UNSUPPORTED = "[unsupported]"
_MARK = regex(r"(?<![ \t])[ \t]*\[unsupported\]")
_ESCAPE = regex(r"\\([!-/:-@\[-`{-~])")
_LINK = regex(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_EMPHASIS = regex(r"\*+|(?<!\w)_+|_+(?!\w)|`+")
_CELL = regex(r"(?<!\\)\|")
_RULE = regex(r"[\s|:-]+")
_RULED = regex(r"^[ \t|:]*-{2,}[ \t|:-]*$", re.MULTILINE)
_WORD = regex(r"\w")
_NUMBER_MARK = regex(
    r"[ \t]*\[\^?\d{1,4}(?:[ \t]*[,–-][ \t]*\d{1,4})*\](?!\()"
)  # a reference of another kind
_LABEL_WORDS = 3  # of what stands before code and is no sentence: "Example"
_ORDINAL = regex(r"\A\(?\d{1,3}[.)]\s+")  # of an item that a sentence tells of


@dataclass(frozen=True, slots=True)
class DraftClaim:
    """``text`` are its words as a reader sees them; ``place`` is where it stands in the draft with the references after
    it. ``cites`` are the ids of findings and sources that it cites; ``near`` those that stand for it where it cites none:
    the next in its paragraph or row. ``row`` is what a cell is said of. Those of one paragraph or table
    have one ``block``."""

    text: str
    kind: ClaimKind
    heading: str
    place: Span
    cites: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    row: str = ""
    marked: bool = False
    block: int = 0


# Where a reference stands in the bare text, where it ends in the draft, and the ids in it; none in a mark.
_Reference = tuple[int, int, tuple[str, ...]]


class _Bare:
    """A draft without its references and marks, and where these stood."""

    def __init__(self, draft: str) -> None:
        found = sorted(chain(marks_in(draft), _MARK.finditer(draft)), key=lambda match: match.start())
        pieces, self._at, self._removed = [], [0], [0]
        self.references: list[_Reference] = []  # place here, its end in the draft, ids
        here = length = 0
        for match in found:
            pieces.append(draft[here : match.start()])
            length += match.start() - here
            here = match.end()
            self.references.append((length, match.end(), ids_in(match.group())))
            self._at.append(length)
            self._removed.append(here - length)
        self.text = "".join((*pieces, draft[here:]))
        self.places = [place for place, _, _ in self.references]

    def place(self, start: int, end: int, references: Iterable[_Reference]) -> Span:
        """Where a piece stands in the draft, with its references."""
        begin = start + self._removed[bisect_right(self._at, start) - 1]
        last = end - 1 + self._removed[bisect_right(self._at, end - 1) - 1] + 1
        return Span(start=begin, end=max([last, *(stop for _, stop, _ in references)]))


def draft_claims(draft: str) -> list[DraftClaim]:
    """What a draft claims, in its order. Titles and headings are no claims, nor is code with the words that lead to
    it."""
    bare = _Bare(draft)
    every = list(blocks(bare.text))
    headings: dict[int, str] = {}
    claims: list[DraftClaim] = []
    for number, block in enumerate(every):
        if block.kind is BlockKind.HEADING:
            headings = {level: title for level, title in headings.items() if level < block.level}
            headings[block.level] = _words(bare.text[block.start : block.end].lstrip("# \t"))
            continue
        if block.kind is BlockKind.CODE:
            continue
        under = " > ".join(title for level, title in sorted(headings.items()) if level > 1)
        if block.kind is BlockKind.TABLE and _RULED.search(bare.text, block.start, block.end):
            claims += _cells(bare, block, under, number)
        else:
            after = every[number + 1].kind if number + 1 < len(every) else None
            claims += _sentences(bare, block, under, number, after)
    return claims


def _announces(bare: _Bare, span: tuple[int, int], after: BlockKind | None) -> bool:
    """Whether a sentence without a reference only leads to the list, table or code that follows."""
    words = bare.text[slice(*span)].rstrip("*_ ")
    if after is BlockKind.CODE and len(words.split()) <= _LABEL_WORDS:
        return not words.endswith((".", "!", "?"))
    return words.endswith(":") and after in (BlockKind.ITEM, BlockKind.TABLE, BlockKind.CODE)


def _sentences(
    bare: _Bare, block: Block, under: str, number: int, after: BlockKind | None
) -> Iterator[DraftClaim]:
    spans = list(block.sentences(bare.text))
    owned = _owned(bare, spans, block)
    if spans and block.kind is BlockKind.PARAGRAPH and _announces(bare, spans[-1], after):
        label = after is BlockKind.CODE and not bare.text[slice(*spans[-1])].rstrip("*_ ").endswith(":")
        if label or not _ids(owned[-1]):
            spans.pop()
    near = _near(owned)
    kind = ClaimKind.ITEM if block.kind is BlockKind.ITEM else ClaimKind.SENTENCE
    for n, (start, end) in enumerate(spans):
        if not _WORD.search(bare.text, start, end):
            continue
        own = owned[n]
        cites = _ids(own)
        yield DraftClaim(
            text=_words(bare.text[start:end]),
            kind=kind,
            heading=under,
            place=bare.place(start, end, own),
            cites=cites,
            near=() if cites else near[n],
            marked=any(not ids for _, _, ids in own),
            block=number,
        )


def _near(owned: Sequence[list[_Reference]]) -> list[tuple[str, ...]]:
    """For each sentence the references after it, else those before it."""
    near: list[tuple[str, ...]] = [()] * len(owned)
    later: tuple[str, ...] = ()
    for n in range(len(owned) - 1, -1, -1):
        near[n] = later
        later = _ids(owned[n]) or later
    earlier: tuple[str, ...] = ()
    for n, own in enumerate(owned):
        near[n] = near[n] or earlier
        earlier = _ids(own) or earlier
    return near


def _owned(bare: _Bare, spans: Sequence[tuple[int, int]], block: Block) -> list[list[_Reference]]:
    """The references of each sentence: a reference belongs to the last one that begins before it."""
    owned: list[list[_Reference]] = [[] for _ in spans]
    starts = [start for start, _ in spans]
    for reference in _within(bare, block.start, block.end):
        if spans:
            owned[max(0, bisect_right(starts, reference[0] - 1) - 1)].append(reference)
    return owned


def _within(bare: _Bare, start: int, end: int) -> list[_Reference]:
    first = bisect_left(bare.places, start)
    return bare.references[first : bisect_right(bare.places, end)]


def _cells(bare: _Bare, block: Block, under: str, number: int) -> Iterator[DraftClaim]:
    """The cells of the rows below the header, but for the first of each row where it cites nothing: that is what the
    others are said of."""
    lines = [(start, end) for start, end in block.sentences(bare.text) if end > start]
    header = [_words(bare.text[a:b]) for a, b in _split(bare.text, *lines[0])] if lines else []
    for start, end in lines[1:]:
        if _RULE.fullmatch(bare.text, start, end):
            continue
        cells = list(_split(bare.text, start, end))
        row = _words(bare.text[slice(*cells[0])]) if cells else ""
        of_row = _ids(_within(bare, start, end))
        for place, (a, b) in enumerate(cells):
            own = _within(bare, a, b)
            names_row = place == 0 and len(cells) > 1 and not _ids(own)
            if names_row or not _WORD.search(bare.text, a, b):
                continue
            column = header[place] if place < len(header) else ""
            yield DraftClaim(
                text=_words(bare.text[a:b]),
                kind=ClaimKind.CELL,
                heading=" > ".join(filter(None, (under, row, column))),
                place=bare.place(a, b, own),
                cites=_ids(own),
                near=of_row,
                row=row if place else "",
                marked=any(not ids for _, _, ids in own),
                block=number,
            )


def _split(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The cells of a row, without the white space around them."""
    borders = [match.start() for match in _CELL.finditer(text, start, end)]
    edges = [start - 1, *borders, end]
    inner = [(a + 1, b) for a, b in pairwise(edges)]
    if inner and not text[slice(*inner[0])].strip():
        inner.pop(0)
    if inner and not text[slice(*inner[-1])].strip():
        inner.pop()
    for a, b in inner:
        cell = text[a:b]
        yield a + len(cell) - len(cell.lstrip()), max(b - len(cell) + len(cell.rstrip()), a)


def _ids(references: Iterable[_Reference]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(ids for _, _, ids in references)))


def _words(text: str) -> str:
    """Markdown as a reader sees it: one line, without emphasis, escapes, entities and addresses of links."""
    shown = _LINK.sub(r"\1", _NUMBER_MARK.sub("", " ".join(text.split())))
    kept = _ESCAPE.sub(lambda match: f"\0{ord(match[1])}\0", shown)  # an escaped star is one
    plain = unescape(_EMPHASIS.sub("", kept))
    return _ORDINAL.sub("", _KEPT.sub(lambda match: chr(int(match[1])), plain).strip())


_KEPT = regex("\0(\\d+)\0")


def unmarked(text: str) -> str:
    """The text without marks."""
    return _MARK.sub("", text)
