"""Findings for what happens in a case: the sentences that tell what follows, or that it has to be otherwise. Pure."""

from __future__ import annotations

from deep_research.evidence.catalogue import catalogues
from deep_research.evidence.conditions import Case, case_asked
from deep_research.evidence.debris import is_debris
from deep_research.evidence.fragments import is_statement
from deep_research.evidence.passages import sentences
from deep_research.evidence.reading import readable
from deep_research.evidence.text import StemFinder, stem
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at, whole_of
from deep_research.phases.analysis.splitting import Split

RELEVANCE = 0.95
LESS = 0.02  # from one sentence to the next
MOST = 3
AROUND = 300  # characters before a sentence, that may say of what it tells


def conditional(handoff: AnalyzerInput, split: Split) -> list[AnalyzedFinding]:
    """The findings, the first of each source, those of the nearest sources first; none where a question asks for no
    case."""
    case = case_asked(handoff.original_query)
    if case is None:
        return []
    return _told(handoff, case, split, near=False) or _told(handoff, case, split, near=True)


def _told(handoff: AnalyzerInput, case: Case, split: Split, *, near: bool) -> list[AnalyzedFinding]:
    """The findings; with ``near`` those of sentences that leave a part of the case to the title and to what stands before
    them."""
    finder = StemFinder({part for _, parts in case.names for part in parts} | case.words.keys())
    found: list[AnalyzedFinding] = []
    for source in handoff.sources:
        text = source.content
        if not finder(text):
            continue
        if (described := _described(handoff, source, case, RELEVANCE - LESS * len(found))) is not None:
            found.append(described)
            continue
        told = split(source)
        for place, span in enumerate(told):
            said = text[span.start : span.end]
            around = f"{source.title} {text[max(0, span.start - AROUND) : span.start]}" if near else ""
            is_told = case.is_told_near(said, around) if near else case.is_told(said)
            if not is_told or not is_statement(text, span) or is_debris(said):
                continue
            if (whole := whole_of(text, told, place)) is not None:
                found.append(
                    finding_at(handoff, source, whole.start, whole.end, RELEVANCE - LESS * len(found))
                )
                break
        if len(found) == MOST:
            break
    return found


def _described(
    handoff: AnalyzerInput, source: SourceText, case: Case, relevance: float
) -> AnalyzedFinding | None:
    """The first such sentence in the description of what the question names: it need not name it again."""
    text = source.content
    for name, _ in case.names:
        for entry in (e for each in catalogues(text) for e in each.entries if stem(e.term) == name):
            for span in sentences(text, entry.start, entry.last):
                said = text[span.start : span.end]
                if span.start > entry.start and case.is_told(said, entry.term) and is_statement(text, span):
                    content = f"{entry.term}: {readable(text, span.start, span.end)}"
                    return finding_at(handoff, source, span.start, span.end, relevance, content=content)
    return None
