"""Bytes to a document, whatever they are: the one entrance of the child process. Each parser is loaded when a
document first needs it."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import import_module

from deep_research.evidence.language import language_by_script, language_of
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.finishing import MAX_TEXT_BYTES
from deep_research.sources.extract.formats import Asked, Format, format_of

_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_ROOM = "deep_research.sources.extract"
_PARSERS = {
    Format.HTML: "html",
    Format.PDF: "pdf",
    Format.DOCX: "docx",
    Format.CSV: "tables",
    Format.TSV: "tables",
    Format.JSON: "data",
    Format.JSON_LINES: "data",
    Format.XML: "feeds",
}


def read(raw: bytes, media_type: str = "", name: str = "", max_text_bytes: int = MAX_TEXT_BYTES) -> Document:
    """Raises `UnreadableError`, and whatever a parser raises of a damaged file."""
    format_ = format_of(raw, media_type=media_type, name=name)
    parser = import_module(f"{_ROOM}.{_PARSERS.get(format_, 'written')}")
    document: Document = parser.read(raw, Asked(format_, charset(media_type), name, max_text_bytes))
    if document.language is None:
        language = language_of(document.text, default="") or language_by_script(document.text)
        document = replace(document, language=language or None)
    return document


def charset(media_type: str) -> str:
    """The encoding that a header names, in lower case; empty when it names none."""
    found = _CHARSET.search(media_type)
    return found[1].lower() if found else ""
