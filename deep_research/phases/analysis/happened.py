"""Findings for when something happened that a source tells in other words: the place, with the date above it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deep_research.evidence.dates import YEAR
from deep_research.evidence.names import key, runs
from deep_research.evidence.passages import Block, BlockKind, blocks
from deep_research.evidence.question import QuestionKind, kind_of
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.relations import IN_OTHER_WORDS, related
from deep_research.evidence.text import ASKING_WEIGHT, NAME_WEIGHT, StemFinder, question_terms
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at

RELEVANCE = 0.9
MAX_CHARS = 480
MAX_HEADING = 80  # characters of a line that dates what stands under it
_NUMBER = re.compile(r"(?:#{1,6}|\d{1,3}[.)])?\s*")


def told_otherwise(handoff: AnalyzerInput) -> list[AnalyzedFinding]:
    """The first such place of a source that is called by all the names of the question; none where a source has its
    words."""
    terms = question_terms(handoff.original_query)
    names = {term for term, weight in terms.items() if weight >= NAME_WEIGHT}
    events = {t for t, w in terms.items() if ASKING_WEIGHT < w < NAME_WEIGHT and len(related(t)) > 1}
    if kind_of(handoff.original_query) is not QuestionKind.TIME or not names or not events:
        return []
    about = [source for source in handoff.sources if names <= stems_of(source.title)]
    has_its_words = StemFinder(events)
    if any(has_its_words(source.content) for source in about):
        return []
    others = set().union(*map(related, events))
    has_others = StemFinder(others)
    for source in about:
        if not has_others(source.content):
            continue
        for start, end, content in _places(source, others):
            if not _is_of_it(source, source.content[start:end]):
                continue
            return [
                finding_at(handoff, source, start, end, RELEVANCE, content=content, category=IN_OTHER_WORDS)
            ]
    return []


def _is_of_it(source: SourceText, said: str) -> bool:
    """Whether a text names nothing but what its source is called by."""
    title = set(key(source.title).split())
    return all(title.issuperset(name.split()) for _, name in runs(said))


def _places(source: SourceText, wanted: set[str]) -> Iterator[tuple[int, int, str]]:
    """From the year to the end of the sentence that tells it: in its paragraph, or in the line above that."""
    above: Block | None = None
    for block in blocks(source.content):
        line = source.content[block.start : block.end]
        if block.kind is BlockKind.PARAGRAPH:
            yield from _place(source.content, block, above, wanted)
        is_title = (
            len(line) <= MAX_HEADING
            and block.kind in (BlockKind.HEADING, BlockKind.ITEM)
            and "\n" not in line
        )
        above = block if is_title else above if block.kind is BlockKind.PARAGRAPH else None


def _place(text: str, block: Block, above: Block | None, wanted: set[str]) -> Iterator[tuple[int, int, str]]:
    told = list(block.sentences(text))
    for place, (_, end) in enumerate(told):
        if wanted.isdisjoint(stems_of(text[slice(*told[place])])):
            continue
        for start, stop in reversed(told[: place + 1]):
            if YEAR.search(text, start, stop) and end - start <= MAX_CHARS:
                yield start, end, ""
                return
        if above is not None and YEAR.search(text, above.start, above.end):
            mark = _NUMBER.match(text, above.start, above.end)
            start = mark.end() if mark else above.start
            if end - start <= MAX_CHARS:
                heading = text[start : above.end]
                yield start, end, f"{heading}: {' '.join(text[told[0][0] : end].split())}"
                return
