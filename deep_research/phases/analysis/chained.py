"""Findings of a question whose answer takes several sources: from each the sentences that lead on or end it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deep_research.evidence.chains import Step
from deep_research.evidence.debris import is_debris
from deep_research.evidence.entries import Asked
from deep_research.evidence.quoting import Quoted, best_quote, expected_answer, readable
from deep_research.evidence.ranking import Passage, stems_of
from deep_research.evidence.relations import related
from deep_research.evidence.text import stem
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, SourceText
from deep_research.state import ConfidenceLevel, Span

CATEGORY = "led to by another source"
MIN_REACH = 0.4  # of what is asked, for a chain beside other findings
MIN_REACH_ALONE = 0.7  # the same where nothing else was found
ONWARD = 1.0  # the weight of the name that leads on, against the words of the question
CALLED = 0.4  # the same for the name that led here, where the source is not called so
OTHERWISE = 0.8  # of a word's weight, when it is said in another form of the same relation
FIRST = 0.99  # relevance of the first finding; each next one a little less
LESS = 0.01


def chained(
    question: str, asked: Asked, steps: Sequence[Step], sources: Mapping[str, SourceText], *, alone: bool
) -> list[AnalyzedFinding]:
    """One finding of each source of the chain, in its order; none where the chain says too little. ``alone`` is
    whether nothing else was found."""
    held = set[str]().union(*(step.words for step in steps))
    if asked.share(held) < (MIN_REACH_ALONE if alone else MIN_REACH):
        return []
    if alone and not asked.words.keys() - asked.relations <= held:
        return []  # what is found speaks of another name
    found: list[AnalyzedFinding] = []
    for place, step in enumerate(steps):
        onward = steps[place + 1].name if place + 1 < len(steps) else ""
        source = sources[step.source]
        wanted = _wanted(asked, step, onward, source)
        quote = _quote(question if not onward else "", source, step.span, wanted)
        if quote is None:
            return []
        text = source.content[quote.start : quote.end]
        found.append(
            AnalyzedFinding(
                content=readable(source.content, quote.start, quote.end),
                confidence=ConfidenceLevel.LOW,
                source_ids=(source.id,),
                category=CATEGORY,
                quotes=(AnalyzedQuote(source_id=source.id, quote=text),),
                relevance=round(FIRST - LESS * place, 6),
            )
        )
    return found


def _wanted(asked: Asked, step: Step, onward: str, source: SourceText) -> dict[str, float]:
    """The stems that a step's sentences should have: its words of the question, as the source says them, and the
    name that leads on."""
    present = stems_of(source.content[step.span.start : step.span.end])
    wanted: dict[str, float] = {}
    for term in sorted(step.words):
        weight = asked.words[term]
        if term in present:
            wanted[term] = weight
        for other in sorted((related(term) & present) - {term}):
            wanted[other] = max(wanted.get(other, 0.0), OTHERWISE * weight)
    for name, weight in ((onward, ONWARD), ("" if step.titled else step.name, CALLED)):
        for word in name.split():
            wanted[stem(word)] = max(weight / (1 + name.count(" ")), wanted.get(stem(word), 0.0))
    return wanted


def _quote(query: str, source: SourceText, span: Span, wanted: Mapping[str, float]) -> Quoted | None:
    """The best sentences of a passage."""
    passage = Passage(0, span, {})
    quote = best_quote(source.content, passage, wanted, stems_of(source.title), expected_answer(query))
    if quote is None or is_debris(source.content[quote.start : quote.end]):
        return None
    return quote
