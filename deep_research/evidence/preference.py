"""Which side of a contradiction is better borne out, where something general decides. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta

from deep_research.evidence.independence import superseded
from deep_research.evidence.units import kind_of
from deep_research.state import ContradictionSide, Source, SourceQuality

CLEARLY = timedelta(days=365)  # by which a source is newer than another
# What goes up and down of one thing; a height or a distance is only measured anew.
CHANGING = frozenset({"share", "people", "dollar", "euro", "sterling", "power"})
# One of which nothing is known is not preferred to any.
_QUALITIES = (SourceQuality.UNKNOWN, SourceQuality.LOW, SourceQuality.MEDIUM, SourceQuality.HIGH)
_Group = Sequence[ContradictionSide]


def preferred(
    sides: Sequence[ContradictionSide], stances: Sequence[int], sources: Mapping[str, Source]
) -> tuple[int | None, str]:
    """The place of the first side of what is better borne out, and why; (None, "") where nothing decides. ``stances``
    says for each side what it says: those with one number say the same.

    A newer version of the same document decides, then a primary source, more independent voices, a source of higher
    quality, then a clearly newer date of what can change. A source that was retracted counts for nothing.
    """
    held: dict[int, list[ContradictionSide]] = {}
    for side, stance in zip(sides, stances, strict=True):
        if side.source_id not in sources or not sources[side.source_id].metadata.get("retracted"):
            held.setdefault(stance, []).append(side)
    groups: list[_Group] = list(held.values())
    if len(groups) == 1:
        return sides.index(groups[0][0]), "a work that says otherwise was retracted"
    standing = _of_newest_versions(groups, sources)
    if len(standing) == 1:
        return sides.index(standing[0][0]), "it stands in the newer version of the document"
    groups, _ = _most(groups, [_is_primary(group, sources) for group in groups])
    if len(groups) == 1:
        return sides.index(groups[0][0]), "a primary source says so"
    groups, counts = _most(groups, [_voices(group) for group in groups])
    if len(groups) == 1:
        return sides.index(groups[0][0]), f"{counts[0]} independent sources against {counts[1]}"
    groups, levels = _most(groups, [_quality(group, sources) for group in groups])
    if len(groups) == 1:
        best, other = _QUALITIES[levels[0]].value, _QUALITIES[levels[1]].value
        return sides.index(groups[0][0]), f"a source of {best} quality against {other}"
    newest = _newest(groups)
    return (sides.index(newest[0]), "it is the newer figure of what can change") if newest else (None, "")


def _of_newest_versions(groups: list[_Group], sources: Mapping[str, Source]) -> list[_Group]:
    """Those that are not all of older versions of what the others are of."""
    known = [sources[side.source_id] for group in groups for side in group if side.source_id in sources]
    older = superseded({source.id: source for source in known}.values())
    return [group for group in groups if not all(side.source_id in older for side in group)] or groups


def _most(groups: list[_Group], ranks: list[int]) -> tuple[list[_Group], list[int]]:
    """Those of the highest rank, and the ranks from there on, each once."""
    top = max(ranks, default=0)
    kept = [group for group, rank in zip(groups, ranks, strict=True) if rank == top]
    return kept, sorted(set(ranks), reverse=True)


def _is_primary(group: _Group, sources: Mapping[str, Source]) -> int:
    known = (sources[side.source_id] for side in group if side.source_id in sources)
    return int(any(source.metadata.get("primary") for source in known))


def _voices(group: _Group) -> int:
    return len({side.voice for side in group})


def _quality(group: _Group, sources: Mapping[str, Source]) -> int:
    known = (sources[side.source_id].quality for side in group if side.source_id in sources)
    return max(map(_QUALITIES.index, known), default=0)


def _newest(groups: Sequence[_Group]) -> _Group | None:
    """That with a date clearly after those of all others, where all have one and it is of what can change."""
    if not all(kind_of(side.unit) in CHANGING for group in groups for side in group):
        return None
    dated: list[tuple[date, int]] = []
    for place, group in enumerate(groups):
        dates = [side.published for side in group if side.published is not None]
        if len(dates) < len(group):
            return None
        dated.append((max(dates), place))
    dated.sort(reverse=True)
    return groups[dated[0][1]] if len(dated) > 1 and dated[0][0] - dated[1][0] >= CLEARLY else None
