"""Reducers of events of ANALYSIS: what was read of sources, and the findings, gaps and scores. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from deep_research.state import events as ev
from deep_research.state.context_usage import ContextUsage, ReadDepth, SentItem
from deep_research.state.fold_state import FoldState, Reducers
from deep_research.state.phases import (
    DeepResearchPhase,
    SourceQuality,
)
from deep_research.state.records import (
    Finding,
    QualityUpdate,
)

reducers = Reducers()


@reducers.on(ev.SourcesAnalyzed)
def _analyzed(state: FoldState, event: ev.SourcesAnalyzed) -> None:
    if not event.task_ids:  # what a task found is not all that its sources tell
        state.analyzed.update(event.source_ids)
        state.analyzed_now.update(event.source_ids)
    if not event.findings:
        _passed_over(state, event.source_ids)
    state.irrelevant.update(event.irrelevant_ids)
    for finding in event.findings:
        current = state.findings.get(finding.id)
        state.findings[finding.id] = finding if current is None else _merge_findings(state, current, finding)
    for gap in event.gaps:
        current_gap = state.gaps.setdefault(gap.id, gap)
        if not current_gap.addressed and (gap.iteration, gap.rank) < (
            current_gap.iteration,
            current_gap.rank,
        ):
            state.gaps[gap.id] = gap
    for gap_id in event.addressed_gap_ids:
        gap = state.gaps[gap_id]
        state.gaps[gap_id] = gap.model_copy(update={"addressed": True})
    _update_qualities(state, event.quality_updates)
    state.unfounded += event.unfounded
    state.unknown_ids += event.unknown_ids
    state.own_words = state.own_words or event.own_words
    state.unlocated += event.unlocated
    state.contradictions.update((c.id, c) for c in event.contradictions)
    state.references.update((r, None) for r in event.references)
    for task_id in event.task_ids:
        state.tasks[task_id] = state.tasks[task_id].model_copy(update={"is_merged": True})


def _passed_over(state: FoldState, source_ids: Iterable[str]) -> None:
    """Of what a plan has nothing read of, all remains to be read."""
    triage = state.reading.triage if state.reading else ()
    nothing = {item.source_id for item in triage if item.extent is ReadDepth.NOTHING}
    for source_id in source_ids:
        if source_id in nothing:
            state.sections_read.setdefault(source_id, ())


def _merge_findings(state: FoldState, current: Finding, other: Finding) -> Finding:
    """One statement that two batches drew: all its sources and quotes, and the wording of who comes first by plan,
    not by arrival."""

    def place(source_id: str) -> tuple[int, int]:
        return state.place(state.sources[source_id])

    first, second = sorted(
        (current, other), key=lambda f: (f.iteration, min((place(i) for i in f.source_ids), default=(0, 0)))
    )
    quotes = dict.fromkeys((*first.quotes, *second.quotes))
    return first.model_copy(
        update={
            "source_ids": tuple(sorted({*first.source_ids, *second.source_ids}, key=place)),
            "quotes": tuple(sorted(quotes, key=lambda q: (place(q.source_id), q.start))),
            "relevance": max(first.relevance, second.relevance),
        }
    )


def _update_qualities(state: FoldState, updates: Iterable[QualityUpdate]) -> None:
    for update in updates:
        source = state.sources[update.source_id]
        if update.quality not in (source.quality, SourceQuality.UNKNOWN):
            state.sources[source.id] = source.model_copy(update={"quality": update.quality})


@reducers.on(ev.EvidenceWeighed)
def _weighed(state: FoldState, event: ev.EvidenceWeighed) -> None:
    for finding_id in event.dropped:
        del state.findings[finding_id]
    state.findings.update((f.id, f) for f in event.findings)
    state.gaps.update((g.id, g) for g in event.gaps)
    state.contradictions = {c.id: c for c in event.contradictions}
    for source_id, score in event.scores.items():
        state.sources[source_id] = state.sources[source_id].model_copy(update={"score": score})
    if event.completeness is not None:
        state.completeness = event.completeness
    if event.verdicts:
        state.parts, state.verdicts = event.parts or state.parts, event.verdicts
    state.unknown_ids += event.unknown_ids
    state.phase_done = True


@reducers.on(ev.ReadingPlanned)
def _reading_planned(state: FoldState, event: ev.ReadingPlanned) -> None:
    state.reading = event.plan


@reducers.on(ev.ContentSent)
def _content_sent(state: FoldState, event: ev.ContentSent) -> None:
    if event.phase is DeepResearchPhase.ANALYSIS:
        _sections_sent(state, event.sending)
    current = state.sent.get(event.phase)
    if current is None or event.phase is not DeepResearchPhase.ANALYSIS:
        state.sent[event.phase] = event.sending
        return
    before = {item.id: item for item in current.items}
    further = state.reading.read_on if state.reading else frozenset()
    now = [_more_of(before[i.id], i) if i.id in further & before.keys() else i for i in event.sending.items]
    items = before | {item.id: item for item in now}
    again = before.keys() & {item.id for item in now} - further
    # What is read once more counts as it was read last, and so does the room that it had.
    had = sum(item.current_tokens for item in current.items)
    left = sum(item.current_tokens for item in current.items if item.id not in again)
    state.sent[event.phase] = ContextUsage(
        items=tuple(items.values()),
        available=(current.available * left // had if had else 0 if again else current.available)
        + event.sending.available,
        archived=current.archived | event.sending.archived,
    )


def _more_of(before: SentItem, more: SentItem) -> SentItem:
    """What was sent of a source in two rounds, other sections in each."""
    return SentItem(
        id=before.id,
        original_tokens=before.original_tokens + more.original_tokens,
        current_tokens=before.current_tokens + more.current_tokens,
    )


def _sections_sent(state: FoldState, sending: ContextUsage) -> None:
    """Which sections of sources were read, where not all was."""
    triage = {item.source_id: item for item in state.reading.triage} if state.reading else {}
    for item in sending.items:
        if not item.current_tokens:
            continue
        choice = triage.get(item.id)
        if choice is None or choice.extent is ReadDepth.WHOLE:
            state.sections_read.pop(item.id, None)
        else:
            state.sections_read[item.id] = (*state.sections_read.get(item.id, ()), *choice.spans)
