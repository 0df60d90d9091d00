"""The evidence of a round weighed together, as the log has it: gaps, contradictions, which part of the question a finding
or a gap serves, and how far each part is answered. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from deep_research.phases.analysis.handoff import (
    AnalyzedContradiction,
    AnalyzedGap,
    AnalyzedStance,
    SurveyOutput,
)
from deep_research.retrieval.parsed_question import (
    ParsedQuestion,
    expected,
    may_hold,
    parse_question,
    question_parts,
    whole_names,
)
from deep_research.state import (
    AnswerStatus,
    ConfidenceLevel,
    Contradiction,
    DeepResearchState,
    Finding,
    Gap,
    PartVerdict,
    QuestionPart,
)
from deep_research.state.events import EvidenceWeighed
from deep_research.state.identity import gap_id
from deep_research.text.words import words
from deep_research.verification.contradictions import contradictions
from deep_research.verification.contrasts import carried, contrasted, join_contradictions, successors
from deep_research.verification.finding_clusters import filled, merge_findings, numbers

BY_CODE = "code"  # who saw a contradiction, where no model did
NOT_FOUND = "Not found: "  # opens the gap of a part that nothing answers


def weighed(state: DeepResearchState, *, several: bool, by_model: bool = False) -> EvidenceWeighed:
    """Put the batches together. When there were several, a gap that one of them saw may be filled by another: where a
    model reads (``by_model``) that is for it to say."""
    known_findings = {f.id: f for f in state.findings}
    findings = merge_findings(state.findings, {s.id: s for s in state.sources}, stated_counts=by_model)
    finding_ids = {f.id for f in findings}
    by_others = fillings(state, findings).keys() if several and not by_model else ()
    filled_now = (g for g in state.gaps if g.id in by_others or (g.addressed and g.resolution is None))
    return EvidenceWeighed(
        findings=tuple(f for f in findings if known_findings[f.id] != f),
        dropped=tuple(i for i in known_findings if i not in finding_ids),
        gaps=tuple(_resolved(gap, state) for gap in filled_now),
        contradictions=_contradictions(findings, state),
        verdicts=verdicts(parts_of(state), findings, state),
        parts=() if state.parts else parts_of(state),
    )


def with_findings(
    event: EvidenceWeighed, survey: SurveyOutput, found: Sequence[Finding], state: DeepResearchState
) -> EvidenceWeighed:
    """The event with what the survey ``found``, without what it dropped, and its verdicts on the parts."""
    fresh = {f.id for f in found}
    earlier_ids = {f.id for f in state.findings} - set(event.dropped)
    dropped = [i for i in dict.fromkeys(survey.dropped) if i in earlier_ids and i not in fresh]
    changed = (*(f for f in event.findings if f.id not in {*fresh, *dropped}), *found)
    event = event.model_copy(update={"findings": changed, "dropped": (*event.dropped, *dropped)})
    stand = standing_findings(event, state)
    ids = {f.id for f in stand}
    own = tuple(
        v.model_copy(update={"finding_ids": tuple(i for i in v.finding_ids if i in ids)})
        for v in survey.verdicts
    )
    if own or found or dropped:
        part_verdicts = own or verdicts(parts_of(state), stand, state)
        event = event.model_copy(update={"verdicts": part_verdicts})
    contradictions = contradictions_seen(survey.contradictions, (), state)
    if found or dropped or contradictions:
        event = event.model_copy(update={"contradictions": _contradictions(stand, state, contradictions)})
    return event


def with_lacking(event: EvidenceWeighed, state: DeepResearchState) -> EvidenceWeighed:
    """The event with a gap for each part that nothing answers, which a part that is answered now has no more."""
    parts = {part.id: part for part in parts_of(state)}
    current = {g.id: g for g in (*state.gaps, *event.gaps)}
    changed = {g.id: g for g in event.gaps}
    for verdict in event.verdicts:
        part = parts[verdict.part_id]
        description = f"{NOT_FOUND}{part.text}"
        key, is_lacking = gap_id(description), verdict.verdict is AnswerStatus.NOT_FOUND
        gap = current.get(key)
        if gap is None and is_lacking:
            priority = 1 if part is next(iter(parts.values())) else 2
            item = AnalyzedGap(description=description, priority=priority, part_id=part.id)
            changed[key] = gap_of(item, state, len(current) + len(changed))
        elif gap is not None and gap.addressed is is_lacking:
            reopened = gap.model_copy(update={"addressed": False, "resolution": None})
            changed[key] = reopened if is_lacking else _resolved(gap, state)
    return event.model_copy(update={"gaps": tuple(changed.values())})


def with_survey(event: EvidenceWeighed, survey: SurveyOutput, state: DeepResearchState) -> EvidenceWeighed:
    """The event with the survey's scores, and its follow-up queries at the first gap that is still open. What a model
    says of a gap holds; what code says only where a finding has what the gap asks for."""
    source_ids = {s.id for s in state.sources}
    changed = {g.id: g for g in event.gaps}
    current = {g.id: g for g in state.gaps} | changed
    stand = standing_findings(event, state)
    for gap_id_ in survey.addressed_gap_ids:
        gap = current.get(gap_id_)
        if gap and not gap.addressed and (survey.own_searches or is_filled(gap, stand, state)):
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
            "scores": {key: score for key, score in survey.scores.items() if key in source_ids},
            "completeness": survey.completeness,
            "unknown_ids": survey.unknown,
        }
    )


def fillings(state: DeepResearchState, findings: Sequence[Finding]) -> dict[str, tuple[str, ...]]:
    """The findings that cover an open gap, and with what it asks for, by its id: what code proposes."""
    by_gap: dict[str, tuple[str, ...]] = {}
    covered = filled(state.unresolved_gaps(), findings)
    for gap in state.unresolved_gaps():
        ids = [f.id for f in covered.get(gap.id, ()) if fills(f, gap, state)]
        if ids:
            by_gap[gap.id] = tuple(ids)
    return by_gap


def standing_findings(event: EvidenceWeighed, state: DeepResearchState) -> tuple[Finding, ...]:
    """The findings that stand after the event."""
    every = {f.id: f for f in (*state.findings, *event.findings)}
    return tuple(f for f in every.values() if f.id not in event.dropped)


def _contradictions(
    findings: Sequence[Finding],
    state: DeepResearchState,
    told: Iterable[Contradiction] = (),
) -> tuple[Contradiction, ...]:
    """Those that code finds, and those that models saw in this round or before, between findings that stand."""
    by_models = [c for c in (*state.contradictions, *told) if c.by != BY_CODE]
    told_by_models = carried(by_models, successors(state.findings, findings))
    return join_contradictions(contradictions(findings, state.sources), told_by_models)


def contradictions_seen(
    told: Iterable[AnalyzedContradiction], drawn: Sequence[Finding], state: DeepResearchState
) -> tuple[Contradiction, ...]:
    """The contradictions that a model saw between findings that stand."""
    sources = {s.id: s for s in state.sources}
    by_id = {f.id: f for f in (*state.findings, *drawn)}
    contradictions: dict[str, Contradiction] = {}
    for item in told:
        stances = [
            (finding, stance.says)
            for stance in item.stances
            if (finding := _taking(stance, by_id, drawn)) is not None
        ]
        contrast = contrasted(stances, item.differs, sources, of=item.of, by=item.by)
        if contrast is not None:
            contradictions.setdefault(contrast.id, contrast)
    return tuple(contradictions.values())


def _taking(stance: AnalyzedStance, by_id: Mapping[str, Finding], drawn: Sequence[Finding]) -> Finding | None:
    """The finding that takes a stance: of those that a source carries the one that says it."""
    if stance.finding_id is not None:
        return by_id.get(stance.finding_id)
    stance_words = set(words(stance.says.casefold()))

    def nearness(finding: Finding) -> tuple[bool, int]:
        quotes = (q.quote for q in finding.quotes if q.source_id == stance.source_id)
        text = " ".join((finding.content, *quotes))
        return numbers(stance.says) <= numbers(text), len(stance_words & set(words(text.casefold())))

    carried = [f for f in drawn if stance.source_id in f.source_ids]
    return max(carried, key=nearness, default=None)


def gap_of(item: AnalyzedGap, state: DeepResearchState, rank: int) -> Gap:
    return Gap(
        id=gap_id(item.description),
        description=" ".join(item.description.split()),
        suggested_queries=item.suggested_queries,
        priority=item.priority,
        iteration=state.iteration,
        rank=rank,
        part_id=part_of(item.part_id, None, item.description, state),
    )


def open_at_start(state: DeepResearchState) -> tuple[Gap, ...]:
    """The gaps of earlier iterations as they stood when the phase began: a unit is told the same after a crash as
    before, whatever the units already stored have found or filled."""
    return tuple(
        gap.model_copy(update={"addressed": False})
        for gap in state.gaps
        if gap.iteration < state.iteration and (not gap.addressed or gap.resolution is None)
    )


def _resolved(gap: Gap, state: DeepResearchState) -> Gap:
    resolution = f"Evidence was found in iteration {state.iteration}."
    return gap.model_copy(update={"addressed": True, "resolution": resolution})


def is_filled(gap: Gap, stand: Sequence[Finding], state: DeepResearchState) -> bool:
    return any(fills(finding, gap, state) for finding in stand)


def parts_of(state: DeepResearchState) -> tuple[QuestionPart, ...]:
    return state.parts or question_parts(state.query)


def part_of(named: str | None, sub_query_id: str | None, text: str, state: DeepResearchState) -> str | None:
    """The part that a statement serves: the one that is ``named``; that of the search which led to it; that of whose
    words the ``text`` has most."""
    parts = parts_of(state)
    part_ids = {part.id for part in parts}
    if named in part_ids:
        return named
    if len(parts) < 2:
        return next(iter(part_ids), None)
    found_by = next((s.part_id for s in state.sub_queries if s.id == sub_query_id), None)
    if found_by in part_ids:
        return found_by
    question = parse_question(state.query)

    def share(part: QuestionPart) -> float:
        of_part = question.of_part(part)
        terms = set(of_part.terms)
        return len(terms & set(of_part.words.terms(text))) / max(1, len(terms))

    return max(parts, key=share).id


def verdicts(
    parts: Sequence[QuestionPart], findings: Iterable[Finding], state: DeepResearchState
) -> tuple[PartVerdict, ...]:
    """By the findings that serve each part: it is answered where one is more than a guess and holds the kind of answer
    that the part expects."""
    of_part: dict[str | None, list[Finding]] = {}
    for finding in findings:
        served = part_of(finding.part_id, finding.sub_query_id, finding.content, state)
        of_part.setdefault(served, []).append(finding)
    question = parse_question(state.query)
    every: list[PartVerdict] = []
    for part in parts:
        own, part_question = of_part.get(part.id, []), question.of_part(part)
        sure = any(
            f.confidence is not ConfidenceLevel.SPECULATION
            and _holds(f, part.expects, part_question.terms, question)
            for f in own
        )
        names = _name_share(part_question, own, state)
        verdict = AnswerStatus.PARTLY if own and names else AnswerStatus.NOT_FOUND
        verdict = AnswerStatus.ANSWERED if sure and names == 1.0 else verdict
        every.append(PartVerdict(part_id=part.id, verdict=verdict, finding_ids=tuple(f.id for f in own)))
    return tuple(every)


def _name_share(question: ParsedQuestion, findings: Iterable[Finding], state: DeepResearchState) -> float:
    """The share of the names of a part's question that its findings have, or what was found with their sources; 1 where
    it has none."""
    names = whole_names(question)
    sources = {source.id: source for source in state.sources}
    texts: list[str] = []
    for finding in findings:
        texts += (finding.content, finding.heading, *(quote.quote for quote in finding.quotes))
        texts += (f"{sources[i].title} {sources[i].snippet}" for i in finding.source_ids if i in sources)
    terms = set(question.words.terms(" ".join(texts)))
    return sum(name <= terms for name in names) / len(names) if names else 1.0


def fills(finding: Finding, gap: Gap, state: DeepResearchState) -> bool:
    """Whether a finding holds something of the kind that a gap asks for: by its own words, else by those of its part."""
    question = parse_question(state.query)
    gap_question = parse_question(gap.description.partition(": ")[2] or gap.description, question.language)
    kind = expected(gap_question.text, gap_question.words)
    if not kind:
        kind = next((part.expects for part in parts_of(state) if part.id == gap.part_id), "")
    return _holds(finding, kind, gap_question.terms, question)


def _holds(finding: Finding, kind: str, terms: Iterable[str], question: ParsedQuestion) -> bool:
    """Whether a finding holds something of a kind, as far as that shows in its form."""
    finding_text = "\n".join((finding.content, *(quote.quote for quote in finding.quotes)))
    return may_hold(kind, finding_text, question.words, frozenset(terms))
