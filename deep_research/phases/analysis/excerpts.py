"""The part of a long source that bears on the question: its opening and what the searches matched, with what stands
around it. Pure. Where something is left out, it says so."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.state import Span

OMITTED = "[…]"
_OPENING = 0.2  # of the room
_AROUND = (1_600, 800, 400)  # characters taken along before and after a match, as many as there is room for
_ENDS = ("\n\n", ". ", "。", "\n", " ")
_TRIMMED = 300  # characters at most that are given up at an end, so that no half sentence stands there


def excerpt(text: str, matched: Sequence[Span], room: int) -> str:
    """At most about ``room`` characters of ``text``, whole sentences where there are any; all of it if it fits."""
    if len(text) <= room:
        return text
    spans = [(0, room)]
    if matched:
        opening = int(room * _OPENING)
        around = next((a for a in _AROUND if _sum(_around(text, matched, a, opening)) <= room), _AROUND[-1])
        kept = list(matched)
        while len(kept) > 1 and _sum(_around(text, kept, around, opening)) > room:
            kept.pop()  # the best come first
        spans = _fitted(_around(text, kept, around, opening), room)
    pieces = [_whole_sentences(text, start, end) for start, end in spans]
    shown = f"\n{OMITTED}\n".join(piece for piece in pieces if piece)
    return shown if spans[-1][1] >= len(text) else f"{shown}\n{OMITTED}"


def _around(text: str, matched: Sequence[Span], around: int, opening: int) -> list[tuple[int, int]]:
    """The opening and the matches with so much around them, in order, those that touch as one."""
    spans = [(0, opening)]
    for start, end in sorted(
        (max(0, span.start - around), min(len(text), span.end + around)) for span in matched
    ):
        if start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((start, end))
    return spans


def _fitted(spans: list[tuple[int, int]], room: int) -> list[tuple[int, int]]:
    """As much of the spans, from the first on, as there is room for."""
    kept: list[tuple[int, int]] = []
    for start, end in spans:
        if room > 0:
            kept.append((start, min(end, start + room)))
        room -= end - start
    return kept


def _sum(spans: Sequence[tuple[int, int]]) -> int:
    return sum(end - start for start, end in spans)


def _whole_sentences(text: str, start: int, end: int) -> str:
    """The span without the half sentences at its ends, where they end near by."""
    trimmed = min(_TRIMMED, (end - start) // 4)
    if start > 0:
        start = next(
            (at + len(mark) for mark in _ENDS if (at := text.find(mark, start, start + trimmed)) >= 0), start
        )
    if end < len(text):
        end = next((at + 1 for mark in _ENDS if (at := text.rfind(mark, end - trimmed, end)) >= 0), end)
    return text[start:end].strip()
