"""Readers by format: bytes to a document, whatever they are. Each is loaded when a document first needs it.

Other packages bring readers of further formats as entry points of the group ``deep_research.readers``. The name of the
entry point is that of the format, its object fits `Reader`; its version is that of the package.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from importlib.util import find_spec
from typing import Protocol

from deep_research.calls import contained
from deep_research.patterns import regex
from deep_research.sources.extract.document import MAX_TEXT_BYTES, Document
from deep_research.sources.extract.formats import (
    MEDIA_TYPES,
    SUFFIXES,
    ExtractionRequest,
    Format,
    format_of,
    suffix_of,
)
from deep_research.sources.extract.plaintext import UnreadableError
from deep_research.text.language import language_by_script, language_of

NO_READER = "no reader for this format"
GROUP = "deep_research.readers"
_ROOM = "deep_research.sources.extract"
_PARSED_BYTES = 4_000  # bytes above which a text is too much for a library of this process
_MAX_DECODED_BYTES = 200_000  # the same of one that is only decoded
_CHARSET = regex(r"charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_EXTRA = ("kreuzberg", '"deep-research[more-formats]"')
_DECODED = ("charset-normalizer",)
_PAGES_OF_BOOKS = (*_DECODED, "lxml")


class Reader(Protocol):
    """Reads the documents of one format. It is loaded and works in a child process that has no network, starts no
    processes, changes no files (not even for a while) and loads no native code by ctypes, and must end whatever the
    bytes are: it gets bounded computing and memory.

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

    def read(self, raw: bytes, asked: ExtractionRequest) -> Document:
        """The document in ``raw``, which `document.finished` makes of its text. Raises `UnreadableError`, which says why
        there is none; whatever else it raises is told as a damaged file."""
        ...


@dataclass(frozen=True, slots=True)
class _Own:
    """A reader of this package: its module, its version (to be raised when the same bytes become another text), the
    libraries that have a part in the text, from how many bytes on its files are read in a child process, and what it
    ``needs`` that is not installed everywhere: the module, and what brings it."""

    module: str
    version: int
    libraries: tuple[str, ...]
    apart_above: int = -1
    needs: tuple[str, str] = ("", "")


_OWN = {
    Format.HTML: _Own("html", 9, (*_DECODED, "lxml", "trafilatura", "justext", "htmldate"), _PARSED_BYTES),
    Format.PDF: _Own("pdf", 5, ("liteparse",)),
    Format.DOCX: _Own("docx", 4, ("lxml", "python-docx")),
    Format.CSV: _Own("tables", 3, _DECODED),
    Format.TSV: _Own("tables", 3, _DECODED),
    Format.JSON: _Own("data", 7, (*_DECODED, "lxml")),
    Format.JSON_LINES: _Own("data", 7, (*_DECODED, "lxml")),
    Format.XML: _Own("feeds", 5, (*_DECODED, "lxml", "feedparser")),
    Format.MARKDOWN: _Own(
        "texts", 9, (*_DECODED, "lxml", "markdown-it-py", "mdit-py-plugins"), _PARSED_BYTES
    ),
    Format.RST: _Own("texts", 5, (*_DECODED, "docutils", "lxml"), _PARSED_BYTES),
    Format.TEXT: _Own("texts", 3, _DECODED, _MAX_DECODED_BYTES),
    Format.PPTX: _Own("slides", 1, ("lxml",)),
    Format.XLSX: _Own("sheets", 1, ("lxml", "python-calamine"), needs=("python_calamine", "python-calamine")),
    Format.ODF: _Own("odf", 1, ("lxml",)),
    Format.EPUB: _Own("epub", 2, _PAGES_OF_BOOKS),
    Format.IPYNB: _Own("notebook", 2, (*_DECODED, "lxml", "markdown-it-py", "mdit-py-plugins")),
    Format.EML: _Own("mail", 2, _PAGES_OF_BOOKS),
    Format.RTF: _Own("more_formats", 1, ("kreuzberg",), needs=_EXTRA),
    Format.DOC: _Own("more_formats", 1, ("kreuzberg",), needs=_EXTRA),
}


@dataclass(frozen=True, slots=True)
class Brought:
    """A reader of another package: what names it, how it reads, and of which suffixes and media types."""

    point: EntryPoint
    read: Callable[[bytes, ExtractionRequest], Document]
    reads: Set[str]


def read(
    raw: bytes,
    media_type: str = "",
    name: str = "",
    max_text_bytes: int = MAX_TEXT_BYTES,
    *,
    is_file: bool = False,
) -> Document:
    """The document in ``raw``; ``media_type`` is what a server said of it, ``name`` its file name or address. With
    ``is_file`` it is no answer of a server.

    Raises `UnreadableError`, and whatever a reader raises of a damaged file."""
    suffix = suffix_of(name)
    if brought := brought_for(suffix, media_type):
        kind, reads = brought.point.name, brought.read
    elif is_file and suffix not in SUFFIXES and unloadable():
        # Its reader loads in the process that asks for it, and not in this one, which may do less.
        raise UnreadableError("; ".join(unloadable()), passing=True)
    else:
        kind = format_of(raw, media_type=media_type, name=name)
        if why := _missing(kind):
            raise UnreadableError(why, passing=True)
        reads = import_module(f"{_ROOM}.{_OWN[kind].module}").read
    document = reads(raw, ExtractionRequest(kind, charset(media_type), name, max_text_bytes, is_file))
    if document.language is None:
        language = language_of(document.text, default="") or language_by_script(document.text)
        document = replace(document, language=language or None)
    return document


def brought_for(suffix: str, media_type: str = "") -> Brought | None:
    """The reader of another package for what is none of the own formats; None where there is none."""
    called = {suffix, media_type.split(";")[0].strip().lower()}
    if suffix in suffixes():
        return None
    return next((each for each in _brought()[0] if not called.isdisjoint(each.reads)), None)


@cache
def suffixes() -> tuple[str, ...]:
    """The suffixes of the files that are read here, without those of readers of other packages."""
    return tuple(suffix for suffix, format_ in SUFFIXES.items() if not _missing(format_))


def why_unread(suffix: str) -> str:
    """Why files with a ``suffix`` are not read, and what reads them; empty where they are."""
    if suffix in suffixes() or brought_for(suffix) is not None:
        return ""
    format_ = SUFFIXES.get(suffix)
    return _missing(format_) if format_ else NO_READER


def _missing(format_: Format) -> str:
    """What is to be installed before a format is read; empty where nothing is."""
    module, package = _OWN[format_].needs
    return f"to read it: pip install {package}" if module and find_spec(module) is None else ""


def unloadable() -> tuple[str, ...]:
    """Of each reader of another package that cannot be loaded: that it is so, and why."""
    return _brought()[1]


def is_read_apart(name: str, size: int) -> bool:
    """Whether a file is to be read in a child process: what is parsed, but for short texts."""
    format_ = SUFFIXES.get(suffix_of(name))
    return format_ is None or size > _OWN[format_].apart_above


@cache
def version_for(suffix: str) -> str:
    """What reads files with a ``suffix``, and in which version: another one may make another text of the same bytes."""
    format_ = SUFFIXES.get(suffix)
    if format_ is None:
        brought = brought_for(suffix)
        package = brought.point.dist if brought else None
        return f"{brought.point.name}, {package.name} {package.version}" if brought and package else ""
    own = _OWN[format_]
    return ", ".join([f"{format_} {own.version}", *(f"{each} {_version(each)}" for each in own.libraries)])


def charset(media_type: str) -> str:
    """The encoding that a header names, in lower case; empty when it names none."""
    match = _CHARSET.search(media_type)
    return match[1].lower() if match else ""


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # who reads with it says so, of the files that need it
        return "missing"


@cache
def _brought() -> tuple[list[Brought], tuple[str, ...]]:
    """The readers of other packages, and a line for each that cannot be loaded: none takes another one away."""
    points = entry_points(group=GROUP)
    if not points:
        return [], ()
    with ThreadPoolExecutor(1) as pool:  # where an interrupt is never from the keyboard
        return pool.submit(_loaded_of, points).result()


def _loaded_of(points: Iterable[EntryPoint]) -> tuple[list[Brought], tuple[str, ...]]:
    loaded: list[Brought] = []
    broken: list[str] = []
    for point in points:
        try:
            with contained():
                loaded.append(_loaded(point))
        except Exception as error:
            from deep_research.logs import describe_error  # where all is well nobody needs it

            why = f"cannot be loaded ({describe_error(error)}); reinstall the package that brings it"
            broken.append(f"the reader '{point.name}' {why}")
    return loaded, tuple(broken)


def _loaded(point: EntryPoint) -> Brought:
    target = point.load()
    reader: Reader = target() if isinstance(target, type) else target
    return Brought(point, reader.read, {*reader.suffixes, *reader.media_types} - {"", *MEDIA_TYPES})
