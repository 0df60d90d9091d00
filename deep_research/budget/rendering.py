"""How the kept pieces of a text are written down, so that each stands there word for word. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from deep_research.evidence.passages import BlockKind
from deep_research.evidence.salience import Sentences
from deep_research.state import Span

GAP = "[…]"  # for what is left out
CUT = "…"  # for the rest of a sentence
_BULLET = "- "
_NEAR = 100  # characters between two sentences that go along when both are kept: marks of lists, code, tables


@dataclass(frozen=True, slots=True)
class Condensed:
    """``spans`` are the kept pieces of the original, in order: each ``original[start:end]`` stands in ``text``."""

    text: str
    spans: tuple[Span, ...]


def prose(text: str, sentences: Sentences, kept: Collection[int]) -> Condensed:
    """The kept sentences (places) as they stand in the text, with marks where something is left out."""
    parts: list[str] = []
    spans: list[Span] = []
    last = -1
    for first, final in _runs(sentences, kept):
        start, end = sentences.starts[first], sentences.ends[final]
        parts += (_between(sentences, last, first), text[start:end])
        spans.append(Span(start=start, end=end))
        last = final
    if not spans:
        return Condensed("", ())
    if sentences.starts[0] == spans[0].start:
        parts[0] = ""
    if sentences.ends[-1] > spans[-1].end:
        parts.append(f"\n{GAP}")
    return Condensed("".join(parts), tuple(spans))


def bullets(text: str, sentences: Sentences, kept: Collection[int]) -> Condensed:
    """The kept sentences (places), each an item of a list, under their headings."""
    lines = []
    spans = []
    for place in sorted(kept):
        span = Span(start=sentences.starts[place], end=sentences.ends[place])
        lines.append(("" if _has_mark(sentences, place) else _BULLET) + text[span.start : span.end])
        spans.append(span)
    return Condensed("\n".join(lines), tuple(spans))


def cut(text: str, start: int, end: int, room: int, measure: Callable[[str], int]) -> Condensed:
    """As much of ``text[start:end]`` as fits, up to the end of a word if it has one, and ``…``; nothing when not even
    that mark fits."""
    if measure(CUT) > room:
        return Condensed("", ())
    fits, over = start, min(end, start + 64)
    while measure(text[start:over] + CUT) <= room:
        fits = over
        if over == end:
            break
        over = min(end, start + 2 * (over - start))
    while over - fits > 1:
        middle = (fits + over) // 2
        if measure(text[start:middle] + CUT) <= room:
            fits = middle
        else:
            over = middle
    stop = fits
    if fits < end and not text[fits].isspace():
        space = max(text.rfind(mark, start, fits) for mark in " \n\t")
        stop = space if space > start else fits
    kept = start + len(text[start:stop].rstrip())
    if kept == start or measure(text[start:kept] + CUT) > room:
        return Condensed("", ())
    return Condensed(text[start:kept] + CUT, (Span(start=start, end=kept),))


def _runs(sentences: Sentences, kept: Collection[int]) -> Iterator[tuple[int, int]]:
    """The first and last place of each row of kept sentences with nothing left out between them."""
    first = last = -1
    for place in sorted(kept):
        if first < 0:
            first = place
        elif place != last + 1 or sentences.starts[place] - sentences.ends[last] > _NEAR:
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
    return f" {GAP} " if in_line else f"\n{GAP}\n"


def _has_mark(sentences: Sentences, place: int) -> bool:
    """Whether a sentence begins with the mark of a heading or an item."""
    block = sentences.blocks[place]
    opens = place == 0 or block is not sentences.blocks[place - 1]
    return opens and block.kind in (BlockKind.HEADING, BlockKind.ITEM)
