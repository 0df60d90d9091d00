"""The extracted document, and the last step of every reader."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath

from deep_research.patterns import regex
from deep_research.sources.extract.plaintext import UnreadableError, one_line
from deep_research.text.plain import clean

_BETWEEN = regex(r"(?:[_\s]|-(?!\d)|(?<!\d)-)+")  # the words of a name; the numbers of a day belong together
MAX_TEXT_BYTES = 2_000_000
MAX_TITLE_CHARS = 300
_MAX_AUTHOR_CHARS = 200
MAX_LABEL_CHARS = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document that was read. ``text`` is NFC with ``\\n`` line ends, has no unseen characters and is never cut;
    ``pages`` are the code points of ``text`` at which its pages begin, empty for what has no pages, ``page_labels`` what
    they are called ("slide 3"), empty where they are numbered; ``author`` is
    empty when nobody says; ``unread`` tells what could not be read of it, and why, empty when it is whole; ``language``
    is an ISO 639-1 code, None when that is not clear; ``snapshot_hash`` is the sha256 (hex) of the bytes it came from;
    ``fingerprint`` tells copies of its text, where an `Extractor` read it; ``manual`` is the folder of the
    manual that it is a page of, as seen from its own, empty for none."""

    title: str
    text: str
    published: date | None = None
    author: str = ""
    unread: str = ""
    language: str | None = None
    pages: tuple[int, ...] = ()
    page_labels: tuple[str, ...] = ()
    snapshot_hash: str = ""
    fingerprint: str = ""
    manual: str = ""


class TooLongError(UnreadableError):
    """More text than the limit in force."""

    def __init__(self, why: str) -> None:
        super().__init__(why, limit="size")


def finished(
    raw: bytes,
    name: str,
    *,
    title: str,
    text: str,
    published: date | None = None,
    author: str = "",
    pages: tuple[int, ...] = (),
    page_labels: tuple[str, ...] = (),
    unread: str = "",
    manual: str = "",
    max_text_bytes: int = MAX_TEXT_BYTES,
) -> Document:
    """The document of a ``text`` that is clean already. Raises `UnreadableError` when nothing in it can be read, and
    `TooLongError`."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:  # halves of characters, as JSON and PDF can hold them
        text = text.encode("utf-8", "replace").decode()
        size = len(text)
    if not any(map(str.isalnum, text)):
        raise UnreadableError("no readable text in it")
    if size > max_text_bytes:
        raise TooLongError(f"more than {max_text_bytes:,} bytes of text")
    return Document(
        title=one_line(clean(title), MAX_TITLE_CHARS) or _name_as_title(name),
        text=text,
        published=published,
        author=one_line(clean(author), _MAX_AUTHOR_CHARS),
        unread=unread,
        pages=pages,
        page_labels=page_labels,
        snapshot_hash=hashlib.sha256(raw).hexdigest(),
        manual=manual,
    )


class Pages:
    """The text of a document that consists of slides, sheets or chapters, and where in it each of them begins."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._length = 0
        self.starts: tuple[int, ...] = ()
        self.labels: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return "\n\n".join(self._texts)

    def add(self, label: str, text: str) -> None:
        """Adds a page, which is called ``label``; one without a text is none."""
        if text := clean(text).strip():
            self.starts += (self._length,)
            self.labels += (one_line(clean(label), MAX_LABEL_CHARS),)
            self._texts.append(text)
            self._length += len(text) + 2


def _name_as_title(name: str) -> str:
    stem = PurePosixPath(name).stem
    return one_line(" ".join(filter(None, _BETWEEN.split(stem))), MAX_TITLE_CHARS) or name or "document"
