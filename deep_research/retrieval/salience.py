"""Salience of each sentence of a text, by itself and for a query. Pure.

Four things are known of a sentence without understanding it: how many of the query's words it and its neighbours have,
the rare ones counting more; how many of the words that the text is about; where it stands; and whether it tells
figures, dates or names. All of it takes linear time: no two sentences are ever compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import fsum, log
from typing import NamedTuple

from deep_research.text.passages import Block, BlockKind, blocks
from deep_research.text.term_weights import inverse_frequency
from deep_research.text.words import STOP_WORDS, WORD, Known, question_terms, stem

# What each part adds at most, against 1 for a sentence that has all words of the query.
CENTRAL, EARLY, TELLING, LONG = 0.03, 0.15, 0.03, 0.03
NEXT, SECOND = 0.25, 0.1  # what a sentence has of the query for the one beside it, and the one after that
HEADING_WEIGHT = 0.2  # what a heading, or the first row of a table, has for what stands under it
HALF_WEIGHT_COUNT = 15  # sentences after which a place in the text is worth half of the first
MAX_TELLING_CHARS = (
    10.0  # digits and capitals from which more do not count: those of figures, dates and names
)
FULL_SENTENCE_CHARS = 120.0  # of a sentence that is long enough to say something
_WORDS_BESIDE = (
    4  # that a short sentence is thought to have as well, so that one central word is not all it needs
)
# 1 for a digit or capital; counting ones is quicker than taking the others out of each sentence
_SIGNS = bytes(chr(byte).isdigit() or chr(byte).isupper() for byte in range(128)) + bytes(128)


def _term(word: str) -> str:
    """The stem of what stands between two spaces; "" for what tells nothing."""
    found = WORD.findall(word)
    if not found:
        return ""
    longest = max(found, key=len)
    if longest.casefold() in STOP_WORDS or (len(longest) < 3 and longest.isalpha() and longest.islower()):
        return ""
    return stem(longest)


_term_of = Known(_term, most=200_000).__getitem__


class Sentence(NamedTuple):
    """``text[start:end]``, the mark of a list item included."""

    start: int
    end: int


@dataclass(slots=True)
class Sentences:
    """The sentences, headings, rows and lines of code of a text, in order. Each is a place in these lists, and made an
    object when it is asked for: objects of all took a sixth of the time of all that is done with them.

    ``under`` is the place of the heading that it stands under, or of the first row of its table; -1 without. ``terms``
    are the stems of its words, "" for one that tells nothing."""

    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    under: list[int] = field(default_factory=list)
    terms: list[list[str]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[Sentence]:
        return map(Sentence, self.starts, self.ends)

    def __getitem__(self, place: int) -> Sentence:
        return Sentence(self.starts[place], self.ends[place])

    def length(self, place: int) -> int:
        return self.ends[place] - self.starts[place]


def sentences_of(text: str) -> Sentences:
    """The sentences of a text."""
    found = Sentences()
    starts, ends, terms = found.starts, found.ends, found.terms
    heading = -1
    for block in blocks(text):
        first = len(starts)
        for start, end in block.sentences(text):
            starts.append(start)
            ends.append(end)
            terms.append(list(map(_term_of, text[start:end].split())))
        count = len(starts) - first
        found.blocks += [block] * count
        if block.kind is BlockKind.HEADING:
            found.under.append(-1)
            heading = first
        elif block.kind is BlockKind.TABLE and count:
            found.under += [heading] + [first] * (count - 1)
        else:
            found.under += [heading] * count
        if block.kind is BlockKind.ITEM and count:
            starts[first] = block.start
    return found


def salience(text: str, sentences: Sentences, query: str = "") -> list[float]:
    """How much each of the text's sentences matters, 0 and more."""
    asked = _query_shares(sentences.terms, query)
    around = _around(asked) if any(asked) else asked
    central = _central(sentences.terms)
    weight = CENTRAL / (max(central, default=0.0) or 1.0)
    signs = text.encode("ascii", "replace").translate(_SIGNS)
    columns = zip(
        sentences.starts,
        sentences.ends,
        sentences.under,
        asked,
        around,
        central,
        strict=True,
    )
    scores = []
    for place, (start, end, under, own, beside, about) in enumerate(columns):
        if not about:
            scores.append(0.0)  # without a word that tells anything
            continue
        told = signs.count(1, start, end)
        length = end - start
        score = own + beside + weight * about
        score += EARLY * HALF_WEIGHT_COUNT / (HALF_WEIGHT_COUNT + place)
        score += TELLING * (told / MAX_TELLING_CHARS if told < MAX_TELLING_CHARS else 1.0)
        score += LONG * (length / FULL_SENTENCE_CHARS if length < FULL_SENTENCE_CHARS else 1.0)
        if under >= 0:
            score += HEADING_WEIGHT * asked[under]
        scores.append(score)
    return scores


def _query_shares(terms: Sequence[Sequence[str]], query: str) -> list[float]:
    """The share (0 to 1) of the query's weight that each sentence has, by their terms."""
    wanted = question_terms(query) if query else {}
    if not wanted:
        return [0.0] * len(terms)
    has_none = frozenset(wanted).isdisjoint
    hits = [() if has_none(each) else wanted.keys() & each for each in terms]
    holding = Counter(chain.from_iterable(hits))
    weights = {key: weight * inverse_frequency(len(terms), holding[key]) for key, weight in wanted.items()}
    total = fsum(weights.values())
    # Summed exactly: the order of a set is not the same in every process.
    return [fsum(map(weights.__getitem__, held)) / total if held else 0.0 for held in hits]


def _central(terms: Sequence[Sequence[str]]) -> list[float]:
    """How much of the words that come again and again in the text each sentence has, by their terms."""
    counts = Counter(chain.from_iterable(terms))
    weights = {key: log(count) if count > 1 else 0.2 for key, count in counts.items()}
    weights[""] = 0.0
    return [sum(map(weights.__getitem__, each)) / (len(each) + _WORDS_BESIDE) for each in terms]


def _around(asked: Sequence[float]) -> list[float]:
    """What each sentence is credited with for those beside it."""
    rest = (*asked, 0.0, 0.0)
    return [
        NEXT * (before + after) + SECOND * (farther + later)
        for farther, before, after, later in zip(
            (0.0, 0.0, *asked), (0.0, *asked), rest[1:], (*rest[2:], 0.0), strict=False
        )
    ][: len(asked)]
