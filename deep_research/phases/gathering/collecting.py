"""The sources of a run, made of what a search brought: within bounds, with ids, their texts to be kept, and without
secrets.

What gatherers, tools and search services of others give is cut and cleaned in its short fields. Texts are not: what is
longer than a source may be is left out as a whole, and it is told."""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from deep_research.errors import bounded_line
from deep_research.logs import blotted, blotted_bytes, cut, holds_secret, masked
from deep_research.phases.gathering.handoff import GatheredSource, GathererOutput, Snapshot, Unread
from deep_research.provenance.page_identity import canonical_url
from deep_research.sources.search.fields import (
    MAX_ADDRESS_CHARS,
    MAX_FACT_CHARS,
    MAX_FACTS,
    MAX_MENTIONS,
    MAX_NAME_CHARS,
    MAX_NOTE_CHARS,
    MAX_SHOWN_CHARS,
    MAX_TITLE_CHARS,
    bounded_metadata,
)
from deep_research.state import Source
from deep_research.state.identity import sha256_hex, source_id
from deep_research.state.journal import Content, PageHead
from deep_research.text.plain import clean

if TYPE_CHECKING:
    from deep_research.sources.extract import Document

MAX_NOTES, MAX_UNREAD = 50, 500
MAX_HASH_CHARS, MAX_FINGERPRINT_CHARS = 64, 1_000
MAX_LABEL_CHARS = 80

TEXT_UNIT = 5_000  # characters that are cleaned and hashed in the time of one small item
BYTES_UNIT = 50_000  # bytes that are only hashed


def bounded_source(item: GatheredSource) -> GatheredSource:
    """A source with short fields. Of one that is as it is to be this is itself."""
    changed = {
        "title": bounded_line(item.title, MAX_TITLE_CHARS),
        "snippet": cut(item.snippet, MAX_SHOWN_CHARS) if item.content else item.snippet,
        "fingerprint": item.fingerprint[:MAX_FINGERPRINT_CHARS],
        "snapshot_hash": item.snapshot_hash and item.snapshot_hash[:MAX_HASH_CHARS],
        "mentions": tuple(
            mention
            if len(mention.name) <= MAX_NAME_CHARS
            else mention.model_copy(update={"name": bounded_line(mention.name, MAX_NAME_CHARS)})
            for mention in item.mentions[:MAX_MENTIONS]
        ),
        "metadata": bounded_metadata(item.metadata),
        "snapshot": item.snapshot and _bounded_snapshot(item.snapshot),
    }
    changed = {name: value for name, value in changed.items() if value != getattr(item, name)}
    return item.model_copy(update=changed) if changed else item


def _bounded_snapshot(snapshot: Snapshot) -> Snapshot:
    return snapshot.model_copy(
        update={
            "url": bounded_line(snapshot.url, MAX_ADDRESS_CHARS),
            "found_at": bounded_line(snapshot.found_at, MAX_ADDRESS_CHARS),
            "media_type": bounded_line(snapshot.media_type, MAX_NAME_CHARS),
            "headers": {
                bounded_line(name, MAX_NAME_CHARS): bounded_line(value, MAX_FACT_CHARS)
                for name, value in islice(snapshot.headers.items(), MAX_FACTS)
            },
        }
    )


def bounded_document(document: Document) -> Document:
    """A document that a reader of pages of somebody's own may have made, with short fields."""
    labels = document.page_labels[: len(document.pages)]
    return replace(
        document,
        title=bounded_line(document.title, MAX_TITLE_CHARS),
        author=bounded_line(document.author, MAX_NAME_CHARS),
        unread=bounded_line(document.unread, MAX_NOTE_CHARS),
        language=document.language and bounded_line(document.language, MAX_NAME_CHARS),
        page_labels=tuple(bounded_line(label, MAX_LABEL_CHARS) for label in labels),
        fingerprint=document.fingerprint[:MAX_FINGERPRINT_CHARS],
    )


def bounded_notes(notes: Iterable[str]) -> tuple[str, ...]:
    return tuple(bounded_line(str(note), MAX_NOTE_CHARS) for note in islice(notes, MAX_NOTES))


def bounded_unread(unread: Iterable[Unread]) -> tuple[Unread, ...]:
    return tuple(
        page.model_copy(
            update={
                "url": bounded_line(page.url, MAX_ADDRESS_CHARS),
                "why": bounded_line(page.why, MAX_NOTE_CHARS),
            }
        )
        for page in islice(unread, MAX_UNREAD)
    )


def bounded_output(answer: GathererOutput) -> GathererOutput:
    """What a gatherer says of its search; its sources are bounded where they are collected."""
    return answer.model_copy(
        update={
            "notes": bounded_notes(answer.notes),
            "unread": bounded_unread(answer.unread),
            "wordings": tuple(bounded_line(text, MAX_FACT_CHARS) for text in answer.wordings[:MAX_NOTES]),
        }
    )


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
        raw_text = item.content or item.snippet
        text = clean(raw_text)
        if text != raw_text:  # spans of the text as it was no longer fit
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
            contents.append(_page_content(item.snapshot))
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


def _page_content(snapshot: Snapshot) -> Content:
    head = None
    if snapshot.shared:
        headers = {name: masked(value) for name, value in snapshot.headers.items()}
        head = PageHead(masked(snapshot.url), masked(snapshot.found_at), snapshot.at, headers)
    return Content.of_page(snapshot.body, snapshot.media_type, head)
