"""Rendering of the kept pieces of a text, each word for word. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from deep_research.retrieval.salience import Sentences
from deep_research.state import Span
from deep_research.text.passages import BlockKind

GAP = "[…]"  # for what is left out
CUT = "…"  # for the rest of a sentence
_LONG_WORD = 60  # characters; what is longer is no word, or of a script without spaces
_BACK = 8  # words that a piece is made shorter by, where by the last of them it is counted as more
_NEAR = 100  # characters between two sentences that go along when both are kept: marks of lists, code, tables


@dataclass(frozen=True, slots=True)
class Condensed:
    """``spans`` are the kept pieces of the original, in order: each ``original[start:end]`` stands in ``text``."""

    text: str
    spans: tuple[Span, ...]


class Piece(NamedTuple):
    """The beginning of the sentence at ``place``, up to ``end`` in the text."""

    place: int
    end: int


def prose(text: str, sentences: Sentences, kept: Collection[int], piece: Piece | None = None) -> Condensed:
    """The kept sentences (places) as they stand in the text, with marks where something is left out; and, if given,
    a piece of another."""
    parts: list[str] = []
    spans: list[Span] = []
    last = -1
    for first, final in _runs(sentences, kept, piece):
        cut_off = piece is not None and final == piece.place
        start, end = sentences.starts[first], piece.end if piece and cut_off else sentences.ends[final]
        parts += (_between(sentences, last, first), text[start:end], CUT if cut_off else "")
        spans.append(Span(start=start, end=end))
        last = final
    if not spans:
        return Condensed("", ())
    if sentences.starts[0] == spans[0].start:
        parts[0] = ""
    if last + 1 < len(sentences):
        parts.append(f"\n{GAP}")
    return Condensed("".join(parts), tuple(spans))


def cut(text: str, start: int, end: int, room: int, measure: Callable[[str], int]) -> Condensed:
    """``text[start:end]``, or as much of it as fits, up to the end of a word if it has one, and ``…``; nothing when not
    even that mark fits."""
    if measure(text[start:end]) <= room:
        return Condensed(text[start:end], (Span(start=start, end=end),) if end > start else ())
    stop = longest(text, start, end, lambda stop: measure(text[start:stop] + CUT) <= room)
    if stop == start:
        return Condensed("", ())
    return Condensed(text[start:stop] + CUT, (Span(start=start, end=stop),))


def longest(text: str, start: int, end: int, fits: Callable[[int], bool]) -> int:
    """Where the longest piece of ``text[start:end]`` ends that fits: at the end of a word, if one does. ``start`` when
    none does."""
    if not fits(start):
        return start
    fit, over = start, min(end, start + 64)
    while fits(over):
        fit = over
        if over == end:
            break
        over = min(end, start + 2 * (over - start))
    while over - fit > 1:
        middle = (fit + over) // 2
        if fits(middle):
            fit = middle
        else:
            over = middle
    for _ in range(_BACK):
        fit = _end_of_word(text, start, fit, end)
        if fit == start or fits(fit):
            return fit
        fit -= 1
    return start


def _end_of_word(text: str, start: int, stop: int, end: int) -> int:
    """Where the last word ends before ``stop``, or ``stop`` itself within a very long one, or where there are none."""
    if stop < end and not text[stop].isspace():
        space = max(text.rfind(mark, start, stop) for mark in " \n\t")
        if space > start and stop - space <= _LONG_WORD:
            stop = space
    return start + len(text[start:stop].rstrip())


def _runs(sentences: Sentences, kept: Collection[int], piece: Piece | None) -> Iterator[tuple[int, int]]:
    """The first and last place of each row of kept sentences with nothing left out between them."""
    first = last = -1
    part = piece.place if piece else -1
    for place in sorted({*kept, part} if piece else kept):
        if first < 0:
            first = place
        elif place != last + 1 or last == part or sentences.starts[place] - sentences.ends[last] > _NEAR:
            yield first, last
            first = place
        last = place
    if first >= 0:
        yield first, last


def _between(sentences: Sentences, before: int, after: int) -> str:
    if before < 0:
        return f"{GAP}\n"
    block = sentences.blocks[after]
    in_line = block is sentences.blocks[before] and block.kind not in (BlockKind.TABLE, BlockKind.CODE)
    if after == before + 1 and sentences.starts[after] - sentences.ends[before] <= _NEAR:
        return " " if in_line else "\n"  # what is left out is the rest of a sentence, which has its own mark
    return f" {GAP} " if in_line else f"\n{GAP}\n"
