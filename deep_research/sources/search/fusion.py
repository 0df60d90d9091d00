"""One ranking of several: reciprocal rank fusion. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

from deep_research.provenance.page_identity import canonical_url, without_credentials
from deep_research.sources.search.base import Scholarly, SearchResult
from deep_research.state import SourceKind, SourceQuality

SMOOTHING = 60  # ranks; the larger, the less the first places of a list stand out


def identity_of(result: SearchResult) -> str:
    """What a result is about, under one name: its DOI, its arXiv number, its canonical URL, or the path of a document."""
    return canonical_url(_lasting(result) or result.address)


def _lasting(result: SearchResult) -> str | None:
    """The lasting address of a work that has one."""
    record = result.scholarly
    if record is None or result.kind is SourceKind.DOCUMENT:
        return None
    if record.doi:
        return canonical_url(f"https://doi.org/{record.doi}")
    return canonical_url(f"https://arxiv.org/abs/{record.arxiv}") if record.arxiv else None


def fused(lists: Sequence[Sequence[SearchResult]]) -> list[SearchResult]:
    """Every thing once, best first: what stands high in several lists comes before what one of them has. Of equals, that
    of the earlier list comes first. A work has its lasting address; a page the one under which it was found first."""
    scores: dict[str, float] = {}
    best: dict[str, tuple[int, int]] = {}
    merged: dict[str, SearchResult] = {}
    for number, results in enumerate(lists):
        seen: set[str] = set()
        for rank, result in enumerate(results):
            name = identity_of(result)
            if name in seen:
                continue
            seen.add(name)
            scores[name] = scores.get(name, 0.0) + 1.0 / (SMOOTHING + rank + 1)
            best[name] = min(best.get(name, (rank, number)), (rank, number))
            known = merged.get(name)
            merged[name] = joined(known, result) if known else _readdressed(result)
    order = sorted(merged, key=lambda name: (-scores[name], best[name]))
    return [merged[name] for name in order]


def _readdressed(result: SearchResult) -> SearchResult:
    """A work under its lasting address, and no page under one that holds a key; where its text is fetched stays what the
    service said."""
    if result.kind is SourceKind.DOCUMENT:
        return result
    address = _lasting(result) or without_credentials(result.address)
    if address == result.address:
        return result
    at = result.text_at or (result.address if result.text is None else None)
    return replace(result, address=address, text_at=at)


def joined(known: SearchResult, other: SearchResult) -> SearchResult:
    """What two services say of one thing: the first's word, and the other's where it has none."""
    merged = {
        field.name: getattr(other, field.name)
        for field in fields(known)
        if getattr(known, field.name) in (None, "", (), {}, SourceQuality.UNKNOWN)
        # A text comes with its spans and its pages, or they would be of another one.
        and field.name not in ("passages", "pages", "snapshot_hash", "text")
    }
    if known.scholarly and other.scholarly:
        merged["scholarly"] = Scholarly(
            **{
                field.name: next(
                    (
                        value
                        for record in (known.scholarly, other.scholarly)
                        if (value := getattr(record, field.name)) is not None
                    ),
                    None,
                )
                for field in fields(Scholarly)
            }
        )
        if known.scholarly.retracted or other.scholarly.retracted:
            merged["scholarly"] = replace(merged["scholarly"], retracted=True)
    if known.text is None and other.text is not None:
        merged |= {name: getattr(other, name) for name in ("text", "passages", "pages", "snapshot_hash")}
        if other.scholarly:  # what catalogues have is an abstract: the page itself is still to be read
            merged["text_at"] = known.text_at or other.text_at or known.address
    if known.provider and other.provider and other.provider not in known.provider.split(", "):
        merged["provider"] = f"{known.provider}, {other.provider}"
    return replace(known, **merged)
