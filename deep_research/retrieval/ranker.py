"""A linear ranker of candidates, what it goes by, and how sure it is that what was chosen holds the answer. Pure; the
weights are data.

What tells a candidate that answers is a column: one function, its name, and a figure of 0 to about 1. A new idea is a new
column; `tests/evals answers --without-column` tells what one is worth. ``tests/evals/fit_ranker.py`` writes the weights:
the columns by a conditional logit over the candidates of each question, the probability by a logistic regression over
what answered questions show and unanswered ones do not.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, fsum, sqrt
from pathlib import Path
from typing import Any

from deep_research.patterns import regex
from deep_research.retrieval.candidates import STEP, Candidate, Document, Pool
from deep_research.retrieval.parsed_question import ParsedQuestion, holds_kind
from deep_research.text import unspaced
from deep_research.text.language import WORD
from deep_research.text.names import BRACKETED
from deep_research.text.passages import BlockKind
from deep_research.text.term_weights import inverse_frequency
from deep_research.text.words import AskedWords

MAX_TITLE = 100  # characters of a title by which other sources name one
MAX_KEPT = 160  # candidates that are looked at closely
MAX_KEPT_OF_TOPICS = 320

Terms = frozenset[str]
_NONE: Terms = frozenset()

FILE = Path(__file__).with_name("ranker.json")


class DocumentTerms:
    """What of a question stands where in one document: the asked terms of each candidate, and of what surrounds it."""

    def __init__(self, document: Document, terms: Terms, asked: AskedWords) -> None:
        joined = document.identifiers
        spoken = {word: found for word in document.words if (found := asked.of_word(joined.get(word, word)))}
        self.titled = asked.of(document.title)
        self.own = _terms_by_candidate(document, spoken, frozenset(filter(unspaced.RUN.match, terms)))
        read: dict[str, Terms] = {}  # the asked terms of each heading, which many paths share
        self.headings: dict[str, Terms] = {}
        self.headed: dict[str, float] = {}
        for path in dict.fromkeys(part.heading for part in document.parts):
            steps = path.split(STEP)
            for step in steps:
                if step not in read:
                    read[step] = asked.of(step)
            self.headings[path] = _NONE.union(*(read[step] for step in steps))
            self.headed[path] = asked.share(steps[-1])
        for part in document.parts:
            if part.is_named:  # a cell says little without its row and column
                name = read[part.heading.rpartition(STEP)[2]]
                self.own[part.first : part.last] = [own | name for own in self.own[part.first : part.last]]
        self.columns = {
            number: asked.of(document.text[slice(*part.header)])
            for number, part in enumerate(document.parts)
            if part.header
        }
        self.around = [self._around(document, number) for number in range(len(document.parts))]
        self.blocks = [
            around.union(*self.own[part.first : part.last])
            for part, around in zip(document.parts, self.around, strict=True)
        ]
        self.all = frozenset[str]().union(*self.blocks)

    def _around(self, document: Document, number: int) -> Terms:
        part = document.parts[number]
        around = self.headings[part.heading] | self.titled
        around |= self.columns.get(number, _NONE)
        return around if part.lead is None else around | self.own[part.lead]

    def near(self, document: Document, c: Candidate) -> Terms:
        """Of the candidate and its neighbours in the block, of what leads to it, of its heading and of the title. The
        next row of a table is of another thing."""
        part = document.parts[c.block]
        reach = int(c.kind is not BlockKind.TABLE)
        low, high = max(part.first, c.place - reach), min(part.last, c.place + 1 + reach)
        return self.around[c.block].union(*self.own[low:high])


def _terms_by_candidate(document: Document, spoken: Mapping[str, Terms], pairs: Terms) -> list[Terms]:
    """The asked terms of each candidate of a document some of whose words are ``spoken`` of them. ``pairs`` of characters
    stand anywhere, one of them in another."""
    held: list[Terms] = [_NONE] * len(document.candidates)
    low = document.lowered
    ends = [c.end for c in document.candidates]
    found: dict[int, set[str]] = {}
    for match in WORD.finditer(unspaced.blanked(low)) if spoken else ():
        terms = spoken.get(match.group())
        if terms and (at := _at(document.candidates, ends, match.start())) is not None:
            found.setdefault(at.place, set()).update(terms)
    for pair in pairs:
        here = low.find(pair)
        while here >= 0:
            if (at := _at(document.candidates, ends, here)) is not None:
                found.setdefault(at.place, set()).add(pair)
            here = low.find(pair, here + 1)
    for place, asked in found.items():
        held[place] = frozenset(asked)
    return held


class View:
    """A question before its candidates: what each covers, and how sources lead to one another."""

    def __init__(self, inquiry: ParsedQuestion, pool: Pool) -> None:
        self.inquiry, self.pool = inquiry, pool
        terms = frozenset(inquiry.terms)
        spoken = (document.words for document in pool.documents)
        asked = AskedWords(terms, inquiry.names, inquiry.words, inquiry.text, spoken)
        self._asked = [DocumentTerms(document, terms, asked) for document in pool.documents]
        blocks = [block for one in self._asked for block in one.blocks]
        holding = Counter(term for block in blocks for term in block)
        # Rarer over the blocks is more.
        self.weights = {
            term: inverse_frequency(max(1, len(blocks)), holding[term])
            for term in dict.fromkeys(inquiry.terms)
        }
        # A word that nothing has may be misspelt, or say otherwise what they say: it counts no more than any other.
        strange = terms - holding.keys() - inquiry.names
        if most := max((self.weights[term] for term in terms - strange), default=0.0):
            self.weights.update(dict.fromkeys(strange, most))
        # A word that only asks is apt to be in no answer: it counts as little as the least of the others.
        least = min((self.weights[term] for term in terms - inquiry.asking), default=0.0)
        for term in inquiry.asking if least else ():
            self.weights[term] = min(self.weights[term], least)
        # A pair of characters that nothing has lies between two words.
        for term in filter(unspaced.RUN.match, terms - holding.keys()):
            self.weights[term] = 0.0
        self.mass = sum(self.weights.values()) or 1.0
        self.asked = terms
        self._coverage: dict[Terms, float] = {}
        self._terms: dict[int, Terms] = {}
        self.linked = self._links()
        every = [c for document in pool.documents for c in document.candidates]
        every.sort(key=lambda c: (-self.cover(c) - self.wide(c), self.at(c), c.start))
        self.candidates = every[: MAX_KEPT_OF_TOPICS if inquiry.is_topic else MAX_KEPT]

    def share(self, terms: Terms) -> float:
        """The share (0 to 1) of the weight of what is asked that some of its terms have."""
        known = self._coverage.get(terms)
        if known is None:
            # Exact, so that the order of a set does not matter.
            known = self._coverage[terms] = fsum(self.weights[term] for term in terms) / self.mass
        return known

    @property
    def is_named(self) -> bool:
        """Whether a source has one of the names that the question has, where it has any."""
        names = self.inquiry.names
        return not names or any(not names.isdisjoint(asked.all) for asked in self._asked)

    def share_of(self, wanted: Terms, terms: Terms) -> float:
        """The share (0 to 1) of the weight of some asked terms that others have."""
        whole = fsum(self.weights[term] for term in wanted)
        return fsum(self.weights[term] for term in wanted & terms) / whole if whole else 0.0

    def asked_in(self, c: Candidate) -> Terms:
        """The asked terms of a candidate."""
        return self._asked[self.at(c)].own[c.place]

    def asked_near(self, c: Candidate) -> Terms:
        return self._asked[self.at(c)].near(self.document(c), c)

    def headed(self, c: Candidate) -> float:
        """The share of its heading that is asked."""
        return self._asked[self.at(c)].headed[c.heading]

    def whole(self, c: Candidate) -> float:
        """What its whole document covers."""
        return self.share(self._asked[self.at(c)].all)

    def titled(self, c: Candidate) -> Terms:
        return self._asked[self.at(c)].titled

    def tells(self, c: Candidate) -> Terms:
        """What of the question a candidate tells, with the names of its columns, the headings and the title over it."""
        asked = self._asked[self.at(c)]
        return (
            asked.own[c.place] | asked.columns.get(c.block, _NONE) | asked.titled | asked.headings[c.heading]
        )

    def cover(self, c: Candidate) -> float:
        return self.share(self.asked_in(c))

    def wide(self, c: Candidate) -> float:
        return self.share(self.asked_near(c))

    def at(self, c: Candidate) -> int:
        """The place of its document, in the order of rank."""
        return self.pool.places[c.document]

    def document(self, c: Candidate) -> Document:
        return self.pool.named[c.document]

    def text(self, c: Candidate) -> str:
        return self.document(c).text[c.start : c.end]

    def announces(self, c: Candidate) -> bool:
        """Whether it ends with a colon, and says what follows it."""
        return self.document(c).announces(c)

    def terms(self, c: Candidate) -> Terms:
        """All its terms."""
        known = self._terms.get(id(c))
        if known is None:
            known = self._terms[id(c)] = frozenset(self.inquiry.words.terms(self.text(c)))
        return known

    def _links(self) -> list[float]:
        """How much the sentences of others that name a source by its title have of the question, but for what the title
        has itself."""
        linked = [0.0] * len(self.pool.documents)
        for place, bridges in _naming(self.pool).items():
            own = self.share(self._asked[place].titled)
            linked[place] = max(self.share(self.tells(bridge)) for bridge in bridges) * (1 - own)
        return linked


def _naming(pool: Pool) -> Mapping[int, list[Candidate]]:
    """For each source the sentences of others that name it by its title. One pattern of all titles reads each text."""
    titles = [BRACKETED.sub("", d.title[:MAX_TITLE]).strip().lower() for d in pool.documents]
    places: dict[str, list[int]] = {}
    for place, title in enumerate(titles):
        if len(title) >= 4:
            places.setdefault(title, []).append(place)
    if not places:
        return {}
    pattern = _any_of(places)
    found: dict[int, list[Candidate]] = {}
    for other, document in enumerate(pool.documents):
        low, ends = document.lowered, [c.end for c in document.candidates]
        for match in pattern.finditer(low):
            if match.group() == titles[other] or not _begins_word(low, match.start()):
                continue
            at = _at(document.candidates, ends, match.start())
            for place in places[match.group()] if at is not None else ():
                named = found.setdefault(place, [])
                if not named or named[-1] is not at:
                    named.append(at)  # type: ignore[arg-type]
    return found


def _any_of(texts: Iterable[str]) -> re.Pattern[str]:
    """Any of some texts where it ends a word. Where one begins is for `_begins_word`: a pattern that begins with letters
    is searched several times as fast."""
    longest_first = sorted(texts, key=len, reverse=True)
    return regex(rf"(?:{'|'.join(map(re.escape, longest_first))})(?![^\W_{unspaced.CHARACTERS}])")


def _begins_word(text: str, start: int) -> bool:
    return start == 0 or not text[start - 1].isalnum() or unspaced.RUN.match(text[start - 1]) is not None


def _at(candidates: list[Candidate], ends: list[int], offset: int) -> Candidate | None:
    place = bisect_right(ends, offset)
    return candidates[place] if place < len(candidates) and candidates[place].start <= offset else None


def _fits(view: View, c: Candidate) -> float:
    """Whether the candidate holds something new of the kind that the question expects."""
    text = view.text(c)
    shown = 1.0 if c.kind is BlockKind.CODE else 0.7 if c.kind is BlockKind.ITEM or "`" in text else 0.0
    return holds_kind(
        view.inquiry.expects,
        text,
        view.inquiry.words,
        view.asked,
        capitals=view.document(c).has_capitals,
        shown=shown,
    )


def _density(view: View, c: Candidate) -> float:
    return min(1.0, view.cover(c) * view.mass / sqrt(len(view.terms(c)) + 4) / 4)


Column = Callable[[View, Candidate], float]
COLUMNS: Mapping[str, Column] = {
    "coverage": View.cover,
    "near": View.wide,
    "density": _density,
    "title": lambda v, c: v.share(v.titled(c)),
    "rank": lambda v, c: max(0.0, 1 - v.at(c) / 10),
    "kind": _fits,
    "linked": lambda v, c: v.linked[v.at(c)],
    "lead": lambda _, c: float(c.place == 0),  # it opens its document
    "heading": View.headed,
    "document": View.whole,
}


def leans(view: View, c: Candidate) -> bool:
    """Whether a sentence opens with a word that points back."""
    words = view.inquiry.words
    return words.opening(view.text(c)) in words.leaning


def points_back(view: View, c: Candidate) -> bool:
    """Whether a sentence opens with a word that points to what the one before it says. A title tells who "he" is, and
    not what "this" is."""
    words = view.inquiry.words
    return words.opening(view.text(c)) in words.pointing


@dataclass(frozen=True, slots=True)
class Ranker:
    """``columns`` are the weights of `COLUMNS`, ``signals`` those of `signals`, with their ``bias``."""

    columns: Mapping[str, float]
    signals: Mapping[str, float]
    bias: float

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Ranker:
        return cls(dict(data["columns"]), dict(data["signals"]), float(data["bias"]))

    def scores(self, view: View) -> list[float]:
        """Of each of the view's candidates: the more, the rather it answers. Only differences mean something."""
        weights = [(COLUMNS[name], weight) for name, weight in self.columns.items() if weight]
        return [sum(weight * column(view, c) for column, weight in weights) for c in view.candidates]

    def probability(self, view: View, scores: Sequence[float], chosen: Sequence[int]) -> float:
        """That the chosen candidates hold the answer (0 to 1)."""
        if not chosen:
            return 0.0
        told = signals(view, scores, chosen)
        return 1 / (1 + exp(-self.bias - sum(self.signals.get(name, 0.0) * x for name, x in told.items())))


@cache
def default_ranker() -> Ranker:
    return Ranker.of(json.loads(FILE.read_text(encoding="utf-8")))


def signals(view: View, scores: Sequence[float], chosen: Sequence[int]) -> dict[str, float]:
    """What it shows in whether a question is answered, each 0 to 1; of a view with candidates."""
    first = view.candidates[max(range(len(scores)), key=lambda i: (scores[i], -i))]
    tells = frozenset[str]().union(*(view.tells(view.candidates[i]) for i in chosen))
    names = {term: view.weights[term] for term in view.inquiry.names}
    named = fsum(weight for term, weight in names.items() if term in tells)
    return {
        "covered": view.share(tells),
        "covered_near": view.wide(first),
        "names": named / fsum(names.values()) if named else float(not names),
        "titled": view.share(view.titled(first)),
        "linked": view.linked[view.at(first)],
        "length": min(1.0, len(view.asked) / 20),
    }
