"""How much an item matters when not all of it fits: the spec's formula and what each part of it is made from. Pure."""

from __future__ import annotations

from datetime import date
from types import MappingProxyType

from deep_research.state import SourceQuality

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
