"""What an analyzer or a task found, as the log has it: ids that were given, quotes in their places, words that these
quotes carry. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from deep_research.evidence.finding_clusters import confidence, level_of
from deep_research.evidence.language import written_in
from deep_research.evidence.quality import counted
from deep_research.evidence.quotes import QuoteFinder, quote_at, references
from deep_research.logs import cut
from deep_research.phases.analysis.foundations import LONGEST_FINDING, WholeTexts, founded
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedGap,
    AnalyzedQuote,
    AnalyzerInput,
    AnalyzerOutput,
)
from deep_research.phases.analysis.weighed_evidence import (
    contradictions_seen,
    gap_of,
    is_filled,
    part_of,
    parts_of,
)
from deep_research.state import (
    DeepResearchState,
    Finding,
    QualityUpdate,
    Quote,
    Reference,
    Source,
    Span,
    SubQuery,
    TaskState,
)
from deep_research.state.events import SourcesAnalyzed
from deep_research.state.identity import finding_id

MAX_PASSAGE_CHARS = 8_000  # of a finding that is the words of a source
GAPS_PER_SOURCE = 1_000  # room between the ranks of two batches' gaps

OF_OWNER = "Only the owner of the research can say: "  # opens the gap of a question that a task has to ask
FOR_OWNER, MISSING = 1, 2  # priorities


def analyzed(
    answer: AnalyzerOutput,
    handoff: AnalyzerInput,
    batch: Sequence[Source],
    texts: Mapping[str, str],
    state: DeepResearchState,
    asked_places: Container[int] = (),
) -> SourcesAnalyzed:
    """What an agent made of a batch: ``texts`` are the whole ones of the sources that it quotes, by id;
    ``asked_places`` are those of findings that it was asked about once more: they stand now, or are left out."""
    given = {s.id: s for s in batch}
    language = written_in(" ".join(item.content for item in answer.findings)) if answer.quoted else ""
    wholes = WholeTexts(given, texts)
    finder = QuoteFinder(texts)
    finder.together((q.quote, q.source_id, q.start) for item in answer.findings for q in item.quotes)
    findings = [
        finding_of(
            item,
            given,
            texts,
            state,
            quoted=answer.quoted,
            language=language,
            wholes=wholes,
            finder=finder,
            may_reword=place not in asked_places,
        )
        for place, item in enumerate(answer.findings)
    ]
    drawn = [finding for finding in findings if finding is not None]
    open_gaps = {g.id: g for g in handoff.open_gaps}
    filled_now = [
        i
        for i in dict.fromkeys(answer.addressed_gap_ids)
        if i in open_gaps and (answer.quoted or is_filled(open_gaps[i], drawn, state)) and drawn
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
        contradictions=contradictions_seen(answer.contradictions, drawn, state),
        references=_pointed_to(drawn, given, texts) if answer.quoted else (),
    )


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
    may_reword: bool = True,
) -> Finding | None:
    """The finding with its quotes in place, or None when no source that was given carries it. Where it has to be
    ``quoted``, only a source whose quote was found does, and the quotes have to say it, see `founded`; ``language`` is
    that of its words; ``wholes`` and ``finder`` are made once for several findings; ``may_reword`` is that of
    `founded`."""
    content = " ".join(cut(item.content, MAX_PASSAGE_CHARS).split())
    source_ids = tuple(i for i in dict.fromkeys(item.source_ids) if i in given)
    if not content or not source_ids or (quoted and len(content) > LONGEST_FINDING):
        return None
    quotes = _quotes(item, source_ids, given, texts, finder or QuoteFinder(texts))
    if not quoted:
        quotes = tuple(q for q in quotes if q.source_id in source_ids)
    else:
        ids = dict.fromkeys((*source_ids, *(q.source_id for q in quotes)))
        source_ids = tuple(i for i in ids if any(q.source_id == i for q in quotes))
        stands = founded(
            content, quotes, given, texts, language=language, wholes=wholes, may_reword=may_reword
        )
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
        part_id=part_of(item.part_id, item.sub_query_id, content, parts_of(state), state),
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


def untaken(state: DeepResearchState) -> tuple[TaskState, ...]:
    """The settled tasks that have something for the run which is not among its findings yet."""
    return tuple(t for t in state.tasks if t.settled and not t.taken and _has_something(t))


def taken_now(state: DeepResearchState) -> int:
    """How many tasks of this iteration have facts among the findings."""
    now = {s.id for s in state.sub_queries if s.iteration == state.iteration}
    return sum(t.taken and bool(t.outcome.facts) and t.task.sub_query_id in now for t in state.tasks)


def quoted_by_tasks(state: DeepResearchState) -> frozenset[str]:
    """The sources that settled tasks quote: nobody reads them again."""
    return frozenset(i for task in state.tasks if task.settled for i in task.quoted_source_ids)


def as_answer(stands: TaskState, sub_query: SubQuery) -> AnalyzerOutput:
    """A task's facts with their quotes, and a gap for each thing that it could not find, or that only the owner knows."""
    findings = tuple(
        AnalyzedFinding(
            content=fact.content,
            confidence=fact.confidence,
            source_ids=tuple(dict.fromkeys(quote.source_id for quote in fact.quotes)),
            quotes=tuple(
                AnalyzedQuote(source_id=quote.source_id, quote=quote.quote, start=quote.start)
                for quote in fact.quotes
            ),
            sub_query_id=sub_query.id,
            part_id=sub_query.part_id,
        )
        for fact in stands.outcome.facts
    )
    return AnalyzerOutput(findings=findings, gaps=_gaps(stands, sub_query), quoted=True)


def _has_something(stands: TaskState) -> bool:
    return bool(stands.outcome.facts) or bool(_lacking(stands))


def _gaps(stands: TaskState, sub_query: SubQuery) -> tuple[AnalyzedGap, ...]:
    return tuple(
        AnalyzedGap(description=description, priority=priority, part_id=sub_query.part_id)
        for description, priority in _lacking(stands)
    )


def _lacking(stands: TaskState) -> Sequence[tuple[str, int]]:
    """What is to be said of what a task did not find, each with its priority."""
    latest, review = stands.outcome, stands.review
    told = [(missing, MISSING) for missing in dict.fromkeys(latest.missing)]
    if latest.owner_question:
        told.insert(0, (f"{OF_OWNER}{latest.owner_question}", FOR_OWNER))
    elif review is not None and not review.approved:
        what = "Not settled" if any(finding.facts for finding in stands.findings) else "Not found"
        told.insert(0, (f"{what} by its task: {stands.task.question}", MISSING))
    return told
