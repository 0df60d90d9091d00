"""Which files of a corpus are read where: text in this process, the rest in a child that cannot hurt it."""

from __future__ import annotations

from deep_research.sources.extract.document import Document
from deep_research.sources.extract.finishing import MAX_TEXT_BYTES, TooLongError
from deep_research.sources.extract.texts import parse_date, read_document

APART = (".pdf", ".docx", ".csv", ".tsv", ".json", ".jsonl")

__all__ = [
    "APART",
    "MAX_TEXT_BYTES",
    "Document",
    "TooLongError",
    "is_read_apart",
    "parse_date",
    "read_document",
]


def is_read_apart(name: str) -> bool:
    """Whether the file ``name`` is to be read by an `Extractor`."""
    return name.lower().endswith(APART)
