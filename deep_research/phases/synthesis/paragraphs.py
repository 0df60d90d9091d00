"""Statements as paragraphs: what one source says stands together, with one reference after it. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from deep_research.phases.synthesis.statements import Statement

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
    """The statements of one source, with one reference at the end."""
    marks = dict.fromkeys(i for statement in group for i in statement.ids)
    return f"{' '.join(s.text for s in group)} [{', '.join(marks)}]"
