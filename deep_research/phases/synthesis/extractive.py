"""A synthesizer without a model: findings in the sources' own words, put in order.

The summary takes the findings nearest to the question, the sections the rest by sub-query. Nothing stands twice.
"""

from __future__ import annotations

from collections.abc import Iterable

from deep_research.evidence.text import content_stems
from deep_research.phases.synthesis.handoff import SynthesizerInput, SynthesizerOutput
from deep_research.report.render import escaped
from deep_research.state import ConfidenceLevel, Contradiction, Finding

SUMMARY_FINDINGS = 3
_STRENGTH = {level: rank for rank, level in enumerate(ConfidenceLevel)}


class ExtractiveSynthesizer:
    deterministic = True
    name = "extractive synthesizer"

    async def __call__(self, handoff: SynthesizerInput) -> SynthesizerOutput:
        return SynthesizerOutput(report=draft(handoff))


def draft(handoff: SynthesizerInput, *, notice: str = "") -> str:
    """The report's text with ids for references; ``notice`` is a line to stand on top of it."""
    ranked = _within(handoff.words, sorted(handoff.findings, key=_rank))
    summary, rest = ranked[:SUMMARY_FINDINGS], ranked[SUMMARY_FINDINGS:]
    blocks = [f"# {escaped(handoff.original_query)}"]
    if notice:
        blocks.append(f"*{notice}*")
    blocks += ["## Summary", *map(_sentence, summary)]
    blocks += _sections(handoff, rest)
    blocks += _conflicts(handoff.contradictions, handoff.findings)
    blocks += _limits(handoff, left_out=len(handoff.findings) - len(ranked))
    return "\n\n".join(blocks)


def _rank(finding: Finding) -> tuple[float, int]:
    return -finding.relevance, -_STRENGTH[finding.confidence]


def _within(words: int, findings: Iterable[Finding]) -> list[Finding]:
    """The best findings that fit the wanted length; at least one."""
    chosen: list[Finding] = []
    used = 0
    for finding in findings:
        used += len(finding.content.split())
        if chosen and used > words:
            break
        chosen.append(finding)
    return chosen


def _sentence(finding: Finding) -> str:
    text = escaped(finding.content)
    if text[-1:] not in ".!?…\"”'":
        text += "."
    return f"{text} [{finding.id}]"


def _sections(handoff: SynthesizerInput, findings: list[Finding]) -> list[str]:
    blocks: list[str] = []
    asked = set(content_stems(handoff.original_query))
    names = {s.id: s.query for s in handoff.sub_queries}
    order = {s.id: s.index for s in handoff.sub_queries}
    by_theme: dict[str, list[Finding]] = {}
    for finding in findings:
        theme = names.get(finding.sub_query_id or "") or finding.category or "Further findings"
        if set(content_stems(theme)) == asked:  # the question itself, or its key words
            theme = "More on the question"
        by_theme.setdefault(theme, []).append(finding)
    places = {names[key]: place for key, place in order.items()}
    for theme in sorted(by_theme, key=lambda t: places.get(t, -1)):
        blocks.append(f"## {_heading(theme)}")
        blocks += map(_sentence, by_theme[theme])
    return blocks


def _heading(theme: str) -> str:
    text = escaped(theme).rstrip(" ?.")
    return text[:1].upper() + text[1:]


def _conflicts(contradictions: Iterable[Contradiction], findings: Iterable[Finding]) -> list[str]:
    by_id = {f.id: f for f in findings}
    blocks: list[str] = []
    for conflict in contradictions:
        sides = [by_id[i] for i in conflict.finding_ids if i in by_id]
        if len(sides) < 2:
            continue
        marks = ", ".join(side.id for side in sides)
        blocks.append(f"- {escaped(conflict.description)} [{marks}]")
    return ["## Conflicting information", "\n".join(blocks)] if blocks else []


def _limits(handoff: SynthesizerInput, *, left_out: int) -> list[str]:
    lines = [f"- {escaped(gap.description)}" for gap in handoff.gaps if not gap.addressed]
    lines += [f"- {escaped(limit.message)}" for limit in handoff.limits]
    if left_out:
        lines.append(f"- {left_out} further findings are left out to keep the wanted length.")
    lines.append(
        "- This report was put together without a language model: its sentences are taken word for word"
        " from the sources."
    )
    return ["## Gaps and limits", "\n".join(dict.fromkeys(lines))]
