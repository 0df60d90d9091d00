"""Ranking of passages against questions: term weights by rarity, BM25, coverage. Pure.

Terms are stems. Texts are scanned once with one compiled pattern, and only passages with a hit are looked at. What is
kept of a source is where its passages are and which words they have, so that its text need not be held.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from unicodedata import category

from deep_research.patterns import regex
from deep_research.state import Span
from deep_research.text import unspaced
from deep_research.text.passages import BlockKind, Passage, blocks, passages
from deep_research.text.plain import has_joiners, lowered, unjoined
from deep_research.text.term_weights import bm25, coverage, rarity
from deep_research.text.words import content_words, question_terms, stem

MAX_PASSAGES = 5  # passages of a text that came without them
_SCAN_CHARS = 65_536  # characters per turn: a longer search would hold up the other threads

HEADING_WEIGHT = 1.0  # of a mention, for a word that stands in a heading over a passage
TITLE_WEIGHT = 0.5  # the same for the title of its source
_MAX_HEADING_LEVELS = 6  # of headings

Terms = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class PassageTerms:
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
            openings.add(_shared_opening(unjoined(example).casefold(), stem(example)))
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
            end = _word_end(lower, start + _SCAN_CHARS)
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


def scan(text: str, source: int, scanner: TermScanner) -> list[PassageTerms]:
    """The passages of a text that have a wanted term."""
    hits = list(scanner.hits(text))
    cut = passages(text) if hits else []
    return [
        PassageTerms(source, one.span, terms)
        for one, terms in zip(cut, _terms_in(cut, hits), strict=True)
        if terms
    ]


def _terms_in(cut: Sequence[Passage], hits: Iterable[tuple[int, str]]) -> list[Counter[str]]:
    """How often each of a text's passages has which terms, by where these stand."""
    starts = [passage.start for passage in cut]
    found: list[Counter[str]] = [Counter() for _ in cut]
    for offset, term in hits:
        found[bisect_right(starts, offset) - 1][term] += 1
    return found


def rarities(found: Sequence[PassageTerms], terms: Iterable[str]) -> dict[str, float]:
    """Weight of each term by how few of the passages have it."""
    holding: Counter[str] = Counter()
    for passage in found:
        holding.update(passage.terms.keys())
    total = max(len(found), 1)
    return {term: rarity(total, holding[term]) for term in terms}


def matching(query: str, text: str, title: str = "") -> tuple[tuple[Span, ...], float]:
    """The passages of ``text`` that have most of the query's weight, best first, and the share (0 to 1) of that weight
    that they and the title have together."""
    wanted, scanner = _looking_for(query)
    found = scan(text, 0, scanner)
    weights = {term: wanted.get(term, 1.0) * weight for term, weight in rarities(found, wanted).items()}
    best = sorted(found, key=lambda passage: (-bm25(passage.terms, weights), passage.span.start))[
        :MAX_PASSAGES
    ]
    present = {term for passage in best for term in passage.terms} | scanner.present(title)
    return tuple(passage.span for passage in best), coverage(wanted, present)


@lru_cache(maxsize=256)  # of one search, all texts are looked through for the same
def _looking_for(query: str) -> tuple[dict[str, float], TermScanner]:
    return question_terms(query), TermScanner(content_words(query))


@dataclass(frozen=True, slots=True)
class Scanned:
    """A source as it was scanned: its passages, how often each has which wanted words, and where the headings stand.
    ``terms`` is empty for a passage that has none itself, whatever it stands under."""

    id: str
    passages: tuple[Passage, ...]
    terms: tuple[Terms, ...]
    headings: tuple[tuple[Span, int], ...]


class Questions:
    """What is asked in a round: the question, its searches, its parts."""

    def __init__(self, asked: Iterable[str]) -> None:
        self.asked = tuple(dict.fromkeys(text for text in asked if text.strip()))
        self._scanner = TermScanner(word for text in self.asked for word in content_words(text))

    def scan(self, source_id: str, title: str, text: str) -> Scanned:
        """Takes time linear in the text."""
        cut = passages(text)
        found = _terms_in(cut, self._scanner.hits(text))
        of_title = dict.fromkeys(self._scanner.present(title), TITLE_WEIGHT)
        under = {heading: self._scanner.present(heading) for heading in {p.heading for p in cut}}
        terms = []
        for passage, own in zip(cut, found, strict=True):
            weighed: dict[str, float] = {}
            for term in own.keys() and (own.keys() | under[passage.heading] | of_title.keys()):
                above = HEADING_WEIGHT * (term in under[passage.heading]) + of_title.get(term, 0.0)
                weighed[term] = own[term] + above
            terms.append(weighed)
        headings = tuple(
            (Span(start=block.start, end=block.end), block.level)
            for block in blocks(text)
            if block.kind is BlockKind.HEADING
        )
        return Scanned(source_id, tuple(cut), tuple(terms), headings)

    def relevance(
        self, scanned: Sequence[Scanned], asked: Iterable[str] | None = None
    ) -> dict[str, list[float]]:
        """Of each passage, by the id of its source, how near it comes (0 to 1) to the best passage of all sources for
        the question that it is nearest to, of those that are ``asked``; of all where none are named."""
        every = [terms for source in scanned for terms in source.terms]
        holding = Counter(term for terms in every for term in terms)
        total = max(1, sum(map(bool, every)))
        best = [0.0] * len(every)
        for question in self.asked if asked is None else dict.fromkeys(asked):
            weights = {
                term: weight * rarity(total, holding[term])
                for term, weight in question_terms(question).items()
            }
            scores = [bm25(terms, weights) for terms in every]
            top = max(scores, default=0.0)
            if top > 0.0:
                best = [max(known, score / top) for known, score in zip(best, scores, strict=True)]
        values = iter(best)
        return {source.id: [next(values) for _ in source.passages] for source in scanned}


def around(source: Scanned, places: Iterable[int], without: Set[int] = frozenset()) -> tuple[Span, ...]:
    """The passages of so many places with one before and one after each, in order, those that follow each other as one
    span, and none of the places ``without``; and the headings that they stand under."""
    count = len(source.passages)
    wanted = {n for place in places for n in (place - 1, place, place + 1) if 0 <= n < count} - without
    first = [n for n in sorted(wanted) if n - 1 not in wanted]
    last = [n for n in sorted(wanted) if n + 1 not in wanted]
    runs = [
        Span(start=source.passages[a].start, end=source.passages[b].end)
        for a, b in zip(first, last, strict=True)
    ]
    over = {heading for run in runs for heading in _over(source.headings, run.start)}
    apart = [h for h in over if not any(run.start <= h.start < run.end for run in runs)]
    return tuple(sorted([*runs, *apart], key=lambda span: span.start))


def _over(headings: Sequence[tuple[Span, int]], start: int) -> Iterable[Span]:
    """The headings over a place, the innermost first."""
    least = _MAX_HEADING_LEVELS + 1
    for span, level in reversed(headings[: bisect_right(headings, start, key=lambda held: held[0].start)]):
        if level < least:
            least = level
            yield span
