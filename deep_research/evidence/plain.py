"""Text from outside made plain: NFC, one kind of line end, and no characters that cannot be seen. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_LINE_ENDS = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# What a reader cannot see but a program reads: controls, soft hyphen, zero-width and bidirectional marks,
# blank letters, variation selectors, tags. Text meant for people loses nothing that a quotation needs.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_UNSEEN_ASCII = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f]")
_UNPLAIN_BYTES = bytes(code for code in (*range(32), 127) if code not in b"\n\t")
_CHUNK = 65_536  # characters
_MARKS_IN_A_ROW = 30  # the limit of Unicode's stream-safe format


def clean(text: str) -> str:
    """``text`` in NFC with ``\\n`` line ends and without unseen characters; tabs stay."""
    if text.isascii():
        # Deleting from bytes is far quicker than searching, and most texts have nothing to delete.
        body = text.encode()
        if len(body.translate(None, _UNPLAIN_BYTES)) == len(body):
            return text
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
