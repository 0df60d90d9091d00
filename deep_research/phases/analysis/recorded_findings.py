"""What an analyzer found, as the log has it: ids that were given, quotes in their places, evidence weighed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from deep_research.evidence.citations import QuoteFinder, quote_at
from deep_research.evidence.contradictions import contradictions
from deep_research.evidence.contrasts import carried, contrasted, joined, successors
from deep_research.evidence.finding_clusters import confidence, filled, level_of, merged, numbers
from deep_research.evidence.inquiry import question_parts
from deep_research.evidence.quality import counted
from deep_research.evidence.references import references
from deep_research.evidence.support import written_in
from deep_research.evidence.words import words
from deep_research.phases.analysis.handoff import (
    AnalyzedContradiction,
    AnalyzedFinding,
    AnalyzedGap,
    AnalyzedStance,
    AnalyzerInput,
    AnalyzerOutput,
    SurveyOutput,
)
from deep_research.phases.analysis.quote_support import WholeTexts, founded
from deep_research.phases.analysis.verdicts import fills, part_of, verdicts
from deep_research.state import (
    Contradiction,
    DeepResearchState,
    Finding,
    Found,
    Gap,
    QualityUpdate,
    QuestionPart,
    Quote,
    Reference,
    Source,
    Span,
)
from deep_research.state.events import EvidenceWeighed, SourcesAnalyzed
from deep_research.state.identity import finding_id, gap_id

BY_CODE = "code"  # who saw a contradiction, where no model did
LONGEST_FINDING = 2_000  # characters of a statement that an agent made in its own words
NOT_FOUND = "Not found: "  # opens the gap of a part that nothing answers
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
    language = written_in(" ".join(item.content for item in answer.findings)) if answer.quoted else ""
    wholes = WholeTexts(given, texts)
    finder = QuoteFinder(texts)
    finder.together((q.quote, q.source_id, q.start) for item in answer.findings for q in item.quotes)
    findings = [
        finding_of(
            item, given, texts, state, quoted=answer.quoted, language=language, wholes=wholes, finder=finder
        )
        for item in answer.findings
    ]
    drawn = [finding for finding in findings if finding is not None]
    open_gaps = {g.id: g for g in handoff.open_gaps}
    filled_now = [
        i
        for i in dict.fromkeys(answer.addressed_gap_ids)
        if i in open_gaps and (answer.quoted or _is_filled(open_gaps[i], drawn, state)) and drawn
    ]
    first = next((n for n, s in enumerate(state.sources) if s.id in given), 0) * GAPS_PER_SOURCE
    return SourcesAnalyzed(
        source_ids=tuple(given),
        findings=tuple(drawn),
        gaps=tuple(
            gap_of(item, state, first + number)
            for number, item in enumerate(answer.gaps)
            if item.description.strip()
        ),
        quality_updates=tuple(
            QualityUpdate(source_id=u.source_id, quality=quality)
            for u in answer.quality_updates
            if u.source_id in given
            and (quality := counted(u.quality, given[u.source_id])) is not given[u.source_id].quality
        ),
        addressed_gap_ids=tuple(filled_now),
        unfounded=len(findings) - len(drawn),
        unknown_ids=answer.unknown,
        own_words=answer.quoted and bool(drawn),
        unlocated=finder.missed,
        contradictions=_seen(answer.contradictions, drawn, state),
        references=_pointed_to(drawn, given, texts) if answer.quoted else (),
    )


def _seen(
    told: Iterable[AnalyzedContradiction], drawn: Sequence[Finding], state: DeepResearchState
) -> tuple[Contradiction, ...]:
    """The contradictions that a model saw between findings that stand."""
    sources = {s.id: s for s in state.sources}
    by_id = {f.id: f for f in (*state.findings, *drawn)}
    made: dict[str, Contradiction] = {}
    for item in told:
        stances = [
            (finding, stance.says)
            for stance in item.stances
            if (finding := _taking(stance, by_id, drawn)) is not None
        ]
        found = contrasted(stances, item.differs, sources, of=item.of, by=item.by)
        if found is not None:
            made.setdefault(found.id, found)
    return tuple(made.values())


def _taking(stance: AnalyzedStance, by_id: Mapping[str, Finding], drawn: Sequence[Finding]) -> Finding | None:
    """The finding that takes a stance: of those that a source carries the one that says it."""
    if stance.finding_id is not None:
        return by_id.get(stance.finding_id)
    wanted = set(words(stance.says.casefold()))

    def nearness(finding: Finding) -> tuple[bool, int]:
        said = " ".join(
            (finding.content, *(q.quote for q in finding.quotes if q.source_id == stance.source_id))
        )
        return numbers(stance.says) <= numbers(said), len(wanted & set(words(said.casefold())))

    carried = [f for f in drawn if stance.source_id in f.source_ids]
    return max(carried, key=nearness, default=None)


def _pointed_to(
    drawn: Sequence[Finding], given: Mapping[str, Source], texts: Mapping[str, str]
) -> tuple[Reference, ...]:
    """Where the sources that are quoted point to, near what is quoted of them and what the search matched."""
    spans: dict[str, list[Span]] = {}
    for quote in (q for finding in drawn for q in finding.quotes):
        spans.setdefault(quote.source_id, list(given[quote.source_id].passages)).append(
            Span(start=quote.start, end=quote.end)
        )
    return tuple(r for i, near in spans.items() for r in references(i, texts[i], near))


def gap_of(item: AnalyzedGap, state: DeepResearchState, rank: int) -> Gap:
    return Gap(
        id=gap_id(item.description),
        description=" ".join(item.description.split()),
        suggested_queries=item.suggested_queries,
        priority=item.priority,
        iteration=state.iteration,
        rank=rank,
        part_id=part_of(item.part_id, None, item.description, _parts(state), state),
    )


def _parts(state: DeepResearchState) -> tuple[QuestionPart, ...]:
    return state.parts or question_parts(state.query)


def finding_of(
    item: AnalyzedFinding,
    given: Mapping[str, Source],
    texts: Mapping[str, str],
    state: DeepResearchState,
    *,
    quoted: bool = False,
    language: str = "",
    wholes: WholeTexts | None = None,
    finder: QuoteFinder | None = None,
) -> Finding | None:
    """The finding with its quotes in place, or None when no source that was given carries it. Where it has to be
    ``quoted``, only a source whose quote was found does, and the quotes have to say it, see `founded`; ``language`` is
    that of its words; ``wholes`` and ``finder`` are made once for several findings."""
    content = " ".join(item.content.split())
    source_ids = tuple(i for i in dict.fromkeys(item.source_ids) if i in given)
    if not content or not source_ids or (quoted and len(content) > LONGEST_FINDING):
        return None
    quotes = _quotes(item, source_ids, given, texts, finder or QuoteFinder(texts))
    if not quoted:
        quotes = tuple(q for q in quotes if q.source_id in source_ids)
    else:
        ids = dict.fromkeys((*source_ids, *(q.source_id for q in quotes)))
        source_ids = tuple(i for i in ids if any(q.source_id == i for q in quotes))
        stands = founded(content, quotes, given, texts, language=language, wholes=wholes)
        if not source_ids or stands is None or len(stands[0]) > LONGEST_FINDING:
            return None
        content, quotes = stands
    return Finding(
        id=finding_id(content),
        content=content,
        confidence=(
            confidence(item.confidence, source_ids, given, stated_counts=quoted)
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
        part_id=part_of(item.part_id, item.sub_query_id, content, _parts(state), state),
    )


def _quotes(
    item: AnalyzedFinding,
    source_ids: Sequence[str],
    given: Mapping[str, Source],
    texts: Mapping[str, str],
    finder: QuoteFinder,
) -> tuple[Quote, ...]:
    """The quotes of a finding's sources, each where it stands, which may be in another source than was named."""
    return tuple(
        quote_at(span, texts[name], name, given[name].content_hash or "")
        for q in item.quotes
        if q.source_id in source_ids
        for name, spans in filter(None, (finder.find(q.quote, q.source_id, q.start),))
        for span in spans
    )


def weighed(state: DeepResearchState, *, several: bool, by_model: bool = False) -> EvidenceWeighed:
    """Put the batches together. When there were several, a gap that one of them saw may be filled by another: where a
    model reads (``by_model``) that is for it to say."""
    known = {f.id: f for f in state.findings}
    findings = merged(state.findings, {s.id: s for s in state.sources}, stated_counts=by_model)
    kept = {f.id for f in findings}
    by_others = fillings(state, findings).keys() if several and not by_model else ()
    filled_now = (g for g in state.gaps if g.id in by_others or (g.addressed and g.resolution is None))
    return EvidenceWeighed(
        findings=tuple(f for f in findings if known[f.id] != f),
        dropped=tuple(i for i in known if i not in kept),
        gaps=tuple(_resolved(gap, state) for gap in filled_now),
        contradictions=_contradictions(findings, state),
        verdicts=verdicts(_parts(state), findings, state),
        parts=() if state.parts else _parts(state),
    )


def _contradictions(
    findings: Sequence[Finding],
    state: DeepResearchState,
    told: Iterable[Contradiction] = (),
) -> tuple[Contradiction, ...]:
    """Those that code finds, and those that models saw in this round or before, between findings that stand."""
    by_models = [c for c in (*state.contradictions, *told) if c.by != BY_CODE]
    standing_ = carried(by_models, successors(state.findings, findings))
    return joined(contradictions(findings, state.sources), standing_)


def fillings(state: DeepResearchState, findings: Sequence[Finding]) -> dict[str, tuple[str, ...]]:
    """The findings that cover an open gap, and with what it asks for, by its id: what code proposes."""
    found: dict[str, tuple[str, ...]] = {}
    covered = filled(state.unresolved_gaps(), findings)
    for gap in state.unresolved_gaps():
        ids = [f.id for f in covered.get(gap.id, ()) if fills(f, gap, _parts(state), state.query)]
        if ids:
            found[gap.id] = tuple(ids)
    return found


def with_findings(
    event: EvidenceWeighed, survey: SurveyOutput, found: Sequence[Finding], state: DeepResearchState
) -> EvidenceWeighed:
    """The event with what the survey ``found``, without what it dropped, and its verdicts on the parts."""
    fresh = {f.id for f in found}
    known = {f.id for f in state.findings} - set(event.dropped)
    dropped = [i for i in dict.fromkeys(survey.dropped) if i in known and i not in fresh]
    changed = (*(f for f in event.findings if f.id not in {*fresh, *dropped}), *found)
    event = event.model_copy(update={"findings": changed, "dropped": (*event.dropped, *dropped)})
    stand = standing(event, state)
    ids = {f.id for f in stand}
    own = tuple(
        v.model_copy(update={"finding_ids": tuple(i for i in v.finding_ids if i in ids)})
        for v in survey.verdicts
    )
    if own or found or dropped:
        told = own or verdicts(_parts(state), stand, state)
        event = event.model_copy(update={"verdicts": told})
    seen = _seen(survey.contradictions, (), state)
    if found or dropped or seen:
        event = event.model_copy(update={"contradictions": _contradictions(stand, state, seen)})
    return event


def standing(event: EvidenceWeighed, state: DeepResearchState) -> tuple[Finding, ...]:
    """The findings that stand after the event."""
    every = {f.id: f for f in (*state.findings, *event.findings)}
    return tuple(f for f in every.values() if f.id not in event.dropped)


def with_lacking(event: EvidenceWeighed, state: DeepResearchState) -> EvidenceWeighed:
    """The event with a gap for each part that nothing answers, which a part that is answered now has no more."""
    parts = {part.id: part for part in _parts(state)}
    current = {g.id: g for g in (*state.gaps, *event.gaps)}
    changed = {g.id: g for g in event.gaps}
    for verdict in event.verdicts:
        part = parts[verdict.part_id]
        key = gap_id(f"{NOT_FOUND}{part.text}")
        held = current.get(key)
        if verdict.verdict is Found.NOT_FOUND and held is None:
            priority = 1 if part is next(iter(parts.values())) else 2
            item = AnalyzedGap(description=f"{NOT_FOUND}{part.text}", priority=priority, part_id=part.id)
            changed[key] = gap_of(item, state, len(current) + len(changed))
        elif verdict.verdict is Found.NOT_FOUND and held is not None and held.addressed:
            changed[key] = held.model_copy(update={"addressed": False, "resolution": None})
        elif verdict.verdict is not Found.NOT_FOUND and held is not None and not held.addressed:
            changed[key] = _resolved(held, state)
    return event.model_copy(update={"gaps": tuple(changed.values())})


def _resolved(gap: Gap, state: DeepResearchState) -> Gap:
    resolution = f"Evidence was found in iteration {state.iteration}."
    return gap.model_copy(update={"addressed": True, "resolution": resolution})


def _is_filled(gap: Gap, stand: Sequence[Finding], state: DeepResearchState) -> bool:
    return any(fills(finding, gap, _parts(state), state.query) for finding in stand)


def with_survey(event: EvidenceWeighed, survey: SurveyOutput, state: DeepResearchState) -> EvidenceWeighed:
    """The event with the survey's scores, and its follow-up queries at the first gap that is still open. What a model
    says of a gap holds; what code says only where a finding has what the gap asks for."""
    known = {s.id for s in state.sources}
    changed = {g.id: g for g in event.gaps}
    current = {g.id: g for g in state.gaps} | changed
    stand = standing(event, state)
    for gap_id_ in survey.addressed_gap_ids:
        gap = current.get(gap_id_)
        if gap and not gap.addressed and (survey.own_searches or _is_filled(gap, stand, state)):
            changed[gap_id_] = _resolved(gap, state)
    for number, item in enumerate(survey.gaps):
        gap = gap_of(item, state, len(state.gaps) + number)
        changed.setdefault(gap.id, gap)
    still_open = [g for g in ({g.id: g for g in state.gaps} | changed).values() if not g.addressed]
    if still_open and survey.follow_ups:
        first = min(still_open, key=lambda g: (g.priority, g.iteration, g.rank))
        own = first.suggested_queries if survey.own_searches else ()
        queries = tuple(dict.fromkeys((*own, *survey.follow_ups)))
        changed[first.id] = first.model_copy(update={"suggested_queries": queries})
    return event.model_copy(
        update={
            "gaps": tuple(changed.values()),
            "scores": {key: score for key, score in survey.scores.items() if key in known},
            "completeness": survey.completeness,
            "unknown_ids": survey.unknown,
        }
    )
