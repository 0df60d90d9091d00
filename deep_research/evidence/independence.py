"""How many independent voices carry a statement: a copied text is no second witness. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date

from deep_research.evidence.near_duplicates import Originals, copied, sample, versions
from deep_research.evidence.plain import unjoined
from deep_research.evidence.publishers import class_of, named_by
from deep_research.evidence.similar import MOST_ALIKE, SimilarSets
from deep_research.evidence.sites import host_of, site_of
from deep_research.evidence.words import WORD
from deep_research.patterns import regex
from deep_research.state import Quote, Source, SourceKind

COPIED = 0.85  # of the words of two snippets that are the same, where the texts cannot be compared
_VERSION = regex(r"(?i)(?<![\w.])v?(\d{1,4}(?:\.\d{1,4}){0,3})(?![\w.])")
ENOUGH = 12  # words, below which two texts may be alike by chance


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
        if len(tokens) >= ENOUGH:
            said.setdefault(quote.source_id, set()).add(tokens)
    snippets = {source.id: _words(source) for source in sources}
    similar = SimilarSets(snippets.values(), least=COPIED, most=MOST_ALIKE)
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
    if known is None or not known[0].voice:
        return (site,)
    who = named_by(address, known[0]) or source.metadata.get("author", "")
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
    return words if len(words) >= ENOUGH else frozenset()


def _copied(one: Source, other: Source, snippets: Mapping[str, frozenset[str]]) -> bool:
    """Whether the whole text of one is that of the other, but for what a site puts around it."""
    if one.content_hash and one.content_hash == other.content_hash:
        return True
    if one.snapshot_hash and one.snapshot_hash == other.snapshot_hash:
        return True
    if one.fingerprint and other.fingerprint:
        return copied(one.fingerprint, other.fingerprint)
    a, b = snippets[one.id], snippets[other.id]
    return min(len(a), len(b)) > 0 and len(a & b) >= COPIED * len(a | b)
