"""Statements as paragraphs: what one source says stands together, with one reference after it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from deep_research.phases.synthesis.statements import Statement

# What is described, such as "lamp.read(path): ": said once where it goes on.
_TERM = re.compile(r"(?:class )?(?P<term>[\w\\]+(?:\.[\w\\]+)+|[\w\\]+(?=\())(?:\([^:]*\))?: ")
LONGEST = 90  # words, after which a paragraph takes in no other source


def paragraphs(told: Iterable[Statement], *, best_first: bool = False) -> list[str]:
    """Paragraphs in the order of their first statements; those of one source in the order of its text, with
    ``best_first`` after the first of them."""
    by_source: dict[str, list[Statement]] = {}
    for statement in told:
        by_source.setdefault(statement.source, []).append(statement)
    made: list[list[str]] = []
    room = 0
    for group in by_source.values():
        length = sum(s.length for s in group)
        if not made or length > room:
            made.append([])
            room = LONGEST
        opening, rest = (group[:1], group[1:]) if best_first else ([], group)
        made[-1].append(_passage([*opening, *sorted(rest, key=lambda s: s.start)]))
        room -= length
    return [" ".join(pieces) for pieces in made]


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
