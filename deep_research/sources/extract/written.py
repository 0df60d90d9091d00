"""Plain text, Markdown and reStructuredText, with the readers of the corpus."""

from __future__ import annotations

from pathlib import PurePosixPath

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.formats import Format
from deep_research.sources.extract.texts import read_document


def read(raw: bytes, format_: Format, *, charset: str, name: str, max_text_bytes: int) -> Document:
    named = f"{PurePosixPath(name).stem or 'document'}.{format_}"
    return read_document(raw, named, charset=charset, max_text_bytes=max_text_bytes)
