"""Scripts that are written without spaces: Chinese, Japanese, Thai, Lao, Khmer, Burmese; and Korean, whose particles are
written with the word before them.

Nothing tells where their words end. So what is indexed is each pair of neighbouring characters, a query looks for its own
pairs, and two characters count as a word. A character is a letter together with the marks that it carries.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from operator import add

from deep_research.patterns import regex

_HAN_AND_KANA = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)
_THAI_TO_BURMESE = (  # Thai, Lao, Burmese with its extensions, Khmer
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ec4\u0ec6\u0ec8-\u0ece\u0edc-\u0edf"
    "\u1000-\u103f\u1050-\u109f\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa7f\u1780-\u17d3\u17d7\u17dc\u17dd"
)
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"
CHARACTERS = f"{_HAN_AND_KANA}{_HANGUL}{_THAI_TO_BURMESE}"  # for a set of a pattern
RUN = regex(f"([{CHARACTERS}]+)")
# Two characters of the script in which Japanese writes endings, particles and the verbs that help.
_JOINING = regex("[\u3041-\u3096]{2}")
# The first bytes of `CHARACTERS` in UTF-8 stand for nothing else there but some symbols and other scripts.
_OTHER_BYTES = bytes(set(range(256)).difference((0xE0, 0xE1, *range(0xE3, 0xEE), 0xEF, 0xF0)))


def _characters_of(ranges: str) -> Iterator[str]:
    """Those of the inside of a set of a pattern."""
    while ranges:
        last = ranges[2] if ranges[1:2] == "-" else ranges[0]
        yield from map(chr, range(ord(ranges[0]), ord(last) + 1))
        ranges = ranges[3:] if ranges[1:2] == "-" else ranges[1:]


_MARKS = sorted(c for c in _characters_of(_THAI_TO_BURMESE) if unicodedata.category(c).startswith("M"))
# FTS5 takes marks for ends of words, so letters of private use stand in for them.
_STAND_IN = {ord(mark): 0xE800 + number for number, mark in enumerate(_MARKS)}
STAND_INS = f"{chr(0xE800)}-{chr(0xE800 + len(_MARKS) - 1)}"

HAS_STAND_IN = regex(f"[{STAND_INS}]")
_MARK = "".join(_MARKS)
_CHARACTER = regex(f"[{CHARACTERS}][{_MARK}]*+")

_STOOD_IN = regex(f".[{STAND_INS}]*+")


def occur_in(text: str) -> bool:
    """Whether there may be such characters in ``text``; certain when not."""
    # Deleting from bytes is far quicker than searching.
    return not text.isascii() and bool(text.encode().translate(None, _OTHER_BYTES))


def pairs(text: str) -> list[str]:
    """The pairs of neighbours in ``text``, and the last character of each run alone, as the index has them."""
    runs = RUN.findall(text)
    if not runs:
        return runs
    found: list[str] = []
    marked = not _STAND_IN.keys().isdisjoint(map(ord, text))
    for run in runs:
        characters = _STOOD_IN.findall(run.translate(_STAND_IN)) if marked else run
        found.extend(map(add, characters, [*characters[1:], ""]))
    return found


def neighbours(run: str) -> Iterator[str]:
    """The pairs of neighbours in a run as a query has them; a single character as it is."""
    characters = _characters(run)
    if len(characters) == 1:
        yield run
    yield from map(add, characters, characters[1:])


def size(text: str) -> int:
    """How many words a text has.

    Example:
        size("高さは30メートルです。")  # 6: four and a half, and the number
    """
    if not occur_in(text) or not (runs := RUN.findall(text)):
        return len(text.split())
    spaced_ones = sum(any(map(str.isalnum, word)) for word in without(text).split())
    return spaced_ones + (sum(len(_characters(run)) for run in runs) + 1) // 2


def found_words(text: str, words: re.Pattern[str]) -> list[str]:
    """The words of a text by a pattern, and of its runs the pairs of neighbours that may be of a word that tells
    something, in their order."""
    if not occur_in(text):
        return words.findall(text)
    found: list[str] = []
    for piece in RUN.split(text):
        if RUN.match(piece):
            every = list(neighbours(piece))
            found += [pair for pair in every if not _JOINING.fullmatch(pair)] or every
        else:
            found += words.findall(piece)
    return found


def pair_of(term: str) -> str:
    """What the index has for a term of a query; empty when it is of another script."""
    return term.translate(_STAND_IN) if RUN.match(term) else ""


def is_single(term: str) -> bool:
    return len(_characters(term)) == 1


def without(text: str) -> str:
    """``text`` with its runs of unspaced scripts taken out."""
    return RUN.sub(" ", text)


def blanked(text: str) -> str:
    """The same with spaces in their place, so that all else stays where it is."""
    return RUN.sub(lambda run: " " * len(run.group()), text) if occur_in(text) else text


def spaced(text: str) -> str:
    """``text`` with each character of an unspaced script as a word of its own."""
    if not RUN.search(text):
        return text
    return _CHARACTER.sub(r" \g<0> ", text).translate(_STAND_IN)


def _characters(run: str) -> list[str]:
    return _CHARACTER.findall(run)
