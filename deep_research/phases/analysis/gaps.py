"""What was not found: parts of the question that no finding covers, and names of it that no source has. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from deep_research.evidence.inquiry import Inquiry, Part
from deep_research.evidence.names import spelled
from deep_research.evidence.text import coverage, rarity
from deep_research.evidence.vocabulary import Vocabulary
from deep_research.phases.analysis.handoff import AnalyzedGap, SurveyInput
from deep_research.state import Mention

COVERED = 0.6  # of what a part asks, for a finding that covers it
COVERED_TOGETHER = 0.8  # of what the question asks, for all findings together
PREFIX = "Not found: "
NOTHING = "Nothing was found about "
MORE = "There may be more to find on: "


def gaps(
    handoff: SurveyInput, inquiry: Inquiry, names: Sequence[Mention], queries: Sequence[str]
) -> tuple[AnalyzedGap, ...]:
    """Parts that no finding covers, each with those of the ``names`` that neither a finding nor a source has. A question
    of one part is covered by all findings together, and while there are ``queries`` that may find more, it stays open."""
    words = inquiry.words
    titles = {source.id: source.title for source in handoff.sources}
    texts = [_stems(f"{source.title}\n{source.content}", words) for source in handoff.sources]
    found = [
        _stems("\n".join((f.content, *(titles.get(i, "") for i in f.source_ids))), words)
        for f in handoff.findings
    ]
    weights = _weights(inquiry, texts)
    together = set[str]().union(*found)
    if len(inquiry.parts) > 1:
        missing = [
            p for p in inquiry.parts if max((_share(p, s, weights) for s in found), default=0.0) < COVERED
        ]
    else:
        missing = [p for p in inquiry.parts if not found or _share(p, together, weights) < COVERED_TOGETHER]
    if missing:
        held = together.union(*texts)
        return tuple(_gap(part, names, held, words, 1 if part is inquiry.parts[0] else 2) for part in missing)
    if queries and len(inquiry.parts) == 1:
        return (AnalyzedGap(description=f"{MORE}{inquiry.text}", priority=2),)
    return ()


def _stems(text: str, words: Vocabulary) -> set[str]:
    return set(words.terms(text))


def _weights(inquiry: Inquiry, texts: Sequence[set[str]]) -> Mapping[str, float]:
    """What is asked for, each term by how few of the sources have it."""
    holding = Counter(term for text in texts for term in text.intersection(inquiry.terms))
    return {term: rarity(max(1, len(texts)), holding[term]) for term in inquiry.terms}


def _share(part: Part, present: AbstractSet[str], weights: Mapping[str, float]) -> float:
    return coverage({term: weights.get(term, 1.0) for term in part.terms}, present)


def _gap(
    part: Part, names: Sequence[Mention], held: set[str], words: Vocabulary, priority: int
) -> AnalyzedGap:
    """The part, and which of its names nothing that was found has."""
    unknown = [
        name
        for name in (mention.name for mention in names)
        if not held.issuperset(terms := words.terms(name)) and set(terms) <= set(part.terms)
    ]
    unknown = [n for n in unknown if not any(f" {other} " in f" {n} " for other in unknown if other != n)]
    if not unknown:
        return AnalyzedGap(description=f"{PREFIX}{part.text}", priority=priority)
    end = "" if part.text[-1:] in ".?!" else "."
    quoted = [f"“{name}”" for name in spelled(part.text, *unknown)]
    either = f"{', '.join(quoted[:-1])} or {quoted[-1]}" if len(quoted) > 1 else quoted[0]
    return AnalyzedGap(description=f"{PREFIX}{part.text}{end} {NOTHING}{either}.", priority=priority)
