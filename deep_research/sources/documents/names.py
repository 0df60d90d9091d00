"""Names in the index: which documents bear a name, and what a text of the corpus names."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import log
from typing import NamedTuple

from deep_research.evidence.names import MAX_WORDS, key, runs, telling
from deep_research.evidence.text import STOP_WORDS
from deep_research.sources.documents.terms import match_expression
from deep_research.state import Mention

MAX_MENTIONS = 16
MAX_BEARERS = 20  # a name that more documents bear leads nowhere
UNKNOWN = 0.75  # of the weight of a name that no document bears
_AT_ONCE = 384
_STEP = 64
_MAX_WORDS = 50_000  # remembered
_MAX_TEXTS = 500
_COUNT = "SELECT count(*) FROM words WHERE words MATCH ?"
_WORD = re.compile(r"[^\W_]+(?:['’]s\b)?")

Bearers = dict[str, list[tuple[int, float]]]  # key -> (document, strength)


class Spotted(NamedTuple):
    """A name found in a text: its key, and the documents that bear it."""

    name: str
    bearers: Sequence[tuple[int, float]]


def known(connection: sqlite3.Connection, names: Iterable[str]) -> Bearers:
    """The documents that bear each of ``names`` (keys); names that none bears are missing. Raises
    `sqlite3.Error`."""
    wanted = list(dict.fromkeys(names))
    found: Bearers = {}
    for start in range(0, len(wanted), _AT_ONCE):
        part = wanted[start : start + _AT_ONCE]
        part += part[-1:] * (-len(part) % _STEP)  # few different numbers, so that SQLite knows the statement
        marks = ",".join("?" * len(part))
        for name, document, strength in connection.execute(
            f"SELECT name, document, strength FROM names WHERE name IN ({marks})",  # noqa: S608 - only marks
            part,
        ):
            found.setdefault(name, []).append((document, strength))
    return found


class _Word(NamedTuple):
    key: str
    capital: bool  # or a digit
    tells: bool
    may_open: bool


@lru_cache(maxsize=1 << 14)
def _looked_at(token: str) -> _Word:
    """What is asked of each word of a text, which mostly has been asked of it before."""
    word = key(token)
    capital = token[:1].isupper() or token[:1].isdigit()
    return _Word(word, capital, telling(word), word not in STOP_WORDS or word in ("the", "a", "an"))


def spotted(connection: sqlite3.Connection, text: str, *, any_case: bool = False) -> list[Spotted]:
    """The names in ``text`` in order, each once: those that documents bear, longest first where they overlap, and
    runs of capitalised words that none bears. With ``any_case`` known names need no capitals, as in a question.

    Raises `sqlite3.Error`.
    """
    tokens = _WORD.findall(text)
    keys: list[str] = []
    closes: list[bool] = []
    tells: list[bool] = []
    starts: list[int] = []
    for place, word in enumerate(map(_looked_at, tokens)):
        may_close = any_case or word.capital
        keys.append(word.key)
        closes.append(may_close)
        tells.append(word.tells)
        if may_close and word.may_open:
            starts.append(place)
    places: dict[tuple[int, int], str] = {}
    for start in starts:
        name, says = keys[start], tells[start]
        if says and (not any_case or _capital(tokens, start)):
            places[start, start + 1] = name
        for end in range(start + 1, min(start + MAX_WORDS, len(tokens))):
            name = f"{name} {keys[end]}"
            says = says or tells[end]
            if says and closes[end]:
                places[start, end + 1] = name
    bearers = known(connection, places.values())
    borne = [(place, name) for place, name in places.items() if name in bearers]
    taken: set[int] = set()
    found: list[tuple[int, Spotted]] = []
    for (start, end), name in sorted(borne, key=lambda item: (item[0][0] - item[0][1], item[0])):
        if taken.isdisjoint(range(start, end)):
            taken.update(range(start, end))
            found.append((start, Spotted(name, bearers[name])))
    ordered = [spot for _, spot in sorted(found, key=lambda item: item[0])]
    if not any_case:
        ordered += [Spotted(name, bearers.get(name, ())) for _, name in runs(text)]
    found_names = {spot.name: spot for spot in ordered}
    return [
        spot
        for name, spot in found_names.items()
        if name.removeprefix("the ") == name or (name.removeprefix("the ") not in found_names)
    ]


def _capital(tokens: Sequence[str], place: int) -> bool:
    """Whether one word of a question is written like a name; its first word is capitalised by rule."""
    return tokens[place][:1].isdigit() or (place > 0 and tokens[place][:1].isupper())


def weighed(
    spots: Iterable[Spotted], total: int, frequency: Callable[[str], int], *, most: int = MAX_MENTIONS
) -> tuple[Mention, ...]:
    """The most telling of the names, best first. ``total`` is the number of passages, ``frequency`` tells how many
    of them have a word."""
    mentions = [
        Mention(
            name=spot.name,
            weight=round(name_rarity(spot.name, len(spot.bearers), total, frequency), 4),
            bearers=len(spot.bearers),
        )
        for spot in spots
    ]
    mentions.sort(key=lambda m: (-m.weight * (1.0 if m.bearers else UNKNOWN), m.name))
    return tuple(mentions[:most])


def name_rarity(name: str, bearers: int, total: int, frequency: Callable[[str], int]) -> float:
    """How telling a name is, 0 to 1: by its rarest word, or, for one of several words, by how few bear it."""
    scale = log(max(total, 2))
    words = [word for word in name.split() if word not in STOP_WORDS] or name.split()
    rarest = max(log(1 + (total - n + 0.5) / (n + 0.5)) for n in (min(frequency(w), total) for w in words))
    by_words = rarest / scale
    by_bearers = 1.0 - log(1 + bearers) / scale if bearers and " " in name else 0.0
    return min(1.0, max(by_words, by_bearers))


@dataclass(frozen=True, slots=True)
class _Known:
    """What is remembered of one edition of an index."""

    edition: int
    frequencies: dict[str, int] = field(default_factory=dict)
    spotted: dict[str, tuple[list[Spotted], tuple[Mention, ...]]] = field(default_factory=dict)


class Register:
    """What is known of an index's words and names, remembered while the index stays as it is: the same documents come
    up again and again in the searches of one run."""

    def __init__(self) -> None:
        self._known = _Known(edition=-1)

    def open(self, connection: sqlite3.Connection) -> Reading:
        """For use with one connection. Raises `sqlite3.Error`."""
        total, edition = connection.execute("SELECT passages, edition FROM totals").fetchone()
        known = self._known  # read once: another thread may put that of another edition in its place
        if known.edition != edition or len(known.frequencies) > _MAX_WORDS:
            known = self._known = _Known(edition)
        elif len(known.spotted) > _MAX_TEXTS:
            known = self._known = _Known(edition, known.frequencies)
        return Reading(connection, total, known.frequencies, known.spotted)


class Reading:
    """One state of the index. All methods raise `sqlite3.Error`. ``total`` is its number of passages."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        total: int,
        frequencies: dict[str, int],
        spotted_in: dict[str, tuple[list[Spotted], tuple[Mention, ...]]],
    ) -> None:
        self.connection = connection
        self.total = total
        self._frequencies = frequencies
        self._spotted = spotted_in

    def frequency(self, word: str) -> int:
        """In how many passages a word occurs."""
        found = self._frequencies.get(word)
        if found is None:
            (found,) = self.connection.execute(_COUNT, (match_expression((word,)),)).fetchone()
            self._frequencies[word] = found
        return found

    def rarity(self, word: str) -> float:
        """How telling a word is, 0 to 1."""
        held = min(self.frequency(word), self.total)
        return min(1.0, log(1 + (self.total - held + 0.5) / (held + 0.5)) / log(max(self.total, 2)))

    def names(self, matched: str) -> tuple[list[Spotted], tuple[Mention, ...]]:
        """The names in what was matched of a text, and the most telling of them."""
        held = self._spotted.get(matched)
        if held is None:
            spots = spotted(self.connection, matched)
            held = spots, weighed(spots, self.total, self.frequency)
            self._spotted[matched] = held
        return held
