"""What an analyzer found, as the log has it: ids that were given, quotes in their places, evidence weighed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deep_research.evidence.agreement import confidence, filled, level_of, merged
from deep_research.evidence.citations import locate
from deep_research.evidence.contradictions import contradictions
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedGap,
    AnalyzerInput,
    AnalyzerOutput,
    SurveyOutput,
)
from deep_research.state import DeepResearchState, Finding, Gap, QualityUpdate, Source
from deep_research.state.events import EvidenceWeighed, SourcesAnalyzed
from deep_research.state.identity import finding_id, gap_id

LONGEST_FINDING = 2_000  # characters of a statement that an agent made in its own words
GAPS_PER_SOURCE = 1_000  # room between the ranks of two batches' gaps


def analyzed(
    answer: AnalyzerOutput,
    handoff: AnalyzerInput,
    batch: Sequence[Source],
    texts: Mapping[str, str],
    state: DeepResearchState,
) -> SourcesAnalyzed:
    """What an agent made of a batch: ``texts`` are the whole ones of the sources that it quotes, by id."""
    given = {s.id: s for s in batch}
    findings = [finding_of(item, given, texts, state, quoted=answer.quoted) for item in answer.findings]
    open_gaps = {g.id for g in handoff.open_gaps}
    first = next((n for n, s in enumerate(state.sources) if s.id in given), 0) * GAPS_PER_SOURCE
    return SourcesAnalyzed(
        source_ids=tuple(given),
        findings=tuple(f for f in findings if f is not None),
        gaps=tuple(
            gap_of(item, state, first + number)
            for number, item in enumerate(answer.gaps)
            if item.description.strip()
        ),
        quality_updates=tuple(
            QualityUpdate(source_id=u.source_id, quality=u.quality)
            for u in answer.quality_updates
            if u.source_id in given
        ),
        addressed_gap_ids=tuple(i for i in dict.fromkeys(answer.addressed_gap_ids) if i in open_gaps),
        unfounded=sum(finding is None for finding in findings),
        unknown_ids=answer.unknown,
        own_words=answer.quoted and any(findings),
    )


def gap_of(item: AnalyzedGap, state: DeepResearchState, rank: int) -> Gap:
    return Gap(
        id=gap_id(item.description),
        description=" ".join(item.description.split()),
        suggested_queries=item.suggested_queries,
        priority=item.priority,
        iteration=state.iteration,
        rank=rank,
    )


def finding_of(
    item: AnalyzedFinding,
    given: Mapping[str, Source],
    texts: Mapping[str, str],
    state: DeepResearchState,
    *,
    quoted: bool = False,
) -> Finding | None:
    """The finding with its quotes in place, or None when no source that was given carries it. Where it has to be
    ``quoted``, only a source whose quote was found does."""
    content = " ".join(item.content.split())
    source_ids = tuple(i for i in dict.fromkeys(item.source_ids) if i in given)
    if not content or not source_ids or (quoted and len(content) > LONGEST_FINDING):
        return None
    located = (
        locate(
            q.quote,
            texts[q.source_id],
            source_id=q.source_id,
            content_hash=given[q.source_id].content_hash or "",
            hint=q.start,
        )
        for q in item.quotes
        if q.source_id in source_ids
    )
    quotes = tuple(q for q in located if q is not None)
    if quoted:
        source_ids = tuple(i for i in source_ids if any(q.source_id == i for q in quotes))
        if not source_ids:
            return None
    return Finding(
        id=finding_id(content),
        content=content,
        confidence=(
            confidence(item.confidence, source_ids, given)
            if item.probability is None
            else level_of(item.probability)
        ),
        source_ids=source_ids,
        category=item.category,
        quotes=quotes,
        sub_query_id=item.sub_query_id,
        relevance=item.relevance,
        iteration=item.iteration or state.iteration,
        marked=item.marked,
        heading=item.heading,
        rank=item.rank,
        probability=item.probability,
    )


def weighed(state: DeepResearchState, *, several: bool) -> EvidenceWeighed:
    """Put the batches together. When there were several, a gap that one of them saw may be filled by another."""
    known = {f.id: f for f in state.findings}
    findings = merged(state.findings, {s.id: s for s in state.sources})
    kept = {f.id for f in findings}
    by_others = filled(state.unresolved_gaps(), [f.content for f in findings]) if several else set()
    gaps: list[Gap] = []
    for gap in state.gaps:
        if gap.id in by_others or (gap.addressed and gap.resolution is None):
            resolution = f"Evidence was found in iteration {state.iteration}."
            gaps.append(gap.model_copy(update={"addressed": True, "resolution": resolution}))
    return EvidenceWeighed(
        findings=tuple(f for f in findings if known[f.id] != f),
        dropped=tuple(i for i in known if i not in kept),
        gaps=tuple(gaps),
        contradictions=contradictions(findings),
    )


def with_survey(event: EvidenceWeighed, survey: SurveyOutput, state: DeepResearchState) -> EvidenceWeighed:
    """The event with the survey's scores, and its follow-up queries at the first gap that is still open."""
    known = {s.id for s in state.sources}
    changed = {g.id: g for g in event.gaps}
    current = {g.id: g for g in state.gaps} | changed
    for gap_id_ in survey.addressed_gap_ids:
        if gap_id_ in current and not current[gap_id_].addressed:
            resolution = f"Evidence was found in iteration {state.iteration}."
            changed[gap_id_] = current[gap_id_].model_copy(
                update={"addressed": True, "resolution": resolution}
            )
    for number, item in enumerate(survey.gaps):
        gap = gap_of(item, state, len(state.gaps) + number)
        changed.setdefault(gap.id, gap)
    still_open = [g for g in ({g.id: g for g in state.gaps} | changed).values() if not g.addressed]
    if still_open and survey.follow_ups:
        first = min(still_open, key=lambda g: (g.priority, g.iteration, g.rank))
        changed[first.id] = first.model_copy(update={"suggested_queries": survey.follow_ups})
    return event.model_copy(
        update={
            "gaps": tuple(changed.values()),
            "scores": {key: score for key, score in survey.scores.items() if key in known},
            "completeness": survey.completeness,
            "unknown_ids": survey.unknown,
        }
    )
