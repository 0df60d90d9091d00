"""Conflicts side by side: who says what. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deep_research.evidence.contradictions import compared
from deep_research.report.markup import escaped
from deep_research.state import Contradiction, Finding, Source

MOST = 8


def conflicts(
    contradictions: Iterable[Contradiction], findings: Iterable[Finding], sources: Iterable[Source]
) -> list[str]:
    """One line for each conflict: both sources with their own words and references."""
    by_id = {f.id: f for f in findings}
    named = {s.id: s for s in sources}
    lines: dict[str, None] = {}
    seen: set[tuple[str, ...]] = set()
    for conflict in contradictions:
        sides = [by_id[i] for i in conflict.finding_ids if i in by_id]
        if len(sides) < 2:
            continue
        said = compared(sides[0].content, sides[1].content)
        if said is None or not all(side.source_ids for side in sides):
            lines[f"- {escaped(conflict.description)} [{', '.join(s.id for s in sides)}]"] = None
            continue
        key = (said.about, *sorted((said.one, said.other)))
        if key not in seen:
            seen.add(key)
            one, other = _side(sides[0], said.one, named), _side(sides[1], said.other, named)
            of = f" for {escaped(said.of)}" if said.of else ""
            lines[f"- Different {said.about}{of}: {one}; {other}"] = None
    return ["## Conflicting information", "\n".join(list(lines)[:MOST])] if lines else []


def _side(finding: Finding, words: str, named: Mapping[str, Source]) -> str:
    source = named.get(finding.source_ids[0])
    title = escaped(source.title) if source else "another source"
    year = f" ({source.published.year})" if source and source.published else ""
    return f"{title}{year}: {escaped(words)} [{finding.id}]"
