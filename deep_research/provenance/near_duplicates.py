"""Detection of copies and versions of a text, from a few characters kept of each. Pure.

Of all runs of five words of a text, hashed, the smallest `KEPT_HASHES_COUNT` are kept: a sample that is drawn alike
from every text, so that what two samples share tells what the texts share.

The threshold was measured on web pages (WiCE), abstracts (SciFact, DeepScholar) and encyclopedia paragraphs, each
against a copy with another title, a sixth of it cut out, a note, and a third as much of another text around it. At 0.6
it finds .99 of the pages, .99 and .96 of the abstracts, .74 of the paragraphs, which have 50 words; of 2.8 million pairs
of different texts it takes 28 for copies, nearly all of them true copies or pages that are boilerplate for the most part.
Two pages of which 40 % are the same boilerplate are taken for copies in under 2 % of the cases, at 50 % in 3 to 10 %; at
0.5 that would be 70 %, and at 0.7 up to a tenth of the abstracts would be missed.

Of the sentences of a text two hashes each are kept: of the words, and of the figures and denials in them. Where two texts
have the same sentence with others, they are two versions; a copy has none of these, whatever a site puts around it.
"""

from __future__ import annotations

import base64
import unicodedata
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import nsmallest
from itertools import combinations, islice
from math import ceil
from zlib import crc32

from deep_research.patterns import regex
from deep_research.text.plain import unjoined
from deep_research.text.words import NEGATIONS

RUN_WORDS = 5  # words in a row; of scripts that set no spaces, characters
KEPT_HASHES_COUNT = 98  # of three bytes: 392 characters
MIN_RUNS = 40  # runs of a text, below which two may be alike by chance
COPIED_SHARE = 0.6  # of the smaller text that is found in the other
_MIN_COMPARED = 8  # hashes, below which nothing is told
_MAX_WORDS = 100_000  # that are looked at
_UNSPACED = (
    "\u0e00-\u0edf\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Japanese, Chinese
)
_TOKEN = regex(f"[{_UNSPACED}]|[^\\W{_UNSPACED}]+")
_TOKEN_ASCII = regex(rb"[a-z0-9_]+")
_BYTES = 3
_PARTED = "."  # between what tells copies and what tells versions; old ones have the former alone

MAX_SENTENCES = 96  # sentences of a text, of four bytes each
SENTENCE_WORDS = 8  # words of a sentence, below which it may be anything that a site puts around a text
OF_SHARED = 0.02  # of the facts that both have: more may be figures that a page counts anew each day
_END = regex(r"(?<=[.!?…。])\s+")
_TOKEN_OF_FACT = regex(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")

_WORDS_OF_KEY = 2
MAX_ALIKE = 64  # sets that a pair of words leads to, where it is enough to find one of those that are alike


def fingerprint(text: str) -> str:
    """What is kept of a text to tell its copies from its versions: at most 905 characters, the same in every process; ""
    for a text too short to tell. Letter case, marks and white space do not count. A text of 20 KB takes 1.2 ms,
    with letters beyond ASCII 1.8."""
    tokens = _tokens(text)
    if len(tokens) < MIN_RUNS + RUN_WORDS - 1:
        return ""
    # One row of bytes and the places where words begin in it: cutting runs out of it is quicker than joining words.
    row = b" ".join(tokens)
    starts = [0]
    place = 0
    for token in tokens:
        place += len(token) + 1
        starts.append(place)
    hashes = {
        crc32(row[start:end]) for start, end in zip(starts, islice(starts, RUN_WORDS, None), strict=False)
    }
    if len(hashes) < MIN_RUNS:
        return ""
    # The upper bytes order nearly as the whole does.
    kept = sorted({value >> 8 for value in nsmallest(KEPT_HASHES_COUNT, hashes)})
    runs = base64.b64encode(b"".join(value.to_bytes(_BYTES, "big") for value in kept)).decode("ascii")
    return f"{runs}{_PARTED}{facts(text)}"


def _tokens(text: str) -> list[bytes]:
    text = text[: 8 * _MAX_WORDS]
    if text.isascii():
        tokens = _TOKEN_ASCII.findall(text.lower().encode())
    else:
        plain = unicodedata.normalize("NFKC", unjoined(text)).casefold()
        tokens = [token.encode("utf-8", "replace") for token in _TOKEN.findall(plain)]
    return tokens[:_MAX_WORDS]


@lru_cache(maxsize=4096)
def _sample(kept: str) -> tuple[tuple[int, ...], frozenset[int], int]:
    """The hashes of a fingerprint in their order and as a set, and the value up to which it has all of the text's."""
    try:
        data = base64.b64decode(kept.partition(_PARTED)[0], validate=True)
    except ValueError:
        return (), frozenset(), 0
    values = sorted(int.from_bytes(data[at : at + _BYTES], "big") for at in range(0, len(data), _BYTES))
    # Two of the smallest may have met in their upper bytes, so a full sample can be a little short.
    end = values[-1] if len(values) >= KEPT_HASHES_COUNT - 4 else 1 << 8 * _BYTES
    return tuple(values), frozenset(values), end


def sample(kept: str) -> tuple[int, ...]:
    """The hashes that a fingerprint is made of: two texts that are alike have some in common."""
    return _sample(kept)[0]


def alike(a: str, b: str) -> float:
    """The estimated share (0 to 1) of the smaller text that is found in the other, from their fingerprints; 0 where
    nothing can be told: one is too short, or more than about ten times as long as the other."""
    one, one_set, one_end = _sample(a)
    other, other_set, other_end = _sample(b)
    # Of both texts, what lies below this was kept, if it was there.
    end = min(one_end, other_end)
    fewer = min(bisect_right(one, end), bisect_right(other, end))
    if fewer < _MIN_COMPARED:
        return 0.0
    return min(1.0, sum(value <= end for value in one_set & other_set) / fewer)


def copied(a: str, b: str) -> bool:
    """Whether two fingerprints are of one text, up to what stands around it and small changes: not those of two versions
    of a document, see `versions`."""
    return alike(a, b) >= COPIED_SHARE and not _are_versions(a, b)


def versions(a: str, b: str) -> bool:
    """Whether two fingerprints are of two versions of one document: much the same, but for figures or denials."""
    return alike(a, b) >= COPIED_SHARE and _are_versions(a, b)


def _are_versions(a: str, b: str) -> bool:
    return are_versions(a.partition(_PARTED)[2], b.partition(_PARTED)[2])


class Originals:
    """The first of each text, by fingerprint: for many texts, of which most have nothing in common."""

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._holding: dict[int, list[int]] = {}  # which of those kept have a hash

    def place_of(self, kept: str) -> int:
        """The place, counted from 0 in the order of the questions for new ones, of the first text that this one is a copy
        of; its own, if it is of none."""
        hashes, _, _ = _sample(kept)
        near = sorted({place for value in hashes for place in self._holding.get(value, ())})
        for place in near:
            if copied(kept, self._kept[place]):
                return place
        self._kept.append(kept)
        for value in hashes:
            self._holding.setdefault(value, []).append(len(self._kept) - 1)
        return len(self._kept) - 1


def facts(text: str) -> str:
    """What is kept of a text to tell its versions: at most 512 characters of base64, the same in every process; "" where
    it has no figure."""
    values: dict[int, int] = {}
    several: set[int] = set()
    for around, said in _facts(unjoined(text[: 8 * _MAX_WORDS])):
        key, value = crc32(around.encode()) >> 8, crc32(said.encode()) >> 24
        if values.setdefault(key, value) != value:
            several.add(key)  # a phrase that comes again with other figures tells nothing
    kept = nsmallest(MAX_SENTENCES, (key for key in values if key not in several))
    row = b"".join(key.to_bytes(3, "big") + values[key].to_bytes(1, "big") for key in sorted(kept))
    return base64.b64encode(row).decode("ascii")


def _facts(text: str) -> Iterator[tuple[str, str]]:
    """Each sentence without its figures and denials, and these."""
    for line in text.splitlines():
        for sentence in _END.split(line):
            tokens = [match.group().casefold() for match in _TOKEN_OF_FACT.finditer(sentence)]
            if len(tokens) >= SENTENCE_WORDS:
                said = [token for token in tokens if token in NEGATIONS or token[0].isdigit()]
                masked = ("#" if t[0].isdigit() else t for t in tokens if t not in NEGATIONS)
                yield " ".join(masked), " ".join(said)


@lru_cache(maxsize=4096)
def _values(kept: str) -> Mapping[int, int]:
    """The facts of a text by what stands around them."""
    try:
        row = base64.b64decode(kept, validate=True)
    except ValueError:
        return {}
    return {int.from_bytes(row[at : at + 3], "big"): row[at + 3] for at in range(0, len(row) - 3, 4)}


def are_versions(one: str, other: str) -> bool:
    """Whether two texts that are alike tell other figures in the same words, from what is kept of their facts."""
    a, b = _values(one), _values(other)
    shared = a.keys() & b.keys()
    differing = sum(a[key] != b[key] for key in shared)
    return differing >= max(1, OF_SHARED * len(shared))


class SimilarSets:
    """The places of sets that may share ``least`` (0 to 1) of the words that they have together. ``every`` are all the
    sets that will be asked for, by which is known how rare a word is. A pair of words leads to the first ``most`` sets
    that have it: then the cost is linear in the sets, however many are alike, and of so many some are missed.

    Example:
        similar = SimilarSets([{"a", "b"}, {"a", "b"}], least=0.8, most=64)
        similar.add({"a", "b"}, 0)
        list(similar.near({"b", "a"}))  # [0]
    """

    def __init__(self, every: Iterable[Iterable[str]], *, least: float, most: int) -> None:
        self._counts = Counter(word for words in every for word in words)
        self._least = least
        self._most = most
        self._filed: dict[Hashable, list[int]] = defaultdict(list)

    def add(self, words: frozenset[str], place: int, *, beside: Hashable = None) -> None:
        """Files a set under its place; with ``beside``, only for those that are asked for with the same."""
        for key in self._keys(words):
            places = self._filed[beside, key]
            if len(places) < self._most:
                places.append(place)

    def near(self, words: frozenset[str], *, beside: Hashable = None) -> list[int]:
        """The places of the sets that may be similar, in order."""
        return sorted({place for key in self._keys(words) for place in self._filed.get((beside, key), ())})

    def _keys(self, words: frozenset[str]) -> Iterator[Sequence[str]]:
        size = len(words)
        if size < _WORDS_OF_KEY:
            return iter([tuple(words)] if words else [])
        rarest = sorted(words, key=lambda word: (self._counts[word], word))
        return combinations(rarest[: size - ceil(self._least * size) + _WORDS_OF_KEY], _WORDS_OF_KEY)
