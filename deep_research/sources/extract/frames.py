"""What the two processes say to each other: pieces of bytes, each behind its length (8 bytes, big-endian).

A job is two pieces, what to do as JSON and the raw bytes; an answer is one, JSON. Nothing is ever unpickled.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any

LENGTH = struct.Struct(">Q")


def header(job: dict[str, Any], raw: bytes) -> bytes:
    """Everything that is sent before the raw bytes."""
    told = json.dumps(job).encode()
    return LENGTH.pack(len(told)) + told + LENGTH.pack(len(raw))


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
    found = bytearray()
    while len(found) < size:
        piece = os.read(descriptor, min(size - len(found), 1 << 20))
        if not piece:
            return None
        found += piece
    return bytes(found)
