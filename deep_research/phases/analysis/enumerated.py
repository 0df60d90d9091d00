"""Findings for things of a kind that a sentence announces as a list: "Three lamps are in use:". Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from deep_research.evidence.announcing import units
from deep_research.evidence.debris import is_debris, is_record_of_versions
from deep_research.evidence.fragments import ITEM_MARK
from deep_research.evidence.leaning import leans_back
from deep_research.evidence.listing import THERE_ARE, Listed, things
from deep_research.evidence.ranking import stems_of
from deep_research.evidence.relations import related
from deep_research.evidence.text import StemFinder
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzerInput, SourceText
from deep_research.phases.analysis.spans import finding_at
from deep_research.state import Span

RELEVANCE = 0.95
MOST = 1  # lists
LEAST = 2  # items
_COUNT = r"two|three|four|five|six|seven|eight|nine|ten|several|some|many|various|\d+"
# Other things that the list may be of: "There are two ways to light the lamps:".
_OF_OTHERS = re.compile(
    r"\b(?:ways?|famil(?:y|ies)|situations?|cases?|reasons?|steps?|rules?|examples?|because|if|when|how|why)\b",
    re.IGNORECASE,
)


def enumerated(handoff: AnalyzerInput) -> list[AnalyzedFinding]:
    """The list, of the nearest source that has one; none where a question asks something else."""
    wanted = things(handoff.original_query)
    if wanted is None or wanted.year is not None or wanted.dated:
        return []
    lists = (
        (source, span)
        for source in handoff.sources
        for span in _lists(handoff.original_query, source, wanted)
    )
    return [
        finding_at(handoff, source, span.start, span.end, RELEVANCE) for source, span in islice(lists, MOST)
    ]


def _lists(question: str, source: SourceText, wanted: Listed) -> Iterator[Span]:
    text = source.content
    if wanted.plural.casefold() not in text.casefold() or is_record_of_versions(source.title, question, text):
        return
    about = stems_of(source.title)
    if wanted.names - about - StemFinder(wanted.names)(text):
        return
    for unit in units(text, Span(start=0, end=len(text))):
        announcing, *items = ITEM_MARK.split(text[unit.start : unit.end])[::2]
        if len(items) >= LEAST and _announces(announcing, about, wanted) and not is_debris(announcing):
            yield unit


def _announces(said: str, about: set[str], wanted: Listed) -> bool:
    """Whether it is the things themselves, counted or with an article, and no others that stand behind a sentence."""
    between = r"(?:(?!(?:for|of|to|in|on|by|with|from|and)\b)[\w-]+ )"
    kind = re.compile(
        r"(?<!\bto )(?<!\bof )(?<!\bin )(?<!\bon )(?<!\bby )(?<!\bfor )(?<!\bwith )(?<!\bfrom )"
        rf"\b(?:the|these|following|{_COUNT}) {between}{{0,3}}?(?:(?:kinds|types|sorts) of )?{between}{{0,2}}?"
        rf"{re.escape(wanted.plural)}\b(?!['’])[^:]{{0,60}}:\s*\Z",
        re.IGNORECASE,
    )
    if kind.search(said) is None or _OF_OTHERS.search(said) or leans_back(said):
        return False
    held = stems_of(said) | about
    asked = [related(term) for term in wanted.said - THERE_ARE]
    return wanted.kind <= held and not any(map(held.isdisjoint, asked))
