"""Bytes to clean text: the right encoding, one kind of line end, NFC, and no characters that cannot be
seen."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator


class UnreadableError(Exception):
    """A document that cannot be used. The text says why, in a few words; it never stops the others."""


_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# What a reader cannot see but a program reads: controls, soft hyphen, zero-width and bidirectional marks,
# blank letters, variation selectors, tags. Text meant for people loses nothing that a quotation needs.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_UNSEEN_ASCII = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f]")
_CHUNK = 65_536  # characters
_MARKS_IN_A_ROW = 30  # the limit of Unicode's stream-safe format


def decode(raw: bytes, *, declared: str | None = None) -> str:
    """The text of ``raw``: by its byte order mark, as UTF-8, in the ``declared`` encoding, or as
    Windows-1252.

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
    found = (_attempt(raw, declared) if declared else None) or _mostly_utf8(raw) or _attempt(raw, "cp1252")
    if not found or len(_UNSEEN_ASCII.findall(found)) * 100 > len(found):
        raise UnreadableError("text in an unknown encoding; save it as UTF-8")
    return found


def clean(text: str) -> str:
    """``text`` in NFC with ``\\n`` line ends and without unseen characters; tabs stay."""
    if text.isascii():
        return _UNSEEN_ASCII.sub("", _LINE_ENDS.sub("\n", text))
    return "".join(map(_clean_chunk, chunks(_LINE_ENDS.sub("\n", text))))


def chunks(text: str) -> Iterator[str]:
    """``text`` in pieces that end where a paragraph, else a line, else a word does, so that no single step
    over a long text keeps other threads waiting. Nothing in Unicode combines across such an end."""
    here = 0
    while len(text) - here > 2 * _CHUNK:
        for mark in ("\n\n", "\n", " "):
            cut = text.find(mark, here + _CHUNK, here + 2 * _CHUNK)
            if cut >= 0:
                break
        else:
            break
        yield text[here : cut + len(mark)]
        here = cut + len(mark)
    yield text[here:]


def _clean_chunk(text: str) -> str:
    text = _UNSEEN.sub("", text).replace("\xa0", " ")
    if marks := "".join(sorted(filter(unicodedata.combining, set(text)))):
        # Normalising takes quadratic time over a long row of combining marks, so rows are shortened before.
        mark = f"[{re.escape(marks)}]"
        text = re.sub(f"({mark}{{{_MARKS_IN_A_ROW}}}){mark}+", r"\1", text)
    return unicodedata.normalize("NFC", text)


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
