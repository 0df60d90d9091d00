"""Messages between the engine and its extraction process: pieces of bytes with their length, and documents as JSON.
What comes back is checked: it was written by a process that read what nobody vouches for."""

from __future__ import annotations

import json
import os
import struct
from dataclasses import asdict, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from deep_research.errors import ExtractionError
from deep_research.provenance.near_duplicates import fingerprint
from deep_research.sources.extract.document import MAX_LABEL_CHARS, Document
from deep_research.sources.extract.plaintext import one_line

if TYPE_CHECKING:
    from pydantic import TypeAdapter

LENGTH = struct.Struct(">Q")
_MAX_FINGERPRINT_CHARS, _MAX_UNREAD_CHARS, _MAX_MANUAL_CHARS = 1_000, 500, 200  # characters at most


def header(job: dict[str, Any], raw: bytes) -> bytes:
    """Everything that is sent before the raw bytes."""
    job_bytes = json.dumps(job).encode()
    return LENGTH.pack(len(job_bytes)) + job_bytes + LENGTH.pack(len(raw))


def receive(descriptor: int, limit: int) -> bytes | None:
    """The next piece, None at the end of the stream. Raises `ValueError` for one longer than ``limit``."""
    length = _exactly(descriptor, LENGTH.size)
    if length is None:
        return None
    (size,) = LENGTH.unpack(length)
    if size > limit:
        raise ValueError("a piece that is too long")
    return _exactly(descriptor, size)


def send(descriptor: int, answer: dict[str, Any]) -> None:
    body = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace")
    view = memoryview(LENGTH.pack(len(body)) + body)
    while view:
        view = view[os.write(descriptor, view) :]


def _exactly(descriptor: int, size: int) -> bytes | None:
    buffer = bytearray()
    while len(buffer) < size:
        if not (piece := os.read(descriptor, min(size - len(buffer), 1 << 20))):
            return None
        buffer += piece
    return bytes(buffer)


def document_fields(document: Document) -> dict[str, Any]:
    day = document.published
    return {
        **asdict(document),
        "published": day.isoformat() if day else None,
        "fingerprint": fingerprint(document.text),
    }


def document_of(answer: dict[str, Any]) -> Document:
    """The document in a child's answer. Raises `ExtractionError` when it says why there is none, with ``told`` in its
    data when the child can go on, and for what is no answer."""
    if isinstance(why := answer.get("why"), str):
        data: dict[str, Any] = {} if answer.get("leaving") else {"told": True}
        data |= {"limit": answer["limit"]} if answer.get("limit") in ("memory", "time", "size") else {}
        data |= {"passing": True} if answer.get("passing") is True else {}
        raise ExtractionError(why[:500], **data)
    try:
        document = _documents().validate_python(answer)
    except ValueError:
        raise ExtractionError("reading it crashed", crashed=True) from None
    labels = tuple(one_line(label, MAX_LABEL_CHARS) for label in document.page_labels)
    if not all(0 <= page <= len(document.text) for page in document.pages) or len(labels) not in (
        0,
        len(document.pages),
    ):
        raise ExtractionError("reading it crashed", crashed=True)
    return replace(
        document,
        unread=document.unread[:_MAX_UNREAD_CHARS],
        fingerprint=document.fingerprint[:_MAX_FINGERPRINT_CHARS],
        manual=document.manual[:_MAX_MANUAL_CHARS],
        page_labels=labels,
    )


@cache
def _documents() -> TypeAdapter[Document]:
    from pydantic import TypeAdapter  # the child has no use for it

    return TypeAdapter(Document)
