"""The texts that statements are checked against, cut into sentences and filed by their words.

A text is prepared once, for all statements that are checked against it. A word leads to a bounded number of sentences, so
that the cost is linear in the texts and in the number of statements.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from deep_research.provenance.quotes import readable
from deep_research.retrieval.candidates import read_document
from deep_research.state import Span
from deep_research.text.language import language_of, written_in
from deep_research.text.passages import BlockKind
from deep_research.text.rows import lower_labels
from deep_research.text.statements import Reader, Statement, reader
from deep_research.verification.restatement import restatement

_MAX_FILED = 256  # sentences that one word leads to


@dataclass(frozen=True, slots=True)
class Place:
    """A sentence of the ``source``-th text, counted from 0."""

    source: int
    span: Span


class EvidenceText:
    """A text, prepared to have statements checked against it. What its ``title`` says, and what is told ``about`` it (who
    published it, and when), need not stand in its sentences."""

    def __init__(self, text: str, *, title: str = "", about: str = "") -> None:
        self.language = language_of(text)
        self.written_in = written_in(text)
        self.reader: Reader = reader(self.language)
        self.title = self.reader.keys(title)
        self.context = self.title | self.reader.keys(about)
        self.plain = self.reader.plain(text)
        self.spans: list[tuple[int, int]] = []
        self._places: defaultdict[str, list[int]] = defaultdict(list)  # of each key
        self._text = text
        self._rows: set[int] = set()
        self._headings: list[str] = []
        self._keys_of: dict[str, frozenset[str]] = {}  # of headings
        self._keys: dict[int, frozenset[str]] = {}  # of sentences that were asked for: few of a long text
        self._read: dict[int, Statement] = {}
        for place, c in enumerate(read_document("", title, text, whole_rows=True).candidates):
            if c.kind is BlockKind.TABLE:
                self._rows.add(place)
            if c.heading not in self._keys_of:
                self._keys_of[c.heading] = self.reader.keys(c.heading)
            self.spans.append((c.start, c.end))
            self._headings.append(c.heading)
            for key in self._keys_at(place):
                self._places[key].append(place)

    def count(self, key: str) -> int:
        """How many sentences have a key."""
        return len(self._places.get(key, ()))

    def filed(self, key: str) -> Sequence[int]:
        """The first places of a key."""
        return self._places.get(key, ())[:_MAX_FILED]

    def keys(self, place: int) -> frozenset[str]:
        """What the sentence at a place, and the headings over it, are compared by."""
        if place not in self._keys:
            self._keys[place] = self._keys_at(place)
        return self._keys[place]

    def heading_at(self, offset: int) -> str:
        """The headings over what stands at an offset."""
        place = bisect_right(self.spans, (offset, len(self._text))) - 1
        return self._headings[place] if place >= 0 else ""

    def around(self, start: int, end: int) -> tuple[int, int]:
        """From where to where the sentences go in which a span stands."""
        first = bisect_right(self.spans, (start, len(self._text))) - 1
        last = bisect_right(self.spans, (end - 1, len(self._text))) - 1
        begin = self.spans[first][0] if first >= 0 else start
        return min(begin, start), max(self.spans[last][1] if last >= 0 else end, end)

    def _keys_at(self, place: int) -> frozenset[str]:
        return self.reader.keys(self._sentence(place)) | self._keys_of[self._headings[place]]

    def row_of(self, place: int) -> frozenset[str]:
        """What the row of a table at a place is about: the keys of its first cell. None of what is no row."""
        start, end = self.spans[place]
        cells = self._text[start:end].split("|") if place in self._rows else []
        told = [cell for cell in cells if cell.strip()]
        return self.reader.keys(told[0]) if len(told) > 1 else frozenset()

    def rows_with(self, words: str) -> list[tuple[int, int]]:
        """Where the rows of tables stand that have all of some words. None where too many sentences have each of them: of
        those only the first are filed."""
        keys = self.reader.keys(words)
        rarest = min(map(self.filed, sorted(keys)), key=len, default=())
        if len(rarest) >= _MAX_FILED:
            return []
        return [self.spans[at] for at in rarest if at in self._rows and keys <= self.keys(at)]

    def read(self, place: int) -> Statement:
        """The sentence at a place as it is compared."""
        if place not in self._read:
            self._read[place] = self.reader.read(self._sentence(place), self.plain.__contains__)
        return self._read[place]

    def is_restated(self, statement: str, place: int, *, exact: bool = True) -> bool:
        """Whether a statement restates the sentence at a place."""
        before = (
            self._sentence(place - 1) if place and self._headings[place - 1] == self._headings[place] else ""
        )
        own = self._keys_of[self._headings[place]]
        # A title may name what is told in other sections.
        context = own | (self.title - frozenset[str]().union(*(self._keys_of.values())))
        return restatement(self.language, exact=exact).holds(
            statement, self._sentence(place), before, context
        )

    def _sentence(self, place: int) -> str:
        """A sentence as it stands, a row of a table with its headers."""
        start, end = self.spans[place]
        return (
            lower_labels(readable(self._text, start, end)) if place in self._rows else self._text[start:end]
        )


@dataclass(frozen=True, slots=True)
class EvidencePool:
    """Texts of one language together; a sentence of them is named by its text and its place in it."""

    sources: Mapping[int, EvidenceText]

    @property
    def reader(self) -> Reader:
        return next(iter(self.sources.values())).reader

    @property
    def language(self) -> str:
        return next(iter(self.sources.values())).language

    @property
    def size(self) -> int:
        return sum(len(source.spans) for source in self.sources.values())

    @property
    def about(self) -> frozenset[str]:
        """The keys of the titles, and of what is known about the texts (publisher, date)."""
        return frozenset[str]().union(*(source.context for source in self.sources.values()))

    def has_in_titles(self, key: str) -> bool:
        return any(key in source.context for source in self.sources.values())

    def is_plain(self, key: str) -> bool:
        return any(key in source.plain for source in self.sources.values())

    def count(self, key: str) -> int:
        return sum(source.count(key) for source in self.sources.values())

    def filed(self, key: str) -> Iterator[tuple[int, int]]:
        for n, source in self.sources.items():
            for place in source.filed(key):
                yield n, place

    def keys(self, at: tuple[int, int]) -> frozenset[str]:
        return self.sources[at[0]].keys(at[1])

    def read(self, at: tuple[int, int]) -> Statement:
        return self.sources[at[0]].read(at[1])

    def row_of(self, at: tuple[int, int]) -> frozenset[str]:
        return self.sources[at[0]].row_of(at[1])

    def restates(self, statement: str, at: tuple[int, int], *, exact: bool) -> bool:
        return self.sources[at[0]].is_restated(statement, at[1], exact=exact)

    def place(self, at: tuple[int, int]) -> Place:
        start, end = self.sources[at[0]].spans[at[1]]
        return Place(at[0], Span(start=start, end=end))
