"""An analyzer without a model: the sentences that answer are the findings.

For the question and each sub-query (an *aspect*) the passages of the batch are ranked by the rarity of the terms
they share with it. From the best ones the run of sentences is taken that covers most. A passage counts only when
it, with its title, covers enough of what the aspect asks: texts about something else give no finding.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from deep_research.evidence.agreement import GAP_COVERAGE
from deep_research.evidence.passages import sentences
from deep_research.evidence.ranking import Passage, TermScanner, bm25, rarities, scan, stems_of
from deep_research.evidence.text import (
    content_words,
    coverage,
    is_name_like,
    question_terms,
    stem,
    words,
)
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedGap,
    AnalyzedQuote,
    AnalyzerInput,
    AnalyzerOutput,
    SourceText,
)
from deep_research.state import ConfidenceLevel, Gap

MIN_COVERAGE = 0.6
MIN_OWN_COVERAGE = 0.3
MIN_QUESTION_COVERAGE = 0.34
FINDINGS_PER_ASPECT = 4
FINDINGS_PER_SOURCE = 2
CANDIDATES = 12
MAX_SENTENCES = 3
MAX_QUOTE_CHARS = 480
MIN_QUOTE_CHARS = 25
_OPENS_BACKWARD = re.compile(
    r"(?:he|she|it|they|his|her|its|their|this|these|that|those|such|however|also|but|and)\b", re.IGNORECASE
)
_PROSE = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Aspect:
    """Something that is asked: a sub-query, or a gap of an earlier iteration."""

    id: str
    query: str
    weights: Mapping[str, float]
    priority: int = 1


class ExtractiveAnalyzer:
    """The work runs in a thread; between documents it looks whether it should stop."""

    deterministic = True
    name = "extractive analyzer"
    batch_bytes = 8_000_000  # rarity is measured over a batch, so batches are as large as memory allows

    async def __call__(self, handoff: AnalyzerInput) -> AnalyzerOutput:
        stop = threading.Event()
        try:
            return await asyncio.to_thread(analyze, handoff, stop)
        except asyncio.CancelledError:
            stop.set()
            raise


def analyze(handoff: AnalyzerInput, stop: threading.Event | None = None) -> AnalyzerOutput:
    """Findings and gaps of one batch. Pure, but that it gives up when ``stop`` is set."""
    aspects = [Aspect(s.id, s.query, question_terms(s.query), s.priority) for s in handoff.sub_queries]
    question = question_terms(handoff.original_query)
    scanner = TermScanner(
        word for text in (handoff.original_query, *(a.query for a in aspects)) for word in content_words(text)
    )
    found: list[Passage] = []
    titles: list[set[str]] = []
    for place, source in enumerate(handoff.sources):
        if stop is not None and stop.is_set():
            return AnalyzerOutput()
        found += scan(source.content, place, scanner)
        titles.append(scanner.present(source.title))
    terms = set(question).union(*(a.weights for a in aspects))
    rarity = rarities(found, terms)
    drawn: dict[tuple[str, int], AnalyzedFinding] = {}
    unmet: list[Aspect] = []
    weighed_question = _times(question, rarity)
    for aspect in aspects:
        weights = _times(aspect.weights, rarity)
        answers = list(_answers(aspect, weights, weighed_question, found, titles, handoff.sources))
        for finding in answers:
            known = drawn.setdefault((finding.quotes[0].source_id, finding.quotes[0].start), finding)
            if known is not finding and finding.relevance > known.relevance:
                drawn[finding.quotes[0].source_id, finding.quotes[0].start] = finding
        if not answers:
            unmet.append(aspect)
    findings = _spread(drawn.values())
    if not _answered(findings, weighed_question, handoff):
        findings, unmet = [], list(aspects)
    return AnalyzerOutput(
        findings=tuple(findings),
        gaps=tuple(_gap(aspect, findings, rarity, handoff) for aspect in _new(unmet, handoff)),
        addressed_gap_ids=tuple(g.id for g in handoff.open_gaps if _fills(findings, g)),
    )


def _times(weights: Mapping[str, float], rarity: Mapping[str, float]) -> dict[str, float]:
    return {term: weight * rarity[term] for term, weight in weights.items()}


def _answers(
    aspect: Aspect,
    weights: Mapping[str, float],
    question: Mapping[str, float],
    found: Iterable[Passage],
    titles: list[set[str]],
    sources: tuple[SourceText, ...],
) -> Iterable[AnalyzedFinding]:
    """The aspect's findings, best first."""
    scored = sorted(
        ((bm25(p, weights) + 0.5 * _weight(weights, titles[p.source]), p) for p in found),
        key=lambda pair: (-pair[0], pair[1].source, pair[1].span.start),
    )
    kept = 0
    per_source: dict[int, int] = {}
    for _, passage in scored[:CANDIDATES]:
        if kept == FINDINGS_PER_ASPECT:
            return
        if per_source.get(passage.source, 0) == FINDINGS_PER_SOURCE:
            continue
        source = sources[passage.source]
        context = titles[passage.source]
        if coverage(weights, context | set(passage.terms)) < MIN_COVERAGE:
            continue
        quote = _quote(source.content, passage, weights)
        if quote is None:
            continue
        start, end = quote
        text = source.content[start:end]
        own = stems_of(text)
        covered = coverage(weights, own | context)
        if (
            coverage(weights, own) < MIN_OWN_COVERAGE
            or covered < MIN_COVERAGE
            or coverage(question, own | context) < MIN_QUESTION_COVERAGE
        ):
            continue
        kept += 1
        per_source[passage.source] = per_source.get(passage.source, 0) + 1
        yield AnalyzedFinding(
            content=" ".join(text.split()),
            confidence=ConfidenceLevel.LOW,
            source_ids=(source.id,),
            category=aspect.query,
            quotes=(AnalyzedQuote(source_id=source.id, quote=text, start=start),),
            sub_query_id=aspect.id,
            relevance=round(0.5 * covered + 0.5 * coverage(question, own | context), 6),
        )


def _weight(weights: Mapping[str, float], present: set[str]) -> float:
    return sum(weight for term, weight in weights.items() if term in present)


def _quote(text: str, passage: Passage, weights: Mapping[str, float]) -> tuple[int, int] | None:
    """The run of up to three sentences that covers most of the weight, the shortest of equals. One that leans on
    the sentence before takes it along."""
    spans = [
        s for s in sentences(text, passage.span.start, passage.span.end) if not text.startswith("#", s.start)
    ]
    held = [stems_of(text[s.start : s.end]) for s in spans]
    best: tuple[float, int, int] | None = None
    for first in range(len(spans)):
        present: set[str] = set()
        for last in range(first, min(first + MAX_SENTENCES, len(spans))):
            present |= held[last]
            length = spans[last].end - spans[first].start
            if last > first and length > MAX_QUOTE_CHARS:
                break
            value = _weight(weights, present) - 0.12 * (last - first) - 0.0004 * length
            if best is None or value > best[0] + 1e-9:
                best = value, first, last
    if best is None:
        return None
    _, first, last = best
    if first and _OPENS_BACKWARD.match(text, spans[first].start):
        first -= 1
    start, end = spans[first].start, spans[last].end
    readable = end - start >= MIN_QUOTE_CHARS and len(_PROSE.findall(text[start:end])) >= 4
    return (start, end) if readable else None


def _spread(findings: Iterable[AnalyzedFinding]) -> list[AnalyzedFinding]:
    """Most relevant first; a passage that lies inside another's is left out."""
    kept: list[AnalyzedFinding] = []
    for finding in sorted(findings, key=lambda f: (-f.relevance, f.quotes[0].source_id, f.quotes[0].start)):
        quote = finding.quotes[0]
        end = quote.start + len(quote.quote)
        if not any(
            k.quotes[0].source_id == quote.source_id
            and quote.start < k.quotes[0].start + len(k.quotes[0].quote)
            and k.quotes[0].start < end
            for k in kept
        ):
            kept.append(finding)
    return kept


def _answered(
    findings: Iterable[AnalyzedFinding], question: Mapping[str, float], handoff: AnalyzerInput
) -> bool:
    """Whether the findings together speak of what was asked. A follow-up iteration asks for less than the whole
    question, and stands on what earlier ones found."""
    if handoff.iteration > 1:
        return True
    titles = {s.id: s.title for s in handoff.sources}
    present: set[str] = set()
    for finding in findings:
        present |= stems_of(finding.content) | stems_of(titles[finding.source_ids[0]])
    return coverage(question, present) >= MIN_COVERAGE


def _fills(findings: Iterable[AnalyzedFinding], gap: Gap) -> bool:
    wanted = question_terms(" ".join((gap.description, *gap.suggested_queries[:1])))
    return any(coverage(wanted, stems_of(f.content)) >= GAP_COVERAGE for f in findings)


def _new(unmet: Iterable[Aspect], handoff: AnalyzerInput) -> Iterable[Aspect]:
    """Only what this iteration asked: the rest is an open gap already, or was given up."""
    current = {s.id for s in handoff.sub_queries if s.iteration == handoff.iteration and not s.gap_id}
    return (aspect for aspect in unmet if aspect.id in current)


def _gap(
    aspect: Aspect,
    findings: list[AnalyzedFinding],
    rarity: Mapping[str, float],
    handoff: AnalyzerInput,
) -> AnalyzedGap:
    """What is missing, and the one follow-up rule: the words that no finding has, with the names that the best
    finding brings and the question does not."""
    present = set().union(*(stems_of(f.content) for f in findings)) if findings else set()
    missing = [w for w in dict.fromkeys(content_words(aspect.query)) if stem(w) not in present]
    asked = {stem(w) for w in words(handoff.original_query)}
    bridges = _names(findings[0].content, asked) if findings else []
    rarest = sorted(missing, key=lambda w: -rarity.get(stem(w), 0.0))[:4]
    follow_up = " ".join([*bridges[:3], *rarest])
    return AnalyzedGap(
        description=f"Not found: {aspect.query}",
        suggested_queries=(follow_up,) if bridges and rarest else (),
        priority=aspect.priority,
    )


def _names(text: str, asked: set[str]) -> list[str]:
    """Names of a text that were not in the question, in order; a sentence's first word is no name by itself."""
    every = words(text)
    return [
        w
        for w in dict.fromkeys(every[1:])
        if is_name_like(w) and not w[0].isdigit() and len(w) > 2 and stem(w) not in asked
    ]
