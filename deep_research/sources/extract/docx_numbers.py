"""The numbers that Word puts before the items of a list: they stand in no paragraph, but follow from a part of their
own."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from deep_research.sources.extract.docx_parts import W

_PLAIN = re.compile(r"\(?%\d[.)]?")  # a number that stands alone


@dataclass(slots=True)
class _List:
    """Where each level begins to count, None for one of bullets or letters, and how far it has come."""

    starts: dict[int, int | None] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)


class Numbers:
    """Counts the items of a document, which are asked for in their order."""

    def __init__(self, document: Any) -> None:
        self._lists: dict[str, _List] = {}
        self._known: dict[
            str, tuple[str, dict[int, int]]
        ] = {}  # of each list, as which it counts, and from where
        self._begun: set[str] = set()
        for relation in document.part.rels.values():
            if relation.reltype.endswith("/numbering") and not relation.is_external:
                self._learn(relation.target_part.blob)

    def of(self, name: str, level: int) -> int | None:
        """The number of the next item of a list at a level; None where it has a bullet or a letter."""
        if name not in self._known:
            return None
        counted_as, anew = self._known[name]
        found = self._lists.get(counted_as)
        if found is None:
            return None
        if name not in self._begun:
            self._begun.add(name)
            found.counts |= {at: first - 1 for at, first in anew.items()}
        start = found.starts.get(level)
        found.counts = {at: count for at, count in found.counts.items() if at <= level}
        found.counts[level] = found.counts.get(level, (1 if start is None else start) - 1) + 1
        return None if start is None else found.counts[level]

    def _learn(self, raw: bytes) -> None:
        from docx.oxml import parse_xml

        for element in parse_xml(raw):
            if element.tag == f"{W}abstractNum":
                levels = (_level(each) for each in element.findall(f"{W}lvl"))
                self._lists[element.get(f"{W}abstractNumId", "")] = _List(dict(levels))
            elif element.tag == f"{W}num" and element.find(f"{W}lvlOverride/{W}lvl") is None:
                anew = {
                    _number(each.get(f"{W}ilvl")): _number(_said(each, "startOverride"))
                    for each in element.findall(f"{W}lvlOverride")
                    if each.find(f"{W}startOverride") is not None
                }
                self._known[element.get(f"{W}numId", "")] = (_said(element, "abstractNumId"), anew)


def _level(element: Any) -> tuple[int, int | None]:
    is_number = _said(element, "numFmt") == "decimal" and _PLAIN.fullmatch(_said(element, "lvlText"))
    return _number(element.get(f"{W}ilvl")), _number(_said(element, "start"), 1) if is_number else None


def _said(element: Any, name: str) -> str:
    found = element.find(f"{W}{name}")
    return "" if found is None else str(found.get(f"{W}val", ""))


def _number(said: str | None, usual: int = 0) -> int:
    return int(said) if said and said.isdecimal() and len(said) < 7 else usual
