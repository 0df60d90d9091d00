"""Words that a question mistypes: no text that was found has them, but texts have a word that differs by a slip. Pure.

A slip leaves a letter out, strikes one twice or between two others, or two in the wrong order. Another letter in place of
one is none here: "boats" are not "coats". Names are let be, for nobody knows how they are spelled.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet

from deep_research.evidence.text import ASKING_WORDS, STOP_WORDS, asked_words, stem

SHORTEST = 6  # letters of a mistyped word
SHORTEST_SMALL = 4  # the same where it is a small word, such as "wher"
LEAST = 3  # times that the word stands in the texts
_SMALL = STOP_WORDS | ASKING_WORDS


def mended(question: str, known: AbstractSet[str], texts: Sequence[str]) -> str:
    """The question with its slips mended; ``texts`` are what was found for it, ``known`` the stems that they have."""
    doubtful = [
        w for w in dict.fromkeys(asked_words(question)) if w.isalpha() and w.isascii() and w.islower()
    ]
    for word in doubtful:
        if word in _SMALL or stem(word) in known:
            continue
        if meant := _small(word) or _meant(word, texts):
            question = re.sub(rf"\b{word}\b", meant, question)
    return question


def _small(word: str) -> str:
    if len(word) < SHORTEST_SMALL:
        return ""
    slip = re.compile(_slips(word))
    return min((small for small in _SMALL if slip.fullmatch(small)), default="")


def _meant(word: str, texts: Iterable[str]) -> str:
    """The word that stands most often in the texts of those it may be a slip for."""
    if len(word) < SHORTEST:
        return ""
    slip = re.compile(rf"\b(?:{_slips(word)})\b")
    found = Counter(match for text in texts for match in slip.findall(text))
    best = min(found, key=lambda meant: (-found[meant], meant), default="")
    return best if found[best] >= LEAST else ""


def _slips(word: str) -> str:
    """What was meant, as a pattern; the first letter is right."""
    left_out = [f"{word[:at]}[a-z]{word[at:]}" for at in range(1, len(word) + 1)]
    struck = [word[:at] + word[at + 1 :] for at in range(1, len(word))]
    turned = [word[:at] + word[at + 1] + word[at] + word[at + 2 :] for at in range(1, len(word) - 1)]
    return "|".join((*left_out, *struck, *turned))
