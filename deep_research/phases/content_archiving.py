"""The content that an agent was given, as the log has it, and an archive of the originals of what it was given little
of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from deep_research.budget.archive import Archive
from deep_research.budget.fidelity import FidelityLevel, level_of_size
from deep_research.errors import StoreError, UsageError
from deep_research.state import ContextUsage, DeepResearchPhase, Notice, SentItem
from deep_research.state.events import ContentSent, Event, NoticeAdded

_KEPT = (FidelityLevel.KEY_POINTS, FidelityLevel.HEADLINE, FidelityLevel.DROPPED)


@dataclass(frozen=True, slots=True)
class Original:
    """The whole text of an item. ``kind`` is source, finding, gap or report."""

    text: str
    kind: str
    about: Mapping[str, str] = field(default_factory=dict)


def to_keep(items: Sequence[SentItem]) -> tuple[SentItem, ...]:
    """Those of which a fifth or less was sent."""
    return tuple(i for i in items if level_of_size(i.current_tokens, i.original_tokens) in _KEPT)


async def usage_events(
    phase: DeepResearchPhase,
    sending: ContextUsage,
    originals: Callable[[], Mapping[str, Original]],
    archive: Archive | None,
) -> list[Event]:
    """The events of what a phase's agent was given, and of what could not be kept of the rest."""
    if not sending.items:
        return []
    archive_hashes: dict[str, str] = {}
    notes: list[Event] = []
    if archive is not None and (items := to_keep(sending.items)):
        archive_hashes, notes = await keep(archive, items, originals())
    return [ContentSent(phase=phase, sending=sending.model_copy(update={"archived": archive_hashes})), *notes]


async def keep(
    archive: Archive, items: Sequence[SentItem], originals: Mapping[str, Original]
) -> tuple[dict[str, str], list[Event]]:
    """The hashes under which the originals are kept by item id, and what a reader should know when they could not be."""

    def save() -> dict[str, str]:
        hashes = {}
        for item in items:
            original = originals[item.id]
            record = archive.save(
                original.text,
                item_id=item.id,
                item_type=original.kind,
                reason="dropped" if not item.current_tokens else "compressed",
                original_tokens=item.original_tokens,
                metadata=original.about,
            )
            hashes[item.id] = record.content_hash
        return hashes

    if not items:
        return {}, []
    try:
        return await asyncio.to_thread(save), []
    except (StoreError, UsageError) as error:
        message = f"Originals of what was shortened are not kept: {error.problem}"
        return {}, [NoticeAdded(notice=Notice(name="archive", message=message))]
