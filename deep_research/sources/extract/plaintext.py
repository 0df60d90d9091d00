"""Bytes to text: the encoding that is named, else UTF-8, else the one that a text is clearly in; helpers of the readers,
and exponents as text (``10⁶`` and ``m²``, since ``106`` is another number).

The encodings of other scripts are told by charset-normalizer. Those of Latin letters differ from Windows-1252 in a few
signs only, so that any of them may be read in any other: they have to be named. It is of bounded cost: a piece of the
text is looked at.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from html import unescape

from deep_research.patterns import regex

_CONTROLS = regex("[\x00-\x08\x0e-\x1b\x1f\x7f]")
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_CHARSET = regex(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]{1,40})", re.IGNORECASE)
_ENCODINGS = regex(
    r"(?:windows-125\d|cp125\d|iso-8859-\d{1,2}|latin-?1|koi8-[ru]"
    r"|shift_jis|euc-jp|euc-kr|gbk|gb2312|gb18030|big5)\Z"
)
_OTHER_SCRIPTS = (
    *("cp1251", "koi8_r", "koi8_u", "iso8859_5", "cp866"),
    *("cp1253", "iso8859_7", "cp1255", "cp1256", "cp874"),
    *("cp932", "euc_jp", "gb18030", "cp950", "cp949"),
)
_WESTERN = "cp1252"
_SAMPLE_BYTES = 16_000
_LOOKED_THROUGH_BYTES = 2_000_000  # bytes, for lines that tell something
_MAX_SIGN_BYTES = 4
_MIN_SCRIPT_CHARS = 24  # letters of another script, of
_MIN_KINDS = 6  # at least, which the chances of a few marks do not make
_FEW_KANA_CHARS = 10  # characters for each
_IN_WORDS = 0.7  # of the letters of another script, in words of nothing else
_BROKEN_CHARS = 200  # characters of which one may be, besides the last
_TAG = regex(rb"<[^<>]*>")
_LETTER = regex(r"[^\W\d_\x00-\x7f]")
# Words of another script. Signs that are words themselves may stand beside Latin letters.
_APART = regex(r"(?<![^\W\d_])[^\W\d_\x00-\x7f]{2,}(?![^\W\d_])|[\u2e80-\ud7ff\uf900-\ufaff]{2,}")
_KANA = regex("[\u3041-\u3096\u30a1-\u30fa]")
_ISO_DATE = regex(r"\b(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?!\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_NAMED_DATE = regex(
    rf"\b(?:{_DAY}\.?[\s-]+)?({'|'.join(_MONTHS)})[a-z]*\.?[\s-]+(?:{_DAY},?\s+)?(\d{{4}})\b", re.IGNORECASE
)
MARKS = {"sup": "\x01", "sub": "\x02"}  # before what is raised or lowered; no clean text has them
END = "\x03"
_MARKED = regex("([\x01\x02])((?:[^\x01-\x03]|\x03\\1){0,40})\x03")  # in one piece or several
_UNMARKED = {1: None, 2: None, 3: None}
_LOOK_BACK_CHARS = 200
_SEEN = r"(?:\s(?:(?!style|hidden)[^<>]){0,200})?"  # hidden ones are left to others
_INLINE = regex(rf"</?(?:a|b|em|i|small|span|strong|su[bp]|var){_SEEN}>", re.IGNORECASE)
_ELEMENT = regex(
    rf"<(su[bp]){_SEEN}>((?:(?!</?su[bp])(?:[^<>]|</?[a-z]+{_SEEN}>)){{1,20}})</\1>", re.IGNORECASE
)
_BASE_WITHIN_CHARS = 50  # characters, in which it is looked for what is raised
_FIGURES = "0123456789+-−–n"
_FORMS = {"sup": ("^", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻ⁿ"), "sub": ("_", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋ₙ")}
_NUMBER = regex(r"[+\-−–]?\d{1,3}(?:[.,]\d{1,3})?[+\-−–]?|n")
# What may be raised to a power: a letter, a length or a sum in brackets; to one with a sign any unit.
_BASE = regex(r"(?:(?<![^\W\d_])(?:[^\W\d_]|[cdkmnµμ]m|ft|yd|mi)|\((?:(?![^\W\d_]{3})[^()]){1,40}\))\Z")
_UNIT = regex(r"(?<![^\W\d_])[^\W\d_]{1,3}\Z")


class UnreadableError(Exception):
    """A document that cannot be used. The text says why, in a few words; it never stops the others. ``limit`` is the
    limit that was met (memory, time or size), empty when it was none; what is ``passing`` says nothing of the file."""

    def __init__(self, why: str, *, limit: str = "", passing: bool = False) -> None:
        self.limit, self.passing = limit, passing
        super().__init__(why)


@contextmanager
def native_code(kind: str) -> Iterator[None]:
    """Within it what a library in another language fails at is a file that is damaged: its panics are no `Exception`."""
    try:
        yield
    except (ImportError, MemoryError, KeyboardInterrupt, SystemExit, UnreadableError):
        raise
    except BaseException as error:
        raise UnreadableError(f"a damaged {kind} ({type(error).__name__})") from error


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
    text = _attempt(raw, "utf-8")
    if text is not None:
        return text
    text = (_attempt(raw, declared) if declared else None) or _mostly_utf8(raw)
    if not text:
        text = guessed(raw) or _attempt(raw, "cp1252")
    if not text or len(_CONTROLS.findall(text)) * 100 > len(text):
        raise UnreadableError("text in an unknown encoding; save it as UTF-8")
    return text


def decode_page(raw: bytes, charset: str = "") -> str:
    """The text of a web page, in the encoding that a header (``charset``) or the page itself names, if it is not UTF-8
    all the same. Raises `UnreadableError`."""
    declared = _CHARSET.search(raw[:2048])
    page_charset = declared.group(1).decode("ascii").lower() if declared else ""
    encoding = next((each for each in (charset, page_charset) if _ENCODINGS.match(each)), None)
    return decode(raw, declared=encoding)


def words(text: str) -> frozenset[str]:
    """The words of ``text`` as a set."""
    return frozenset(text.split())


def whole_number(text: str | None, usual: int = 0) -> int:
    """A whole number as a file says it; ``usual`` for what is none, or is too long for one that counts something."""
    text = (text or "").strip()
    return int(text) if text.isdecimal() and len(text) < 7 else usual


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
    except (UnicodeError, LookupError):
        return None


def _mostly_utf8(raw: bytes) -> str | None:
    """UTF-8 with a few broken bytes, such as a file that was cut: its other characters vouch for it."""
    text = raw.decode("utf-8", "replace")
    broken = text.count("\ufffd")
    wide = len(re.findall(r"[^\x00-\x7f]", text)) - broken
    return text if wide > 2 * broken else None


def guessed(raw: bytes) -> str | None:
    """The text of ``raw`` in the encoding of another script that it is clearly in, None where it may be Western."""
    encoding = _of_another_script(_sample(raw))
    if encoding is None:
        return None
    text = raw.decode(encoding, "replace")
    is_broken = (text.count("\ufffd") - 1) * _BROKEN_CHARS >= len(text)  # one at the end of a piece
    return None if is_broken else text


def _sample(raw: bytes) -> bytes:
    """Its first lines that are not plain ASCII, without tags. No sign of several bytes has one of those in it."""
    sample = b""
    for line in raw[:_LOOKED_THROUGH_BYTES].split(b"\n"):
        if not line.isascii():
            sample += _TAG.sub(b" ", line[: 2 * _SAMPLE_BYTES]) + b"\n"
        if len(sample) >= _SAMPLE_BYTES:
            break
    return sample[:_SAMPLE_BYTES]


def _of_another_script(sample: bytes) -> str | None:
    """An encoding in which the words are those of a script that is not Latin. The sample may end within a sign."""
    from charset_normalizer import from_bytes  # when first needed, as all that is large

    for cut in range(_MAX_SIGN_BYTES):
        best = from_bytes(sample[: len(sample) - cut], cp_isolation=[_WESTERN, *_OTHER_SCRIPTS]).best()
        if best is not None:
            text = str(best)
            if best.encoding == _WESTERN or not _is_of_words(text):
                return None
            is_japanese = len(_KANA.findall(text)) * _FEW_KANA_CHARS > len(
                text
            )  # Chinese codes have them too
            return "euc_jp" if is_japanese and best.encoding == "gb18030" else best.encoding
    return None


def _is_of_words(text: str) -> bool:
    """Whether the letters that are not ASCII make words: those of Latin words read as others stand among Latin ones."""
    letters = _LETTER.findall(text)
    apart = sum(len(word) for word in _APART.findall(text) if _is_sane(word))
    return (
        len(letters) >= _MIN_SCRIPT_CHARS
        and len(set(letters)) >= _MIN_KINDS
        and apart >= _IN_WORDS * len(letters)
    )


def _is_sane(word: str) -> bool:
    """Whether only its first letter is a capital, or all of them, or none."""
    return word == word.upper() or word[1:] == word[1:].lower()


def parse_date(value: str) -> date | None:
    """The first day that ``value`` names: ``2024-03-05…``, ``2024/3/5``, ``5 March 2024``."""
    value = value[:100]
    try:
        if match := _ISO_DATE.search(value):
            return date(int(match[1]), int(match[3]), int(match[4]))
        if match := _NAMED_DATE.search(value):
            return date(int(match[4]), _MONTHS.index(match[2].lower()) + 1, int(match[1] or match[3] or 1))
    except ValueError:
        return None
    return None


def resolve_marks(text: str) -> str:
    """A text in which `MARKS` and `END` stand around pieces."""

    def piece(match: re.Match[str]) -> str:
        before = text[max(0, match.start() - _LOOK_BACK_CHARS) : match.start()].translate(_UNMARKED)
        content = match[2].translate(_UNMARKED)
        return _exponent(before, content, "sup" if match[1] == MARKS["sup"] else "sub") or content

    return _MARKED.sub(piece, text).translate(_UNMARKED) if END in text else text


def resolve_tags(html: str) -> str:
    """HTML with its elements ``sup`` and ``sub`` told."""

    def element(match: re.Match[str]) -> str:
        before = _INLINE.sub("", html[max(0, match.start() - _LOOK_BACK_CHARS) : match.start()])
        return _exponent(unescape(before), unescape(_INLINE.sub("", match[2])), match[1].lower()) or match[0]

    return _ELEMENT.sub(element, html)


def _exponent(before: str, content: str, kind: str) -> str:
    """What is raised (``sup``) or lowered (``sub``) behind a text; nothing where it is no number that belongs to it, as
    that of a note behind a word.

    Example:
        _exponent("5 × 10", "6", "sup")  # "⁶"
    """
    content = content.strip()
    base = _BASE if content.isalnum() else _UNIT
    is_power = kind == "sup" and content != "1" and base.search(before[-_BASE_WITHIN_CHARS:]) is not None
    if not _NUMBER.fullmatch(content) or not (before[-1:].isdigit() or is_power):
        return ""
    mark, forms = _FORMS[kind]
    if "." in content or "," in content:  # of which there is no raised form
        return f"{mark}{content}"
    return content.translate(str.maketrans(_FIGURES, forms))
