"""A place of a source as a finding: a sentence with what it points back to and what goes on. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from deep_research.evidence.announcing import MAX_LIST_CHARS
from deep_research.evidence.fragments import flows, is_statement
from deep_research.evidence.leaning import leans_back
from deep_research.evidence.passages import BlockKind, blocks
from deep_research.evidence.quoting import MOST_BEFORE
from deep_research.evidence.reading import readable
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, AnalyzerInput, SourceText
from deep_research.state import ConfidenceLevel, Span

MAX_CHARS = 480  # of a sentence with those around it
_GOES_ON = re.compile(r"[ \t]*[-*+•][ \t]+(?:It|They|He|She)\b")


def finding_at(
    handoff: AnalyzerInput,
    source: SourceText,
    start: int,
    end: int,
    relevance: float,
    *,
    content: str = "",
    category: str = "",
) -> AnalyzedFinding:
    """What stands there as it reads, or as ``content`` tells it, for the question itself."""
    return AnalyzedFinding(
        content=content or readable(source.content, start, end),
        confidence=ConfidenceLevel.LOW,
        source_ids=(source.id,),
        category=category or handoff.original_query,
        quotes=(AnalyzedQuote(source_id=source.id, quote=source.content[start:end], start=start),),
        sub_query_id=handoff.sub_queries[0].id if handoff.sub_queries else "",
        relevance=relevance,
    )


def whole_of(text: str, told: Sequence[Span], place: int) -> Span | None:
    """A sentence with those that it leans on, and with the next of its paragraph; None where it leans on what cannot be
    taken along."""
    first = place
    while leans_back(text[told[first].start : told[first].end]):
        if first in (0, place - MOST_BEFORE) or not flows(text, told[first - 1], told[first]):
            return None
        first -= 1
    end = told[place].end
    if (
        place + 1 < len(told)
        and flows(text, told[place], told[place + 1])
        and is_statement(text, told[place + 1])
    ):
        end = told[place + 1].end if told[place + 1].end - told[first].start <= MAX_CHARS else end
    return Span(start=told[first].start, end=end)


def with_its_list(text: str, span: Span) -> Span:
    """With what there is room for of the list right behind it that goes on about the same: each item opens with "It" or
    the like."""
    end = span.end
    most = span.start + MAX_LIST_CHARS
    for block in blocks(text, span.end, most + MAX_CHARS):
        if block.kind is not BlockKind.ITEM or not _GOES_ON.match(text, block.start) or block.end > most:
            break
        end = block.end
    return Span(start=span.start, end=end)
