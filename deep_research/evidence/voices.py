"""How many independent voices carry a statement: a copied text is no second witness. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deep_research.evidence.copies import copied
from deep_research.evidence.plain import unjoined
from deep_research.evidence.text import WORD
from deep_research.state import Quote, Source

COPIED = 0.85  # of the words of two snippets that are the same, where the texts cannot be compared
ENOUGH = 12  # words, below which two texts may be alike by chance


def voices(sources: Iterable[Source], quotes: Sequence[Quote] = ()) -> list[list[Source]]:
    """The sources in groups that speak with one voice: the same text under two addresses, a copy with little changed,
    or one long sentence word for word in both. Sources without a fingerprint are compared by their snippets."""
    sources = list(sources)
    if len(sources) < 2:
        return [sources] if sources else []
    said: dict[str, set[tuple[str, ...]]] = {}
    for quote in quotes:
        tokens = tuple(WORD.findall(unjoined(quote.quote).lower()))
        if len(tokens) >= ENOUGH:
            said.setdefault(quote.source_id, set()).add(tokens)
    groups: list[list[Source]] = []
    for source in sources:
        own = said.get(source.id, set())
        for group in groups:
            if any(_copied(source, other) or own & said.get(other.id, set()) for other in group):
                group.append(source)
                break
        else:
            groups.append([source])
    return groups


def same_text(one: Source, other: Source) -> bool:
    """Whether the whole text of one is that of the other, but for what a site puts around it."""
    if one.content_hash and one.content_hash == other.content_hash:
        return True
    if one.snapshot_hash and one.snapshot_hash == other.snapshot_hash:
        return True
    return bool(one.fingerprint and other.fingerprint) and copied(one.fingerprint, other.fingerprint)


def _copied(one: Source, other: Source) -> bool:
    if same_text(one, other):
        return True
    if one.fingerprint and other.fingerprint:
        return False
    a, b = (set(WORD.findall(unjoined(source.snippet).lower())) for source in (one, other))
    return min(len(a), len(b)) >= ENOUGH and len(a & b) >= COPIED * len(a | b)
