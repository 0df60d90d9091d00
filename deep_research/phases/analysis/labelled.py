"""Findings for a date or a figure that stands behind its label: "First lit: 27 June 1904". Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deep_research.evidence.expecting import expected_answer, fits, wanted
from deep_research.evidence.passages import BlockKind, blocks
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.text import ASKING_WEIGHT, NAME_WEIGHT, STOP_WORDS, question_terms, stem, words
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at

RELEVANCE = 0.72
MAX_CHARS = 160
_LABELLED = re.compile(r"[-*+•]\s+(?P<label>[^\s:][^:\n]{1,40}):\s+(?P<value>\S.*)", re.DOTALL)


def labelled(handoff: AnalyzerInput) -> list[AnalyzedFinding]:
    """The first such item of each source that is called by all names of the question."""
    question = handoff.original_query
    terms = question_terms(question)
    names = {term for term, weight in terms.items() if weight >= NAME_WEIGHT}
    asked = {term for term, weight in terms.items() if ASKING_WEIGHT < weight < NAME_WEIGHT}
    if not wanted(question) or not names:
        return []
    about = (source for source in handoff.sources if names <= stems_of(source.title))
    return [found for source in about for found in _items(handoff, source, asked | {stem("first")})][:2]


def _items(handoff: AnalyzerInput, source: SourceText, asked: set[str]) -> Iterator[AnalyzedFinding]:
    expected = expected_answer(handoff.original_query)
    heading = ""
    for block in blocks(source.content):
        text = source.content[block.start : block.end]
        if block.kind is BlockKind.HEADING:
            heading = text.strip("# ") if block.level > 1 else ""
        item = _LABELLED.fullmatch(text) if block.kind is BlockKind.ITEM and len(text) <= MAX_CHARS else None
        if item is None or not fits(expected, item["value"]):
            continue
        label = {stem(word) for word in words(item["label"]) if word.casefold() not in STOP_WORDS}
        if label and label <= asked and label - {stem("first")}:
            said = " ".join(text[item.start("label") :].split())
            start = block.start + item.start("label")
            content = f"{heading}: {said}" if heading else said
            yield finding_at(handoff, source, start, block.end, RELEVANCE, content=content)
            return
