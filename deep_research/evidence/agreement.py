"""Which findings say the same, and how sure that makes them. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from deep_research.evidence.text import NEGATIONS, STOP_WORDS, coverage, question_terms, stem, words
from deep_research.state import ConfidenceLevel, Finding, Gap, Source, SourceQuality

SAME_OVERLAP = 0.8
GAP_COVERAGE = 0.6
_NUMBER = re.compile(r"\d[\d,.]*")


def numbers(text: str) -> frozenset[str]:
    """The numbers of a text, thousands separators and trailing marks dropped."""
    return frozenset(n.rstrip(".,").replace(",", "") for n in _NUMBER.findall(text))


def is_negated(text: str) -> bool:
    return any(w.casefold() in NEGATIONS for w in words(text))


def names(text: str) -> frozenset[str]:
    """Capitalised words that do not open a sentence only by rule: a rough set of the entities named."""
    found = set()
    for match in re.finditer(r"(?<![.!?:]\s)(?<!^)\b[A-Z][\w'’-]+", text):
        found.add(stem(match.group()))
    return frozenset(found)


def merged(findings: Iterable[Finding], sources: Mapping[str, Source]) -> tuple[Finding, ...]:
    """Findings that are one become one, with all their sources and quotes; confidence follows from the
    sources. Order is kept: the first wording stays."""
    groups: dict[tuple[object, ...], list[tuple[Finding, frozenset[str]]]] = defaultdict(list)
    order: list[tuple[tuple[object, ...], int]] = []
    for finding in findings:
        key = (numbers(finding.content), is_negated(finding.content))
        tokens = frozenset(stem(w) for w in words(finding.content) if w.casefold() not in STOP_WORDS)
        group = groups[key]
        for place, (known, known_tokens) in enumerate(group):
            if _overlap(tokens, known_tokens) >= SAME_OVERLAP and _same_names(finding, known):
                group[place] = _joined(known, finding), known_tokens
                break
        else:
            order.append((key, len(group)))
            group.append((finding, tokens))
    kept = (groups[key][place][0] for key, place in order)
    return tuple(f.model_copy(update={"confidence": confidence(f, sources)}) for f in kept)


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    return len(a & b) / max(1, len(a | b))


def _same_names(a: Finding, b: Finding) -> bool:
    return names(a.content) == names(b.content)


def _joined(known: Finding, other: Finding) -> Finding:
    quotes = dict.fromkeys((*known.quotes, *other.quotes))
    return known.model_copy(
        update={
            "source_ids": tuple(dict.fromkeys((*known.source_ids, *other.source_ids))),
            "quotes": tuple(quotes),
            "relevance": max(known.relevance, other.relevance),
        }
    )


def confidence(finding: Finding, sources: Mapping[str, Source]) -> ConfidenceLevel:
    """From the independent sources that carry it: confirmed with three of high quality, high with two, medium
    with one, low with others only. What an agent calls speculation stays that."""
    if finding.confidence is ConfidenceLevel.SPECULATION:
        return ConfidenceLevel.SPECULATION
    held = [sources[i] for i in finding.source_ids if i in sources]
    # The same text under two addresses is one witness.
    high = {s.content_hash or s.id for s in held if s.quality is SourceQuality.HIGH}
    if len(high) >= 3:
        return ConfidenceLevel.CONFIRMED
    if len(high) == 2:
        return ConfidenceLevel.HIGH
    return ConfidenceLevel.MEDIUM if high else ConfidenceLevel.LOW


def addresses(finding: Finding, gap: Gap) -> bool:
    """Whether a finding covers enough of what a gap asks for."""
    wanted = question_terms(" ".join((gap.description, *gap.suggested_queries[:1])))
    present = {stem(w) for w in words(f"{finding.content} {finding.category or ''}")}
    return coverage(wanted, present) >= GAP_COVERAGE
