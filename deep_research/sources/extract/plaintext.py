"""Bytes to text: finding the right encoding; and small helpers of the readers."""

from __future__ import annotations

import codecs
import re

from deep_research.sources.extract.guessing import guessed


class UnreadableError(Exception):
    """A document that cannot be used. The text says why, in a few words; it never stops the others. ``limit`` is the
    limit that was met (memory, time or size), empty when it was none."""

    def __init__(self, why: str, *, limit: str = "") -> None:
        self.limit = limit
        super().__init__(why)


_CONTROLS = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f]")
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


def decode(raw: bytes, *, declared: str | None = None) -> str:
    """The text of ``raw``: by its byte order mark, as UTF-8, in the ``declared`` encoding, in the one that it is clearly
    in, or as Windows-1252.

    Raises `UnreadableError` for binary data and for text in none of these.
    """
    for mark, encoding in _BOMS:
        if raw.startswith(mark):
            return raw[len(mark) :].decode(encoding, "replace")
    if b"\0" in raw:
        raise UnreadableError("binary data, not text")
    found = _attempt(raw, "utf-8")
    if found is not None:
        return found
    found = (_attempt(raw, declared) if declared else None) or _mostly_utf8(raw)
    if not found:
        found = guessed(raw) or _attempt(raw, "cp1252")
    if not found or len(_CONTROLS.findall(found)) * 100 > len(found):
        raise UnreadableError("text in an unknown encoding; save it as UTF-8")
    return found


def words(text: str) -> frozenset[str]:
    """The words of ``text`` as a set."""
    return frozenset(text.split())


def one_line(text: str, limit: int) -> str:
    """The beginning of ``text`` on one line: whole words, at most ``limit`` characters."""
    line = " ".join(text[: limit * 4].split())
    if len(line) <= limit:
        return line
    cut = line.rfind(" ", 0, limit)
    return (line[:cut] if cut > limit // 2 else line[: limit - 1]).rstrip(" ,;:") + "…"


def _attempt(raw: bytes, encoding: str) -> str | None:
    try:
        return raw.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _mostly_utf8(raw: bytes) -> str | None:
    """UTF-8 with a few broken bytes, such as a file that was cut: its other characters vouch for it."""
    text = raw.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    wide = len(re.findall(r"[^\x00-\x7f]", text)) - broken
    return text if wide > 2 * broken else None
