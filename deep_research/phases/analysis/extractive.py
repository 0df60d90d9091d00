"""An analyzer without a model: the sentences that answer are the findings.

A broad request is answered in another way (see `broad`). For the question and each sub-query (an *aspect*) the
passages of the batch are ranked by the rarity of the terms they share with it. From the best ones the run of
sentences is taken that covers most. A passage counts only when it, with its title, covers enough of what the aspect
asks: texts about something else give no finding.
"""

from __future__ import annotations

import asyncio
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from deep_research.evidence.agreement import filled
from deep_research.evidence.dates import date_of
from deep_research.evidence.debris import is_debris
from deep_research.evidence.names import asked_names, key
from deep_research.evidence.pairs import closeness, phrases
from deep_research.evidence.question import (
    QuestionKind,
    compared,
    is_broad,
    is_own,
    is_survey,
    kind_of,
    parts,
)
from deep_research.evidence.quoting import (
    best_quote,
    expected_answer,
    fits,
    is_list,
    readable,
    stands_apart,
    weight_of,
)
from deep_research.evidence.ranking import Passage, TermScanner, bm25, rarities, scan, stems_of
from deep_research.evidence.rows import beside, unlabelled
from deep_research.evidence.text import (
    DECADE,
    NAME_WEIGHT,
    STOP_WORDS,
    asked_words,
    content_words,
    coverage,
    identifiers,
    question_terms,
)
from deep_research.phases.analysis.broad import broad_findings
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedQuote,
    AnalyzerInput,
    AnalyzerOutput,
    SurveyInput,
    SurveyOutput,
)
from deep_research.phases.analysis.overview import overview_findings
from deep_research.phases.analysis.survey import survey
from deep_research.state import ConfidenceLevel

MIN_COVERAGE = 0.6  # of what is asked, for a passage that answers
MIN_SUPPORT = 0.42  # for a further passage, once one answers
MIN_NAMED = 0.3  # of the names that are asked about
MIN_LED = 0.5  # of what the question asks, for what a follow-up found about another name
MIN_ASKED_NAMES = 0.6  # of them, by all findings together
MIN_PART = 0.4  # of a question of several parts, when one of them is answered
BESIDES = 0.3  # of what the best finding says of the question besides its names
UNCALLED = 0.15  # of relevance, for saying nothing of what the question calls as programs do
LIST_PENALTY = 0.1  # a list has many words, and some of them by chance
ROW_PENALTY = 0.1  # a row of a table reads worse than a sentence that says the same
BESIDE = 0.7  # relevance of a row that a table has for each of the things that are compared
MOST_ROWS = 8
FINDINGS_PER_ASPECT = 6
FINDINGS_PER_SOURCE = 3
CANDIDATES = 24


@dataclass(frozen=True, slots=True)
class Aspect:
    """Something that is asked: a sub-query, or a gap of an earlier iteration."""

    id: str
    query: str
    weights: Mapping[str, float]
    priority: int = 1
    later: bool = False

    @property
    def names(self) -> list[set[str]]:
        """The stems of each name of several words."""
        return [
            stems_of(name)
            for name in asked_names(self.query)
            if " " in name and not any(c.isdigit() for c in name)
        ]


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

    async def survey(self, handoff: SurveyInput) -> SurveyOutput:
        """What all sources together say: their order, what to ask next, how much is answered."""
        return await asyncio.to_thread(survey, handoff)


def analyze(handoff: AnalyzerInput, stop: threading.Event | None = None) -> AnalyzerOutput:
    """The findings of one batch. Pure, but that it gives up when ``stop`` is set."""
    aspects = _aspects(handoff)
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
    if is_survey(handoff.original_query):
        broad = (
            broad_findings(handoff, found, scanner)
            if is_broad(handoff.original_query)
            else overview_findings(handoff, found)
        )
        return AnalyzerOutput(
            findings=tuple(broad), addressed_gap_ids=tuple(sorted(_addressed(broad, handoff)))
        )
    rarity = rarities(found, set(question).union(*(a.weights for a in aspects)))
    batch = _Batch(handoff, found, titles, _times(question, rarity), phrases(handoff.original_query))
    findings = _spread(
        finding for aspect in aspects for finding in _answers(aspect, _times(aspect.weights, rarity), batch)
    )
    findings += _beside(handoff, findings)
    if not _asks_something(handoff.original_query) or not _answered(findings, batch):
        findings = []
    return AnalyzerOutput(
        findings=tuple(findings),
        addressed_gap_ids=tuple(sorted(_addressed(findings, handoff))),
    )


def _beside(handoff: AnalyzerInput, findings: Sequence[AnalyzedFinding]) -> Iterator[AnalyzedFinding]:
    """Where two things are compared, the rows of tables that have both; not those that are found already."""
    names = [key(side) for side in compared(handoff.original_query)]
    known = {finding.content for finding in findings}
    for source in handoff.sources if names else ():
        for start, end in beside(source.content, names)[:MOST_ROWS]:
            content = readable(source.content, start, end)
            if content not in known:
                yield AnalyzedFinding(
                    content=content,
                    confidence=ConfidenceLevel.LOW,
                    source_ids=(source.id,),
                    category=handoff.original_query,
                    quotes=(
                        AnalyzedQuote(source_id=source.id, quote=source.content[start:end], start=start),
                    ),
                    sub_query_id=handoff.sub_queries[0].id if handoff.sub_queries else "",
                    relevance=BESIDE,
                )


def _aspects(handoff: AnalyzerInput) -> list[Aspect]:
    """The question, its parts, and what followed; not the searches that only widened the net."""
    question = " ".join(handoff.original_query.split())
    return [
        Aspect(s.id, s.query, question_terms(s.query), s.priority, later=s.iteration > 1)
        for s in handoff.sub_queries
        if s.query == question or s.iteration > 1 or not is_own(s.query, question)
    ] or [Aspect("", question, question_terms(question))]


@dataclass(frozen=True, slots=True)
class _Batch:
    """What was scanned: the passages with wanted terms, the wanted terms of each title, and the question's
    terms by weight and rarity."""

    handoff: AnalyzerInput
    found: list[Passage]
    titles: list[set[str]]
    question: Mapping[str, float]
    phrases: frozenset[tuple[str, str]] = frozenset()
    wants_lists: bool = False
    under: dict[tuple[str, int], frozenset[str]] = field(default_factory=dict)


def _times(weights: Mapping[str, float], rarity: Mapping[str, float]) -> dict[str, float]:
    return {term: weight * rarity[term] for term, weight in weights.items()}


def _answers(aspect: Aspect, weights: Mapping[str, float], batch: _Batch) -> Iterable[AnalyzedFinding]:
    """The aspect's findings, best first: none unless the best covers enough of what is asked."""
    scored = sorted(
        ((_promise(p, weights, batch), p) for p in batch.found),
        key=lambda pair: (-pair[0], pair[1].source, pair[1].span.start),
    )
    drawn = []
    for promise, passage in scored[:CANDIDATES]:
        if promise >= MIN_SUPPORT:
            finding = _draw(aspect, weights, passage, batch)
            if finding is not None:
                drawn.append(finding)
    drawn.sort(key=lambda f: -f.relevance)
    drawn = _to_the_point(drawn, aspect, weights, batch)
    per_source: Counter[str] = Counter()
    kept = 0
    for finding in drawn if drawn and _reach(drawn[0], weights, batch) >= MIN_COVERAGE else ():
        (source_id,) = finding.source_ids
        if kept < FINDINGS_PER_ASPECT and per_source[source_id] < FINDINGS_PER_SOURCE:
            kept += 1
            per_source[source_id] += 1
            yield finding


def _to_the_point(
    drawn: list[AnalyzedFinding], aspect: Aspect, weights: Mapping[str, float], batch: _Batch
) -> list[AnalyzedFinding]:
    """Without the findings that have the right names and hardly a word of what is asked besides, where the best has
    more; what is expected of an answer may stand for those words."""
    besides = {term: weight for term, weight in weights.items() if aspect.weights[term] < NAME_WEIGHT}
    expected = expected_answer(aspect.query)

    def says(finding: AnalyzedFinding) -> float:
        return weight_of(besides, stems_of(unlabelled(finding.content)) | _title(finding, batch))

    least = BESIDES * says(drawn[0]) if drawn else 0.0
    return [f for f in drawn if says(f) >= least or (stands_apart(expected) and fits(expected, f.content))]


def _promise(passage: Passage, weights: Mapping[str, float], batch: _Batch) -> float:
    """What a passage covers together with its title, and a little for saying it often."""
    span = passage.span
    dated = _decades(weights, batch.handoff.sources[passage.source].content[span.start : span.end])
    reach = coverage(weights, batch.titles[passage.source] | set(passage.terms) | dated)
    return reach + 0.1 * bm25(passage, weights) / (sum(weights.values()) * 2.2)


def _draw(
    aspect: Aspect, weights: Mapping[str, float], passage: Passage, batch: _Batch
) -> AnalyzedFinding | None:
    """The passage's best sentences as a finding, or None when they say too little by themselves."""
    source = batch.handoff.sources[passage.source]
    context = batch.titles[passage.source]
    expected = expected_answer(aspect.query)
    quote = best_quote(source.content, passage, weights, context, expected)
    if quote is None:
        return None
    start, end, under = quote
    text = source.content[start:end]
    if is_debris(text) or (DECADE.search(aspect.query) and _is_of_another_time(expected, text)):
        return None
    said = stems_of(text)
    own = said | under | _decades(weights, text)
    batch.under[source.id, start] = under
    reach = coverage(weights, own | context)
    named = {term: weight for term, weight in aspect.weights.items() if weight >= NAME_WEIGHT}
    if reach < MIN_SUPPORT or not own & weights.keys():
        return None
    if named and coverage(named, own | context) < MIN_NAMED:
        return None  # the right words about something else
    if aspect.names and not any(name <= own | context for name in aspect.names):
        return None  # words of a name, but not the name
    asked = {term: weight for term, weight in weights.items() if term in batch.question}
    if aspect.later and asked and coverage(asked, own) < MIN_LED:
        return None  # about a name that was followed, without what is asked of it
    return AnalyzedFinding(
        content=readable(source.content, start, end),
        confidence=ConfidenceLevel.LOW,
        source_ids=(source.id,),
        category=aspect.query,
        quotes=(AnalyzedQuote(source_id=source.id, quote=text, start=start),),
        sub_query_id=aspect.id,
        relevance=round(
            _relevance(aspect, weights, own | context, source.title, text, batch)
            + 0.15 * fits(expected, text)
            - ROW_PENALTY * (" | " in text)
            - LIST_PENALTY * (is_list(text) and not batch.wants_lists),
            6,
        ),
    )


def _is_of_another_time(expected: re.Pattern[str] | None, text: str) -> bool:
    """Whether a text tells a date, but none of the time that is asked about."""
    return date_of(text) is not None and not fits(expected, text)


def _relevance(
    aspect: Aspect,
    weights: Mapping[str, float],
    held: set[str],
    title: str,
    text: str,
    batch: _Batch,
) -> float:
    """How near a finding is to the question, up to .85, also by what it says itself of what its title does not say. What
    was followed up is as near as it and the finding that led to it are together: many texts have the words of a
    follow-up."""
    said = stems_of(text)
    close = 0.1 * closeness(f"{title}. {text}", batch.phrases)
    called = identifiers(batch.handoff.original_query)
    if called and not any(name in text or name in title for name in called):
        close -= UNCALLED
    wanted = batch.question if aspect.later else weights
    untold = {term: weight for term, weight in wanted.items() if term in said or term not in held}
    itself = 0.1 * coverage(wanted, said) + 0.2 * (coverage(untold, said) if untold else 1.0)
    if aspect.later:
        return 0.45 * coverage(batch.question, held | _led_from(aspect, batch)) + itself + close
    return 0.25 * coverage(weights, held) + 0.2 * coverage(batch.question, held) + itself + close


def _led_from(aspect: Aspect, batch: _Batch) -> set[str]:
    """The stems of the earlier finding that has the name which was followed, and most of the question."""
    name = set(aspect.weights) - batch.question.keys()
    told = (stems_of(finding.content) for finding in batch.handoff.findings)
    naming = [stems for stems in told if name and name <= stems]
    return max(naming, key=lambda stems: coverage(batch.question, stems), default=set())


def _reach(finding: AnalyzedFinding, weights: Mapping[str, float], batch: _Batch) -> float:
    """How much of the weight a finding and its source's title cover."""
    return coverage(weights, stems_of(finding.content) | _title(finding, batch))


def _decades(weights: Iterable[str], text: str) -> set[str]:
    """Which of the decades that are asked about a text tells a year of."""
    return {term for term in weights if DECADE.fullmatch(term) and re.search(rf"\b{term[:3]}\d\b", text)}


def _title(finding: AnalyzedFinding, batch: _Batch) -> set[str]:
    """What a finding need not say: its source's title, the heading or question it stands under, and the decade of its
    years."""
    places = {s.id: n for n, s in enumerate(batch.handoff.sources)}
    quote = finding.quotes[0]
    under = batch.under.get((quote.source_id, quote.start), frozenset())
    return batch.titles[places[finding.source_ids[0]]] | under | _decades(batch.question, finding.content)


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


def _asks_something(question: str) -> bool:
    """Whether any word of it says what it is about: "Why?" does not."""
    return any(w.casefold() not in STOP_WORDS for w in asked_words(question))


def _answered(findings: Iterable[AnalyzedFinding], batch: _Batch) -> bool:
    """Whether the findings together speak of what was asked. A follow-up iteration asks for less than the whole
    question, and stands on what earlier ones found, if they found anything."""
    if batch.handoff.findings:
        return True
    present: set[str] = set()
    for finding in findings:
        present |= stems_of(finding.content) | _title(finding, batch)
    question = batch.handoff.original_query
    names = {t: w for t, w in question_terms(question).items() if w >= NAME_WEIGHT}
    if names and coverage(names, present) < MIN_ASKED_NAMES:
        return False
    several_parts = len(parts(question)) > 1 or kind_of(question) is QuestionKind.COMPARISON
    return coverage(batch.question, present) >= (MIN_PART if several_parts else MIN_COVERAGE)


def _addressed(findings: list[AnalyzedFinding], handoff: AnalyzerInput) -> set[str]:
    return filled(handoff.open_gaps, [f.content for f in findings])
