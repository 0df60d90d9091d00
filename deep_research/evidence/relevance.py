"""Which sections of a round's sources speak of what is asked: each passage against the best that any of them has. Pure.

A source is scanned once, for the words of all questions; what is kept of it is where its passages are and which of these
words they have, so that the texts of a round need not be held together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from deep_research.evidence.passages import BlockKind, Passage, blocks, passages
from deep_research.evidence.ranking import TermScanner, bm25, terms_in
from deep_research.evidence.words import content_words, question_terms, rarity
from deep_research.state import Span

OF_HEADING = 1.0  # of a mention, for a word that stands in a heading over a passage
OF_TITLE = 0.5  # the same for the title of its source
_LEVELS = 6  # of headings

Terms = Mapping[str, float]


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
        found = terms_in(cut, self._scanner.hits(text))
        of_title = dict.fromkeys(self._scanner.present(title), OF_TITLE)
        under = {heading: self._scanner.present(heading) for heading in {p.heading for p in cut}}
        terms = []
        for passage, own in zip(cut, found, strict=True):
            weighed: dict[str, float] = {}
            for term in own.keys() and (own.keys() | under[passage.heading] | of_title.keys()):
                above = OF_HEADING * (term in under[passage.heading]) + of_title.get(term, 0.0)
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
    least = _LEVELS + 1
    for span, level in reversed(headings[: bisect_right(headings, start, key=lambda held: held[0].start)]):
        if level < least:
            least = level
            yield span
