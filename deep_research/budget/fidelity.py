"""Fidelity: the share of the gathered material that agents were given. Pure.

Fidelity is the share of the tokens of all items that was sent, measured on the texts as they were sent and not on what
was planned for them. The ratio of a level is its upper bound: an item at a level has any share of its tokens from that
ratio down to the ratio of the next level, which is not part of it. Only what is whole is full.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from pydantic import Field

from deep_research.state import ContextUsage, DeepResearchPhase, Record, SentItem

_STEPS = 10_000  # between 0 and 1


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


class ItemFidelity(Record):
    """What became of one item. ``compression_ratio`` is the share of its tokens that is left, 0 to 1."""

    original_tokens: int
    current_tokens: int
    current_level: FidelityLevel
    compression_ratio: float

    @classmethod
    def of(cls, sent: SentItem) -> ItemFidelity:
        return cls(
            original_tokens=sent.original_tokens,
            current_tokens=sent.current_tokens,
            current_level=level_of_size(_left(sent), sent.original_tokens),
            compression_ratio=_share(_left(sent), sent.original_tokens, empty=1.0),
        )


class AllocationMetadata(Record):
    """The totals. ``fidelity`` and ``utilization`` are shares, 0 to 1: of the items' tokens that were sent, and of the
    available ones that were used."""

    fidelity: float = 1.0
    tokens_used: int = 0
    tokens_available: int = 0
    utilization: float = 0.0
    items_dropped: int = 0
    items_summarized: int = 0

    @property
    def band(self) -> FidelityBand:
        return band_of(self.fidelity)


class ContentFidelity(Record):
    """What one phase was sent, by the items' ids, and the totals of it."""

    content_fidelity: dict[str, ItemFidelity]
    content_allocation_metadata: AllocationMetadata

    @classmethod
    def of(cls, sent: Iterable[SentItem], *, available: int) -> ContentFidelity:
        """Of a phase that had ``available`` tokens for the items. What is sent in several calls is summed up by item
        before. Raises `ValueError` for an id given twice."""
        every = list(sent)
        items = {one.id: ItemFidelity.of(one) for one in every}
        if len(items) != len(every):
            raise ValueError("an item was sent twice")
        return cls(content_fidelity=items, content_allocation_metadata=_totals([items], available))


class RunFidelity(Record):
    """What a run's agents were given by phase, and the totals: tokens are summed over the phases; an item is dropped
    when every phase that had it dropped it, and summarized when it is not dropped and some phase was not given all of
    it. Empty without a language model: the extractive agents read everything whole. ``content_archive_hashes`` are
    those under which originals are kept, by item id."""

    content_allocation_metadata: AllocationMetadata = AllocationMetadata()
    phases: dict[DeepResearchPhase, ContentFidelity] = Field(default_factory=dict)
    dropped_content_ids: tuple[str, ...] = ()
    content_archive_hashes: dict[str, str] = Field(default_factory=dict)

    @classmethod
    def of(cls, sent: Mapping[DeepResearchPhase, ContextUsage]) -> RunFidelity:
        phases = {
            phase: ContentFidelity.of(sent[phase].items, available=sent[phase].available)
            for phase in DeepResearchPhase
            if phase in sent
        }
        every = [phase.content_fidelity for phase in phases.values()]
        available = sum(phase.content_allocation_metadata.tokens_available for phase in phases.values())
        return cls(
            content_allocation_metadata=_totals(every, available),
            phases=phases,
            dropped_content_ids=tuple(_dropped(_levels(every))),
            content_archive_hashes={k: v for each in sent.values() for k, v in each.archived.items()},
        )


def _totals(phases: Iterable[Mapping[str, ItemFidelity]], available: int) -> AllocationMetadata:
    levels = _levels(phases)
    every = [item for of_one in levels.values() for item in of_one]
    used = sum(item.current_tokens for item in every)
    left = sum(min(item.current_tokens, item.original_tokens) for item in every)
    dropped = _dropped(levels)
    shortened = [of_one for of_one in levels.values() if any(map(_is_shortened, of_one))]
    return AllocationMetadata(
        fidelity=_share(left, sum(item.original_tokens for item in every), empty=1.0),
        tokens_used=used,
        tokens_available=available,
        utilization=_share(used, available, empty=0.0),
        items_dropped=len(dropped),
        items_summarized=len(shortened) - len(dropped),
    )


def _levels(phases: Iterable[Mapping[str, ItemFidelity]]) -> dict[str, list[ItemFidelity]]:
    """What became of each item in the phases that had it."""
    levels: dict[str, list[ItemFidelity]] = {}
    for phase in phases:
        for name, item in phase.items():
            levels.setdefault(name, []).append(item)
    return levels


def _dropped(levels: Mapping[str, list[ItemFidelity]]) -> list[str]:
    return [name for name, of_one in levels.items() if all(map(_is_dropped, of_one))]


def _is_dropped(item: ItemFidelity) -> bool:
    return item.current_level is FidelityLevel.DROPPED


def _is_shortened(item: ItemFidelity) -> bool:
    return item.current_tokens < item.original_tokens


def _left(sent: SentItem) -> int:
    """What a text has around it when it is sent makes no more of it."""
    return min(sent.current_tokens, sent.original_tokens)


def _share(part: int, whole: int, *, empty: float) -> float:
    """Rounded down, so that what lost anything never reads as whole."""
    if whole <= 0:
        return empty
    return part * _STEPS // whole / _STEPS
