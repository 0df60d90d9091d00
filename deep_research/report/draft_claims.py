"""The claims of a draft: each sentence, item and cell, with the findings that it cites. Pure.

A draft is Markdown that refers to findings as ``[find-…]`` and to sources as ``[src-…]``. A reference belongs to what
stands before it; where a paragraph or a row has but one at its end, that stands for all of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from itertools import chain, pairwise

from deep_research.patterns import regex
from deep_research.report.references import Bare, Reference
from deep_research.state import ClaimKind, Span
from deep_research.text.passages import Block, BlockKind, blocks

_FIGURE = regex(r"\d")
_ESCAPE = regex(r"\\([!-/:-@\[-`{-~])")
_LINK = regex(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
# Stars that open and close something; one alone is a star.
_STARS = regex(r"(\*{1,3})(?=[^\s*])([^*]+)(?<=\S)\1")
_EMPHASIS = regex(r"(?<!\w)_+|(?<!_)_++(?!\w)|`+")
_QUOTED = regex(r"^[ \t]*>[> \t]*", re.MULTILINE)
_CELL = regex(r"(?<!\\)\|")
_RULE = regex(r"[\s|:-]+")
_RULED = regex(r"^[ \t|:]*-{2,}[ \t|:-]*$", re.MULTILINE)
_NUMBER_MARK = regex(
    r"(?<![ \t])[ \t]*+\[\^?\d{1,4}(?:[ \t]*[,–-][ \t]*\d{1,4})*\](?!\()"
)  # a reference of another kind
_LABEL_WORDS = 3  # of what stands before code and is no sentence: "Example"
_WORD = regex(r"\w")
_SENTENCE = regex(r"(?:\S++\s++){3,}\S*[.!?]")
_ORDINAL = regex(r"\A\(?\d{1,3}[.)]\s+")  # of an item that a sentence tells of
_KEPT = regex("\0(\\d+)\0")
_WITHIN = 3  # emphasis within emphasis


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
    is_marked: bool = False
    block: int = 0


def draft_claims(draft: str) -> list[DraftClaim]:
    """What a draft claims, in its order. Titles and headings are no claims, nor is code, nor what announces it, a list or
    a table."""
    bare = Bare(draft)
    every = list(blocks(bare.text))
    headings: dict[int, str] = {}
    claims: list[DraftClaim] = []
    for number, block in enumerate(every):
        if block.kind is BlockKind.HEADING:
            headings = {level: title for level, title in headings.items() if level < block.level}
            headings[block.level] = visible_text(bare.text[block.start : block.end].lstrip("# \t"))
            continue
        following = every[number + 1] if number + 1 < len(every) else None
        after = following.kind if following else None
        if block.kind is BlockKind.CODE:
            continue
        under = " > ".join(title for level, title in sorted(headings.items()) if level > 1)
        if block.kind is BlockKind.TABLE and _RULED.search(bare.text, block.start, block.end):
            claims += _cells(bare, block, under, number)
        else:
            references = bare.of_block(block, following.start if following else len(bare.text))
            claims += _sentences(bare, block, under, number, references, after)
    return claims


def _sentences(
    bare: Bare,
    block: Block,
    under: str,
    number: int,
    references: Iterable[Reference],
    after: BlockKind | None,
) -> Iterator[DraftClaim]:
    spans = list(block.sentences(bare.text))
    owned = _owned(spans, references)
    if spans and _announces(bare.text[slice(*spans[-1])], block.kind, owned[-1], after):
        spans.pop()
        owned.pop()
    kind = ClaimKind.ITEM if block.kind is BlockKind.ITEM else ClaimKind.SENTENCE
    for (start, end), own, near in zip(spans, owned, _near(list(map(_ids, owned))), strict=True):
        if not _WORD.search(bare.text, start, end):
            continue
        cites = _ids(own)
        yield DraftClaim(
            text=visible_text(bare.text[start:end]),
            kind=kind,
            heading=under,
            place=bare.place(start, end, own),
            cites=cites,
            near=() if cites else near,
            is_marked=_is_marked(own),
            block=number,
        )


def _announces(text: str, kind: BlockKind, references: Sequence[Reference], after: BlockKind | None) -> bool:
    """Whether the list, table or code that comes ``after`` is announced with these words, which refer to nothing: by a
    colon, or in a paragraph by words that end with no stop. What has a figure says something. The label of a piece of
    code has its reference."""
    if after not in (BlockKind.ITEM, BlockKind.TABLE, BlockKind.CODE) or _FIGURE.search(text):
        return False
    ending = text.rstrip("*_ ")[-1:]
    if after is BlockKind.CODE and len(text.split()) <= _LABEL_WORDS and ending not in (".", "!", "?"):
        return True
    return not references and (
        ending == ":" or (kind is BlockKind.PARAGRAPH and ending not in (".", "!", "?"))
    )


def _owned(spans: Sequence[tuple[int, int]], references: Iterable[Reference]) -> list[list[Reference]]:
    """The references of each sentence: a reference belongs to the last one that begins before it."""
    owned: list[list[Reference]] = [[] for _ in spans]
    starts = [start for start, _ in spans]
    for reference in references if spans else ():
        owned[max(0, bisect_right(starts, reference.place - 1) - 1)].append(reference)
    return owned


def _near(cited: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """For each sentence of a paragraph what the next one after it cites that cites anything; else the last before."""
    later, earlier = _last(reversed(cited))[::-1], _last(cited)
    return [after or before for after, before in zip(later, earlier, strict=True)]


def _last(cited: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """For each what it or the last one before it has."""
    known: tuple[str, ...] = ()
    return [known := ids or known for ids in cited]


def _cells(bare: Bare, block: Block, under: str, number: int) -> Iterator[DraftClaim]:
    """The cells of the rows below the header, but for the first of each row: that is what the others are said of, unless
    it is alone, a sentence, or cites something."""
    lines = [(start, end) for start, end in block.sentences(bare.text) if end > start]
    header = [visible_text(bare.text[a:b]) for a, b in _split(bare.text, *lines[0])] if lines else []
    for start, end in lines[1:]:
        if _RULE.fullmatch(bare.text, start, end):
            continue
        cells = list(_split(bare.text, start, end))
        row = visible_text(bare.text[slice(*cells[0])]) if cells else ""
        of_row = _ids(bare.within(start, end))
        says = cells and (_SENTENCE.fullmatch(row) or _ids(bare.within(*cells[0])))
        first = 0 if says or max(len(header), len(cells)) == 1 else 1
        for place, (a, b) in enumerate(cells[first:], first):
            if not _WORD.search(bare.text, a, b):
                continue
            own = bare.within(a, b)
            column = header[place] if place < len(header) else ""
            yield DraftClaim(
                text=visible_text(bare.text[a:b]),
                kind=ClaimKind.CELL,
                heading=" > ".join(filter(None, (under, row if place else "", column))),
                place=bare.place(a, b, own),
                cites=_ids(own),
                near=of_row,
                row=row if place else "",
                is_marked=_is_marked(own),
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


def _ids(references: Iterable[Reference]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(reference.ids for reference in references)))


def _is_marked(references: Iterable[Reference]) -> bool:
    return any(not reference.ids for reference in references)


def visible_text(text: str) -> str:
    """Markdown as a reader sees it: one line, without emphasis, escapes, entities, addresses of links, and what quoted
    lines begin with."""
    read = _LINK.sub(r"\1", _NUMBER_MARK.sub("", " ".join(_QUOTED.sub("", text).split())))
    kept = _ESCAPE.sub(lambda match: f"\0{ord(match[1])}\0", read)  # an escaped star is one
    for _ in range(_WITHIN):
        kept = _STARS.sub(r"\2", kept)
    plain = unescape(_EMPHASIS.sub("", kept.strip("*")))  # those around a paragraph of several sentences
    return _ORDINAL.sub("", _KEPT.sub(lambda match: chr(int(match[1])), plain).strip())
