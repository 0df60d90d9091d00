"""Where sentences end inside one paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator

from deep_research.evidence.unspaced import size
from deep_research.patterns import regex

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
_LEAST_PROSE = 8  # words


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MARK = regex(r"(?<=[^\W\d_]{3}[.!?])\s+(?=\S)")  # behind a word of three letters: none of "e.g." or "st."
_ENOUGH_CAPITALS = 0.008  # of the letters of a text
_LOOKED_AT = 3_000  # characters
_LATIN_MARKS = frozenset(".!?…")
_OPENING = "([{\"'“‘«*_"
_LOOK_BACK = 16  # characters; the longest abbreviation with room
_LOOK_AHEAD = 64  # characters in which the next word is looked for

# Words whose dot ends no sentence.
_TITLES = _words(
    "mr mrs ms mx dr prof rev hon gen col lt sgt capt cmdr adm gov sen rep pres st mt ft messrs mme mlle fr "
    "e.g eg i.e ie cf viz vs v ca approx al et resp incl excl esp dept univ assn bros"
)
# Words whose dot ends no sentence when a number follows.
_BEFORE_NUMBER = _words(
    "no nos nr p pp fig figs eq eqs sec sect ch chap vol vols art ref refs tab ver v jan feb mar apr jun jul "
    "aug sep sept oct nov dec b c d fl r"
)
# Words whose dot may do both jobs: it ends the sentence only where the next word likes to open one.
_EITHER = _words("etc inc ltd co corp llc plc jr sr ph.d m.d b.a m.a a.m p.m b.c a.d no est ave blvd rd")
_STARTERS = _words(
    "the this that these those a an it its he his she her they their we our you your i my in on at by for "
    "from to with as if when while where after before since during although though however but and or so "
    "then there here what who why how which some many most all no not one two three other another each both "
    "such also thus hence according under over between among following despite because unlike today later"
)


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
    sample = text[:_LOOKED_AT]
    return sum(map(str.isupper, sample)) > _ENOUGH_CAPITALS * max(1, len(sample))


def at_marks(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The sentences of a text without capitals, which elsewhere tell where one begins."""
    for match in _MARK.finditer(text, start, end):
        yield start, match.start()
        start = match.end()
    yield start, end


def last_sentence_end(text: str, start: int, stop: int) -> int:
    """Where the last sentence ends that does so in ``text[start:stop]``; -1 when none does."""
    for match in reversed(list(_END.finditer(text, start, stop + _LOOK_AHEAD))):
        if match.start("gap") < stop and _ends(text, match, start):
            return match.start("gap")
    return -1


def is_prose(text: str) -> bool:
    """Whether a text is sentences: long up to the last of its stops, which is none of a question. Headings that end in
    a stop are short."""
    end = last_sentence_end(text, 0, len(text) + (text[-1:] not in ASKING_MARKS))
    return size(text[: max(0, end)]) >= _LEAST_PROSE


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
        return False
    if text[mark] != "." or text.startswith("..", mark):
        return True
    before = text[max(start, mark - _LOOK_BACK) : mark].rsplit(None, 1)
    if not before or text[mark - 1].isspace():
        return True
    token = before[-1].lstrip(_OPENING)
    lowered = token.lower()
    if lowered in _TITLES or (word[0].isdigit() and lowered in _BEFORE_NUMBER):
        return False
    if lowered in _EITHER or _is_initials(token):
        return word.lower() in _STARTERS
    return not (token.isdigit() and mark - len(token) == start)  # "1. Open the lid"


def _is_initials(token: str) -> bool:
    """Whether the word before a dot is ``J`` or ``U.S``."""
    return (len(token) == 1 and token.isupper()) or (
        "." in token and all(len(part) == 1 and part.isalpha() for part in token.split("."))
    )
