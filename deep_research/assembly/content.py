"""From settings to the archive of what is left out of prompts."""

from __future__ import annotations

from pathlib import Path

from deep_research.budget.archive import Archive
from deep_research.errors import StoreError
from deep_research.logs import get_log
from deep_research.settings import Settings
from deep_research.state.journal import Clock, utc_now

log = get_log("archive")


def archive_folder(settings: Settings) -> Path:
    return settings.research_archive_dir or settings.data_dir / "archive"


def make_archive(settings: Settings, *, clock: Clock = utc_now) -> Archive:
    """The archive of these settings, whether anything is kept in it or not. Its folder is made by the first text."""
    return Archive(archive_folder(settings), settings.content_archive_ttl_hours, clock)


def tidy(archive: Archive) -> None:
    """Removes what has expired. Blocking. That it cannot be done is no reason not to research."""
    try:
        removed = archive.clean()
    except StoreError as error:
        log.warning("archive_not_cleaned", error=str(error))
        return
    if removed:
        log.info("archive_cleaned", removed=removed)
