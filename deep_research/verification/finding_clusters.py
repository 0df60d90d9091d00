"""Clusters of findings that say the same, and the confidence that follows. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from deep_research.patterns import regex
from deep_research.provenance.independence import voices
from deep_research.provenance.near_duplicates import MAX_ALIKE, SimilarSets
from deep_research.state import ConfidenceLevel, Finding, Gap, Quote, Source, SourceQuality
from deep_research.text.rows import unlabelled
from deep_research.text.statements import NAME
from deep_research.text.term_weights import coverage, rarity
from deep_research.text.units import UNIT_WORDS, Quantity, measured
from deep_research.text.words import STOP_WORDS, denies, question_terms, stem, stems_of, words

SAME_OVERLAP_SHARE = 0.8
GAP_COVERAGE_SHARE = 0.6
LEVELS = (
    (0.7, ConfidenceLevel.HIGH),
    (0.45, ConfidenceLevel.MEDIUM),
    (0.2, ConfidenceLevel.LOW),
    (0.0, ConfidenceLevel.SPECULATION),
)
_STEPS = (ConfidenceLevel.LOW, ConfidenceLevel.MEDIUM, ConfidenceLevel.HIGH, ConfidenceLevel.CONFIRMED)
_NUMBER = regex(r"\d[\d,.]*")


def numbers(text: str) -> frozenset[str]:
    """The numbers of a text, thousands separators and trailing marks dropped; measured ones in the first unit of
    their kind, to three digits or as many as are told, so that 57 m and 187 ft are one, and 1,995 people and 1,996
    are not."""
    found = set()
    rest = text
    for quantity in measured(text):
        found.add(f"{_as_told(quantity)} {quantity.kind}")
        rest = f"{rest[: quantity.start]}{' ' * (quantity.end - quantity.start)}{rest[quantity.end :]}"
    found |= {n.rstrip(".,").replace(",", "") for n in _NUMBER.findall(rest)}
    return frozenset(found)


def _as_told(quantity: Quantity) -> float:
    digits = f"{quantity.value:.11e}".partition("e")[0].replace(".", "").rstrip("0")
    return float(f"{quantity.base:.{max(3, len(digits))}g}")


def _name_others(one: str, other: str) -> bool:
    """Whether each of two texts has a capital on a word that the other lacks: "Mole is a lamp" and "Hare is a lamp" speak
    of two things, though a sentence's first word has its capital by rule."""
    a, b = _features(one), _features(other)
    return not (a.capitals <= b.tokens or b.capitals <= a.tokens)


@dataclass(frozen=True, slots=True)
class _Features:
    """What a statement is compared by."""

    negated: bool
    capitals: frozenset[str]
    tokens: frozenset[str]


@lru_cache(maxsize=4096)  # every iteration compares its findings with all earlier ones
def _features(content: str) -> _Features:
    content = unlabelled(content)
    every = words(content)
    return _Features(
        negated=denies(content),
        capitals=frozenset(stem(w) for w in NAME.findall(content) if w.casefold() not in STOP_WORDS),
        tokens=frozenset(
            stem(w)
            for w in every
            if w.casefold() not in STOP_WORDS and w.casefold() not in UNIT_WORDS and not w[0].isdigit()
        ),
    )


def merge_findings(
    findings: Iterable[Finding], sources: Mapping[str, Source], *, stated_counts: bool = False
) -> tuple[Finding, ...]:
    """Findings that are one become one, with all their sources and quotes; confidence follows from the
    sources, see `confidence`. Order is kept: the first wording stays."""
    every = list(findings)
    tokens_of = (_features(finding.content).tokens for finding in every)
    similar = SimilarSets(tokens_of, least=SAME_OVERLAP_SHARE, most=MAX_ALIKE)
    groups: list[list[Finding]] = []
    for finding in every:
        tokens, told = _features(finding.content).tokens, numbers(finding.content)
        near = similar.near(tokens, beside=told)
        place = next((at for at in near if _same(finding.content, groups[at][0].content)), None)
        if place is not None:
            groups[place].append(finding)
        else:
            similar.add(tokens, len(groups), beside=told)
            groups.append([finding])
    return tuple(_judged(join_group(group), sources, stated_counts) for group in groups)


def _same(one: str, other: str) -> bool:
    a, b = _features(one), _features(other)
    # One may name a thing in more words than the other, but none may name another thing.
    if a.negated != b.negated or _name_others(one, other):
        return False
    return len(a.tokens & b.tokens) >= SAME_OVERLAP_SHARE * max(1, len(a.tokens | b.tokens))


def _judged(finding: Finding, sources: Mapping[str, Source], stated_counts: bool) -> Finding:
    level = confidence(
        finding.confidence, finding.source_ids, sources, finding.quotes, stated_counts=stated_counts
    )
    return finding if level is finding.confidence else finding.model_copy(update={"confidence": level})


def join_group(group: Sequence[Finding]) -> Finding:
    """The first of some findings that are one, with the sources and quotes of all."""
    first, *others = group
    if not others:
        return first
    return first.model_copy(
        update={
            "source_ids": tuple(dict.fromkeys(chain.from_iterable(f.source_ids for f in group))),
            "quotes": tuple(dict.fromkeys(chain.from_iterable(f.quotes for f in group))),
            "relevance": max(finding.relevance for finding in group),
        }
    )


def level_of(probability: float) -> ConfidenceLevel:
    """The step of confidence that a probability (0 to 1) makes, where no model says its own."""
    return next(level for least, level in LEVELS if probability >= least)


def confidence(
    stated: ConfidenceLevel,
    source_ids: Iterable[str],
    sources: Mapping[str, Source],
    quotes: Sequence[Quote] = (),
    *,
    stated_counts: bool = False,
) -> ConfidenceLevel:
    """From the independent sources that carry a finding: confirmed with three of high quality, high with two,
    medium with one, low with others only. What an agent calls speculation stays that; what a model says of it counts
    (``stated_counts``) within one step of that."""
    if stated is ConfidenceLevel.SPECULATION:
        return stated
    held = [sources[i] for i in source_ids if i in sources]
    high = sum(any(s.quality is SourceQuality.HIGH for s in group) for group in voices(held, quotes))
    step = min(high, 3)
    if stated_counts:
        step = min(max(_STEPS.index(stated), step - 1), step + 1)
    return _STEPS[step]


def filled(gaps: Iterable[Gap], findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """By the ids of the gaps, the findings of which one alone covers enough of the weight, by rarity among them: words
    that most of them have fill no gap."""
    texts = [stems_of(finding.content) for finding in findings]
    holding = Counter(term for text in texts for term in text)
    found: dict[str, list[Finding]] = {}
    for gap in gaps:
        terms = question_terms(" ".join((gap.description, *gap.suggested_queries[:1])))
        wanted = {t: weight * rarity(len(texts), holding[t]) for t, weight in terms.items()}
        covering = [
            f for f, text in zip(findings, texts, strict=True) if coverage(wanted, text) >= GAP_COVERAGE_SHARE
        ]
        if covering:
            found[gap.id] = covering
    return found
