"""Findings whose numbers cannot both be right. Pure, and simple on purpose: same unit, same subject,
different value, different source."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations

from deep_research.evidence.text import STOP_WORDS, stem, words
from deep_research.state import Contradiction, Finding
from deep_research.state.identity import contradiction_id

SUBJECT_OVERLAP = 0.5
MAX_PER_UNIT = 40
_QUANTITY = re.compile(
    r"(?<![\w.,-])(\d{1,3}(?:[,\u00a0 ]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)[\s\u00a0-]?(%|[A-Za-z°]+)"
)
# Each row: a unit as it is written, in all its spellings; the first names it.
_ROWS = """
    metres metre meters meter m
    feet foot ft
    kilometres kilometers kilometre kilometer km
    miles mile
    centimetres centimeters cm
    millimetres millimeters mm
    inches inch
    kilograms kg
    tonnes tonne t
    tons ton
    litres liters litre liter
    gallons gallon
    acres acre
    hectares hectare
    percent %
    candelas candela candlepower
    watts watt
    volts volt
    degrees degree
    knots knot
    pounds pound
    dollars dollar
    euros euro
    people inhabitants
    years year
    months month
    days day
    hours hour
    minutes minute
    seconds second
"""
_UNITS = {word: row.split()[0] for row in _ROWS.strip().splitlines() for word in row.split()}


def quantities(text: str) -> dict[str, set[float]]:
    """The measured values of a text by unit, spelled in one way."""
    found: dict[str, set[float]] = defaultdict(set)
    for number, unit in _QUANTITY.findall(text):
        if name := _UNITS.get(unit.casefold()):
            found[name].add(float(re.sub(r"[,\u00a0 ]", "", number)))
    return found


def contradictions(findings: Iterable[Finding]) -> tuple[Contradiction, ...]:
    """Pairs of findings of different sources that give different values of one unit for one subject."""
    by_unit: dict[str, list[tuple[Finding, set[float], frozenset[str]]]] = defaultdict(list)
    for finding in findings:
        measured = quantities(finding.content)
        subject = _subject(finding.content) if measured else frozenset()
        for unit, values in measured.items():
            by_unit[unit].append((finding, values, subject))
    found: dict[str, Contradiction] = {}
    for unit, group in by_unit.items():
        for (a, values_a, subject_a), (b, values_b, subject_b) in combinations(group[:MAX_PER_UNIT], 2):
            if set(a.source_ids) & set(b.source_ids) or values_a & values_b:
                continue
            if len(subject_a & subject_b) < SUBJECT_OVERLAP * min(len(subject_a), len(subject_b)):
                continue
            key = contradiction_id((a.id, b.id))
            found[key] = Contradiction(
                id=key,
                description=f"The sources give different values in {unit}:"
                f" {_listed(values_a)} against {_listed(values_b)}.",
                finding_ids=(a.id, b.id),
                source_ids=tuple(dict.fromkeys((*a.source_ids, *b.source_ids))),
            )
    return tuple(found.values())


def _subject(text: str) -> frozenset[str]:
    """What a statement is about: its content words but for numbers and units."""
    return frozenset(
        stem(w)
        for w in words(text)
        if w.casefold() not in STOP_WORDS and not w[0].isdigit() and w.casefold() not in _UNITS
    )


def _listed(values: set[float]) -> str:
    return ", ".join(f"{value:,g}" if value < 1e6 else f"{value:,.0f}" for value in sorted(values))
