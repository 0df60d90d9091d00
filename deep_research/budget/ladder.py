"""The ladder of fidelity: how much of an item is sent, and what that is called. Pure.

A level's ratio is its upper bound: an item at a level has any share of its tokens from that ratio down to the ratio of
the next level, which is not part of it. Only what is whole is full: what lost
anything at all is condensed at least.
"""

from __future__ import annotations

from enum import StrEnum


class FidelityLevel(StrEnum):
    """What becomes of an item, the most of it first."""

    FULL = "full"
    CONDENSED = "condensed"
    COMPRESSED = "compressed"
    KEY_POINTS = "key_points"
    HEADLINE = "headline"
    DROPPED = "dropped"

    @property
    def percent(self) -> int:
        """The most of an item's tokens that it has at this level, in hundredths: exact where a ratio is not."""
        return _PERCENT[self]

    @property
    def ratio(self) -> float:
        """The same as a share, 0 to 1."""
        return _PERCENT[self] / 100


_PERCENT = {
    FidelityLevel.FULL: 100,
    FidelityLevel.CONDENSED: 70,
    FidelityLevel.COMPRESSED: 40,
    FidelityLevel.KEY_POINTS: 20,
    FidelityLevel.HEADLINE: 10,
    FidelityLevel.DROPPED: 0,
}


class FidelityBand(StrEnum):
    """How a report says how much of what was found its writers were given."""

    FULL = "Full"
    CONDENSED = "Condensed"
    COMPRESSED = "Compressed"
    MINIMAL = "Minimal"


_BANDS = (
    (0.90, FidelityBand.FULL),
    (0.60, FidelityBand.CONDENSED),
    (0.30, FidelityBand.COMPRESSED),
)


def level_of_size(size: int, tokens: int) -> FidelityLevel:
    """The lowest level that an item fits of which ``size`` of its ``tokens`` are left, told without rounding. What lost
    anything at all is condensed at least; an item that never had any tokens has lost none."""
    if size >= tokens:
        return FidelityLevel.FULL
    fitting = [level for level in FidelityLevel if size * 100 <= level.percent * tokens]
    return max(fitting[-1], FidelityLevel.CONDENSED, key=list(FidelityLevel).index)


def band_of(fidelity: float) -> FidelityBand:
    """What a fidelity (0 to 1) is called."""
    return next((band for least, band in _BANDS if fidelity >= least), FidelityBand.MINIMAL)
