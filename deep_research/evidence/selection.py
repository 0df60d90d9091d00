"""Which candidates a report shows: the best one first, then each next for its score and for what it adds. Pure.

A chosen sentence is shown as a passage: with its neighbours in the section, whole sentences, up to the length wanted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from deep_research.evidence.candidates import Candidate
from deep_research.evidence.columns import View, leans
from deep_research.evidence.passages import BlockKind

SAME = 1.0  # what of its score a candidate loses that repeats one
ADDED = 3.0  # what it gains that covers all that was not covered
DEAR = 0.0125  # what each word costs of what comes after the first
REPEATED = 0.8  # of the terms of the shorter of two, that they share when one repeats the other
SCRAP = 4  # words that say nothing by themselves
SHORT, LONG = 15, 40  # words to which a passage grows, and that it has at most
MOST = 60  # candidates that are chosen
FLOOR = 2.5  # below the best score nothing is shown to fill


@dataclass(slots=True)
class Passage:
    """Candidates ``first`` to ``last`` of a document, of which those at ``marked`` were chosen."""

    document: str
    first: int
    last: int
    score: float
    words: int
    marked: list[int] = field(default_factory=list)


def choose(view: View, scores: Sequence[float], words: int, *, floor: float = FLOOR) -> list[int]:
    """Places among the view's candidates, best first, that make up to ``words`` words together."""
    candidates = view.candidates
    sizes = [len(view.text(c).split()) for c in candidates]
    open_ = {
        i
        for i, c in enumerate(candidates)
        if len(view.terms(c)) > 1 and (sizes[i] > SCRAP or c.kind is not BlockKind.PARAGRAPH)
    }
    best = max((scores[i] for i in open_), default=0.0)
    same = dict.fromkeys(open_, 0.0)
    own = {i: view.terms(candidates[i]) for i in open_}
    tells = {i: view.tells(candidates[i]) for i in open_}
    covered = frozenset[str]()
    chosen: list[int] = []
    left = words

    def gain(i: int) -> float:
        cost = DEAR * sizes[i] if chosen else 0.0
        return scores[i] - SAME * same[i] + ADDED * view.share(tells[i] - covered) - cost

    while open_ and len(chosen) < MOST:
        fitting = [i for i in open_ if sizes[i] <= left]
        if not fitting:
            break
        i = max(fitting, key=lambda i: (gain(i), -i))
        if chosen and scores[i] < best - floor:
            open_.discard(i)
            if all(scores[j] < best - floor for j in open_):
                break
            continue
        open_.discard(i)
        if any(_repeats(own[i], own[j]) for j in chosen):
            continue
        chosen.append(i)
        left -= sizes[i]
        covered |= tells[i]
        for j in open_:
            same[j] = max(same[j], _share(own[j], own[i]))
    return chosen


def _repeats(new: frozenset[str], known: frozenset[str]) -> bool:
    """Whether one says nearly the same as another, and no other figure."""
    return _share(new, known) >= REPEATED and all(term.isalpha() for term in new - known)


def _share(a: frozenset[str], b: frozenset[str]) -> float:
    """Of the terms of the shorter of two."""
    shorter = min(len(a), len(b))
    return len(a & b) / shorter if shorter > 3 else 0.0


def passages(view: View, scores: Sequence[float], words: int) -> list[Passage]:
    """The chosen candidates with their neighbours; those of one neighbourhood share a passage."""
    found: list[Passage] = []
    left = words
    for i in choose(view, scores, words, floor=inf):
        c = view.candidates[i]
        home = next((p for p in found if p.document == c.document and p.first <= c.place <= p.last), None)
        if home:
            home.marked.append(c.place)
            continue
        passage = _grown(view, c, scores[i], min(LONG, left), found)
        if passage.words > left and found:
            continue
        found.append(passage)
        left -= passage.words
        if left < SHORT // 2:
            break
    return found


def _grown(view: View, c: Candidate, score: float, most: int, others: Sequence[Passage]) -> Passage:
    every = view.document(c).candidates
    if c.kind in (BlockKind.TABLE, BlockKind.CODE):
        return Passage(c.document, c.place, c.place, score, len(view.text(c).split()), [c.place])
    size = len(view.text(c).split())
    first = last = c.place
    taken = {p for o in others if o.document == c.document for p in range(o.first, o.last + 1)}
    while size < SHORT:
        beside = [last + 1, first - 1]
        if first == c.place and leans(view, c):
            beside.reverse()
        fits = [
            p
            for p in beside
            if 0 <= p < len(every)
            and p not in taken
            and every[p].heading == c.heading
            and every[p].kind not in (BlockKind.TABLE, BlockKind.CODE)
            and view.terms(every[p])
            and size + len(view.text(every[p]).split()) <= most
        ]
        if not fits:
            break
        first, last = min(first, fits[0]), max(last, fits[0])
        size += len(view.text(every[fits[0]]).split())
    return Passage(c.document, first, last, score, size, [c.place])
