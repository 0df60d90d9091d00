"""Findings of a question whose answer takes several sources: from each the sentences that lead on or end it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, product

from deep_research.evidence.chains import LED, Step
from deep_research.evidence.debris import is_debris
from deep_research.evidence.entries import Asked
from deep_research.evidence.expecting import expected_answer, fits, wanted
from deep_research.evidence.passages import passages
from deep_research.evidence.quoting import Quoted, best_quote
from deep_research.evidence.ranking import Passage, stems_of
from deep_research.evidence.reading import readable
from deep_research.evidence.relations import related
from deep_research.evidence.text import coverage, stem
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, SourceText
from deep_research.state import ConfidenceLevel, Finding, Span

MIN_REACH = 0.4  # of what is asked, for a chain beside other findings
MIN_REACH_ALONE = 0.7  # the same where nothing else was found
MORE = 0.05  # of the question, that a chain says more than any other finding
FITTING = 0.3  # of what is wanted, for holding what is expected of an answer
LEFT = 0.1  # what another passage of the last source must be better by
ONWARD = 1.0  # the weight of the name that leads on, against the words of the question
CALLED = 0.4  # the same for the name that led here, where the source is not called so
OTHERWISE = 0.8  # of a word's weight, when it is said in another form of the same relation
MOST_WAYS = 16  # in which the forms of several words are tried
FIRST = 0.99  # relevance of the first finding; each next one a little less
LESS = 0.01


def chained(
    question: str,
    asked: Asked,
    steps: Sequence[Step],
    sources: Mapping[str, SourceText],
    others: Sequence[Finding],
    sub_query_id: str,
) -> list[AnalyzedFinding]:
    """One finding of each source of the chain, in its order; none where the chain says too little, or no more than
    one of the ``others`` that were found. ``sub_query_id`` is that of the question itself."""
    alone = not others
    held = set[str]().union(*(step.words for step in steps))
    if asked.share(held) < (MIN_REACH_ALONE if alone else MIN_REACH):
        return []
    if alone and not asked.words.keys() - asked.relations <= held:
        return []  # what is found speaks of another name
    found: list[AnalyzedFinding] = []
    for place, step in enumerate(steps):
        onward = steps[place + 1].name if place + 1 < len(steps) else ""
        source = sources[step.source]
        ways = _wanted(asked, step, onward, source)
        if onward:
            near = _nearest("", source, step.span, ways)
            quote = near[1] if near else None
        else:
            quote = _last(question, source, step.span, ways)
        if quote is None:
            return []
        text = source.content[quote.start : quote.end]
        if not set(map(stem, onward.split())) <= stems_of(text):
            return []  # a reader would not see how one leads to the next
        found.append(
            AnalyzedFinding(
                content=readable(source.content, quote.start, quote.end),
                confidence=ConfidenceLevel.LOW,
                source_ids=(source.id,),
                category=LED,
                sub_query_id=sub_query_id,
                quotes=(AnalyzedQuote(source_id=source.id, quote=text),),
                relevance=round(FIRST - LESS * place, 6),
            )
        )
    if wanted(question) and not fits(expected_answer(question), found[-1].quotes[0].quote):
        return []  # where a date is asked for, what tells none is no end
    together = set[str]().union(*(_said(f, sources) for f in found))
    if alone and not asked.words.keys() - asked.relations <= together:
        return []  # a passage has the name, and what was drawn from it has not
    best = max((_said(f, sources) for f in others), key=asked.share, default=set[str]())
    if not (asked.words.keys() - asked.relations) & best <= together:
        return []  # another finding is nearer to what the question names
    dates = {term for term in asked.words if any(map(str.isdigit, term))}
    if not dates <= together:
        return []  # what is asked of one time is no answer for another
    meant = {term for term in asked.words if not together.isdisjoint(related(term))}
    return found if asked.share(meant) >= asked.share(best) + MORE else []


def _said(finding: Finding | AnalyzedFinding, sources: Mapping[str, SourceText]) -> set[str]:
    """The stems of a finding and of its sources' titles."""
    titles = (stems_of(sources[i].title) for i in finding.source_ids if i in sources)
    return stems_of(finding.content).union(*titles)


def _wanted(asked: Asked, step: Step, onward: str, source: SourceText) -> list[dict[str, float]]:
    """The stems that a step's sentences should have: its words of the question, as the source says them, and the name
    that leads on. Each time with one form in which the source says a word: "the only child of one, a grandson of
    another" says no more of a father than "his son" does."""
    present = stems_of(source.content[step.span.start : step.span.end])
    forms: list[list[tuple[str, float]]] = []
    wanted: dict[str, float] = {}
    for term in sorted(step.words):
        weight = asked.words[term]
        if term in present:
            wanted[term] = weight
        if others := sorted((related(term) & present) - {term}):
            forms.append([(other, OTHERWISE * weight) for other in others])
    for name, weight in ((onward, ONWARD), ("" if step.titled else step.name, CALLED)):
        for word in name.split():
            wanted[stem(word)] = max(weight / (1 + name.count(" ")), wanted.get(stem(word), 0.0))
    return [_with(wanted, chosen) for chosen in islice(product(*forms), MOST_WAYS)]


def _with(wanted: Mapping[str, float], forms: Sequence[tuple[str, float]]) -> dict[str, float]:
    return {**wanted, **{form: max(weight, wanted.get(form, 0.0)) for form, weight in forms}}


def _nearest(
    question: str, source: SourceText, span: Span, ways: Sequence[Mapping[str, float]]
) -> tuple[float, Quoted] | None:
    """The best sentences of a passage in any of the ``ways`` to say what is wanted, and what share of it they have."""
    best: tuple[float, Quoted] | None = None
    for words in ways:
        quote = _quote(question, source, span, words)
        if quote is not None:
            said = stems_of(source.content[quote.start : quote.end]) | quote.under | stems_of(source.title)
            share = coverage(words, said)
            if best is None or share > best[0]:
                best = share, quote
    return best


def _last(
    question: str, source: SourceText, span: Span, ways: Sequence[Mapping[str, float]]
) -> Quoted | None:
    """The best sentences of a source for the end of a chain: of the passage that the chain leads to, or of another
    that holds what is expected of an answer and no less of what is wanted."""
    expected = expected_answer(question)
    best: tuple[float, Quoted] | None = None
    for place in (span, *(p.span for p in passages(source.content))):
        found = _nearest(question, source, place, ways)
        if found is None:
            continue
        share, quote = found
        value = share + FITTING * fits(expected, source.content[quote.start : quote.end])
        if best is None or value > best[0] + LEFT * (place != span):
            best = value, quote
    return best[1] if best else None


def _quote(query: str, source: SourceText, span: Span, wanted: Mapping[str, float]) -> Quoted | None:
    """The best sentences of a passage."""
    passage = Passage(0, span, {})
    quote = best_quote(source.content, passage, wanted, stems_of(source.title), expected_answer(query))
    if quote is None or is_debris(source.content[quote.start : quote.end]):
        return None
    return quote
