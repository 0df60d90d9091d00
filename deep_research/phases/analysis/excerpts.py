"""The part of a long source that bears on the question: its opening and what the searches matched, with what stands
around it. Pure. Where something is left out, it says so."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.state import Span

OMITTED = "[…]"
_OPENING = 0.2  # of the room
_AROUND = 400  # characters taken along before and after a match, at first
_ENDS = ("\n\n", ". ", "\n", " ")


def excerpt(text: str, matched: Sequence[Span], room: int) -> str:
    """At most about ``room`` characters of ``text``, whole sentences where there are any; all of it if it fits."""
    if len(text) <= room:
        return text
    spans = [(0, int(room * _OPENING) if matched else room)]
    left = room - spans[0][1]
    for span in matched:
        if left <= 0:
            break
        start, end = max(0, span.start - _AROUND), min(len(text), span.end + _AROUND, span.start + left)
        spans.append((start, end))
        left -= end - start
    joined = _joined(spans)
    pieces = [_whole_sentences(text, start, end) for start, end in joined]
    shown = f"\n{OMITTED}\n".join(piece for piece in pieces if piece)
    return shown if joined[-1][1] >= len(text) else f"{shown}\n{OMITTED}"


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """In order, those that touch as one."""
    made: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((start, end))
    return made


def _whole_sentences(text: str, start: int, end: int) -> str:
    """The span without the half sentences at its ends, if something is left of it."""
    if start > 0:
        start = next((at + len(mark) for mark in _ENDS if (at := text.find(mark, start, end)) >= 0), start)
    if end < len(text):
        end = next((at + 1 for mark in _ENDS if (at := text.rfind(mark, start, end)) > start), end)
    return text[start:end].strip()
