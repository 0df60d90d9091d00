"""Originals of what was shortened: kept where they can be, and where not, a reader is told and the run goes on."""

import asyncio
from datetime import UTC, datetime

import pytest

from deep_research.budget.archive import Archive
from deep_research.errors import StoreFullError, StoreReadOnlyError
from deep_research.phases.content_archiving import Original, keep
from deep_research.state import SentItem

ITEM = SentItem(id="src-1", original_tokens=10, current_tokens=1)


def archive(folder):
    return Archive(folder, 1, lambda: datetime(2026, 1, 1, tzinfo=UTC))


class Failing:
    def __init__(self, error):
        self.error = error

    def save(self, *_, **__):
        raise self.error


def test_an_original_is_kept_under_its_hash(tmp_path):
    kept, notes = asyncio.run(keep(archive(tmp_path), [ITEM], {"src-1": Original("A light.", "source")}))
    assert archive(tmp_path).get(kept["src-1"]).content == "A light."
    assert notes == []


@pytest.mark.parametrize(
    ("error", "said"),
    [(StoreFullError("The disk is full."), "disk"), (StoreReadOnlyError("Not to be written."), "written")],
)
def test_an_archive_that_cannot_be_used_is_told_and_nothing_is_kept(error, said):
    kept, (note,) = asyncio.run(keep(Failing(error), [ITEM], {"src-1": Original("A light.", "source")}))
    assert kept == {}
    assert note.notice.name == "archive"
    assert said in note.notice.message


def test_an_original_that_cannot_be_written_is_told_and_nothing_is_kept(tmp_path):
    kept, (note,) = asyncio.run(keep(archive(tmp_path), [ITEM], {"src-1": Original("half \ud800", "source")}))
    assert kept == {}
    assert "are not kept: This cannot be archived: UnicodeEncodeError." in note.notice.message
