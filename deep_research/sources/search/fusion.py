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
    by_name: dict[str, SearchResult] = {}
    for number, results in enumerate(lists):
        names_of_list: set[str] = set()
        for rank, result in enumerate(results):
            name = identity_of(result)
            if name in names_of_list:
                continue
            names_of_list.add(name)
            scores[name] = scores.get(name, 0.0) + 1.0 / (SMOOTHING + rank + 1)
            best[name] = min(best.get(name, (rank, number)), (rank, number))
            earlier = by_name.get(name)
            by_name[name] = merge_results(earlier, result) if earlier else _readdressed(result)
    order = sorted(by_name, key=lambda name: (-scores[name], best[name]))
    return [by_name[name] for name in order]


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


def merge_results(first: SearchResult, other: SearchResult) -> SearchResult:
    """What two services say of one thing: the first's word, and the other's where it has none."""
    changes = {
        field.name: getattr(other, field.name)
        for field in fields(first)
        if getattr(first, field.name) in (None, "", (), {}, SourceQuality.UNKNOWN)
        # A text comes with its spans and its pages, or they would be of another one.
        and field.name not in ("passages", "pages", "snapshot_hash", "text")
    }
    if first.scholarly and other.scholarly:
        changes["scholarly"] = Scholarly(
            **{
                field.name: next(
                    (
                        value
                        for record in (first.scholarly, other.scholarly)
                        if (value := getattr(record, field.name)) is not None
                    ),
                    None,
                )
                for field in fields(Scholarly)
            }
        )
        if first.scholarly.retracted or other.scholarly.retracted:
            changes["scholarly"] = replace(changes["scholarly"], retracted=True)
    if first.text is None and other.text is not None:
        changes |= {name: getattr(other, name) for name in ("text", "passages", "pages", "snapshot_hash")}
        if other.scholarly:  # what catalogues have is an abstract: the page itself is still to be read
            changes["text_at"] = first.text_at or other.text_at or first.address
    if first.provider and other.provider and other.provider not in first.provider.split(", "):
        changes["provider"] = f"{first.provider}, {other.provider}"
    return replace(first, **changes)
