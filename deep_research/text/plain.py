"""Text from outside made plain: NFC, one kind of line end, and no characters that cannot be seen. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from deep_research.patterns import regex

_LINE_ENDS = regex("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Marks that join letters or keep them apart, which some scripts cannot be written without. They stay where letters take
# another form for them, one at a place: elsewhere, or in rows, nobody sees them, and they may hide something. Between
# pictures (emoji) they say nothing that the pictures do not.
_JOINERS = dict.fromkeys((0x200C, 0x200D))
_JOINER_ROW = regex("([\u200c\u200d])[\u200c\u200d]+")
_CURSIVE = (  # letters and their marks in Arabic, Syriac, N'Ko, Mandaic, Mongolian
    "\u0620-\u065f\u066e-\u06d3\u06d5-\u06dc\u06df-\u06e8\u06ea-\u06ef\u06fa-\u06fc\u06ff\u0710-\u074a"
    "\u074d-\u077f\u07ca-\u07f5\u0840-\u085b\u0860-\u086a\u0870-\u0887\u0889-\u088f\u0897-\u08e1\u08e3-\u08ff"
    "\u1820-\u18aa\ufb50-\ufd3d\ufd50-\ufdfb\ufe70-\ufefc"
)
_INDIC = (  # of India and Sri Lanka, without figures and stops
    "\u0900-\u0963\u0971-\u09e5\u09f0-\u0a65\u0a70-\u0ae5\u0af9-\u0b65\u0b71-\u0be5\u0c00-\u0c65\u0c80-\u0ce5"
    "\u0d00-\u0d65\u0d7a-\u0de5\u0df2\u0df3"
)
_VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca"  # without a vowel, says this mark
_SEEN_JOINER = (
    f"(?<=[{_CURSIVE}])\u200c(?=[{_CURSIVE}])|(?<=[{_VIRAMA}])\u200c(?=[{_INDIC}])|(?<=[{_VIRAMA}])\u200d"
    f"|(?<=[{_INDIC}])\u200d(?=[{_VIRAMA}])"
)
_ANY_JOINER = regex(f"({_SEEN_JOINER})|[\u200c\u200d]")
# What a reader cannot see but a program reads: controls, soft hyphen, zero-width and bidirectional marks,
# blank letters, variation selectors, tags. Text meant for people loses nothing that a quotation needs.
_UNSEEN = regex(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_UNSEEN_ASCII = regex("[\x00-\x08\x0e-\x1b\x1f\x7f]")
_UNPLAIN_BYTES = bytes(code for code in (*range(32), 127) if code not in b"\n\t")
_CHUNK_CHARS = 65_536
_MAX_MARKS = 30  # the limit of Unicode's stream-safe format
_MARKS = " .,;:!?…\"'“”‘’«»()[]*_"


def clean(text: str) -> str:
    """``text`` in NFC with ``\\n`` line ends and without unseen characters; tabs stay. Before it is searched or
    compared it is to be `unjoined`, and so is what is looked for: many write without the joiners that it may have."""
    if text.isascii():
        # Deleting from bytes is far quicker than searching, and most texts have nothing to delete.
        body = text.encode()
        if len(body.translate(None, _UNPLAIN_BYTES)) == len(body):
            return text
        return _UNSEEN_ASCII.sub("", _LINE_ENDS.sub("\n", text))
    return "".join(map(_clean_chunk, _chunks(_LINE_ENDS.sub("\n", text))))


def lowered(text: str) -> str:
    """``text`` in lower case with the same offsets: the few letters that change their length in it stay."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c if len(c.lower()) > 1 else c.lower() for c in text)


def has_joiners(text: str) -> bool:
    return "\u200c" in text or "\u200d" in text


def unjoined(text: str) -> str:
    """``text`` without the joiners that `clean` leaves."""
    return text.translate(_JOINERS) if has_joiners(text) else text


def plainly(text: str) -> str:
    """In lower case, with one space between words and none of the marks around it."""
    return " ".join(text.casefold().split()).strip(_MARKS)


def _chunks(text: str) -> Iterator[str]:
    """``text`` in pieces that end where a paragraph, else a line, else a word does, so that no single step
    over a long text keeps other threads waiting. Nothing in Unicode combines across such an end."""
    here = 0
    while len(text) - here > 2 * _CHUNK_CHARS:
        for mark in ("\n\n", "\n", " "):
            cut = text.find(mark, here + _CHUNK_CHARS, here + 2 * _CHUNK_CHARS)
            if cut >= 0:
                break
        else:
            break
        yield text[here : cut + len(mark)]
        here = cut + len(mark)
    yield text[here:]


def _clean_chunk(text: str) -> str:
    text = _UNSEEN.sub("", text).replace("\xa0", " ")
    if has_joiners(text):
        text = _ANY_JOINER.sub(r"\1", _JOINER_ROW.sub(r"\1", text))
    if marks := "".join(sorted(filter(unicodedata.combining, set(text)))):
        # Normalising takes quadratic time over a long row of combining marks, so rows are shortened before.
        mark = f"[{re.escape(marks)}]"
        text = re.sub(f"({mark}{{{_MAX_MARKS}}}){mark}+", r"\1", text)
    return unicodedata.normalize("NFC", text)
