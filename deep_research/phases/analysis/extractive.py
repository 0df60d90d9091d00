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
from collections.abc import Iterable, Mapping
from functools import partial

from deep_research.evidence.agreement import filled
from deep_research.evidence.called import fractions
from deep_research.evidence.dates import date_of
from deep_research.evidence.debris import is_beside, is_debris
from deep_research.evidence.defining import describes, explains_kind, term_of
from deep_research.evidence.doing import done_once, says_little
from deep_research.evidence.expecting import (
    TO_DO,
    expected_answer,
    fits,
)
from deep_research.evidence.fragments import is_list
from deep_research.evidence.leaning import after_its_subject
from deep_research.evidence.pairs import phrases
from deep_research.evidence.question import (
    QuestionKind,
    asked_terms,
    asks_of_somebody,
    is_broad,
    is_survey,
    kind_of,
    parts,
)
from deep_research.evidence.quoting import best_quote, fits_beside
from deep_research.evidence.ranking import Passage, TermScanner, rarities, scan, stems_of
from deep_research.evidence.reading import in_its_place
from deep_research.evidence.saying import said_by
from deep_research.evidence.signposts import only_points
from deep_research.evidence.spelling import mended
from deep_research.evidence.text import (
    ASKING_WEIGHT,
    DECADE,
    NAME_WEIGHT,
    STOP_WORDS,
    asked_words,
    content_words,
    coverage,
    denies,
    question_terms,
)
from deep_research.phases.analysis.aspects import (
    Aspect,
    Batch,
    aspects_of,
    decades,
    of_its_own,
    records,
    said_above,
    times,
    without_common_names,
    without_records,
)
from deep_research.phases.analysis.broad import broad_findings
from deep_research.phases.analysis.columns import beside, columns
from deep_research.phases.analysis.guided import guided, with_examples
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedQuote,
    AnalyzerInput,
    AnalyzerOutput,
    SurveyInput,
    SurveyOutput,
    reworded,
)
from deep_research.phases.analysis.overview import overview_findings
from deep_research.phases.analysis.pointed import to_the_point, without_outdone
from deep_research.phases.analysis.relevance import promise, relevance
from deep_research.phases.analysis.splitting import Split
from deep_research.phases.analysis.straight import item_by_item, straight, with_others
from deep_research.phases.analysis.survey import survey
from deep_research.phases.analysis.tabled import looked_up, with_rows
from deep_research.state import ConfidenceLevel

MIN_COVERAGE = 0.6  # of what is asked, for a passage that answers
MIN_SUPPORT = 0.42  # for a further passage, once one answers
MIN_NAMED = 0.3  # of the names that are asked about
MIN_LED = 0.5  # of what the question asks, for what a follow-up found about another name
MIN_ASKED_NAMES = 0.6  # of them, by all findings together
MIN_PART = 0.4  # of a question of several parts, when one of them is answered
LIST_PENALTY = 0.1  # a list has many words, and some of them by chance
ROW_PENALTY = 0.1  # a row of a table reads worse than a sentence that says the same
FITTING = 0.15  # of relevance, for holding what is expected of an answer
ONLY_DATED = 0.3  # of relevance, for a date and a name and no more, where no date is asked for
ANNOUNCED = 0.2  # of relevance, for standing under what asks what was asked
GENERAL = (
    0.15  # of relevance, for what speaks of a kind of things in general, and again for how such a thing works
)
LEANING = 0.15  # of relevance, for pointing back to what is not in the quote
POINTING = 0.1  # of relevance, for pointing through the text
BROUGHT = 0.01  # of relevance, for each sentence that only says what the others point back to
FINDINGS_PER_ASPECT = 6
FINDINGS_PER_SOURCE = 3
CANDIDATES = 24
# "1971 — The Flannan Isles, Outer Hebrides."
_DATED_NAME = re.compile(
    r"\W*(?:\d{1,2} )?(?:[A-Z]\w+ )?\d{4}\W+(?:(?:[A-Z][\w'’-]*|an?|and|at|in|of|off|on|the)(?:[\s,.]+|\Z)){1,12}"
)


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
    aspects = aspects_of(handoff)
    question = asked_terms(handoff.original_query)
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
    mend = partial(
        mended, known=set().union(*(p.terms for p in found)), texts=[s.content for s in handoff.sources]
    )
    if found and mend(handoff.original_query) != handoff.original_query:
        return analyze(reworded(handoff, mend), stop)
    if is_survey(handoff.original_query):
        broad = (
            broad_findings(handoff, found, scanner)
            if is_broad(handoff.original_query)
            else overview_findings(handoff, found)
        )
        if broad or not asks_of_somebody(handoff.original_query):
            return AnalyzerOutput(
                findings=tuple(broad), addressed_gap_ids=tuple(sorted(_addressed(broad, handoff)))
            )
    rarity = rarities(found, set(question).union(*(a.weights for a in aspects)))
    asked = phrases(handoff.original_query)
    batch = Batch(
        handoff,
        found,
        titles,
        times(question, rarity),
        asked,
        records(handoff, {passage.source for passage in found}),
    )
    what = straight(handoff, split := Split())
    aspects = [of_its_own(aspect, batch) for aspect in aspects]
    drawn = [f for aspect in aspects for f in _answers(aspect, times(aspect.weights, rarity), batch)]
    every = [*guided(batch), *drawn]
    others = without_records(every, batch)
    others = others if _answered(others, batch) else every
    findings = _spread(with_others(handoff, what, others, split))
    if told := columns(handoff):
        findings = beside(told, findings)
    elif told := item_by_item(handoff, found):
        findings = told
    else:
        told = looked_up(handoff)
        rows = {row.content for row in told}
        findings = with_rows(handoff, [*(f for f in findings if f.content not in rows), *told])
    if not _asks_something(handoff.original_query) or not (told or what or _answered(findings, batch)):
        findings = []
    if kind_of(handoff.original_query) is QuestionKind.HOW_TO:
        findings = with_examples(handoff, findings)
    return AnalyzerOutput(
        findings=tuple(findings),
        addressed_gap_ids=tuple(sorted(_addressed(findings, handoff))),
    )


def _answers(aspect: Aspect, weights: Mapping[str, float], batch: Batch) -> Iterable[AnalyzedFinding]:
    """The aspect's findings, best first: none unless the best covers enough of what is asked."""
    scored = sorted(
        ((promise(p, weights, batch), p) for p in batch.found),
        key=lambda pair: (-pair[0], pair[1].source, pair[1].span.start),
    )
    drawn = []
    for likely, passage in scored[:CANDIDATES]:
        if likely >= MIN_SUPPORT:
            finding = _draw(aspect, weights, passage, batch)
            if finding is not None:
                drawn.append(finding)
    drawn.sort(key=lambda f: -f.relevance)
    drawn = to_the_point(drawn, aspect, weights, batch)
    drawn = without_outdone(drawn, aspect, weights, batch)
    per_source: Counter[str] = Counter()
    kept = 0
    for finding in drawn if drawn and _reach(drawn[0], weights, batch) >= MIN_COVERAGE else ():
        (source_id,) = finding.source_ids
        if kept < FINDINGS_PER_ASPECT and per_source[source_id] < FINDINGS_PER_SOURCE:
            kept += 1
            per_source[source_id] += 1
            yield finding


def _draw(
    aspect: Aspect, weights: Mapping[str, float], passage: Passage, batch: Batch
) -> AnalyzedFinding | None:
    """The passage's best sentences as a finding, or None when they say too little by themselves."""
    source = batch.handoff.sources[passage.source]
    context = batch.titles[passage.source]
    expected = expected_answer(aspect.query)
    done = done_once(aspect.query)
    quote = best_quote(source.content, passage, weights, context, expected, done)
    if quote is None:
        return None
    start, end, under, leans, brought, announced = quote
    text = source.content[start:end]
    query = batch.handoff.original_query
    if _is_beside_it(query, source.title, text):
        return None
    if DECADE.search(aspect.query) and _is_of_another_time(expected, text):
        return None
    said = said_by(text, weights, done=done)
    own = said | under | decades(weights, text)
    batch.under[source.id, start] = under
    if announced:
        batch.announced.add((source.id, start))
    reach = coverage(weights, own | context)
    named = {term: weight for term, weight in aspect.weights.items() if weight >= NAME_WEIGHT}
    telling = {term for term, weight in aspect.weights.items() if weight > ASKING_WEIGHT} or weights.keys()
    if reach < MIN_SUPPORT or (own.isdisjoint(telling) and not announced):
        return None
    if named and coverage(named, own | context) < MIN_NAMED:
        return None  # the right words about something else
    if aspect.names and not any(name <= own | context for name in aspect.names):
        return None  # words of a name, but not the name
    asked = {term: weight for term, weight in weights.items() if term in batch.question}
    if aspect.later and asked and coverage(asked, own) < MIN_LED:
        return None  # about a name that was followed, without what is asked of it
    described = not only_points(text) and (describes(text) or bool(term_of(source.content, start, end)))
    content = in_its_place(source.content, start, end)
    return AnalyzedFinding(
        content=after_its_subject(content, source.title, source.content, start) if leans else content,
        confidence=ConfidenceLevel.LOW,
        source_ids=(source.id,),
        category=aspect.query,
        quotes=(AnalyzedQuote(source_id=source.id, quote=text, start=start),),
        sub_query_id=aspect.id,
        relevance=round(
            relevance(aspect, weights, own | context, passage.source, text, batch, described=described)
            + FITTING
            * (fits_beside(expected, text, weights.keys() - context) or (expected is TO_DO and described))
            * (denies(text) or not denies(query))
            + ANNOUNCED * announced
            + GENERAL * explains_kind(aspect.query, text)
            - ROW_PENALTY * (" | " in text)
            - LEANING * leans
            - POINTING * only_points(text)
            - BROUGHT * brought
            - ONLY_DATED * (expected is None and _DATED_NAME.fullmatch(text) is not None)
            - LIST_PENALTY * is_list(text),
            6,
        ),
    )


def _is_beside_it(question: str, title: str, text: str) -> bool:
    """Whether a text belongs to the page, or to another version than is asked about."""
    if is_debris(text) or is_beside(text, question):
        return True
    numbers = fractions(question, exact=kind_of(question) is QuestionKind.TIME)
    # "1.0" is not 127.0.0.1
    return bool(numbers) and not any(number.search(f"{title} {text}") for number in numbers)


def _is_of_another_time(expected: re.Pattern[str] | None, text: str) -> bool:
    """Whether a text tells a date, but none of the time that is asked about."""
    return date_of(text) is not None and not fits(expected, text)


def _reach(finding: AnalyzedFinding, weights: Mapping[str, float], batch: Batch) -> float:
    """How much of the weight a finding and its source's title cover."""
    return coverage(weights, stems_of(finding.content) | said_above(finding, batch))


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


def _answered(findings: Iterable[AnalyzedFinding], batch: Batch) -> bool:
    """Whether the findings together speak of what was asked. A follow-up iteration asks for less than the whole
    question, and stands on what earlier ones found, if they found anything."""
    if batch.handoff.findings:
        return True
    present: set[str] = set()
    for finding in findings:
        present |= stems_of(finding.content) | said_above(finding, batch)
    question = batch.handoff.original_query
    little = says_little(question)
    wanted = {t: w for t, w in without_common_names(batch).items() if t not in little}
    names = {t: w for t, w in question_terms(question).items() if w >= NAME_WEIGHT and t in wanted}
    if names and coverage(names, present) < MIN_ASKED_NAMES:
        return False
    several_parts = len(parts(question)) > 1 or kind_of(question) is QuestionKind.COMPARISON
    return coverage(wanted, present) >= (MIN_PART if several_parts else MIN_COVERAGE)


def _addressed(findings: list[AnalyzedFinding], handoff: AnalyzerInput) -> set[str]:
    return filled(handoff.open_gaps, [f.content for f in findings])
