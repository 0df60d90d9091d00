"""Statements as paragraphs: what one source says stands together, with one reference after it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from deep_research.phases.synthesis.statements import Statement

# What is described, such as "lamp.read(path): ": said once where it goes on.
_TERM = re.compile(r"(?:class )?(?P<term>[\w\\]+(?:\.[\w\\]+)+|[\w\\]+(?=\())(?:\([^:]*\))?: ")
LONGEST = 90  # words of a paragraph, if it has several statements


def paragraphs(told: Iterable[Statement], *, best_first: bool = False) -> list[str]:
    """Paragraphs in the order of their first statements, with the code that shows them; those of one source in the order
    of its text, with ``best_first`` after the first of them."""
    by_source: dict[str, list[Statement]] = {}
    for statement in told:
        by_source.setdefault(statement.source, []).append(statement)
    made: list[list[str]] = []
    room = 0
    for group in by_source.values():
        length = sum(s.length for s in group)
        if length > room:
            made.append([])
            room = LONGEST
        opening, rest = (group[:1], group[1:]) if best_first else ([], group)
        for place, piece in enumerate(_in_pieces([*opening, *sorted(rest, key=lambda s: s.start)])):
            if place:
                made.append([])
            made[-1].append(_passage(piece))
            if code := piece[-1].example:
                made.append([code])
                made.append([])
        room -= length
    return [" ".join(pieces) for pieces in made if pieces]


def _in_pieces(group: list[Statement]) -> list[list[Statement]]:
    """What one source says, parted where it grows too long for one paragraph, and behind what code shows."""
    pieces: list[list[Statement]] = [[]]
    length = 0
    for statement in group:
        if pieces[-1] and (pieces[-1][-1].example or length + statement.length > LONGEST):
            pieces.append([])
            length = 0
        pieces[-1].append(statement)
        length += statement.length
    return pieces


def _passage(group: list[Statement]) -> str:
    """The statements of one source, with one reference at the end; those of one term after another name it once."""
    marks = dict.fromkeys(i for statement in group for i in statement.ids)
    said: list[str] = []
    term = ""
    for statement in group:
        named = _TERM.match(statement.text)
        again = named is not None and named["term"] == term
        said.append(statement.text[named.end() :] if named and again else statement.text)
        term = named["term"] if named else ""
    return f"{' '.join(said)} [{', '.join(marks)}]"
