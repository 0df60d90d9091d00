"""Readers by format: bytes to a document, whatever they are. Each is loaded when a document first needs it.

Other packages bring readers of further formats as entry points of the group ``deep_research.readers``. The name of the
entry point is that of the format, its object fits `Reader`; its version is that of the package.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points, version
from pathlib import PurePosixPath
from typing import Protocol

from deep_research.evidence.language import language_by_script, language_of
from deep_research.patterns import regex
from deep_research.sources.extract.document import MAX_TEXT_BYTES, Document
from deep_research.sources.extract.formats import SUFFIXES, Asked, Format, format_of

GROUP = "deep_research.readers"
_ROOM = "deep_research.sources.extract"
_PARSED = 4_000  # bytes above which a text is too much for a library of this process
_PLAIN = 200_000  # the same of one that is only decoded
_CHARSET = regex(r"charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)


class Reader(Protocol):
    """Reads the documents of one format. It works in a child process that has no network and writes no files, and must
    end whatever the bytes are: it gets bounded computing and memory.

    ``suffixes`` are those of file names ("`.epub`"), ``media_types`` what servers call the format; in small letters.

    Example:
        class Notes:
            suffixes = (".note",)
            media_types = ("text/x-note",)

            def read(self, raw: bytes, asked: Asked) -> Document:
                return finished(raw, asked.name, title="", text=decode(raw), max_text_bytes=asked.max_text_bytes)
    """

    @property
    def suffixes(self) -> Sequence[str]: ...

    @property
    def media_types(self) -> Sequence[str]: ...

    def read(self, raw: bytes, asked: Asked) -> Document:
        """The document in ``raw``, which `document.finished` makes of its text. Raises `UnreadableError`, which says why
        there is none; whatever else it raises is told as a damaged file."""
        ...


@dataclass(frozen=True, slots=True)
class _Own:
    """A reader of this package: its module, its version (to be raised when the same bytes become another text), the
    library that it stands on, and from how many bytes on its files are read in a child process."""

    module: str
    version: int
    library: str = ""
    apart_above: int = -1


_OWN = {
    Format.HTML: _Own("html", 6, "trafilatura", _PARSED),
    Format.PDF: _Own("pdf", 3, "liteparse"),
    Format.DOCX: _Own("docx", 2),
    Format.CSV: _Own("tables", 2),
    Format.TSV: _Own("tables", 2),
    Format.JSON: _Own("data", 2),
    Format.JSON_LINES: _Own("data", 2),
    Format.XML: _Own("feeds", 2),
    Format.MARKDOWN: _Own("texts", 3, "markdown-it-py", _PARSED),
    Format.RST: _Own("texts", 3, "docutils", _PARSED),
    Format.TEXT: _Own("texts", 2, "", _PLAIN),
}


def read(raw: bytes, media_type: str = "", name: str = "", max_text_bytes: int = MAX_TEXT_BYTES) -> Document:
    """The document in ``raw``; ``media_type`` is what a server said of it, ``name`` its file name or address.

    Raises `UnreadableError`, and whatever a reader raises of a damaged file."""
    brought = _brought_for(_suffix(name), media_type)
    if brought is not None:
        asked = Asked(brought.name, charset(media_type), name, max_text_bytes)
        reader: Reader = _loaded(brought)
        document = reader.read(raw, asked)
    else:
        format_ = format_of(raw, media_type=media_type, name=name)
        parser = import_module(f"{_ROOM}.{_OWN[format_].module}")
        document = parser.read(raw, Asked(format_, charset(media_type), name, max_text_bytes))
    if document.language is None:
        language = language_of(document.text, default="") or language_by_script(document.text)
        document = replace(document, language=language or None)
    return document


@cache
def is_brought(suffix: str) -> bool:
    """Whether a reader of another package reads files with this suffix."""
    return _brought_for(suffix, "") is not None


def is_read_apart(name: str, size: int) -> bool:
    """Whether a file is to be read in a child process: what is parsed, but for short texts."""
    format_ = SUFFIXES.get(_suffix(name))
    return format_ is None or size > _OWN[format_].apart_above


@cache
def version_for(suffix: str) -> str:
    """What reads files with a ``suffix``, and in which version: another one may make another text of the same bytes."""
    format_ = SUFFIXES.get(suffix)
    if format_ is None:
        point = _brought_for(suffix, "")
        package = point.dist if point else None
        return f"{point.name}, {package.name} {package.version}" if point and package else ""
    own = _OWN[format_]
    return f"{format_} {own.version}" + (f", {own.library} {version(own.library)}" if own.library else "")


def charset(media_type: str) -> str:
    """The encoding that a header names, in lower case; empty when it names none."""
    found = _CHARSET.search(media_type)
    return found[1].lower() if found else ""


def _suffix(name: str) -> str:
    return PurePosixPath(name.split("?")[0].split("#")[0]).suffix.lower()


@cache
def _brought() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


@cache
def _loaded(point: EntryPoint) -> Reader:
    found: Reader = point.load()
    return found() if isinstance(found, type) else found


def _brought_for(suffix: str, media_type: str) -> EntryPoint | None:
    """The reader of another package for what is none of the own formats."""
    declared = media_type.split(";")[0].strip().lower()
    if suffix in SUFFIXES:
        return None
    for point in _brought():
        reader = _loaded(point)
        if suffix in reader.suffixes or (declared and declared in reader.media_types):
            return point
    return None
