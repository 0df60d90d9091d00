"""What was asked and not found, as a gap with a query that may fill it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from deep_research.evidence.text import ASKING_WORDS, content_words, is_name_like, stem, words
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedGap


def missing(
    query: str,
    priority: int,
    present: AbstractSet[str],
    findings: Sequence[AnalyzedFinding],
    question: str,
    weights: Mapping[str, float],
) -> AnalyzedGap:
    """The one follow-up rule: search for the words that no finding has, with the names that the best finding
    brings and the question does not."""
    lacking = [
        w
        for w in dict.fromkeys(content_words(query))
        if stem(w) not in present and w.casefold() not in ASKING_WORDS
    ]
    asked = {stem(w) for w in words(question)}
    bridges = _names(findings[0].content, asked)[:3] if findings else []
    rarest = sorted(lacking, key=lambda w: -weights.get(stem(w), 0.0))[:4]
    wanted = f" ({', '.join(lacking)})" if findings and lacking else ""
    return AnalyzedGap(
        description=f"Not found: {query}{wanted}",
        suggested_queries=(" ".join([*bridges, *rarest]),) if bridges and rarest else (),
        priority=priority,
    )


def _names(text: str, asked: set[str]) -> list[str]:
    """Names of a text that were not in the question, in order; a sentence's first word is no name by itself."""
    every = words(text)
    return [
        w
        for w in dict.fromkeys(every[1:])
        if is_name_like(w) and not w[0].isdigit() and len(w) > 2 and stem(w) not in asked
    ]
