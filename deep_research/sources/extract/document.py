"""What comes out of an extraction."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document that was read. ``text`` is NFC with ``\\n`` line ends, has no unseen characters and is never cut;
    ``pages`` are the code points of ``text`` at which its pages begin, empty for what has no pages; ``author`` is
    empty when nobody says; ``unread`` tells what could not be read of it, and why, empty when it is whole; ``language``
    is an ISO 639-1 code, None when that is not clear; ``snapshot_hash`` is the sha256 (hex) of the bytes it came from;
    ``fingerprint`` tells copies of its text, where an `Extractor` read it."""

    title: str
    text: str
    published: date | None = None
    author: str = ""
    unread: str = ""
    language: str | None = None
    pages: tuple[int, ...] = ()
    snapshot_hash: str = ""
    fingerprint: str = ""
