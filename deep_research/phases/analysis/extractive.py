"""An analyzer without a model: the passages that rank best are the findings.

Every sentence, list item, row and piece of code of the sources is a candidate; a linear ranker scores it by a few
columns, and a diverse choice takes the best. A batch chooses among its own, the survey among all of the run, so what
the batches chose stands only until then.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import exp
from statistics import fmean
from typing import TypeVar

from deep_research.evidence.candidates import STEP, Candidate, Document, Pool, read_document
from deep_research.evidence.columns import View
from deep_research.evidence.inquiry import Inquiry, read_question
from deep_research.evidence.passages import BlockKind
from deep_research.evidence.quotation import readable
from deep_research.evidence.ranker import Ranker, default_ranker
from deep_research.evidence.selection import Passage, choose, passages
from deep_research.phases.analysis.broad import broad_findings
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedQuote,
    AnalyzerInput,
    AnalyzerOutput,
    SourceText,
    SurveyInput,
    SurveyOutput,
)
from deep_research.phases.analysis.survey import follow_sources, survey
from deep_research.state import ConfidenceLevel, Span

T = TypeVar("T")
BATCH_WORDS = 300  # that a batch chooses, for a report that has to do without the survey
PART_WORDS = 40  # of a part of a question, for the best passage of it alone
SIGNAL_WORDS = 150  # of what is chosen, by which the probability is told
NEAR = 0.125  # the least probability with which anything is told
KEPT_DOCUMENTS, KEPT_LENGTH = 256, 60_000  # documents that are kept read, and characters of the longest


class ExtractiveAnalyzer:
    """The work runs in a thread; between documents it looks whether it should stop."""

    deterministic = True
    name = "extractive analyzer"
    batch_bytes = 8_000_000
    reads_again = True

    def __init__(self, ranker: Ranker | None = None) -> None:
        self._ranker = ranker

    async def __call__(self, handoff: AnalyzerInput) -> AnalyzerOutput:
        return await _stoppable(lambda stop: analyze(handoff, stop, self._ranker))

    async def survey(self, handoff: SurveyInput) -> SurveyOutput:
        return await _stoppable(lambda stop: self._survey(handoff, stop))

    def _survey(self, handoff: SurveyInput, stop: threading.Event) -> SurveyOutput:
        """What all sources together say: their order and what to ask next, and of all their passages the best."""
        trails = follow_sources(handoff)
        if read_question(handoff.original_query).is_broad:
            return survey(handoff, trails)
        order = sorted(handoff.whole, key=lambda source: -trails.scores.get(source.id, 0.0))
        found = tuple(ranked(handoff.original_query, order, handoff.words, self._ranker, stop))
        if not found:  # what earlier rounds chose is what comes nearest
            return survey(handoff, trails)
        return survey(handoff, trails, found).model_copy(
            update={
                "findings": found,
                "dropped": tuple(f.id for f in handoff.findings if f.rank is not None),
            }
        )


async def _stoppable(work: Callable[[threading.Event], T]) -> T:
    """What ``work`` answers in a thread; it is told to stop when nobody waits for it any more."""
    stop = threading.Event()
    try:
        return await asyncio.to_thread(work, stop)
    except asyncio.CancelledError:
        stop.set()
        raise


def analyze(
    handoff: AnalyzerInput, stop: threading.Event | None = None, ranker: Ranker | None = None
) -> AnalyzerOutput:
    """The findings of one batch. Pure, but that it gives up when ``stop`` is set."""
    if read_question(handoff.original_query).is_broad:
        return AnalyzerOutput(findings=tuple(broad_findings(handoff, stop)))
    return AnalyzerOutput(
        findings=tuple(ranked(handoff.original_query, handoff.sources, BATCH_WORDS, ranker, stop))
    )


def ranked(
    question: str,
    sources: Sequence[SourceText],
    words: int,
    ranker: Ranker | None = None,
    stop: threading.Event | None = None,
) -> list[AnalyzedFinding]:
    """The best passages of the sources, best first, ``words`` words of them; none where nothing is near the question.
    Of a question of several parts the best passage of each comes first.

    Pure, but that it gives up when ``stop`` is set.
    """
    inquiry = read_question(question)
    documents: list[Document] = []
    for source in sources:
        if stop is not None and stop.is_set():
            return []
        documents.append(_read(source))
    ranker, pool = ranker or default_ranker(), Pool(documents)
    sure, told = _told(inquiry, pool, words, ranker)
    if len(inquiry.parts) > 1:
        parts = [
            _told(read_question(part.query, inquiry.language), pool, PART_WORDS, ranker)
            for part in inquiry.parts
        ]
        sure = max(sure, fmean(probability for probability, _ in parts))
        told = [*(found[0] for probability, found in parts if found and probability >= NEAR), *told]
    if sure < NEAR:
        return []
    kept: list[AnalyzedFinding] = []
    for found in told:
        if not any(_overlap(found.quotes[0], known.quotes[0]) for known in kept):
            kept.append(found)
    update = {"probability": round(sure, 4)}
    return [found.model_copy(update={"rank": rank, **update}) for rank, found in enumerate(kept)]


def _overlap(one: AnalyzedQuote, other: AnalyzedQuote) -> bool:
    return (
        one.source_id == other.source_id
        and one.start < other.start + len(other.quote)
        and other.start < one.start + len(one.quote)
    )


def _told(inquiry: Inquiry, pool: Pool, words: int, ranker: Ranker) -> tuple[float, list[AnalyzedFinding]]:
    """How likely the best candidates hold the answer, and the best passages."""
    view = View(inquiry, pool)
    scores = ranker.scores(view)
    sure = ranker.probability(view, scores, choose(view, scores, SIGNAL_WORDS))
    chosen = passages(view, scores, words) if sure else []
    return sure, [_finding(view, passage, chosen[0].score) for passage in chosen]


def _finding(view: View, passage: Passage, best: float) -> AnalyzedFinding:
    document = view.pool.named[passage.document]
    candidates = document.candidates[passage.first : passage.last + 1]
    start, end = candidates[0].start, candidates[-1].end
    text = document.text[start:end]
    marked = [document.candidates[place] for place in passage.marked]
    return AnalyzedFinding(
        content=_content(document.text, candidates),
        confidence=ConfidenceLevel.LOW,
        source_ids=(document.id,),
        quotes=(AnalyzedQuote(source_id=document.id, quote=text, start=start),),
        relevance=round(exp(passage.score - best), 6),
        marked=tuple(Span(start=c.start, end=c.end) for c in marked),
        heading=candidates[0].heading,
    )


def _content(text: str, candidates: Sequence[Candidate]) -> str:
    """The passage on one line, a row with the headers of its columns, an item after the heading it stands under, which
    may turn its sense."""
    told = readable(text, candidates[0].start, candidates[-1].end)
    section = candidates[0].heading.rpartition(STEP)[2]
    return f"{section}: {told}" if candidates[0].kind is BlockKind.ITEM and section else told


def _read(source: SourceText) -> Document:
    read = _kept if len(source.content) <= KEPT_LENGTH else _kept.__wrapped__
    return read(source.id, source.title, source.content)


@lru_cache(maxsize=KEPT_DOCUMENTS)
def _kept(identity: str, title: str, text: str) -> Document:
    """A run looks at the same texts again in each round, and runs over one corpus at the same documents."""
    return read_document(identity, title, text)
