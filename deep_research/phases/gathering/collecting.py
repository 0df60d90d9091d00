"""What a search brought as sources of the run: with ids, their texts to be kept, and nothing secret in them."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass

from deep_research.evidence.page_identity import canonical_url
from deep_research.evidence.plain import clean
from deep_research.logs import blotted, blotted_bytes, cut, holds_secret, masked
from deep_research.phases.gathering.bounds import bounded_source
from deep_research.phases.gathering.handoff import GatheredSource, Snapshot
from deep_research.sources.search.fields import MAX_ADDRESS_CHARS, MAX_SHOWN_CHARS
from deep_research.state import Source
from deep_research.state.identity import sha256_hex, source_id
from deep_research.state.journal import Content, PageHead

TEXT_UNIT = 5_000  # characters that are cleaned and hashed in the time of one small item
BYTES_UNIT = 50_000  # bytes that are only hashed


@dataclass(frozen=True, slots=True)
class Collected:
    """Sources in their order, their texts and pages, a note for each text that is too long to keep, and how many sources
    came ``twice``."""

    sources: tuple[Source, ...]
    contents: tuple[Content, ...]
    notes: tuple[str, ...] = ()
    twice: int = 0


def collected(
    found: Iterable[GatheredSource],
    *,
    sub_query_id: str,
    known: Set[str] = frozenset(),
    most_new: int | None = None,
    most_bytes: int,
    first_rank: int = 0,
) -> Collected:
    """``known`` are addresses that the run has from before: beside them at most ``most_new`` are taken, each of at most
    ``most_bytes``. Ranks are counted from ``first_rank``."""
    sources: dict[str, Source] = {}
    contents: list[Content] = []
    notes: list[str] = []
    new = twice = 0
    for item in found:
        item = bounded_source(item)
        if item.url and len(item.url) > MAX_ADDRESS_CHARS:
            notes.append(
                f"'{item.title}' was left out: its address is longer than {MAX_ADDRESS_CHARS:,} characters."
            )
            continue
        name = canonical_url(item.url) if item.url else f"{item.title}\n{item.content or item.snippet}"
        key = source_id(name)
        if key in sources:
            twice += 1
            continue
        if name not in known:
            new += 1
            if most_new is not None and new > most_new:
                continue
        given = item.content or item.snippet
        text = clean(given)
        if text != given:  # spans of the text as it was no longer fit
            item = item.model_copy(update={"passages": (), "pages": ()})
        item = _without_secrets(item)
        text = blotted(text)  # of the same length, so that spans still fit
        content = Content.of(text)
        if len(content.body) > most_bytes:
            notes.append(f"'{item.title}' was left out: its text is longer than {most_bytes:,} bytes.")
            continue
        sources[key] = _source(key, item, sub_query_id, first_rank + len(sources), content, len(text))
        if (
            name not in known or item.content
        ):  # of a page that was read before a search tells only that it is there
            contents.append(content)
        if item.snapshot is not None:
            contents.append(_kept(item.snapshot))
    return Collected(tuple(sources.values()), tuple(contents), tuple(notes), twice)


def work_of(item: GatheredSource) -> int:
    """How much work a source is, in small items."""
    snapshot = len(item.snapshot.body) if item.snapshot else 0
    return len(item.content or "") // TEXT_UNIT + snapshot // BYTES_UNIT


def _source(
    key: str, item: GatheredSource, sub_query_id: str, rank: int, content: Content, length: int
) -> Source:
    return Source(
        id=key,
        sub_query_id=sub_query_id,
        title=" ".join(clean(item.title).split()) or (item.url or "Untitled"),
        url=item.url,
        snippet=clean(cut(item.snippet, MAX_SHOWN_CHARS)),
        kind=item.kind,
        quality=item.quality,
        rank=rank,
        relevance=item.relevance,
        published=item.published,
        content_hash=content.hash,
        snapshot_hash=item.snapshot_hash,
        length=length,
        passages=tuple(span for span in item.passages if span.start < span.end <= length),
        pages=tuple(start for start in item.pages if start < length),
        fingerprint=item.fingerprint,
        mentions=item.mentions,
        metadata=item.metadata,
    )


def _without_secrets(item: GatheredSource) -> GatheredSource:
    """A page that holds a registered key is kept without it, under the hash of what is kept."""
    if item.snapshot is None or not holds_secret(item.snapshot.body):
        return item
    body = blotted_bytes(item.snapshot.body)
    snapshot = item.snapshot.model_copy(update={"body": body})
    return item.model_copy(update={"snapshot": snapshot, "snapshot_hash": sha256_hex(body)})


def _kept(snapshot: Snapshot) -> Content:
    head = None
    if snapshot.shared:
        headers = {name: masked(value) for name, value in snapshot.headers.items()}
        head = PageHead(masked(snapshot.url), masked(snapshot.found_at), snapshot.at, headers)
    return Content.of_page(snapshot.body, snapshot.media_type, head)
