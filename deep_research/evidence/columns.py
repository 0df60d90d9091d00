"""What tells a candidate that answers: one function for a column, its name, and a figure of 0 to about 1. Pure.

A new idea is a new column; `eval answers --without-column` tells what one is worth.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from math import sqrt

from deep_research.evidence.candidates import Candidate, Document, Pool
from deep_research.evidence.inquiry import Inquiry
from deep_research.evidence.passages import BlockKind
from deep_research.evidence.vocabulary import WORD

KEPT = 160  # candidates that are looked at closely
KEPT_OF_TOPICS = 320
BRIDGES, FURTHER = (
    4,
    40,
)  # sentences that lead to a source, and of that source, which are held against each other
_YEAR = re.compile(r"\b(?:1\d{3}|20\d\d)\b|\b\d{1,2}[./]\d{1,2}[./]\d{2,4}\b")
_DIGIT = re.compile(r"\d")
_NAMED = re.compile(r"(?<![.!?]\s)(?<!^)\b[^\W\d_a-zß-ÿ][^\W\d_]+")
_BRACKETED = re.compile(r"\s*\([^)]*\)\s*$")
_ENOUGH_CAPITALS = 0.008  # of the letters of a text, for names to be told by them


class View:
    """A question before its candidates: what each covers, and how sources lead to one another."""

    def __init__(self, inquiry: Inquiry, pool: Pool) -> None:
        self.inquiry, self.pool = inquiry, pool
        self._places = {document.id: place for place, document in enumerate(pool.documents)}
        self.weights = {term: pool.weight(term) for term in dict.fromkeys(inquiry.terms)}
        self.mass = sum(self.weights.values()) or 1.0
        self.asked = frozenset(self.weights)
        every = list(pool.candidates())
        self.cover = {id(c): self.coverage(c.own) for c in every}
        self.wide = {id(c): self.coverage(c.own | c.near) for c in every}
        self.linked, self.outward, joint = self._links()
        most = KEPT_OF_TOPICS if inquiry.is_topic else KEPT
        every.sort(
            key=lambda c: (
                -self.cover[id(c)]
                - 0.5 * self.wide[id(c)]
                - 0.4 * joint.get(id(c), 0.0)
                - 0.2 / (1 + self.at(c)),
                self.at(c),
                c.start,
            )
        )
        self.candidates = every[:most]
        self.passages: dict[tuple[str, int], set[str]] = {}
        for c in self.candidates:
            self.passages.setdefault((c.document, c.block), set()).update(c.own, c.near)
        self.capitals = [_has_capitals(document.text) for document in pool.documents]

    def coverage(self, terms: Iterable[str]) -> float:
        """The share (0 to 1) of the weight of what is asked."""
        return sum(self.weights[term] for term in self.asked.intersection(terms)) / self.mass

    def at(self, c: Candidate) -> int:
        """The place of its document, in the order of rank."""
        return self._places[c.document]

    def document(self, c: Candidate) -> Document:
        return self.pool.named[c.document]

    def text(self, c: Candidate) -> str:
        return self.document(c).text[c.start : c.end]

    def _links(self) -> tuple[list[float], dict[int, float], dict[int, float]]:
        """Sources that sentences of others name by their titles: how much leads to each source, what such a sentence and
        one of that source cover more than the sentence alone, and what they cover together."""
        linked = [0.0] * len(self.pool.documents)
        outward: dict[int, float] = {}
        together: dict[int, float] = {}
        titles = [_BRACKETED.sub("", d.title).strip().casefold() for d in self.pool.documents]
        naming = _naming(titles, self.pool)
        for place, bridges in naming.items():
            document = self.pool.documents[place]
            about = self.coverage(document.titled)
            best = sorted(bridges, key=lambda c: (-self.wide[id(c)], self.at(c), c.start))[:BRIDGES]
            further = sorted(document.candidates, key=lambda c: (-self.cover[id(c)], c.start))[:FURTHER]
            for bridge in best:
                first = bridge.own | self.document(bridge).titled
                alone = self.coverage(first)
                linked[place] = max(linked[place], alone * (1 - about))
                for c in further:
                    both = self.coverage(first | c.own | document.titled)
                    together[id(c)] = max(together.get(id(c), 0.0), both)
                    outward[id(bridge)] = max(outward.get(id(bridge), 0.0), both - alone)
        return linked, outward, together


def _naming(titles: list[str], pool: Pool) -> Mapping[int, list[Candidate]]:
    """For each source the sentences of others that name it by its title. One pattern of all titles reads each text."""
    places: dict[str, list[int]] = {}
    for place, title in enumerate(titles):
        if len(title) >= 4 and pool.documents[place].titled:
            places.setdefault(title, []).append(place)
    if not places:
        return {}
    pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(places, key=len, reverse=True)))})\b")
    found: dict[int, list[Candidate]] = {}
    for other, document in enumerate(pool.documents):
        low = document.text.lower()
        if len(low) != len(document.text):
            continue
        ends = [c.end for c in document.candidates]
        for match in pattern.finditer(low):
            if match.group() == titles[other]:
                continue
            at = _at(document.candidates, ends, match.start())
            for place in places[match.group()] if at is not None else ():
                named = found.setdefault(place, [])
                if not named or named[-1] is not at:
                    named.append(at)  # type: ignore[arg-type]
    return found


def _at(candidates: list[Candidate], ends: list[int], offset: int) -> Candidate | None:
    place = bisect_right(ends, offset)
    return candidates[place] if place < len(candidates) and candidates[place].start <= offset else None


def _has_capitals(text: str) -> bool:
    sample = text[:3000]
    return sum(c.isupper() for c in sample) > _ENOUGH_CAPITALS * max(1, len(sample))


def fits(view: View, c: Candidate) -> float:
    """Whether the candidate holds something new of the kind that the question expects."""
    kind, words = view.inquiry.expects, view.inquiry.words
    if not kind:
        return 0.0
    text = view.text(c)
    spoken = WORD.findall(text)
    low = {word.casefold() for word in spoken}
    fresh = " ".join(w for w in spoken if words.stem(w.casefold()) not in view.asked)
    if kind == "number":
        return 1.0 if _DIGIT.search(fresh) else 0.7 * bool(words.numerals & low)
    if kind == "date":
        return 1.0 if _YEAR.search(text) else 0.6 * bool(words.cues["date"] & low)
    if kind in ("person", "place", "list"):
        return min(1.0, len(_NAMED.findall(fresh)) / 2) if view.capitals[view.at(c)] else 0.5
    if kind == "definition":
        head = {words.stem(w.casefold()) for w in spoken[:7]}
        early = {w.casefold() for w in spoken[:12]}
        return float(bool(head & view.asked) and bool(words.cues["definition"] & early))
    if kind == "manner":
        return 1.0 if c.kind is BlockKind.CODE else 0.7 if c.kind is BlockKind.ITEM or "`" in text else 0.0
    return float(bool(words.cues.get(kind, frozenset()) & low))


def _density(view: View, c: Candidate) -> float:
    return min(1.0, sum(view.weights[t] for t in view.asked & c.own) / sqrt(len(c.own) + 4) / 4)


def proximity(view: View, c: Candidate) -> float:
    """The share of the question's neighbouring terms that stand close together here."""
    pairs = [(a, b) for a, b in zip(view.inquiry.terms, view.inquiry.terms[1:], strict=False) if a != b]
    at: dict[str, list[int]] = {}
    for place, term in enumerate(c.terms):
        if term in view.asked:
            at.setdefault(term, []).append(place)
    near = (
        view.weights[a] + view.weights[b]
        for a, b in pairs
        if a in at and b in at and min(abs(x - y) for x in at[a] for y in at[b]) <= 3
    )
    return min(1.0, sum(near) / (2 * view.mass))


def _leads(view: View, c: Candidate) -> float:  # noqa: ARG001 - a column is a function of both
    """Whether it opens its document."""
    return float(c.block == 0 and c.order == 0)


Column = Callable[[View, Candidate], float]
COLUMNS: Mapping[str, Column] = {
    "coverage": lambda v, c: v.cover[id(c)],
    "near": lambda v, c: v.wide[id(c)],
    "density": _density,
    "title": lambda v, c: v.coverage(v.document(c).titled),
    "rank": lambda v, c: max(0.0, 1 - v.at(c) / 10),
    "kind": fits,
    "linked": lambda v, c: v.linked[v.at(c)],
    "lead": _leads,
    "heading": lambda v, c: v.coverage(v.inquiry.words.terms(c.heading)) if c.heading else 0.0,
}


def leans(view: View, c: Candidate) -> bool:
    """Whether a sentence opens with a word that points back."""
    opening = WORD.search(view.text(c))
    return opening is not None and opening.group().casefold() in view.inquiry.words.leaning
