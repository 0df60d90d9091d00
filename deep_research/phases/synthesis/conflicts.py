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
    """One line for each thing that is told differently: all that tell it, with their own words and references."""
    by_id = {f.id: f for f in findings}
    named = {s.id: s for s in sources}
    lines: dict[str, dict[str, None]] = {}
    for conflict in contradictions:
        told = [by_id[i] for i in conflict.finding_ids if i in by_id]
        if len(told) < 2:
            continue
        said = compared(told[0].content, told[1].content)
        if said is None or not all(side.source_ids for side in told):
            lines[f"- {escaped(conflict.description)} [{', '.join(s.id for s in told)}]"] = {}
            continue
        of = f" for {escaped(said.of)}" if said.of else ""
        every = lines.setdefault(f"- Different {said.about}{of}: ", {})
        every[_side(told[0], said.one, named)] = every[_side(told[1], said.other, named)] = None
    told_apart = [f"{about}{'; '.join(every)}" for about, every in lines.items()]
    return ["## Conflicting information", "\n".join(told_apart[:MOST])] if lines else []


def _side(finding: Finding, words: str, named: Mapping[str, Source]) -> str:
    source = named.get(finding.source_ids[0])
    title = escaped(source.title) if source else "another source"
    year = f" ({source.published.year})" if source and source.published else ""
    return f"{title}{year}: {escaped(words)} [{finding.id}]"
