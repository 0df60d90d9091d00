"""The best passages of a run's sources for a question, its parts and steering, and what they say of each part."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice, permutations
from math import exp
from statistics import fmean

from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, SourceText
from deep_research.phases.steering_queries import new_words, steering_query
from deep_research.provenance.quotes import BREAKS_OFF, readable
from deep_research.retrieval.candidates import STEP, Candidate, Document, Pool, asks, read_document
from deep_research.retrieval.parsed_question import ParsedQuestion, may_hold, parse_question
from deep_research.retrieval.passage_search import best_windows
from deep_research.retrieval.ranker import Ranker, View, default_ranker
from deep_research.retrieval.selection import ChosenPassage, choose, leads, passages
from deep_research.state import AnswerStatus, ConfidenceLevel, PartVerdict, QuestionPart, Span
from deep_research.state.identity import finding_id
from deep_research.text.passages import BlockKind

PART_WORDS = 40  # of a part of a question, for the best passage of it alone
SIGNAL_WORDS = 150  # of what is chosen, by which the probability is told
# The probability from which on something is told of a question, and from which on it counts as answered.
NEAR, SURE = 0.14, 0.5
# Of several parts each takes names from the others, so that all of them look likely: what counts is the mean of the
# probability and of the share of its own words that stands near one candidate.
MIN_PART_SHARE = 0.35
DOUBTFUL = 0.45  # the probability below which the best window of a plain search leads
WINDOWS = 1  # of a plain search, beside the passages of the ranker
RANK_OFFSET = 60  # of reciprocal rank fusion
KEPT_DOCUMENTS, KEPT_LENGTH = 256, 60_000  # documents that are kept read, and characters of the longest


@dataclass(frozen=True, slots=True)
class ChosenPassages:
    """The passages, best first, and the verdict on each part. ``idle`` are steers of which no source has a new word."""

    findings: list[AnalyzedFinding] = field(default_factory=list)
    verdicts: tuple[PartVerdict, ...] = ()
    idle: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _PartResult:
    """What the sources say of one question: how likely the best candidates hold the answer (0 to 1), whether one may hold
    something of the kind that is asked, and the best passages. ``own`` is of a part among several the share (0 to 1) of
    its own words near one candidate of that kind; ``is_of_other_form``: it is likely all the same that they hold it."""

    view: View
    sure: float
    fits: bool
    findings: list[AnalyzedFinding]
    own: float | None = None
    is_of_other_form: bool = False

    @property
    def status(self) -> AnswerStatus:
        near = self.sure >= NEAR if self.own is None else (self.sure + self.own) / 2 >= MIN_PART_SHARE
        fits = self.fits or self.is_of_other_form
        if not (near and fits and self.findings and self.view.is_named):
            return AnswerStatus.NOT_FOUND
        return AnswerStatus.ANSWERED if self.fits and self.sure >= SURE else AnswerStatus.PARTLY


def best_passages(
    question: ParsedQuestion,
    sources: Sequence[SourceText],
    words: int,
    *,
    parts: Sequence[QuestionPart] = (),
    steering: Sequence[str] = (),
    ranker: Ranker | None = None,
    stop: threading.Event | None = None,
) -> ChosenPassages:
    """Choose about ``words`` words of the sources: first the best passage of each part, then of each steering text, then
    the passages that rank best for the whole question. Empty where no source comes near the question.

    Pure, except that it gives up when ``stop`` is set.
    """
    documents: list[Document] = []
    for source in sources:
        if stop is not None and stop.is_set():
            return ChosenPassages()
        documents.append(_read(source))
    ranker, pool = ranker or default_ranker(), Pool(_without_copies(documents, question))
    whole = _part_result(question, pool, words, ranker)
    by_part = _part_results(question, parts, whole, pool, ranker)
    by_steer = {steer: _steered(steer, question, pool, ranker) for steer in steering}
    best_of_parts = [
        result.findings[0].model_copy(update={"part_id": part})
        for part, result in by_part.items()
        if result.status is not AnswerStatus.NOT_FOUND
    ]
    best_of_steers = [finding for matches in by_steer.values() for finding in matches[:1]]
    probability = max(whole.sure, fmean(result.sure for result in by_part.values()) if by_part else 0.0)
    matches = whole.findings
    is_near = bool(best_of_parts or best_of_steers) or (not parts and probability >= NEAR)
    if is_near and not (whole.view.inquiry.is_topic or whole.view.inquiry.subject):
        windows = [_finding(whole.view, w, w.score) for w in best_windows(whole.view, WINDOWS)]
        leads_with_window = probability < DOUBTFUL and len(by_part) < 2
        matches = _fused(matches, windows, leads_with_window=leads_with_window)
        best_of_parts = [] if matches[:1] == windows[:1] else best_of_parts
    views = {part: result.view for part, result in by_part.items()}
    findings = [
        finding.model_copy(
            update={
                "rank": rank,
                "probability": round(probability, 4),
                "part_id": finding.part_id or _served(finding, views),
            }
        )
        for rank, finding in enumerate(
            _distinct([*best_of_parts, *best_of_steers, *matches]) if is_near else []
        )
    ]
    idle = tuple(steer for steer, matches in by_steer.items() if not matches)
    return ChosenPassages(findings, _verdicts(by_part, findings), idle)


def _part_results(
    question: ParsedQuestion,
    parts: Sequence[QuestionPart],
    whole: _PartResult,
    pool: Pool,
    ranker: Ranker,
) -> dict[str, _PartResult]:
    """What the sources say of each part, by its id. Where they say too little of any part but enough of the whole
    question, the part that shares most words with the best passage has it, in part."""
    if len(parts) == 1:
        return {parts[0].id: whole}
    results = {p.id: _part_result(question.of_part(p), pool, PART_WORDS, ranker, p) for p in parts}
    nothing = all(result.status is AnswerStatus.NOT_FOUND for result in results.values())
    if nothing and whole.status is not AnswerStatus.NOT_FOUND:
        served = _served(whole.findings[0], {part: r.view for part, r in results.items() if r.fits})
        if served:
            results[served] = replace(whole, sure=NEAR)
    return results


def _without_copies(documents: Sequence[Document], inquiry: ParsedQuestion) -> list[Document]:
    """Without those all of whose sentences another has: a copy would only take the room of what says something else. Of
    several alike that stays whose title has most of the question's words, or of its own."""
    terms, question_terms = inquiry.words.terms, frozenset(inquiry.terms)
    document_terms = {
        document.id: frozenset(" ".join(document.text[c.start : c.end].split()) for c in document.candidates)
        for document in documents
    }
    if not any(
        document_terms[one.id] <= document_terms[other.id] for one, other in permutations(documents, 2)
    ):
        return list(documents)

    def titled(document: Document) -> tuple[int, int]:
        title = frozenset(terms(document.title))
        return len(question_terms & title), len(
            title.intersection(terms(" ".join(document_terms[document.id])))
        )

    originals: dict[str, frozenset[str]] = {}
    for document in sorted(documents, key=titled, reverse=True):
        if not any(document_terms[document.id] <= original for original in originals.values()):
            originals[document.id] = document_terms[document.id]
    return [document for document in documents if document.id in originals]


def _fused(
    ranked: Sequence[AnalyzedFinding], windows: Sequence[AnalyzedFinding], *, leads_with_window: bool
) -> list[AnalyzedFinding]:
    """Passages of the ranker and windows of a plain search by reciprocal rank; what shares text has the worth of both.
    The best passage of the ranker leads, unless a window is to."""
    worth: list[tuple[float, AnalyzedFinding]] = []
    for own, others in ((ranked, windows), (windows, ranked)):
        for rank, finding in enumerate(own):
            shared = (n for n, other in enumerate(others) if _overlap(finding.quotes[0], other.quotes[0]))
            places = (rank, *islice(shared, 1))
            worth.append((sum(1 / (RANK_OFFSET + place) for place in places), finding))
    order = [finding for _, finding in sorted(worth, key=lambda item: -item[0])]
    lead = windows[:1] if leads_with_window else ranked[:1]
    return [*lead, *(finding for finding in order if finding not in lead)]


def _distinct(found: Iterable[AnalyzedFinding]) -> list[AnalyzedFinding]:
    """Without passages that overlap with a better one. One that holds better ones whole takes the place of the first of
    them, but for the very best: that stands alone."""
    distinct: list[AnalyzedFinding] = []
    for finding in found:
        contained = [
            n for n, other in enumerate(distinct) if n and _holds(finding.quotes[0], other.quotes[0])
        ]
        others = (
            k
            for n, k in enumerate(distinct)
            if n not in contained and (n or _holds(k.quotes[0], finding.quotes[0]))
        )
        if any(_overlap(finding.quotes[0], other.quotes[0]) for other in others):
            continue
        if contained:
            distinct[contained[0]] = finding
            distinct = [other for n, other in enumerate(distinct) if n not in contained[1:]]
        else:
            distinct.append(finding)
    return distinct


def _holds(one: AnalyzedQuote, other: AnalyzedQuote) -> bool:
    """Whether one quote has the other within it."""
    ends = one.start + len(one.quote) >= other.start + len(other.quote)
    return one.source_id == other.source_id and one.start <= other.start and ends


def _overlap(one: AnalyzedQuote, other: AnalyzedQuote) -> bool:
    return (
        one.source_id == other.source_id
        and one.start < other.start + len(other.quote)
        and other.start < one.start + len(one.quote)
    )


def _verdicts(
    by_part: dict[str, _PartResult], findings: Sequence[AnalyzedFinding]
) -> tuple[PartVerdict, ...]:
    """A part whose best passage is that of another as well names that one."""
    every: list[PartVerdict] = []
    for part, result in by_part.items():
        own: list[str] = []
        if result.status is not AnswerStatus.NOT_FOUND:
            best = result.findings[0].quotes[0]
            of_it = [f for f in findings if f.part_id == part or _overlap(f.quotes[0], best)]
            own = [finding_id(f.content) for f in of_it]
        every.append(PartVerdict(part_id=part, verdict=result.status, finding_ids=tuple(dict.fromkeys(own))))
    return tuple(every)


def _served(found: AnalyzedFinding, by_part: dict[str, View]) -> str | None:
    """The part of whose words a passage has most."""
    shares = {
        part: view.share(view.asked.intersection(view.inquiry.words.terms(found.content)))
        for part, view in by_part.items()
    }
    return max(shares, key=lambda part: shares[part]) if shares else None


def _part_result(
    inquiry: ParsedQuestion, pool: Pool, words: int, ranker: Ranker, part: QuestionPart | None = None
) -> _PartResult:
    view = View(inquiry, pool)
    scores = ranker.scores(view)
    selection = choose(view, scores, SIGNAL_WORDS)
    sure = ranker.probability(view, scores, selection)
    best = passages(view, scores, words) if sure else []
    every = [view.candidates[i] for i in selection]
    # As far as that shows in its form: something of the kind that the question expects.
    fitting = [
        c
        for c in every
        if not view.document(c).has_capitals
        or may_hold(inquiry.expects, view.text(c), inquiry.words, view.asked)
    ]
    own = None
    if part is not None:
        terms = view.asked.intersection(inquiry.words.terms(part.text))
        terms = terms - inquiry.names or terms
        own = max((view.share_of(terms, view.asked_near(c)) for c in fitting or every), default=0.0)
    # What is likely is told whatever its form, and found in part where that is another one: a "who" without a name. Of
    # a part among several more than half of its own words have to be near.
    is_other = not fitting and sure >= SURE and (own is None or own > 1 / 2)
    return _PartResult(
        view, sure, bool(fitting), [_finding(view, p, best[0].score) for p in best], own, is_other
    )


def steering_passages(
    question: ParsedQuestion,
    steering: Sequence[str],
    sources: Sequence[SourceText],
    ranker: Ranker | None = None,
) -> tuple[list[AnalyzedFinding], tuple[str, ...]]:
    """The best passage for each steer, and the steers for which there is none."""
    if not steering:
        return [], ()
    pool = Pool([_read(source) for source in sources])
    by_steer = {steer: _steered(steer, question, pool, ranker or default_ranker()) for steer in steering}
    best = _distinct(each for matches in by_steer.values() for each in matches[:1])
    return best, tuple(steer for steer, matches in by_steer.items() if not matches)


def _steered(steer: str, question: ParsedQuestion, pool: Pool, ranker: Ranker) -> list[AnalyzedFinding]:
    """The best passage that has one of the steer's new words."""
    inquiry = parse_question(steer, question.language)
    new = {term for word in new_words(steer, question.text) for term in inquiry.words.terms(word)}
    if not new:
        return []
    result = _part_result(
        parse_question(steering_query(steer, question.text, None), inquiry.language), pool, PART_WORDS, ranker
    )
    return [f for f in result.findings if not new.isdisjoint(inquiry.words.terms(f.content))]


def _finding(view: View, passage: ChosenPassage, best: float) -> AnalyzedFinding:
    document = view.pool.named[passage.document]
    candidates = document.candidates[passage.first : passage.last + 1]
    led = leads(view, candidates[0])
    spans = [(candidates[0].start, candidates[-1].end), *((lead.start, lead.end) for lead in led)]
    highlights = [document.candidates[place] for place in passage.highlights]
    return AnalyzedFinding(
        content=_content(document, candidates, led) + (BREAKS_OFF if passage.breaks_off else ""),
        confidence=ConfidenceLevel.LOW,
        source_ids=(document.id,),
        quotes=tuple(
            AnalyzedQuote(source_id=document.id, quote=document.text[start:end], start=start)
            for start, end in spans
        ),
        relevance=round(exp(passage.score - best), 6),
        highlights=tuple(Span(start=c.start, end=c.end) for c in highlights),
        heading=candidates[0].heading,
    )


def _content(document: Document, candidates: Sequence[Candidate], led: Sequence[Candidate]) -> str:
    """The passage on one line, a row with the headers of its columns, an item after the heading of its section and what
    announces its list, which may turn its sense."""
    text = document.text
    content = readable(text, candidates[0].start, candidates[-1].end)
    if candidates[0].kind is not BlockKind.ITEM:
        return content
    first, last = candidates[0].block, candidates[-1].block
    if led:  # a list that is not told whole says so
        content = f"{BREAKS_OFF.strip()} {content}" if document.is_of_list(first - 1, first) else content
        content += BREAKS_OFF if document.is_of_list(last + 1, first) else ""
    section = candidates[0].heading.rpartition(STEP)[2]
    is_told = section in ("", document.title) or asks(section, 0, len(section))
    front = [] if is_told else [f"{section}:"]
    return " ".join([*front, *(readable(text, lead.start, lead.end) for lead in reversed(led)), content])


def _read(source: SourceText) -> Document:
    read = _cached_document if len(source.content) <= KEPT_LENGTH else _cached_document.__wrapped__
    return read(source.id, source.title, source.content)


@lru_cache(maxsize=KEPT_DOCUMENTS)
def _cached_document(identity: str, title: str, text: str) -> Document:
    """A run looks at the same texts again in each round, and runs over one corpus at the same documents."""
    return read_document(identity, title, text)
