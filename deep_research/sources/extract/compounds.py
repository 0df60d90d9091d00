"""Words that are broken at the end of a line where they have a hyphen anyway, told by that the text has them whole
elsewhere. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from deep_research.sources.extract.paragraphs import KEPT
from deep_research.sources.extract.typeset import Line

_LETTERS = re.compile(r"[^\W\d_]+")


def with_compounds(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """The lines of all pages. A hyphen at the end of one that is no break is written as one that does not break."""
    every = [line for page in pages for line in page if line.text.strip()]
    compounds = {pair for line in every for pair in _compounds(line.text)}
    whole = {word for line in every for word in _whole(line.text)}
    kept: set[int] = set()
    for line, after in pairwise(every):
        pair = _pair(line.text.rstrip().rpartition(" ")[2], after.text.lstrip().partition(" ")[0])
        if pair and not line.is_mono and pair in compounds and "".join(pair) not in whole:
            kept.add(id(line))
    return [[_with_hyphen(line) if id(line) in kept else line for line in page] for page in pages]


def _with_hyphen(line: Line) -> Line:
    return replace(line, text=line.text.rstrip()[:-1] + KEPT)


def _compounds(text: str) -> Iterator[tuple[str, str]]:
    """The words beside each hyphen within a line."""
    for word in text.lower().split():
        if "-" in word[1:-1]:
            yield from filter(None, (_pair(f"{a}-", b) for a, b in pairwise(word.split("-"))))


def _whole(text: str) -> Iterable[str]:
    return _LETTERS.findall(text.lower())


def _pair(before: str, after: str) -> tuple[str, str] | None:
    """The letters before a hyphen and behind it."""
    if not before.endswith("-") or not after[:1].islower():
        return None
    first = _LETTERS.findall(before[:-1].lower())
    second = _LETTERS.match(after)
    return (first[-1], second[0]) if first and second and before[-2:-1].isalpha() else None
