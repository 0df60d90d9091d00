"""Findings for the difference between two things: sentences that say outright how one is to the other, or else what each
does. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deep_research.evidence.contrasting import outright, says_what_it_does
from deep_research.evidence.debris import is_debris
from deep_research.evidence.fragments import is_statement
from deep_research.evidence.question import chooses, compared
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at, whole_of
from deep_research.phases.analysis.splitting import Split
from deep_research.state import Span

RELEVANCE = 0.95
LESS = 0.02  # from one sentence to the next
MOST = 4
_CALLED = re.compile(r"\w[_.]\w|\(")  # "open_lamp", "lamp.open"


def contrasted(handoff: AnalyzerInput, split: Split) -> list[AnalyzedFinding]:
    """The findings, those of the sources that are nearest first; none where a question compares nothing."""
    sides = compared(handoff.original_query)
    if not sides or chooses(handoff.original_query):
        return []
    return _outright(handoff, sides, split) or _one_by_one(handoff, sides, split)


def _outright(handoff: AnalyzerInput, sides: Sequence[str], split: Split) -> list[AnalyzedFinding]:
    says_it = outright(sides)
    found: list[AnalyzedFinding] = []
    for source in handoff.sources:
        text = source.content
        lower = text.casefold()
        told = split(source) if all(side.casefold().rstrip("s") in lower for side in sides) else []
        end = 0
        for place, span in enumerate(told):
            said = " ".join(text[span.start : span.end].split())
            if span.start < end or not says_it.match(said) or not is_statement(text, span) or is_debris(said):
                continue
            if (whole := whole_of(text, told, place)) is not None:
                end = whole.end
                found.append(finding_at(handoff, source, whole.start, end, RELEVANCE - LESS * len(found)))
                if len(found) == MOST:
                    return found
    return found


def _one_by_one(handoff: AnalyzerInput, sides: Sequence[str], split: Split) -> list[AnalyzedFinding]:
    """What each side does, from one source if that can be; none where not all are told of. It is for what programs call
    something: of other things more is told than this."""
    if not any(_CALLED.search(side) for side in sides):
        return []
    told = {source.id: _of_sides(source, sides, split) for source in handoff.sources}
    nearest = sorted(handoff.sources, key=lambda source: -len(told[source.id]))
    found: list[AnalyzedFinding] = []
    for side in sides:
        source = next((source for source in nearest if side in told[source.id]), None)
        if source is None:
            return []
        span = told[source.id][side]
        found.append(finding_at(handoff, source, span.start, span.end, RELEVANCE - LESS * len(found)))
    return found


def _of_sides(source: SourceText, sides: Sequence[str], split: Split) -> dict[str, Span]:
    """The first sentence that tells of each side alone what it does, with the one after it that goes on."""
    text, found = source.content, dict[str, Span]()
    wanted = [side for side in sides if side.casefold() in text.casefold()]
    told = split(source) if wanted else []
    for side in wanted:
        says = says_what_it_does(side)
        others = [re.compile(rf"(?<![\w.]){re.escape(each)}(?![\w.]\w)") for each in sides if each != side]
        for place, span in enumerate(told):
            said = " ".join(text[span.start : span.end].split())
            if not says.match(said) or any(other.search(said) for other in others) or is_debris(said):
                continue
            # What programs call something opens with a small letter.
            reads = is_statement(text, span) or (
                said[0].islower() and said.startswith(side) and said[-1] == "."
            )
            if reads and (whole := whole_of(text, told, place)) is not None:
                found[side] = whole
                break
    return found
