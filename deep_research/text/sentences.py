"""Sentence ends within a paragraph."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from deep_research.patterns import regex
from deep_research.text.unspaced import size

FILE = Path(__file__).with_name("abbreviations.toml")
# A run of end marks with the quotes, brackets and reference numbers that close with it. It begins with one set of
# characters, which is searched for several times as fast as a choice; the look-behinds then tell which kind of mark it
# is, and keep a long run of dots from being tried at each of its dots. Then the space after it, and the next word.
_END = regex(
    r"[.!?…。！？｡।؟۔።។။։](?:"
    r"(?<=[.!?…])(?<![.!?…][.!?…])[.!?…]*+[)\]}\"'”’»*_]*+(?:\[\d{1,4}\])*+(?=\s|$)"
    r"|(?<=[。！？｡।؟۔።។။։])[。！？｡।؟۔።។။։]*+[」』”’）)\"'»]*+)"
    r"(?P<gap>\s*+)(?=[\"'“”‘’«(\[{*_]*+(?P<next>\w*+))"
)
END_MARKS = ".!?…。！？｡।؟۔።។။։"
ASKING_MARKS = "?？؟"
CLOSING = "\"”'’»)」』）"  # may follow an end mark
_VISIBLE = regex(r"\S")
_MIN_PROSE_WORDS = 8


_MARK = regex(r"(?<=[^\W\d_]{3}[.!?])\s+(?=\S)")  # behind a word of three letters: none of "e.g." or "st."
_ENOUGH_CAPITALS_SHARE = 0.008  # of the letters of a text
_LOOKED_AT_CHARS = 3_000
_LATIN_MARKS = frozenset(".!?…")
_OPENING = "([{\"'“‘«*_"
_LOOK_BACK_CHARS = 16  # characters; the longest abbreviation with room
_DAY_CHARS = 2  # digits of the number of a day, or of a century
_LOOK_AHEAD_CHARS = 64  # characters in which the next word is looked for


@cache
def _words(kind: str) -> frozenset[str]:
    """Words of a row of the table."""
    return frozenset(tomllib.loads(FILE.read_text(encoding="utf-8"))[kind].split())


def sentence_spans(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of the paragraph ``text[start:end]``, around which is no white space; a line break in it
    counts as a space."""
    here = start
    for match in _END.finditer(text, start, end):
        if _ends(text, match, here):
            yield here, match.start("gap")
            here = match.end()
    if here < end:
        yield here, end


def has_capitals(text: str) -> bool:
    """Whether names, and where sentences begin, can be told by them."""
    sample = text[:_LOOKED_AT_CHARS]
    return sum(map(str.isupper, sample)) > _ENOUGH_CAPITALS_SHARE * max(1, len(sample))


def at_marks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentences of a text without capitals, which elsewhere tell where one begins."""
    for match in _MARK.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def last_sentence_end(text: str, start: int, stop: int) -> int:
    """Where the last sentence ends that does so in ``text[start:stop]``; -1 when none does."""
    for match in reversed(list(_END.finditer(text, start, stop + _LOOK_AHEAD_CHARS))):
        if match.start("gap") < stop and _ends(text, match, start):
            return match.start("gap")
    return -1


def is_prose(text: str) -> bool:
    """Whether a text is sentences: long up to the last of its stops, which is none of a question. Headings that end in
    a stop are short."""
    end = last_sentence_end(text, 0, len(text) + (text[-1:] not in ASKING_MARKS))
    return size(text[: max(0, end)]) >= _MIN_PROSE_WORDS


def after_space(text: str, start: int, end: int) -> int:
    """Where the next visible character of ``text[start:end]`` is; ``end`` when there is none."""
    word = _VISIBLE.search(text, start, end)
    return word.start() if word else end


def _ends(text: str, match: re.Match[str], start: int) -> bool:
    """Whether the end mark at ``match`` ends the sentence from ``start``."""
    mark, word = match.start(), match["next"]
    if not word or text[mark] not in _LATIN_MARKS:
        return True
    if word[0].islower():
        return not word.isalpha()  # an identifier
    if text[mark] != "." or text.startswith("..", mark):
        return True
    before = text[max(start, mark - _LOOK_BACK_CHARS) : mark].rsplit(None, 2)
    if not before or text[mark - 1].isspace():
        return True
    token, following = before[-1].lstrip(_OPENING), word.lower()
    lowered = token.lower()
    if lowered in _words("always") or (word[0].isdigit() and lowered in _words("before_number")):
        return False
    if len(token) == 1 and token.isalpha() and word[0].isalpha() and text.startswith(".", match.end() + 1):
        return False  # "z. B."
    earlier = before[-2].lower() if len(before) > 1 else ""
    opens = following in _words("opening") or following in _words("opening_elsewhere")
    is_the = earlier in _words("the") and not opens
    if token.isdigit() and len(token) <= _DAY_CHARS and (following in _words("month") or is_the):
        return False  # "am 17. Mai", "im 19. Jahrhundert"
    ends_several = len(token) == 1 and len(earlier) == 2 and earlier[1] == "."
    if lowered in _words("either") or ends_several:
        return opens
    if _is_initials(token):
        return following in _words("opening")
    # "1. Open the lid", "10.8. Documents"
    return not (mark - len(token) == start and token.replace(".", "").isdigit())


def _is_initials(token: str) -> bool:
    """Whether the word before a dot is ``J`` or ``U.S``."""
    return (len(token) == 1 and token.isupper()) or (
        "." in token and all(len(part) == 1 and part.isalpha() for part in token.split("."))
    )
