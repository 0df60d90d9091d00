"""What gatherers, tools and search services of others give, within bounds: short fields are cut and cleaned. Pure.

Texts are not: what is longer than a source may be is left out as a whole, and it is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from deep_research.errors import bounded_line
from deep_research.logs import cut
from deep_research.phases.gathering.handoff import GatheredSource, GathererOutput, Snapshot, Unread
from deep_research.sources.search.fields import (
    LONGEST_NAME,
    LONGEST_TITLE,
    MAX_ADDRESS_CHARS,
    MAX_FACT_CHARS,
    MAX_FACTS,
    MAX_MENTIONS,
    MAX_NOTE_CHARS,
    MAX_SHOWN_CHARS,
    bounded_metadata,
)

if TYPE_CHECKING:
    from deep_research.sources.extract import Document

MAX_NOTES, MAX_UNREAD = 50, 500
MAX_HASH_CHARS, MAX_FINGERPRINT_CHARS = 64, 1_000
MAX_LABEL_CHARS = 80


def bounded_source(item: GatheredSource) -> GatheredSource:
    """A source with short fields. Of one that is as it is to be this is itself."""
    changed = {
        "title": bounded_line(item.title, LONGEST_TITLE),
        "snippet": cut(item.snippet, MAX_SHOWN_CHARS) if item.content else item.snippet,
        "fingerprint": item.fingerprint[:MAX_FINGERPRINT_CHARS],
        "snapshot_hash": item.snapshot_hash and item.snapshot_hash[:MAX_HASH_CHARS],
        "mentions": tuple(
            mention
            if len(mention.name) <= LONGEST_NAME
            else mention.model_copy(update={"name": bounded_line(mention.name, LONGEST_NAME)})
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
            "media_type": bounded_line(snapshot.media_type, LONGEST_NAME),
            "headers": {
                bounded_line(name, LONGEST_NAME): bounded_line(value, MAX_FACT_CHARS)
                for name, value in islice(snapshot.headers.items(), MAX_FACTS)
            },
        }
    )


def bounded_document(document: Document) -> Document:
    """A document that a reader of pages of somebody's own may have made, with short fields."""
    labels = document.page_labels[: len(document.pages)]
    return replace(
        document,
        title=bounded_line(document.title, LONGEST_TITLE),
        author=bounded_line(document.author, LONGEST_NAME),
        unread=bounded_line(document.unread, MAX_NOTE_CHARS),
        language=document.language and bounded_line(document.language, LONGEST_NAME),
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
