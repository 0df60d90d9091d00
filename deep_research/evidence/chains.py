"""From passage to passage: which places of the sources together answer a question that none answers alone. Pure.

Trails order whole sources. An answer stands in passages: one that has much of the question and names something, and
one about that something that has what the first lacks. A passage is about what its document is called, what its
heading names, and what its sentences, rows and entries begin with.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from deep_research.evidence.entries import Asked, Entry, Item, best_names, entry_of
from deep_research.evidence.names import key, runs
from deep_research.evidence.passages import passages
from deep_research.evidence.text import stem
from deep_research.state import Mention, Span

LED = "led to by another source"  # the category of a finding of a chain
SOURCES = 12  # of the best, whose passages are looked at
STRONG = 8  # passages from which a chain may begin
LONGEST = 4  # passages
ALONE = 0.95  # of the question, for one passage to answer it
FRESH = 0.05  # of the question, for a passage to be a step
FRESH_LATER = 0.1  # the same for a third one and those after it
HEADING = 0.8  # how surely a passage is about a name in its heading
SUBJECT = 0.7  # the same for what a sentence, row or entry in it begins with
MENTIONED = 0.3  # for any other name in it
OTHERWISE = 0.8  # what a word in another form of the same relation is worth of the word itself
UNNAMED = 0.4  # what a beginning without any name of the question is worth
# "The engineer of Orrel was Alan Ames": so many words from what is asked stands a name that most likely is it.
BESIDE = 5
SAID = 1.5  # what such a name is worth of another
CONTAINED = 0.6  # what one is worth that has a word of the question itself
SPELLED = 0.5  # the weight of a name that nothing is known of but its capitals
_BLOCK = re.compile(r"[^\n]++(?:\n(?![\n#*-])[^\n]++)*+")  # lines of one paragraph
_CELL = re.compile(r"[^|\n]++")


@dataclass(frozen=True, slots=True)
class Step:
    """A passage on the way to an answer, ``text[span]`` of its source: ``name`` is what the one before it names and it
    is about, "" for the first; ``words`` are the stems of the question that it has and those before it lack."""

    source: str
    span: Span
    name: str
    words: frozenset[str]
    titled: bool = True


@dataclass(slots=True, eq=False)
class _Piece:
    entry: Entry
    span: Span
    score: float
    own: Mapping[str, float]  # the names of its source


def chain(question: Asked, items: Sequence[Item], scores: Mapping[str, float]) -> tuple[Step, ...]:
    """The passages that lead from one to the next and together have most of the question; none where nothing leads
    on, or where the question compares things that are named in it."""
    if question.sides:
        return ()
    best_items = sorted(items, key=lambda item: (-scores[item.id], item.id))[:SOURCES]
    pieces = [piece for item in best_items for piece in _pieces(item, question, scores[item.id])]
    bearing = Counter(
        name
        for item in best_items
        for name in {
            n for p in pieces if p.entry.item.id == item.id for n, s in p.entry.bears.items() if s >= SUBJECT
        }
    )
    if any(question.share(p.entry.stems) >= ALONE for p in pieces):
        return ()
    first = sorted(pieces, key=lambda p: (-_opening(p, question), p.entry.item.id, p.span.start))[:STRONG]
    best: tuple[float, tuple[Step, ...]] = (0.0, ())
    for piece in first:
        held = piece.entry.stems & question.words.keys()
        steps = [Step(piece.entry.item.id, piece.span, "", frozenset(held))]
        value = piece.score * _named_in(piece, question)
        last = piece
        while len(steps) < LONGEST:
            found = _next(last, pieces, held, bearing, question, steps)
            if found is None:
                break
            firm, name, last = found
            fresh = (last.entry.ways & question.words.keys()) - held
            titled = name in last.entry.bears and last.entry.bears[name] > HEADING
            steps.append(Step(last.entry.item.id, last.span, name, frozenset(fresh), titled))
            held = held | fresh
            value *= sqrt(min(1.0, firm))
        reach = question.share(held)
        if len(steps) > 1 and value * reach > best[0]:
            best = value * reach, tuple(steps)
    return best[1]


def _named_in(piece: _Piece, question: Asked) -> float:
    """Less than 1 for a passage that says little of the names in the question."""
    inside = {t: w for t, w in question.words.items() if t not in question.relations}
    if not inside:
        return 1.0
    said = sum(w for t, w in inside.items() if t in piece.entry.stems)
    return UNNAMED + (1.0 - UNNAMED) * said / sum(inside.values())


def _opening(piece: _Piece, question: Asked) -> float:
    return piece.score * question.share(piece.entry.stems) * _named_in(piece, question)


def _pieces(item: Item, question: Asked, score: float) -> Iterable[_Piece]:
    """The passages of a source as entries of their own, each with the names that stand in it."""
    whole = entry_of(item, question)
    known = {mention.name: mention for mention in item.mentions}
    for passage in passages(item.text):
        text = item.text[passage.start : passage.end]
        written = f" {key(text)} "
        spelled = list(_spelled(text))
        long = {name for _, name in spelled if " " in name}
        inside = {n for n in known if f" {n} " in written and not _only_inside(n, long)}
        mentions = [known[n] for n in sorted(inside)]
        mentions += [Mention(name=n, weight=SPELLED) for n in sorted(long - inside)]
        entry = entry_of(replace(item, text=text, mentions=mentions), question)
        bears = dict.fromkeys((*inside, *long), MENTIONED)
        bears |= {name: SUBJECT for offset, name in spelled if _begins(text, offset)}
        bears |= {name: HEADING for _, name in runs(f"- {passage.heading}")}
        # What a source's beginning says it is called, the rest of it need not be about.
        own = {n: s for n, s in whole.bears.items() if s >= HEADING or not passage.start}
        entry.bears = {name: max(bears.get(name, 0.0), own.get(name, 0.0)) for name in {**bears, **own}}
        yield _Piece(entry, passage.span, score, whole.bears)


def _spelled(text: str) -> Iterable[tuple[int, str]]:
    """(offset, key) of the names in a text. One may be wrapped over lines, but not run from cell to cell."""
    for block in _BLOCK.finditer(text):
        cells = " | " in block.group()
        for part in _CELL.finditer(text, *block.span()) if cells else (block,):
            yield from ((part.start() + at, name) for at, name in runs(part.group()))


def _only_inside(name: str, long: set[str]) -> bool:
    """Whether a name stands in a text as a part of longer names: Alan Stevenson is not David Alan Stevenson."""
    return name not in long and any(f" {name} " in f" {other} " for other in long)


def _begins(text: str, offset: int) -> bool:
    """Whether a sentence, line, row or entry of a list begins at ``offset``."""
    before = text[:offset].rstrip(" \"'“‘(*_-")
    return not before or before[-1] in ".!?:;|#\n"


def _said(name: str, piece: _Piece, question: Asked) -> float:
    """What a name is worth by where it stands: more right beside what is asked, less where that is a word of the name
    itself. A lighthouse board is not what was asked of a lighthouse."""
    if any(stem(word) in question.relations for word in name.split()):
        return CONTAINED
    return SAID if piece.entry.near.get(name, BESIDE + 1) <= BESIDE else 1.0


def _next(
    piece: _Piece,
    pieces: Sequence[_Piece],
    held: set[str],
    bearing: Mapping[str, int],
    question: Asked,
    steps: Sequence[Step],
) -> tuple[float, str, _Piece] | None:
    """The passage about a name that stands in ``piece``, with most of what is lacking, and how firmly it is tied."""
    names = {
        n: p * _said(n, piece, question)
        for p, n in best_names(piece.entry, question)
        if piece.own.get(n, 0.0) < SUBJECT
    }
    taken = {(step.source, step.span.start) for step in steps}
    best: tuple[float, float, str, _Piece] | None = None
    least = (FRESH if len(steps) == 1 else FRESH_LATER) * sum(question.words.values())
    for other in pieces:
        if other.entry.item.id == piece.entry.item.id or (other.entry.item.id, other.span.start) in taken:
            continue
        fresh = sum(
            w if t in other.entry.stems else OTHERWISE * w
            for t, w in question.words.items()
            if t in other.entry.ways and t not in held
        )
        if fresh < least:
            continue
        for name in names.keys() & other.entry.bears.keys():
            bearers = max(piece.entry.names[name].bearers, bearing[name], 1)
            firm = other.entry.bears[name] * names[name] / sqrt(bearers)
            value = firm * fresh * (0.5 + 0.5 * other.score)
            if best is None or (value, name) > (best[0], best[2]):
                best = value, firm, name, other
    return best[1:] if best else None
