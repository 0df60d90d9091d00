"""Which passages of the sources speak to a question: term weights by rarity, BM25, coverage. Pure.

Terms are stems. Texts are scanned once with one compiled pattern, and only passages with a hit are looked at.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import category

from deep_research.evidence import unspaced
from deep_research.evidence.passages import Passage as Cut
from deep_research.evidence.passages import passages
from deep_research.evidence.plain import has_joiners, lowered, unjoined
from deep_research.evidence.words import (
    content_words,
    coverage,
    question_terms,
    rarity,
    stem,
    variants,
)
from deep_research.patterns import regex
from deep_research.state import Span

_K1 = 1.2
MOST = 5  # passages of a text that came without them
_SCAN = 65_536  # characters per turn: a longer search would hold up the other threads


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage with the wanted terms it has. ``source`` is the place of its text in the list."""

    source: int
    span: Span
    terms: Mapping[str, int]


class TermScanner:
    """Finds the wanted terms in texts. ``vocabulary`` are stems, ``examples`` the words they came from."""

    def __init__(self, examples: Iterable[str]) -> None:
        self._stems: set[str] = set()
        openings, pairs = set(), set()
        for example in examples:
            self._stems.add(stem(example))
            if unspaced.RUN.match(example):
                pairs.add(example)
                continue
            for word in variants(example):
                openings.add(_shared_opening(unjoined(word).casefold(), stem(word)))
        kept = "|".join(map(re.escape, sorted(openings, key=len, reverse=True)))
        self._pattern = regex(rf"\b(?:{kept})\w*") if kept else None
        letter = rf"[^\W{unspaced.CHARACTERS}]"
        forms = [rf"(?<!{letter})(?:{kept}){letter}*"] if kept else []
        if pairs:  # one stands in another
            forms.append(rf"(?=({'|'.join(sorted(pairs))}))")
        self._mixed = regex("|".join(forms)) if forms else None  # where scripts have no spaces

    def hits(self, text: str) -> Iterator[tuple[int, str]]:
        """(offset, stem) of each wanted term, in order."""
        pattern = self._mixed if unspaced.occur_in(text) else self._pattern
        if pattern is None:
            return
        if has_joiners(text):
            yield from self._hits_unjoined(text)
            return
        lower = lowered(text)
        start = 0
        while start < len(lower):
            end = _word_end(lower, start + _SCAN)
            for match in pattern.finditer(lower, start, end):
                key = stem(match.group() or match[1])
                if key in self._stems:
                    yield match.start(), key
            start = end

    def _hits_unjoined(self, text: str) -> Iterator[tuple[int, str]]:
        places = [place for place, character in enumerate(text) if not has_joiners(character)]
        for place, key in self.hits(unjoined(text)):
            yield places[place], key

    def present(self, text: str) -> set[str]:
        return {key for _, key in self.hits(text)}


def _shared_opening(word: str, key: str) -> str:
    """What all forms of a word open with: "city" and its stem "citi" give "cit"."""
    length = 0
    for a, b in zip(word, key, strict=False):
        if a != b:
            break
        length += 1
    return word[:length] or word


def _word_end(text: str, place: int) -> int:
    while place < len(text) and (
        text[place].isalnum() or text[place] == "_" or category(text[place])[0] == "M"
    ):
        place += 1
    return min(place, len(text))


def scan(text: str, source: int, scanner: TermScanner) -> list[Passage]:
    """The passages of a text that have a wanted term."""
    hits = list(scanner.hits(text))
    cut = passages(text) if hits else []
    return [
        Passage(source, one.span, terms) for one, terms in zip(cut, terms_in(cut, hits), strict=True) if terms
    ]


def terms_in(cut: Sequence[Cut], hits: Iterable[tuple[int, str]]) -> list[Counter[str]]:
    """How often each of a text's passages has which terms, by where these stand."""
    starts = [passage.start for passage in cut]
    found: list[Counter[str]] = [Counter() for _ in cut]
    for offset, term in hits:
        found[bisect_right(starts, offset) - 1][term] += 1
    return found


def rarities(found: Sequence[Passage], terms: Iterable[str]) -> dict[str, float]:
    """Weight of each term by how few of the passages have it."""
    holding: Counter[str] = Counter()
    for passage in found:
        holding.update(passage.terms.keys())
    total = max(len(found), 1)
    return {term: rarity(total, holding[term]) for term in terms}


def bm25(terms: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """How much of the weight the terms of a passage have, repeated ones counting less and less."""
    return sum(
        weight * terms[term] * (_K1 + 1) / (terms[term] + _K1)
        for term, weight in weights.items()
        if term in terms
    )


def matching(query: str, text: str, title: str = "") -> tuple[tuple[Span, ...], float]:
    """The passages of ``text`` that have most of the query's weight, best first, and the share (0 to 1) of that weight
    that they and the title have together."""
    wanted, scanner = _looking_for(query)
    found = scan(text, 0, scanner)
    weights = {term: wanted.get(term, 1.0) * weight for term, weight in rarities(found, wanted).items()}
    best = sorted(found, key=lambda passage: (-bm25(passage.terms, weights), passage.span.start))[:MOST]
    present = {term for passage in best for term in passage.terms} | scanner.present(title)
    return tuple(passage.span for passage in best), coverage(wanted, present)


@lru_cache(maxsize=256)  # of one search, all texts are looked through for the same
def _looking_for(query: str) -> tuple[dict[str, float], TermScanner]:
    return question_terms(query), TermScanner(content_words(query))
