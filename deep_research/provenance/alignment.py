"""A quote set against a text word by word: one folded view of both, in which what may differ is told from what may not.

Punctuation, white space, markup and letter case are not in a view. Its words, numbers and the signs beside numbers are:
those of a quote must follow one another in the text as they do in the quote. Between them small words, addresses,
references and the numbers of list items may be left out or put in. All of it takes time linear in the text.
"""

from __future__ import annotations

import re
import tomllib
import unicodedata
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from functools import cache, cached_property
from pathlib import Path

from deep_research.patterns import regex
from deep_research.state import Span
from deep_research.text.language import ENGLISH, language_of
from deep_research.text.plain import unjoined
from deep_research.text.statements import GROUPED

FILE = Path(__file__).with_name("small_words.toml")
SPARED_PER_WORD = 0.25  # small words that may be left out or put in, for each word of a quote that is none
MIN_SPARED_WORDS = 2
GAP_CHARS = 1_500  # characters between two words that follow one another: an address, the rule of a table
MAX_PLACES = 100  # places of a text that are looked at for one quote
_MAX_KEYS = 0x10FFFF
_SEEN_CHARS = 4  # characters beside a word, in which it shows whether it opens or ends a sentence
_OPENERS = ".!?:;…\"'“”„«»‘’([{|*_#>-–—•\n。！？"
_CLOSERS = ".!?:;…\"'“”„«»‘’)]}|*_<–—\n。！？"
_WIDE = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TAGS = "a|abbr|b|blockquote|br|cite|code|dd|del|div|dl|dt|em|h[1-6]|i|img|ins|kbd|li|mark|ol|p|pre|q|s|small|span|strong|sub|sup|table|tbody|td|th|thead|tr|u|ul"  # noqa: E501
_TOKEN = regex(
    rf"(?P<nothing></?(?:{_TAGS})\b[^<>\n]{{0,300}}>|={{3,}}|^[ \t]*>[> \t]*|&(?:nbsp|amp|quot|lt|gt|#\d{{1,5}});)"
    r"|(?P<mark>\]\([^()\s]{0,2000}+(?:\([^()\s]{0,500}+\)[^()\s]{0,500}+){0,3}+(?:[ ]+\"[^\"\n]{0,300}+\")?\)"
    r"|(?:https?|ftp)://[^\s<>|\"`*)\]]{1,2000}+|\[\d{1,4}\]|\[\^\w{1,30}\]|^[ \t>|*_-]*\d{1,3}[.)](?=[ \t]))"
    r"|(?P<word>(?<![\w.])\.\d+|(?<!\w)[A-Za-z](?:\+\+|\#)(?!\w)"
    r"|(?<![\w)\]])[-−–+±~≈](?=\d)|[!=<>]=|(?<=[\w)\]])[ ]?[<>=](?=[ ]?[-\w(])|[≤≥≠]|[<>=](?=[ ]?\d)"
    r"|[$€£¥₹](?=[ ]?\d)|(?<=\d)[%‰]|(?<=\d[ ])[%‰]|(?<=\d)[€£¥₹]|(?<=\d[ ])[€£¥₹]"
    rf"|[{_WIDE}]"
    rf"|[^\W_{_WIDE}][^\W{_WIDE}]*+(?:['’\u200c\u200d][^\W_{_WIDE}][^\W{_WIDE}]*+|(?<=\d)[.,:]\d[^\W{_WIDE}]*+)*+)",
    re.MULTILINE,
)
_ENDS = ".!?…。！？।؟۔"
_QUOTE_MARKS = "\"'“”„«»‘’"
_AROUND = f"{_QUOTE_MARKS} \t\n`*_"
_PAIRED = ("**", "__", "`", "*")


class Sort(IntEnum):
    """How a token counts: it has to be there, or it may be missing."""

    CONTENT = 0
    SMALL = 1
    MARK = 2


class View:
    """A text as the tokens that it is compared by, each with its place. ``text`` is `clean`; by ``language`` it shows
    which of its words are small."""

    def __init__(self, text: str, language: str = "") -> None:
        self.text = text
        self.language = language or language_of(text)
        self.keys: list[str] = []
        self.sorts = bytearray()
        self.starts, self.ends = array("q"), array("q")
        self.contents = array("q")  # the places, among the tokens, of those that have to be there
        once: dict[str, str] = {}  # a word of a text once, however often it stands there
        for key, sort, start, end in _tokens(text, self.language):
            if sort is Sort.CONTENT:
                self.contents.append(len(self.keys))
            self.keys.append(once.setdefault(key, key))
            self.sorts.append(sort)
            self.starts.append(start)
            self.ends.append(end)

    def find(self, quote: View, start: int = 0) -> Span | None:
        """Where the quote is, at the first place after ``start``, else the first of all."""
        wanted = self._coded(quote)
        if not wanted:
            return None
        first = bisect_left(self.contents, bisect_left(self.starts, start))
        tried = 0
        for begin, stop in ((first, len(self._codes)), (0, first + len(wanted) - 1)):
            place = self._codes.find(wanted, begin, stop)
            while place >= 0 and tried < MAX_PLACES:
                tried += 1
                if (span := self._aligned(quote, place)) is not None:
                    return span
                place = self._codes.find(wanted, place + 1, stop)
        return None

    @cached_property
    def _code_of(self) -> dict[str, str]:
        """For each content word a character, so that rows of them are looked for as fast as texts."""
        codes: dict[str, str] = {}
        for place in self.contents:
            if len(codes) == _MAX_KEYS:
                break
            codes.setdefault(self.keys[place], chr(len(codes) + 1))
        return codes

    @cached_property
    def _codes(self) -> str:
        return "".join(self._code_of.get(self.keys[place], "\0") for place in self.contents)

    def _coded(self, quote: View) -> str:
        """The content words of a quote; nothing where it has none, or one that the text has not."""
        codes = [self._code_of.get(quote.keys[place]) for place in quote.contents]
        return "" if None in codes else "".join(code for code in codes if code)

    def _aligned(self, quote: View, place: int) -> Span | None:
        """The span from the first to the last word, where all between them fits."""
        spared = MIN_SPARED_WORDS + int(SPARED_PER_WORD * len(quote.contents))
        for number in range(1, len(quote.contents)):
            mine = self.contents[place + number - 1], self.contents[place + number]
            its = quote.contents[number - 1], quote.contents[number]
            if not self._are_near(*mine):
                return None
            if mine[1] - mine[0] == 1 == its[1] - its[0]:
                continue
            cost = _differing(self._between(*mine), quote._between(*its))
            if cost is None or (spared := spared - cost) < 0:
                return None
        before = self._edge(quote, self.contents[place], range(quote.contents[0] - 1, -1, -1), -1)
        last = self.contents[place + len(quote.contents) - 1]
        after = self._edge(quote, last, range(quote.contents[-1] + 1, len(quote.keys)), 1)
        if before is None or after is None:
            return None
        if after + 1 < len(self.keys) and self.text.startswith("](", self.ends[after]):
            after += 1  # the address of the link whose words are quoted
        return _rounded(self.text, self.starts[before], self.ends[after], quote.text)

    def _between(self, one: int, other: int) -> list[tuple[str, int]]:
        return [(self.keys[at], self.sorts[at]) for at in range(one + 1, other)]

    def _edge(self, quote: View, at: int, outside: range, step: int) -> int | None:
        """The outermost token of the text that the quote has, from its first (or last) content word on. A small word that
        the quote alone has may only open or end a sentence: elsewhere it stands in another word's place."""
        missing = False
        for its in outside:
            place = at + step
            for _ in range(MIN_SPARED_WORDS):
                if self._is_spare(place) and self.keys[place] != quote.keys[its]:
                    place += step
            if self._is_spare(place) and self.keys[place] == quote.keys[its] and self._are_near(at, place):
                at = place
            else:
                missing |= quote.sorts[its] == Sort.SMALL
        ends = not missing or (
            _opens(self.text, self.starts[at]) if step < 0 else _closes(self.text, self.ends[at])
        )
        return at if ends else None

    def _is_spare(self, place: int) -> bool:
        return 0 <= place < len(self.keys) and self.sorts[place] != Sort.CONTENT

    def _are_near(self, one: int, other: int) -> bool:
        first, last = sorted((one, other))
        return self.starts[last] - self.ends[first] <= GAP_CHARS


def _differing(text: Sequence[tuple[str, int]], quote: Sequence[tuple[str, int]]) -> int | None:
    """How many small words stand between two content words on one side alone; None where each side has some of its own:
    then one was put in another's place."""
    cost = 0
    for sort in (Sort.SMALL, Sort.MARK):
        one = [key for key, its in text if its == sort]
        other = [key for key, its in quote if its == sort]
        fewer, more = sorted((one, other), key=len)
        left = iter(more)
        if not all(key in left for key in fewer):
            return None
        cost += len(more) - len(fewer) if sort is Sort.SMALL else 0
    return cost


def _rounded(text: str, start: int, end: int, quote: str) -> Span:
    """The span with the marks that belong to it: the other one of a pair, the end mark that the quote has too."""
    for mark in _PAIRED:
        if text.count(mark, start, end) % 2:
            if text.startswith(mark, end):
                end += len(mark)
            elif text.endswith(mark, 0, start):
                start -= len(mark)
    if text.count("(", start, end) > text.count(")", start, end) and text.startswith(")", end):
        end += 1
    if text[end : end + 1] in _ENDS and quote.rstrip(_AROUND).endswith(text[end : end + 1] or "\0"):
        end += 1
    if quote[-1:] in _QUOTE_MARKS and text[end : end + 1] and text[end] in _QUOTE_MARKS:
        end += 1
    if quote[:1] in _QUOTE_MARKS and start and text[start - 1] in _QUOTE_MARKS:
        start -= 1
    return Span(start=start, end=end)


def _tokens(text: str, language: str) -> Iterator[tuple[str, Sort, int, int]]:
    """Key, sort, start and end of each token, in order."""
    small = small_words().get(language, frozenset())
    for match in _TOKEN.finditer(_with_letters(text)):
        kind = match.lastgroup
        if kind == "nothing":
            continue
        start, end = match.span()
        found = text[start:end]
        if kind == "mark":
            yield found.strip(" \t>|*_-.)("), Sort.MARK, start, end
            continue
        word = found.rstrip("_")
        end = start + len(word)
        start = end - len(word.lstrip(" "))
        key = unjoined(word.strip(" ").casefold().replace("’", "'")).replace("−", "-").replace("–", "-")
        if language == ENGLISH and "," in key and GROUPED.fullmatch(key):
            key = key.replace(",", "")
        is_small = key in small and not _is_name(word, text, start)
        yield key, Sort.SMALL if is_small else Sort.CONTENT, start, end


def _is_name(word: str, text: str, start: int) -> bool:
    """Whether a word that is spelled as a small one is something else: US, vitamin A."""
    if not word.isupper():
        return False
    return len(word) > 1 or not _opens(text, start)


def _opens(text: str, start: int) -> bool:
    """Whether a sentence, a line or a quotation may begin there."""
    before = text[max(0, start - _SEEN_CHARS) : start].rstrip(" \t")
    return not before or before[-1] in _OPENERS


def _closes(text: str, end: int) -> bool:
    after = text[end : end + _SEEN_CHARS].lstrip(" \t")
    return not after or after[0] in _CLOSERS


def _with_letters(text: str) -> str:
    """The text with a letter for each mark that is written on or after one, so that words of all scripts stay whole."""
    if text.isascii():
        return text
    marks = [c for c in set(text) if c > "\u02ff" and unicodedata.category(c)[0] == "M"]
    return text.translate(dict.fromkeys(map(ord, marks), "x")) if marks else text


@cache
def small_words() -> Mapping[str, frozenset[str]]:
    """By language the words that may be left out of a quote or put into it."""
    table = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {language: frozenset(row.split()) for language, row in table.items()}
