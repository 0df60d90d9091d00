"""One thing that is remembered of a user."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field

from deep_research.patterns import regex
from deep_research.state.identity import sha256_hex
from deep_research.state.records import Record

MAX_TEXT_CHARACTERS = 2_000  # of a text, and of the words it came from
MAX_ID_CHARACTERS = 100
HASH_SIZE_DIGITS = 16
_ID = rf"[A-Za-z0-9][A-Za-z0-9._:-]{{0,{MAX_ID_CHARACTERS - 1}}}"
ENTRY_ID = regex(rf"\A{_ID}\Z")


class MemoryKind(StrEnum):
    """The kind of an entry: who the user is, what the user prefers, results of runs, or the title of a session.

    Example:
        engine.memory_list(MemoryKind.EPISODES, user_id="ann")
    """

    PROFILE = "profile"
    PREFERENCES = "preferences"
    EPISODES = "episodes"
    SESSIONS = "sessions"


REMEMBERED = (MemoryKind.PROFILE, MemoryKind.PREFERENCES, MemoryKind.EPISODES)  # what a prompt may be told
GIVEN = (MemoryKind.PROFILE, MemoryKind.PREFERENCES)  # what users write themselves


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("a moment beyond the calendar") from None


class MemoryEntry(Record):
    """A text of 1 to 2,000 characters that is remembered of one user.

    Attributes:
        id: Letters, digits and ``._:-``. Two users may have entries with the same id.
        user_id: The user; None is a user too.
        words: The words of the user, or of a source, from which the text was made.
        run_id: The run that wrote it.
        at: When it was written, in UTC.

    Example:
        entry = engine.memory_add("preferences", "Short reports.", user_id="ann")
    """

    id: str = Field(pattern=rf"^{_ID}$")
    user_id: str | None = None
    kind: MemoryKind
    text: str = Field(min_length=1, max_length=MAX_TEXT_CHARACTERS)
    words: str = Field(default="", max_length=MAX_TEXT_CHARACTERS)
    run_id: str | None = None
    at: Annotated[AwareDatetime, AfterValidator(_in_utc)]

    @property
    def hash(self) -> str:
        """The first 16 hex digits of the sha256 of the text."""
        return sha256_hex(self.text.encode())[:HASH_SIZE_DIGITS]


@dataclass(frozen=True, slots=True, order=True)
class MemoryCursor:
    """The place of an entry in the list of its user, which is ordered by time and then by id, the last one first. It
    stays where it is when entries are added, and when its own is forgotten."""

    at: datetime
    entry_id: str

    @classmethod
    def of(cls, entry: MemoryEntry) -> MemoryCursor:
        return cls(entry.at, entry.id)


def new_entry_id() -> str:
    """Random, so that an id says nothing of a text which is no longer there."""
    return f"mem-{secrets.token_hex(8)}"
