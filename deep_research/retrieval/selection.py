"""Selection of the candidates that a report shows, one after another: the next is the one with the best score that also
adds something new. Pure.

A chosen sentence is shown as a passage: after the sentence that its first word points back to, before the items that it
announces, and with its neighbours in the section where it is short.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile
from math import inf

from deep_research.retrieval.candidates import Candidate, asks
from deep_research.retrieval.ranker import View, leans, points_back
from deep_research.text import unspaced
from deep_research.text.passages import BlockKind

REPEAT_WEIGHT = 1.0  # what of its score a candidate loses that repeats one
COVERAGE_WEIGHT = 3.0  # what it gains that covers all that was not covered
WORD_COST_WEIGHT = 0.0125  # what each word costs of what comes after the first
REPEATED_SHARE = 0.8  # of the terms of the shorter of two, that they share when one repeats the other
SHORT, LONG = 15, 40  # words to which a passage grows, and that it has at most
DEFAULT_WORDS = 800  # the setting's: no length was asked for
ROOMY_WORDS = 500  # words of a report from which on whole paragraphs are shown
PARAGRAPH_WORDS = 120  # words of a paragraph that is shown whole
MAX_NEEDED_WORDS = 60  # words that it has at most with what its sentence does not stand without
MAX_ANSWER_SENTENCES = 2  # sentences of a passage that may stand in the answer, besides the items of a list
MAX_CANDIDATES = 60  # candidates that are chosen
FLOOR_WEIGHT = 2.5  # below the best score nothing is shown to fill, or stands in the answer


@dataclass(slots=True)
class ChosenPassage:
    """Candidates ``first`` to ``last`` of a document, of which those at ``highlights`` were chosen. It ``breaks_off``
    where the list goes on that it announces."""

    document: str
    first: int
    last: int
    score: float
    words: int
    highlights: list[int] = field(default_factory=list)
    breaks_off: bool = False


def choose(view: View, scores: Sequence[float], words: int, *, floor: float = FLOOR_WEIGHT) -> list[int]:
    """Places among the view's candidates, best first, that make up to ``words`` words together."""
    candidates = view.candidates
    sizes = [unspaced.size(view.text(c)) for c in candidates]
    open_ = {
        i
        for i, c in enumerate(candidates)
        if len(view.terms(c)) > 1
        and (c.kind in (BlockKind.TABLE, BlockKind.CODE) or not asks(view.document(c).text, c.start, c.end))
    }
    best = max((scores[i] for i in open_), default=0.0)
    same = dict.fromkeys(open_, 0.0)
    own = {i: view.terms(candidates[i]) for i in open_}
    tells = {i: view.tells(candidates[i]) for i in open_}
    covered = frozenset[str]()
    chosen: list[int] = []
    left = words

    def gain(i: int) -> float:
        cost = WORD_COST_WEIGHT * sizes[i] if chosen else 0.0
        return scores[i] - REPEAT_WEIGHT * same[i] + COVERAGE_WEIGHT * view.share(tells[i] - covered) - cost

    while open_ and len(chosen) < MAX_CANDIDATES:
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
    return _share(new, known) >= REPEATED_SHARE and not any(map(str.isdigit, "".join(new - known)))


def _share(a: frozenset[str], b: frozenset[str]) -> float:
    """Of the terms of the shorter of two."""
    shorter = min(len(a), len(b))
    return len(a & b) / shorter if shorter > 3 else 0.0


def passages(view: View, scores: Sequence[float], words: int) -> list[ChosenPassage]:
    """The chosen candidates with their neighbours; those of one neighbourhood share a passage."""
    found: list[ChosenPassage] = []
    left = words
    best, is_roomy = max(scores, default=0.0), words >= ROOMY_WORDS and words != DEFAULT_WORDS
    for i in choose(view, scores, words, floor=inf):
        c = _led_to(view, view.candidates[i])
        home = next((p for p in found if p.document == c.document and p.first <= c.place <= p.last), None)
        if home:
            if len(home.highlights) < MAX_ANSWER_SENTENCES and scores[i] >= best - FLOOR_WEIGHT:
                home.highlights.append(c.place)
            continue
        passage = _grown(view, c, scores[i], left, found, whole=is_roomy)
        if passage.words > left and found:
            continue
        found.append(passage)
        left -= passage.words
        if left < SHORT // 2:
            break
    return found


def _led_to(view: View, c: Candidate) -> Candidate:
    """The code that a candidate announces, which is shown with it; else itself."""
    after = view.document(c).candidates[c.place + 1 : c.place + 2]
    is_code = view.announces(c) and any(o.kind is BlockKind.CODE and o.heading == c.heading for o in after)
    return after[0] if is_code else c


def _items_of(view: View, c: Candidate) -> Iterable[Candidate]:
    """The items of the list that a candidate announces, up to one that announces others."""
    if c.kind is BlockKind.ITEM or not view.announces(c):
        return []
    after = islice(view.document(c).candidates, c.place + 1, None)

    def is_of_it(item: Candidate) -> bool:
        lead = view.document(c).parts[item.block].lead
        is_led = item.kind is BlockKind.ITEM and lead is not None and lead >= c.place
        return is_led and item.heading == c.heading and not view.announces(item)

    return takewhile(is_of_it, after)


def leads(view: View, c: Candidate) -> list[Candidate]:
    """What announces an item or a piece of code, nearest first: a list, and of a list within it the item above; as many
    as are short enough to be shown with it."""
    document, found, left = view.document(c), list[Candidate](), MAX_NEEDED_WORDS
    lead = document.parts[c.block].lead
    while lead is not None and view.announces(document.candidates[lead]):
        left -= unspaced.size(view.text(document.candidates[lead]))
        if left < 0:
            break
        found.append(document.candidates[lead])
        lead = document.parts[document.candidates[lead].block].lead
    return found


def _may_stand(view: View, c: Candidate) -> bool:
    """Whether a neighbour says something: what announces code does not without it."""
    return bool(view.terms(c)) and _led_to(view, c) is c


def _grown(
    view: View, c: Candidate, score: float, most: int, others: Sequence[ChosenPassage], *, whole: bool = False
) -> ChosenPassage:
    """A candidate with what it points back to, the items that it announces, which are marked too, and its neighbours
    while it is short; with its ``whole`` paragraph, where that is not too long."""
    every = view.document(c).candidates
    size = sum(unspaced.size(view.text(each)) for each in (c, *leads(view, c)))
    first = last = c.place
    if c.kind in (BlockKind.TABLE, BlockKind.CODE):
        return ChosenPassage(c.document, first, last, score, size, [c.place])
    own = view.document(c).parts[c.block].lead
    taken = {p for o in others if o.document == c.document for p in range(o.first, o.last + 1)}

    def beside(place: int, limit: int) -> int:
        """The words of a neighbour that the passage can take, 0 where it cannot."""
        if not 0 <= place < len(every) or place in taken or every[place].heading != c.heading:
            return 0
        kind = every[place].kind
        lead = view.document(c).parts[every[place].block].lead
        # Items of one list may stand together, and those that one of them announces.
        is_item = c.kind is kind is BlockKind.ITEM
        if is_item and lead != own and (lead is None or not first <= lead <= last):
            return 0
        # The heading of an item, which may deny, is not that of the text after it.
        if kind in (BlockKind.TABLE, BlockKind.CODE) or (place < first and kind is not c.kind):
            return 0
        words = unspaced.size(view.text(every[place]))
        return words if size + words <= min(limit, most) else 0

    while points_back(view, every[first]) and (words := beside(first - 1, MAX_NEEDED_WORDS)):
        first, size = first - 1, size + words
    for item in _items_of(view, c):
        if not (words := beside(item.place, MAX_NEEDED_WORDS)):
            break
        last, size = item.place, size + words
    marked = list(range(c.place, last + 1))
    if c.place < last and any(
        o.kind is BlockKind.ITEM and o.heading == c.heading for o in every[last + 1 : last + 2]
    ):
        return ChosenPassage(c.document, first, last, score, size, marked, breaks_off=True)
    part = view.document(c).parts[c.block]
    if whole and c.kind is BlockKind.PARAGRAPH and part.first <= first and last < part.last:
        together = unspaced.size(view.document(c).text[every[part.first].start : every[part.last - 1].end])
        if together <= min(PARAGRAPH_WORDS, most) and taken.isdisjoint(range(part.first, part.last)):
            first, last, size = part.first, part.last - 1, together
    # One step of several is no answer to how something is done.
    short, long = (MAX_NEEDED_WORDS, MAX_NEEDED_WORDS) if part.mark[:1].isdigit() else (SHORT, LONG)
    while size < short:
        before, after = (
            beside(place, long) if 0 <= place < len(every) and _may_stand(view, every[place]) else 0
            for place in (first - 1, last + 1)
        )
        if before and (not after or (first == c.place and leans(view, c))):
            first, size = first - 1, size + before
        elif after:
            last, size = last + 1, size + after
        else:
            break
    return ChosenPassage(c.document, first, last, score, size, marked)
