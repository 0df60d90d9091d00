"""Versions of a document, told from copies: the same sentences with other figures, dates or denials in them. Pure.

Of each figure and each denial of a text two hashes are kept: of the words around it, and of itself. Where two texts have
the same words around another figure, they are two versions; a copy has none of these, whatever a site puts around it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from heapq import nsmallest
from zlib import crc32

from deep_research.evidence.plain import unjoined
from deep_research.evidence.words import NEGATIONS
from deep_research.patterns import regex
from deep_research.state import Source

KEPT = 96  # facts of a text, of four bytes each
SIDE = 3  # words before a figure and after it, by which it is known again
SENTENCE = 8  # words of a line, below which it may be anything that a site puts around a text
LEAST = 1  # facts that differ
OF_SHARED = 0.02  # of the facts that both have: more may be figures that a page counts anew each day
_MOST_WORDS = 100_000
_TOKEN = regex(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_VERSION = regex(r"(?<![\w.])v?(\d{1,4}(?:\.\d{1,4}){0,3})(?![\w.])", re.IGNORECASE)


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
    """Each figure and denial with the words around it, figures among these masked and denials left out."""
    for line in text.splitlines():
        tokens = [match.group().casefold() for match in _TOKEN.finditer(line)]
        if len(tokens) < SENTENCE:
            continue
        masked = ["#" if token[0].isdigit() else token for token in tokens if token not in NEGATIONS]
        place = 0
        denied = False
        for token in tokens:
            if token in NEGATIONS:
                denied = True
                continue
            before, after = masked[max(0, place - SIDE) : place], masked[place + 1 : place + 1 + SIDE]
            if token[0].isdigit():
                yield f"{' '.join(before)} # {' '.join(after)}", token
            if denied:
                yield f"{' '.join(before)} ! {masked[place]} {' '.join(after)}", "not"
            denied = False
            place += 1


@lru_cache(maxsize=4096)
def _values(kept: str) -> tuple[Mapping[int, int], int]:
    """The facts of a text by what stands around them, and the hash up to which it has all of them."""
    try:
        row = base64.b64decode(kept, validate=True)
    except ValueError:
        return {}, 0
    values = {int.from_bytes(row[at : at + 3], "big"): row[at + 3] for at in range(0, len(row) - 3, 4)}
    return values, max(values, default=0) if len(values) >= KEPT else 1 << 24


def are_versions(one: str, other: str) -> bool:
    """Whether two texts that are alike tell other figures in the same words, from what is kept of their facts."""
    (a, _), (b, _) = _values(one), _values(other)
    shared = a.keys() & b.keys()
    differing = sum(a[key] != b[key] for key in shared)
    return differing >= max(LEAST, OF_SHARED * len(shared))


def newer(one: Source, other: Source) -> Source | None:
    """Of two versions the later one: by the version number in their titles and addresses, which nobody forges by copying,
    else by their dates; None where nothing tells."""
    a, b = (_number(source) for source in (one, other))
    if a and b and a != b:
        return one if a > b else other
    if one.published and other.published and one.published != other.published:
        return one if one.published > other.published else other
    return None


def _number(source: Source) -> tuple[int, ...]:
    """The version that a source bears in its title, else in its address."""
    for text in (source.title, source.url or ""):
        found = [match.group(1) for match in _VERSION.finditer(text)]
        dotted = [each for each in found if "." in each]
        if dotted or (found and text == source.title):
            return tuple(int(part) for part in (dotted or found)[0].split("."))
    return ()
