"""Plain text, Markdown and reStructuredText, with the readers of the corpus."""

from __future__ import annotations

from pathlib import PurePosixPath

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.formats import Asked
from deep_research.sources.extract.texts import read_document


def read(raw: bytes, asked: Asked) -> Document:
    named = f"{PurePosixPath(asked.name).stem or 'document'}.{asked.format}"
    return read_document(raw, named, charset=asked.charset, max_text_bytes=asked.max_text_bytes)
