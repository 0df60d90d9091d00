"""The figures that several sources give for one thing, side by side. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from deep_research.evidence.comparable import sides
from deep_research.evidence.inquiry import Inquiry
from deep_research.evidence.units import Quantity, measured
from deep_research.state import Finding


@dataclass(frozen=True, slots=True)
class Figure:
    """What the finding of a source gives, in its words: ``198.49 feet``."""

    source: str
    finding: str
    text: str
    quantity: Quantity


def figures(inquiry: Inquiry, findings: Iterable[Finding], titles: Mapping[str, str]) -> list[Figure]:
    """Of a question that a number may answer the first figure of each source whose passage, with its heading and title,
    has the question's names, or all its terms where it has none; of one kind, which is that of the best source. Before
    the others that of the source whose title has most of this and least else: it is on the thing itself. None where they
    agree, or one alone has one."""
    asked = {measure for side in sides(inquiry.text) for measure in side.measures}
    if inquiry.expects != "number" and (inquiry.expects or not asked):
        return []
    wanted = inquiry.names or frozenset(inquiry.terms)
    found: dict[str, Figure] = {}
    for finding in findings:
        source = finding.source_ids[0] if finding.source_ids else ""
        told = f"{titles.get(source, '')} {finding.heading} {finding.content}"
        if source in found or not wanted <= set(inquiry.words.terms(told)):
            continue
        kind = next(iter(found.values())).quantity.kind if found else ""
        for side in sides(finding.content):
            if asked and side.measures and not asked & side.measures:
                continue  # how far, and not how high
            quantity = next((q for q in measured(side.text) if not kind or q.kind == kind), None)
            if quantity is not None:
                text = side.text[quantity.start : quantity.end]
                found[source] = Figure(source, finding.id, text, quantity)
                break
    every = list(found.values())
    if all(every[0].quantity.agrees(other.quantity) for other in every):
        return []

    def on_it(figure: Figure) -> float:
        title = frozenset(inquiry.words.terms(titles.get(figure.source, "")))
        return len(title & wanted) / len(title | wanted)

    return sorted(every, key=on_it, reverse=True)
