"""Priority of items that do not all fit: the spec's formula and its parts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Protocol

from deep_research.budget.allocation import ItemClass
from deep_research.provenance.quality import is_named
from deep_research.state import ConfidenceLevel, Finding, Gap, SourceQuality

# The parts' weights in the spec, summing to 1.
RELEVANCE, RECENCY, QUALITY, USER = 0.4, 0.3, 0.2, 0.1
HALF_LIFE = 3 * 365.25  # days after which a publication is worth half of a new one
UNDATED = 0.5  # most pages bear no date: neither new nor old
UNRANKED = 0.5
_OF_QUALITY = MappingProxyType(
    {
        SourceQuality.HIGH: 1.0,
        SourceQuality.MEDIUM: 0.7,
        SourceQuality.UNKNOWN: 0.5,
        SourceQuality.LOW: 0.2,
    }
)


_OF_CONFIDENCE = MappingProxyType(
    {
        ConfidenceLevel.CONFIRMED: 1.0,
        ConfidenceLevel.HIGH: 0.9,
        ConfidenceLevel.MEDIUM: 0.6,
        ConfidenceLevel.LOW: 0.3,
        ConfidenceLevel.SPECULATION: 0.1,
    }
)


class Ranked(Protocol):
    """What is looked at of a source."""

    @property
    def url(self) -> str | None: ...
    @property
    def relevance(self) -> float | None: ...
    @property
    def published(self) -> date | None: ...
    @property
    def quality(self) -> SourceQuality: ...


@dataclass(frozen=True, slots=True)
class Weights:
    """Weighs the items of one run: as of ``today``, with the sources that its owner wants ``protected`` (patterns)."""

    today: date | None = None
    protected: Sequence[str] = ()

    def is_protected(self, source: Ranked) -> bool:
        return bool(source.url) and is_named(source.url or "", self.protected)

    def source(self, source: Ranked) -> tuple[float, ItemClass]:
        kept = self.is_protected(source)
        weight = priority(
            relevance_score(source.relevance),
            self._recency(source.published),
            quality_score(source.quality),
            float(kept),
        )
        return weight, ItemClass.PROTECTED if kept else ItemClass.REGULAR

    def finding(self, finding: Finding, sources: Mapping[str, Ranked]) -> tuple[float, ItemClass]:
        """Its quality is how sure it is; a confirmed one is protected. ``sources`` are those it may rest on, by id."""
        behind = [sources[name] for name in finding.source_ids if name in sources]
        kept = any(map(self.is_protected, behind))
        weight = priority(
            finding.relevance or UNRANKED,
            max((self._recency(source.published) for source in behind), default=UNDATED),
            _OF_CONFIDENCE[finding.confidence],
            float(kept),
        )
        critical = kept or finding.confidence is ConfidenceLevel.CONFIRMED
        return weight, ItemClass.PROTECTED if critical else ItemClass.REGULAR

    def gap(self, gap: Gap) -> tuple[float, ItemClass]:
        """The first in priority matter most; they have neither age nor quality."""
        return priority(1.0 / max(1, gap.priority), UNDATED, UNRANKED), ItemClass.REGULAR

    def _recency(self, published: date | None) -> float:
        return UNDATED if self.today is None else recency_score(published, self.today)


def priority(relevance: float, recency: float, quality: float, user: float = 0.0) -> float:
    """The priority (0 to 1) from its four parts, each 0 to 1; what lies outside is brought to the nearer end."""
    return (
        RELEVANCE * _share(relevance)
        + RECENCY * _share(recency)
        + QUALITY * _share(quality)
        + USER * _share(user)
    )


def relevance_score(score: float | None) -> float:
    """From the ranking's score (0 to 1) of a source; None where it was not ranked."""
    return UNRANKED if score is None else _share(score)


def recency_score(published: date | None, today: date) -> float:
    """1 for what appeared today or is dated later, half of it for every `HALF_LIFE` before."""
    if published is None:
        return UNDATED
    return 1.0 if published >= today else float(0.5 ** ((today - published).days / HALF_LIFE))


def quality_score(quality: SourceQuality) -> float:
    """From the judged quality of a source; an unknown one lies between medium and low."""
    return _OF_QUALITY[quality]


def _share(value: float) -> float:
    return min(1.0, max(0.0, value)) if value == value else 0.0  # what is no number counts for nothing
