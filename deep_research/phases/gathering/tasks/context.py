"""What a task is told of what the run knows: findings that speak of its question, and the gap it is to fill. Pure."""

from __future__ import annotations

from deep_research.evidence.words import StemFinder, coverage, question_terms
from deep_research.phases.prompting import one_line
from deep_research.state import DeepResearchState, SubQuery

LEAST = 0.2  # of the weight of a question's words, in a finding that is told
MOST = 8  # findings
LONGEST = 4_000  # characters


def context_of(sub_query: SubQuery, state: DeepResearchState) -> str:
    """Empty where nothing is known yet."""
    lines = []
    gap = next((g for g in state.gaps if g.id == sub_query.gap_id), None)
    if sub_query.rationale:
        lines.append(f"Why it is asked: {one_line(sub_query.rationale)}")
    if gap is not None:
        lines.append(f"What is missing: {one_line(gap.description)}")
    wanted = question_terms(sub_query.query)
    find = StemFinder(wanted)
    near = [(coverage(wanted, find(finding.content)), finding) for finding in state.findings]
    best = sorted((each for each in near if each[0] >= LEAST), key=lambda each: -each[0])[:MOST]
    titles = {source.id: source.title for source in state.sources}
    for _, finding in best:
        of = ", ".join(one_line(titles[i])[:100] for i in finding.source_ids[:2] if i in titles)
        lines.append(f"- {one_line(finding.content)} ({of})")
    text = "\n".join(lines)
    return text if len(text) <= LONGEST else text[:LONGEST].rsplit("\n", 1)[0]
