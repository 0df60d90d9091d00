"""How the kept pieces of a text are written down, so that each stands there word for word. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from deep_research.evidence.passages import BlockKind
from deep_research.evidence.salience import Sentence
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


def prose(text: str, sentences: Sequence[Sentence], kept: Collection[int]) -> Condensed:
    """The kept sentences (places) as they stand in the text, with marks where something is left out."""
    parts: list[str] = []
    spans: list[Span] = []
    last: Sentence | None = None
    for first, final in _runs(sentences, kept):
        opening, closing = sentences[first], sentences[final]
        parts += (_between(last, opening), text[opening.start : closing.end])
        spans.append(Span(start=opening.start, end=closing.end))
        last = closing
    if not spans:
        return Condensed("", ())
    if sentences[0].start == spans[0].start:
        parts[0] = ""
    if sentences[-1].end > spans[-1].end:
        parts.append(f"\n{GAP}")
    return Condensed("".join(parts), tuple(spans))


def bullets(text: str, sentences: Sequence[Sentence], kept: Collection[int]) -> Condensed:
    """The kept sentences (places), each an item of a list, under their headings."""
    lines = []
    for place in sorted(kept):
        sentence = sentences[place]
        has_mark = sentence.kind in (BlockKind.HEADING, BlockKind.ITEM) and _opens(sentences, place)
        lines.append(("" if has_mark else _BULLET) + text[sentence.start : sentence.end])
    spans = tuple(Span(start=sentences[p].start, end=sentences[p].end) for p in sorted(kept))
    return Condensed("\n".join(lines), spans)


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


def _runs(sentences: Sequence[Sentence], kept: Collection[int]) -> Iterator[tuple[int, int]]:
    """The first and last place of each row of kept sentences with nothing left out between them."""
    first = last = -1
    for place in sorted(kept):
        if first < 0:
            first = place
        elif place != last + 1 or sentences[place].start - sentences[last].end > _NEAR:
            yield first, last
            first = place
        last = place
    if first >= 0:
        yield first, last


def _between(before: Sentence | None, after: Sentence) -> str:
    if before is None:
        return f"{GAP}\n"
    in_line = before.block == after.block and after.kind not in (BlockKind.TABLE, BlockKind.CODE)
    return f" {GAP} " if in_line else f"\n{GAP}\n"


def _opens(sentences: Sequence[Sentence], place: int) -> bool:
    return place == 0 or sentences[place - 1].block != sentences[place].block
