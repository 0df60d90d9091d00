"""The findings of an analyzer or a task, as the log has them: ids that were given, quotes in their places, words that
these quotes, and the words of their sources around them, carry. Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from deep_research.logs import cut
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
)
from deep_research.provenance.quality import bounded_quality
from deep_research.provenance.quotes import Prepared, QuoteFinder, quote_at, readable, references
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
from deep_research.text.language import language_of, written_in
from deep_research.text.passages import sentences
from deep_research.text.plain import plainly
from deep_research.text.sentences import CLOSING, END_MARKS
from deep_research.text.statements import Kind, likeness, reader
from deep_research.verification.evidence_text import EvidenceText
from deep_research.verification.finding_clusters import confidence, level_of
from deep_research.verification.support import MAX_SENTENCES, MIN_PARTIAL_SHARE, Support, check, is_doubted

MAX_FINDING_CHARS = 2_000  # characters of a statement that an agent made in its own words
AROUND = MAX_FINDING_CHARS  # characters in which the sentences of a quote begin and end

MAX_PASSAGE_CHARS = 8_000  # of a finding that is the words of a source
GAPS_PER_SOURCE = 1_000  # room between the ranks of two batches' gaps
OF_OWNER = "Only the owner of the research can say: "  # opens the gap of a question that a task has to ask
FOR_OWNER, MISSING = 1, 2  # priorities


class WholeTexts:
    """The whole texts of sources, by id: each is prepared when a finding is first set against it, and those that were
    used last are kept for the other findings of a batch. ``titles`` are those of the sources, by id."""

    def __init__(self, titles: Mapping[str, str], texts: Mapping[str, str]) -> None:
        self.titles = titles
        self.texts = texts
        self._prepared = Prepared[EvidenceText]()

    def of(self, source_id: str) -> EvidenceText:
        make = partial(EvidenceText, title=self.titles[source_id])
        return self._prepared.of(source_id, self.texts[source_id], make)


@dataclass(frozen=True, slots=True)
class Foundation:
    """What carries the words of a finding: its quotes, with the sentences ``beside`` them, each by the id of its source.
    Where nothing does, ``doubts`` say of which of its sentences, and why."""

    beside: tuple[tuple[str, Span], ...] = ()
    doubts: tuple[Support, ...] = ()

    @property
    def lacking(self) -> tuple[str, ...]:
        """The words that nothing has, each once."""
        reasons = (reason.claimed for doubt in self.doubts for reason in doubt.reasons)
        return tuple(dict.fromkeys(filter(None, reasons)))


@dataclass(frozen=True, slots=True)
class Passage:
    """The words of a quote, and the ``sentences`` of its source in which they stand."""

    source_id: str
    words: str
    sentences: str

    @classmethod
    def at(cls, source_id: str, text: str, start: int, end: int) -> Passage:
        """That of a text."""
        span = _whole_sentences(text, start, end)
        return cls(source_id, text[start:end], text[span.start : span.end])


def foundation(content: str, quotes: Sequence[Passage], wholes: WholeTexts, language: str = "") -> Foundation:
    """Of a finding with one quote at least. A fragment carries nothing that its sentence does not: the denial may stand
    before it. ``language`` is that of the words of the finding."""
    if any(plainly(content) == plainly(quote.words) for quote in quotes):
        return Foundation()
    most = max(MAX_SENTENCES, len(quotes))

    def carry(texts: Sequence[str]) -> bool:
        pairs = zip(texts, quotes, strict=True)
        source_texts = [EvidenceText(text, title=wholes.titles[quote.source_id]) for text, quote in pairs]
        return not _doubts(content, source_texts, language, most)[0]

    words, around = [quote.words for quote in quotes], [quote.sentences for quote in quotes]
    if carry(words) and (words == around or carry(around)):
        return Foundation()
    ids = list(dict.fromkeys(quote.source_id for quote in quotes))
    doubts, whole = _doubts(content, list(map(wholes.of, ids)), language)
    if doubts:
        return Foundation(doubts=tuple(doubts))
    return Foundation(beside=tuple((ids[place.source], place.span) for place in whole.places))


def founded(
    content: str,
    quotes: Sequence[Quote],
    sources: Mapping[str, Source],
    wholes: WholeTexts,
    *,
    language: str = "",
    may_reword: bool = True,
) -> tuple[str, tuple[Quote, ...]] | None:
    """The words of a finding, and its quotes. Words that the quotes carry stand. Where another sentence of their sources
    does, that is quoted as well. Else they give way to the sentences of the quotes that come near, where they
    ``may``; None where none comes near. ``wholes`` are the texts of ``sources``; ``language`` is that of the words."""
    if not quotes:
        return None
    texts = wholes.texts
    passages = [Passage.at(q.source_id, texts[q.source_id], q.start, q.end) for q in quotes]
    support = foundation(content, passages, wholes, language)
    if support.doubts:
        return _reworded(content, quotes, sources, texts) if may_reword else None
    further = [
        quote_at(span, texts[source_id], source_id, sources[source_id].content_hash or "")
        for source_id, span in support.beside
    ]
    return content, (*quotes, *(q for q in further if not any(_holds(quote, q) for quote in quotes)))


def _doubts(
    content: str, texts: Sequence[EvidenceText], language: str, most: int = MAX_SENTENCES
) -> tuple[list[Support], Support]:
    """What texts do not carry of the words of a finding: of all together, and of each of its sentences; and what they
    hold of all together."""
    whole = check(content, texts, language=language, most=most)
    parts = [content[span.start : span.end] for span in sentences(content)]
    each = [check(part, texts, language=language, most=most) for part in parts] if len(parts) > 1 else []
    doubted = [one for one in (whole, *each) if is_doubted(one.verdict, one.reasons, language=language)]
    return doubted, whole


def _reworded(
    content: str, quotes: Sequence[Quote], sources: Mapping[str, Source], texts: Mapping[str, str]
) -> tuple[str, tuple[Quote, ...]] | None:
    """The sentences of the quotes that come near the words, joined, and these as quotes before the others. A fragment
    that says nothing by itself takes nobody's place."""
    quotes_by_content: dict[str, Quote] = {}
    for quote in quotes:
        text, source = texts[quote.source_id], sources[quote.source_id]
        span = _whole_sentences(text, quote.start, quote.end)
        words = readable(text, span.start, span.end)
        whole = quote_at(span, text, source.id, source.content_hash or "")
        pairs = (content, whole.quote), (quote.quote, content)
        near = max(likeness(one, other, source.title) for one, other in pairs)
        if near >= MIN_PARTIAL_SHARE and _stands_alone(words, content):
            quotes_by_content.setdefault(words, whole)
    if not quotes_by_content:
        return None
    others = (q for q in quotes if not any(_holds(whole, q) for whole in quotes_by_content.values()))
    return " ".join(quotes_by_content), (*quotes_by_content.values(), *others)


def _stands_alone(words: str, content: str) -> bool:
    """Whether words of a source can take the place of a finding: a whole sentence can, and what has a name of the finding
    and, where that has figures, figures."""
    if words.rstrip(CLOSING)[-1:] in END_MARKS and not words.startswith("#"):
        return True
    reads = reader(language_of(words))
    tokens, content_tokens = reads.read(words).tokens, reads.read(content).tokens
    keys = {token.key for token in tokens}
    has_subject = any(token.kind is Kind.NAME and token.key in keys for token in content_tokens)
    has_figures = any(token.value is not None for token in tokens)
    return has_subject and (has_figures or all(token.value is None for token in content_tokens))


def _holds(one: Quote, other: Quote) -> bool:
    return one.source_id == other.source_id and one.start <= other.start and other.end <= one.end


def _whole_sentences(text: str, start: int, end: int) -> Span:
    """Where the sentences begin and end in which a passage stands."""
    first = text.rfind("\n\n", max(0, start - AROUND), start)
    last = text.find("\n\n", end, end + AROUND)
    begin = first + 2 if first >= 0 else max(0, start - AROUND)
    stop = last if last >= 0 else min(len(text), end + AROUND)
    inside = [span for span in sentences(text, begin, stop) if span.start < end and span.end > start]
    return Span(start=inside[0].start, end=inside[-1].end) if inside else Span(start=start, end=end)


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
    by_id = {s.id: s for s in batch}
    language = written_in(" ".join(item.content for item in answer.findings)) if answer.has_quotes else ""
    of_batch = Findings(by_id, texts, state, needs_quotes=answer.has_quotes, language=language)
    of_batch.finder.together((q.quote, q.source_id, q.start) for item in answer.findings for q in item.quotes)
    findings = [
        of_batch.finding(item, may_reword=place not in asked_places)
        for place, item in enumerate(answer.findings)
    ]
    valid = [finding for finding in findings if finding is not None]
    cited_ids = {source_id for finding in valid for source_id in finding.source_ids}
    open_gaps = {g.id: g for g in handoff.open_gaps}
    filled_now = [
        i
        for i in dict.fromkeys(answer.addressed_gap_ids)
        if i in open_gaps and (answer.has_quotes or is_filled(open_gaps[i], valid, state)) and valid
    ]
    first = next((n for n, s in enumerate(state.sources) if s.id in by_id), 0) * GAPS_PER_SOURCE
    return SourcesAnalyzed(
        source_ids=tuple(by_id),
        findings=tuple(valid),
        gaps=tuple(
            gap_of(item, state, first + number)
            for number, item in enumerate(answer.gaps)
            if item.description.strip()
        ),
        quality_updates=tuple(
            QualityUpdate(source_id=u.source_id, quality=quality)
            for u in answer.quality_updates
            if u.source_id in by_id
            and (quality := bounded_quality(u.quality, by_id[u.source_id])) is not by_id[u.source_id].quality
        ),
        irrelevant_ids=tuple(
            i for i in dict.fromkeys(answer.irrelevant_ids) if i in by_id and i not in cited_ids
        ),
        addressed_gap_ids=tuple(filled_now),
        unfounded=len(findings) - len(valid),
        unknown_ids=answer.unknown,
        own_words=answer.has_quotes and bool(valid),
        unlocated=of_batch.finder.missed,
        contradictions=contradictions_seen(answer.contradictions, valid, state),
        references=_pointed_to(valid, by_id, texts) if answer.has_quotes else (),
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


@dataclass
class Findings:
    """What an agent found in ``sources`` sources, whose whole texts are known by id. Where it has to be
    ``needs_quotes``, only a source whose quote was found carries a finding, and the quotes have to say it, see
    `founded`; ``language`` is that of its words."""

    sources: Mapping[str, Source]
    texts: Mapping[str, str]
    state: DeepResearchState
    needs_quotes: bool = False
    language: str = ""

    def __post_init__(self) -> None:
        self.finder = QuoteFinder(self.texts)
        self._wholes = WholeTexts({i: source.title for i, source in self.sources.items()}, self.texts)

    def finding(self, item: AnalyzedFinding, *, may_reword: bool = True) -> Finding | None:
        """The finding with its quotes in place, or None when no source that was given carries it; ``may_reword`` is that
        of `founded`."""
        content = " ".join(cut(item.content, MAX_PASSAGE_CHARS).split())
        source_ids = tuple(i for i in dict.fromkeys(item.source_ids) if i in self.sources)
        if not content or not source_ids or (self.needs_quotes and len(content) > MAX_FINDING_CHARS):
            return None
        quotes = self._located(item, source_ids)
        quoted_ids = {q.source_id for q in quotes}
        if not self.needs_quotes:
            quotes = tuple(q for q in quotes if q.source_id in source_ids)
        else:
            ids = dict.fromkeys((*source_ids, *(q.source_id for q in quotes)))
            source_ids = tuple(i for i in ids if i in quoted_ids)
            stands = founded(
                content, quotes, self.sources, self._wholes, language=self.language, may_reword=may_reword
            )
            if not source_ids or stands is None or len(stands[0]) > MAX_FINDING_CHARS:
                return None
            content, quotes = stands
        certainty = (
            confidence(item.confidence, source_ids, self.sources, stated_counts=self.needs_quotes)
            if item.probability is None
            else level_of(item.probability)
        )
        own = {
            "id": finding_id(content),
            "content": content,
            "confidence": certainty,
            "source_ids": source_ids,
            "quotes": quotes,
            "iteration": item.iteration or self.state.iteration,
            "part_id": part_of(item.part_id, item.sub_query_id, content, self.state),
        }
        return Finding(**(dict(item) | own))

    def _located(self, item: AnalyzedFinding, source_ids: Sequence[str]) -> tuple[Quote, ...]:
        """The quotes of a finding's sources, each where it stands, which may be in another source than was named."""
        return tuple(
            quote_at(span, self.texts[name], name, self.sources[name].content_hash or "")
            for q in item.quotes
            if q.source_id in source_ids
            for name, spans in filter(None, (self.finder.find(q.quote, q.source_id, q.start),))
            for span in spans
        )


def untaken(state: DeepResearchState) -> tuple[TaskState, ...]:
    """The settled tasks that have something for the run which is not among its findings yet."""
    return tuple(
        t for t in state.tasks if t.is_settled and not t.is_merged and (t.outcome.facts or _lacking(t))
    )


def taken_now(state: DeepResearchState) -> int:
    """How many tasks of this iteration have facts among the findings."""
    now = {s.id for s in state.sub_queries if s.iteration == state.iteration}
    return sum(t.is_merged and bool(t.outcome.facts) and t.task.sub_query_id in now for t in state.tasks)


def as_answer(stands: TaskState, sub_query: SubQuery) -> AnalyzerOutput:
    """A task's facts with their quotes, and a gap for each thing that it could not find, or that only the owner knows."""
    findings = tuple(
        AnalyzedFinding(
            content=fact.content,
            confidence=fact.confidence,
            source_ids=tuple(dict.fromkeys(quote.source_id for quote in fact.quotes)),
            quotes=tuple(map(AnalyzedQuote.of, fact.quotes)),
            sub_query_id=sub_query.id,
            part_id=sub_query.part_id,
        )
        for fact in stands.outcome.facts
    )
    gaps = tuple(
        AnalyzedGap(description=description, priority=priority, part_id=sub_query.part_id)
        for description, priority in _lacking(stands)
    )
    return AnalyzerOutput(findings=findings, gaps=gaps, has_quotes=True)


def _lacking(stands: TaskState) -> Sequence[tuple[str, int]]:
    """What is to be said of what a task did not find, each with its priority."""
    latest, review = stands.outcome, stands.review
    gaps = [(missing, MISSING) for missing in dict.fromkeys(latest.missing)]
    if latest.owner_question:
        gaps.insert(0, (f"{OF_OWNER}{latest.owner_question}", FOR_OWNER))
    elif review is not None and not review.approved:
        what = "Not settled" if any(finding.facts for finding in stands.findings) else "Not found"
        gaps.insert(0, (f"{what} by its task: {stands.task.question}", MISSING))
    return gaps
