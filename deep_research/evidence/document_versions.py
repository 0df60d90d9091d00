"""Versions of a document, told from copies: the same sentences with other figures, dates or denials in them. Pure.

Of the sentences of a text two hashes each are kept: of the words, and of the figures and denials in them. Where two texts
have the same sentence with others, they are two versions; a copy has none of these, whatever a site puts around it.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from functools import lru_cache
from heapq import nsmallest
from zlib import crc32

from deep_research.evidence.plain import unjoined
from deep_research.evidence.words import NEGATIONS
from deep_research.patterns import regex

KEPT = 96  # sentences of a text, of four bytes each
SENTENCE = 8  # words of a sentence, below which it may be anything that a site puts around a text
OF_SHARED = 0.02  # of the facts that both have: more may be figures that a page counts anew each day
_MOST_WORDS = 100_000
_END = regex(r"(?<=[.!?…。])\s+")
_TOKEN = regex(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")


def facts(text: str) -> str:
    """What is kept of a text to tell its versions: at most 512 characters of base64, the same in every process; "" where
    it has no figure."""
    values: dict[int, int] = {}
    several: set[int] = set()
    for around, said in _facts(unjoined(text[: 8 * _MOST_WORDS])):
        key, value = crc32(around.encode()) >> 8, crc32(said.encode()) >> 24
        if values.setdefault(key, value) != value:
            several.add(key)  # a phrase that comes again with other figures tells nothing
    kept = nsmallest(KEPT, (key for key in values if key not in several))
    row = b"".join(key.to_bytes(3, "big") + values[key].to_bytes(1, "big") for key in sorted(kept))
    return base64.b64encode(row).decode("ascii")


def _facts(text: str) -> Iterator[tuple[str, str]]:
    """Each sentence without its figures and denials, and these."""
    for line in text.splitlines():
        for sentence in _END.split(line):
            tokens = [match.group().casefold() for match in _TOKEN.finditer(sentence)]
            if len(tokens) >= SENTENCE:
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
