"""What several statements have in common: groups of them, each with a heading that people would write. Pure."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from deep_research.evidence.names import runs, spelled
from deep_research.evidence.text import ASKING_WORDS, STOP_WORDS, WORD, content_stems, stem
from deep_research.evidence.units import UNIT_WORDS

MAX_THEMES = 5
MAX_SHARE = 0.6  # of the statements: what most of them name divides nothing
SMALLEST = 2  # statements that make a theme
MAX_WORDS = 4  # of a heading's phrase
_INSIDE = re.compile(r"(?<=[a-z,;] )[A-Z][\w'’-]+")  # a capital that no sentence calls for
_TOKEN = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*|[^\w\s]")
_EMPTY = frozenset(
    WORD.findall(
        """approach approaches based different existing method methods new novel paper propose proposed proposes
        result results show shows study use used using various recent recently work works significant several first
        second two three including called still often well known made found year years time times day part however
        moreover large small high low better best good performance state art january february march april june july
        august september october november december important able across achieve achieves address addresses
        demonstrate demonstrates enable enables improve improves introduce introduces present presents provide
        provides require requires remain remains make makes"""
    )
)
_SILENT = STOP_WORDS | ASKING_WORDS | _EMPTY


@dataclass(frozen=True, slots=True)
class Theme:
    """``places`` are those of the statements in their list, in order."""

    heading: str
    places: tuple[int, ...]


def themes(statements: Sequence[str], asked: str) -> tuple[list[Theme], list[int]]:
    """The statements by what they share, most first, and the places of those that share nothing telling. What the
    question itself names is no theme, for all are about that."""
    known = set(content_stems(asked))
    phrases = [_phrases(text) for text in statements]
    written: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    holding: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for place, found in enumerate(phrases):
        for key, text in found:
            written[key][text] += 1
            holding[key].add(place)
    most = max(SMALLEST, int(len(statements) * MAX_SHARE))
    lower = {word for text in statements for word in WORD.findall(text) if word.islower()}
    named = {match.group() for text in statements for match in _INSIDE.finditer(text)} - {
        w.capitalize() for w in lower
    }
    # The most frequent spelling; of equal ones always the same, for sets have another order in each process.
    wording = {
        key: max(counts.items(), key=lambda item: (item[1], item[0]))[0] for key, counts in written.items()
    }
    open_ = {
        k: held
        for k, held in holding.items()
        if SMALLEST <= len(held) <= most and not set(k) <= known and _says_enough(k, wording[k], named)
    }
    left = set(range(len(statements)))
    found_themes: list[Theme] = []
    while open_ and len(found_themes) < MAX_THEMES:
        key = max(open_, key=lambda k: (_worth(k, len(open_[k] & left), known), k))
        members = open_.pop(key) & left
        if len(members) < SMALLEST:
            continue
        found_themes.append(Theme(heading(wording[key]), tuple(sorted(members))))
        left -= members
        open_ = {
            k: held for k, held in open_.items() if len(held & left) >= SMALLEST and not set(k) & set(key)
        }
    return found_themes, sorted(left)


def _worth(key: tuple[str, ...], members: int, known: set[str]) -> float:
    """How telling a phrase is: for many statements, in several words, new to the reader."""
    fresh = sum(word not in known for word in key) / len(key)
    return min(members, 6) * (1.0 + 0.6 * (len(key) - 1)) * (0.3 + fresh)


def _says_enough(key: tuple[str, ...], wording: str, named: set[str]) -> bool:
    """Whether a phrase stands as a heading: several words, or one that is a name wherever it stands; no measure."""
    if UNIT_WORDS & set(wording.casefold().split()):
        return False
    return len(key) > 1 or wording in named or (wording[1:] != wording[1:].lower() and wording[:1].isupper())


def _phrases(text: str) -> set[tuple[tuple[str, ...], str]]:
    """The names of a text and its runs of content words, each with the stems it is compared by."""
    found: set[tuple[tuple[str, ...], str]] = set()
    for _, name in runs(text):
        found.add((tuple(stem(w) for w in name.split()), spelled(text, name)[0]))
    for run in _content_runs(text):
        for size in (1, 2, 3):
            for first in range(len(run) - size + 1):
                part = run[first : first + size]
                if size > 1 or len(part[0]) > 4:
                    found.add((tuple(stem(w) for w in part), " ".join(part)))
    return {(key, name) for key, name in found if 0 < len(key) <= MAX_WORDS and any(len(w) > 2 for w in key)}


def _content_runs(text: str) -> Iterable[list[str]]:
    run: list[str] = []
    for word in (*_TOKEN.findall(text), "."):
        lower = word.casefold()
        telling = word[0].isalpha() and len(word) > 1 and lower not in _SILENT
        if telling and not lower.endswith("ly"):
            run.append(word)
        elif run:
            yield run
            run = []


def heading(text: str) -> str:
    """A phrase as a heading: its first letter is a capital, unless a name has one further on, such as "iPod"."""
    text = " ".join(text.split()).strip(" .,:;")
    first = text.partition(" ")[0]
    return text if first[1:] != first[1:].lower() else text[:1].upper() + text[1:]
