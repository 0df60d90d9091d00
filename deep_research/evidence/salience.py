"""How much each sentence of a text matters, by itself and to a query. Pure.

Four things are known of a sentence without understanding it: how many of the query's words it and its neighbours have,
the rare ones counting more; how many of the words that the text is about; where it stands; and whether it tells
figures, dates or names. All of it takes linear time: no two sentences are ever compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from math import fsum, log

from deep_research.evidence.passages import BlockKind, blocks
from deep_research.evidence.text import STOP_WORDS, WORD, question_terms, stem

# What each part adds at most, against 1 for a sentence that has all words of the query.
CENTRAL, EARLY, TELLING, LONG = 0.03, 0.15, 0.03, 0.03
NEXT, SECOND = 0.25, 0.1  # what a sentence has of the query for the one beside it, and the one after that
UNDER = 0.2  # what a heading, or the first row of a table, has for what stands under it
HEADING = 0.8  # a heading by itself says less than a sentence with the same words
SOON = 15  # sentences after which a place in the text is worth half of the first
OPENING = 0.02  # for the first sentence of a section, where its place is not worth more
TOLD = 10.0  # digits and capitals from which more do not count: those of figures, dates and names
LETTERS = 120.0  # of a sentence that is long enough to say something
_WORDS_BESIDE = (
    4  # that a short sentence is thought to have as well, so that one central word is not all it needs
)
_UNTOLD = dict.fromkeys(map(ord, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
_MOST_WORDS = 200_000  # whose terms are remembered


@dataclass(slots=True)
class Sentence:
    """``text[start:end]`` in a block of ``kind``, the mark of a list item included; ``block`` is the number of that
    block. ``under`` is the place of the heading it stands under, or of the first row of its table; -1 without.
    ``terms`` are the stems of its words, "" for one that tells nothing."""

    start: int
    end: int
    kind: BlockKind
    block: int
    under: int
    terms: list[str]


def sentences_of(text: str) -> list[Sentence]:
    """The sentences, headings, rows and lines of code of a text, in order."""
    found: list[Sentence] = []
    heading = -1
    for number, block in enumerate(blocks(text)):
        kind, first = block.kind, len(found)
        under = heading
        for start, end in block.sentences(text):
            if kind is BlockKind.HEADING:
                heading, under = first, -1
            begin = block.start if kind is BlockKind.ITEM and len(found) == first else start
            found.append(Sentence(begin, end, kind, number, under, list(map(term, text[start:end].split()))))
            if kind is BlockKind.TABLE:
                under = first
    return found


def salience(text: str, sentences: Sequence[Sentence], query: str = "") -> list[float]:
    """How much each of the text's sentences matters, 0 and more."""
    asked = _asked(sentences, query)
    around = _around(asked) if any(asked) else asked
    central = _central(sentences)
    weight = CENTRAL / (max(central, default=0.0) or 1.0)
    scores = []
    for place, sentence in enumerate(sentences):
        start, end, under = sentence.start, sentence.end, sentence.under
        if not any(sentence.terms):
            scores.append(0.0)
            continue
        words = text[start:end]
        told = len(words) - len(words.translate(_UNTOLD))
        length = end - start
        score = asked[place] + around[place] + weight * central[place]
        early = EARLY * SOON / (SOON + place)
        score += max(early, OPENING) if under == place - 1 else early
        score += TELLING * (told / TOLD if told < TOLD else 1.0)
        score += LONG * (length / LETTERS if length < LETTERS else 1.0)
        if under >= 0:
            score += UNDER * asked[under]
        scores.append(score * HEADING if sentence.kind is BlockKind.HEADING else score)
    return scores


def _asked(sentences: Sequence[Sentence], query: str) -> list[float]:
    """The share (0 to 1) of the query's weight that each sentence has."""
    wanted = question_terms(query) if query else {}
    if not wanted:
        return [0.0] * len(sentences)
    hits = [wanted.keys() & sentence.terms for sentence in sentences]
    holding = Counter(chain.from_iterable(hits))
    weights = {key: weight * _rarity(len(sentences), holding[key]) for key, weight in wanted.items()}
    total = fsum(weights.values())
    # Summed exactly: the order of a set is not the same in every process.
    return [fsum(map(weights.__getitem__, held)) / total if held else 0.0 for held in hits]


def _central(sentences: Sequence[Sentence]) -> list[float]:
    """How much of the words that come again and again in the text each sentence has."""
    counts = Counter(chain.from_iterable(sentence.terms for sentence in sentences))
    weights = {key: log(count) if count > 1 else 0.2 for key, count in counts.items()}
    weights[""] = 0.0
    return [
        sum(map(weights.__getitem__, sentence.terms)) / (len(sentence.terms) + _WORDS_BESIDE)
        for sentence in sentences
    ]


@lru_cache(maxsize=_MOST_WORDS)
def term(word: str) -> str:
    """The stem of what stands between two spaces; "" for what tells nothing."""
    found = WORD.findall(word)
    if not found:
        return ""
    longest = max(found, key=len)
    if longest.casefold() in STOP_WORDS or (len(longest) < 3 and longest.isalpha() and longest.islower()):
        return ""
    return stem(longest)


def _rarity(total: int, holding: int) -> float:
    """Without a floor, unlike that of the ranking: what all sentences have tells none of them apart."""
    return log(1.0 + (total - holding + 0.5) / (holding + 0.5))


def _around(asked: Sequence[float]) -> list[float]:
    """What each sentence is credited with for those beside it."""
    rest = (*asked, 0.0, 0.0)
    return [
        NEXT * (before + after) + SECOND * (farther + later)
        for farther, before, after, later in zip(
            (0.0, 0.0, *asked), (0.0, *asked), rest[1:], (*rest[2:], 0.0), strict=False
        )
    ][: len(asked)]
