"""Independence of sources: the number of independent voices behind a statement, and the better side of a
contradiction. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta

from deep_research.patterns import regex
from deep_research.provenance.near_duplicates import (
    MAX_ALIKE,
    Originals,
    SimilarSets,
    copied,
    sample,
    versions,
)
from deep_research.provenance.sites import class_of, host_of, owner_or_package, site_of
from deep_research.state import ContradictionSide, Quote, Source, SourceKind, SourceQuality
from deep_research.text.plain import unjoined
from deep_research.text.units import kind_of
from deep_research.text.words import WORD

COPIED_SHARE = 0.85  # of the words of two snippets that are the same, where the texts cannot be compared
_VERSION = regex(r"(?i)(?<![\w.])v?(\d{1,4}(?:\.\d{1,4}){0,3})(?![\w.])")
ENOUGH_WORDS = 12  # words, below which two texts may be alike by chance

CLEARLY = timedelta(days=365)  # by which a source is newer than another
# What goes up and down of one thing; a height or a distance is only measured anew.
CHANGING = frozenset({"share", "people", "dollar", "euro", "sterling", "power"})
# One of which nothing is known is not preferred to any.
_QUALITIES = (SourceQuality.UNKNOWN, SourceQuality.LOW, SourceQuality.MEDIUM, SourceQuality.HIGH)
_Group = Sequence[ContradictionSide]


def voices(sources: Iterable[Source], quotes: Sequence[Quote] = ()) -> list[list[Source]]:
    """The sources in groups that speak with one voice: of one speaker, see `speaker`; the same text under two addresses,
    a copy with little changed, or one long sentence word for word in both. Sources without a fingerprint are compared
    by their snippets."""
    sources = list(sources)
    if len(sources) < 2:
        return [sources] if sources else []
    said: dict[str, set[tuple[str, ...]]] = {}
    for quote in quotes:
        tokens = tuple(WORD.findall(unjoined(quote.quote).lower()))
        if len(tokens) >= ENOUGH_WORDS:
            said.setdefault(quote.source_id, set()).add(tokens)
    snippets = {source.id: _words(source) for source in sources}
    similar = SimilarSets(snippets.values(), least=COPIED_SHARE, most=MAX_ALIKE)
    # By what tells a copy, of each group the first source that has it.
    filed: dict[Hashable, dict[int, int]] = {}
    groups: list[list[Source]] = []
    group_of: list[int] = []
    speakers: list[tuple[str, ...]] = []
    for place, source in enumerate(sources):
        speakers.append(speaker(source))
        keys = [*_signs(source), *said.get(source.id, ()), *filter(None, speakers[-1:])]
        near = {at for key in keys for at in filed.get(key, {}).values()} | set(
            similar.near(snippets[source.id])
        )
        own = said.get(source.id, set())
        joined = (
            group_of[at]
            for at in sorted(near, key=lambda at: (group_of[at], at))
            if own & said.get(sources[at].id, set())
            or (speakers[place] and speakers[place] == speakers[at])
            or _copied(source, sources[at], snippets)
        )
        group = next(joined, len(groups))
        if group == len(groups):
            groups.append([])
        groups[group].append(source)
        group_of.append(group)
        for key in keys:
            filed.setdefault(key, {}).setdefault(group, place)
        similar.add(snippets[source.id], place)
    return groups


def speaker(source: Source) -> tuple[str, ...]:
    """Who speaks: on the web a site, and within a site of many authors the author or owner of the page; among documents
    the file, those that are linked as one manual together. Empty where it is the source itself."""
    address = source.url or ""
    host = host_of(address)
    if source.kind is SourceKind.DOCUMENT or not host:
        manual = source.metadata.get("manual", "")
        return ("manual", manual) if manual else ()
    site = site_of(host)
    known = class_of(address)
    if known is None or not known[0].speaker:
        return (site,)
    who = owner_or_package(address, known[0]) or source.metadata.get("author", "")
    return (site, " ".join(who.casefold().split())) if who else ()


def superseded(sources: Iterable[Source]) -> dict[str, str]:
    """For each source that is an older version of another the newest one of these, by their ids."""
    every = list(sources)
    holding: dict[int, list[Source]] = {}
    newest: dict[str, Source] = {}
    for source in every:
        near = {other.id: other for key in sample(source.fingerprint) for other in holding.get(key, ())}
        for other in near.values():
            later = newer(source, other) if versions(source.fingerprint, other.fingerprint) else None
            if later is not None:
                older = other if later is source else source
                known = newest.get(older.id)
                newest[older.id] = later if known is None or newer(later, known) is later else known
        for key in sample(source.fingerprint):
            holding.setdefault(key, []).append(source)
    return {older: later.id for older, later in newest.items()}


def newer(one: Source, other: Source) -> Source | None:
    """Of two versions the later one: by the version number in their titles and addresses, which no copying changes,
    else by their dates; None where nothing tells."""
    a, b = (_number(source) for source in (one, other))
    if a and b and a != b:
        return one if a > b else other
    if one.published and other.published and one.published != other.published:
        return one if one.published > other.published else other
    return None


def _number(source: Source) -> tuple[int, ...]:
    """The version that a source bears in its title, else in its address."""
    for text in (source.title, source.url or ""):
        found = [match.group(1) for match in _VERSION.finditer(text)]
        dotted = [each for each in found if "." in each]
        if dotted or (found and text == source.title):
            return tuple(int(part) for part in (dotted or found)[0].split("."))
    return ()


def originals(sources: Iterable[Source]) -> dict[str, str]:
    """For each source the one that its text is of, itself where no other has it; by their ids. Of copies that is a
    primary one, else the one that was published first, else the first in order."""
    by_hash: dict[str, str] = {}
    kept, by_place = Originals(), dict[int, str]()
    first: dict[str, str] = {}
    every = list(sources)
    for source in every:
        hashes = [h for h in (source.content_hash, source.snapshot_hash) if h]
        original = next((by_hash[h] for h in hashes if h in by_hash), None)
        if original is None and source.fingerprint:
            original = by_place.setdefault(kept.place_of(source.fingerprint), source.id)
        first[source.id] = original or source.id
        for text in hashes:
            by_hash.setdefault(text, first[source.id])
    best: dict[str, Source] = {}
    for source in every:
        known = best.setdefault(first[source.id], source)
        if _rank_of_original(source) < _rank_of_original(known):
            best[first[source.id]] = source
    return {source_id: best[original].id for source_id, original in first.items()}


def _rank_of_original(source: Source) -> tuple[bool, date]:
    return not source.metadata.get("primary"), source.published or date.max


def _signs(source: Source) -> Iterator[Hashable]:
    """What two sources of one text have in common, some of it at least."""
    yield from filter(None, (source.content_hash, source.snapshot_hash))
    yield from sample(source.fingerprint)


def _words(source: Source) -> frozenset[str]:
    """Of its snippet, where its text cannot be compared."""
    words = frozenset(WORD.findall(unjoined(source.snippet).lower()))
    return words if len(words) >= ENOUGH_WORDS else frozenset()


def _copied(one: Source, other: Source, snippets: Mapping[str, frozenset[str]]) -> bool:
    """Whether the whole text of one is that of the other, but for what a site puts around it."""
    if one.content_hash and one.content_hash == other.content_hash:
        return True
    if one.snapshot_hash and one.snapshot_hash == other.snapshot_hash:
        return True
    if one.fingerprint and other.fingerprint:
        return copied(one.fingerprint, other.fingerprint)
    a, b = snippets[one.id], snippets[other.id]
    return min(len(a), len(b)) > 0 and len(a & b) >= COPIED_SHARE * len(a | b)


def preferred(
    sides: Sequence[ContradictionSide], stances: Sequence[int], sources: Mapping[str, Source]
) -> tuple[int | None, str]:
    """The place of the first side that is better supported, and why; (None, "") where nothing decides. ``stances``
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
