"""From settings to what is done to content that does not fit, and where it is kept."""

from __future__ import annotations

from pathlib import Path

from deep_research.budget.archive import Archive
from deep_research.budget.content_budget import ContentRules
from deep_research.errors import StoreError
from deep_research.logs import get_log
from deep_research.settings import Settings
from deep_research.state.journal import Clock, utc_now

log = get_log("archive")


def archive_folder(settings: Settings) -> Path:
    return settings.content_archive.dir or settings.data_dir / "archive"


def content_rules(settings: Settings) -> ContentRules:
    """What may be done to content that does not fit."""
    return ContentRules(
        enabled=settings.window.enabled,
        allow_dropping=settings.window.allow_dropping,
        reading_tokens=settings.reading.tokens,
        read_sections=settings.reading.sections,
        model_triage=settings.reading.triage,
    )


def make_archive(settings: Settings, *, clock: Clock = utc_now) -> Archive:
    """The archive of these settings, whether anything is kept in it or not. Its folder is made by the first text."""
    return Archive(archive_folder(settings), settings.content_archive.ttl_hours, clock)


def tidy(archive: Archive) -> None:
    """Removes what has expired. Blocking. That it cannot be done is no reason not to research."""
    try:
        removed = archive.clean()
    except StoreError as error:
        log.warning("archive_not_cleaned", error=str(error))
        return
    if removed:
        log.info("archive_cleaned", removed=removed)
