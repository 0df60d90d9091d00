"""Blocks of a report under their headings: what is called the same stands together. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain


def under_their_headings(beside: Sequence[str], sections: Sequence[str]) -> list[str]:
    """The tables and the sections after them: a section that is called as a table stands right under it."""
    above, below = _by_heading(beside), _by_heading(sections)
    if above and below and not is_heading(below[0][0]):
        above[-1] += below.pop(0)  # it goes on from what is above
    blocks: list[str] = []
    for group in above:
        own = [part for part in below if part[0] == group[0]]
        below = [part for part in below if part not in own]
        blocks += [*group, *chain.from_iterable(part[1:] for part in own)]
    return [*blocks, *chain.from_iterable(below)]


def _by_heading(blocks: Iterable[str]) -> list[list[str]]:
    """The blocks in groups, each of which begins with a heading but perhaps the first."""
    groups: list[list[str]] = []
    for block in blocks:
        if is_heading(block) or not groups:
            groups.append([])
        groups[-1].append(block)
    return groups


def is_heading(block: str) -> bool:
    return block.startswith("## ")
