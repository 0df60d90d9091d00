"""What an answer may not repeat: the instructions that the model was given, the secrets among the words of the run's
owner, and the mark of the fences. Whoever writes a page can ask for them, and some model will tell. Pure.

Found is what is repeated word by word. A model that translates or encodes what it tells is not held up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

from deep_research.models.characters import in_all_texts
from deep_research.patterns import regex

_T = TypeVar("_T")

OURS = 8  # words in a row that are an echo of our instructions
OWNERS = 12  # the same for the owner's words, which may have been meant to be used
SHORTEST = 6  # words of an owner's instructions, below which it is no text to be told
LEFT_OUT = "[…]"
_WORD = regex(r"\w+")
_QUOTED = regex(r"“[^”]*”|„[^“”]*[“”]|«[^»]*»|\"[^\"]*\"")  # in instructions: words that are to be used
_TOKEN = regex(r"[A-Za-z0-9_+/=.~-]{16,}")
_CHANGE = regex(r"(?<=[A-Za-z])[0-9]|(?<=[0-9])[A-Za-z]")
_CHANGES = 5  # between letters and digits, from which on a token is no name of a thing
_NAMED = regex(
    r"\b(?:password|passphrase|secret|api[ _-]?key|access[ _-]?(?:key|code|token)|token)\b(?:\s+is)?\s*[:=]?\s*"
    r"[\"'“]?([^\s\"'”,;]{6,})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Echoes:
    """``ours`` are instructions, ``owners`` those of the run's owner, ``mark`` that of the fences. What stands in
    ``prompt`` as well, the rest of the prompt, was there to be used."""

    ours: str = ""
    owners: str = ""
    mark: str = ""
    prompt: str = ""
    _rows: Mapping[int, frozenset[tuple[str, ...]]] = field(init=False, compare=False)
    _secrets: tuple[str, ...] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        instructions = _QUOTED.sub(" . ", self.owners)
        length = min(OWNERS, len(_WORD.findall(instructions)))
        rows: dict[int, frozenset[tuple[str, ...]]] = {OURS: _rows(self.ours, OURS)}
        if length >= SHORTEST:
            rows[length] = rows.get(length, frozenset()) | _rows(instructions, length)
        secrets = [self.mark] if self.mark else []
        secrets += [s for s in _secrets(self.owners) if s not in self.prompt]
        object.__setattr__(self, "_rows", rows)
        object.__setattr__(self, "_secrets", tuple(secrets))

    def cleared(self, value: _T) -> _T:
        """The value with all texts in it, however deep, `without` echoes."""
        return in_all_texts(value, self.without)

    def without(self, text: str) -> str:
        """The text with ``[…]`` in place of what it repeats."""
        spans = self.spans(text)
        for start, end in reversed(spans):
            text = f"{text[:start]}{LEFT_OUT}{text[end:]}"
        return text

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where the text repeats something, in order and apart."""
        found = [
            (at.start(), at.end())
            for secret in self._secrets
            for at in re.finditer(re.escape(secret), text, re.IGNORECASE)
        ]
        words = [word.casefold() for word in _WORD.findall(text)]
        for length, rows in self._rows.items():
            if len(words) < length or rows.isdisjoint(_in_rows(words, length)):
                continue  # as nearly all texts, so only for the others is it found out where their words are
            places = list(_WORD.finditer(text))
            for at, row in enumerate(_in_rows(words, length)):
                if row in rows and not self._was_shown(row):
                    found.append((places[at].start(), places[at + length - 1].end()))
        return _merge_spans(found)

    def _was_shown(self, row: tuple[str, ...]) -> bool:
        return row in _rows(self.prompt, len(row))


class Stream:
    """Pieces of a text handed on without echoes: so many words are held back as it takes to know."""

    def __init__(self, echoes: Echoes, tell: Callable[[str | None], None]) -> None:
        self._echoes = echoes
        self._tell = tell
        self._held = ""
        self.told: list[str] = []

    def take(self, piece: str | None) -> None:
        if piece is None:
            self.told.clear()
            self._held = ""
            self._tell(None)
            return
        self._held += piece
        words = list(_WORD.finditer(self._held))
        if len(words) <= OWNERS:
            return
        cut = words[-OWNERS].start()
        cut = next((start for start, end in self._echoes.spans(self._held) if start <= cut < end), cut)
        self._out(self._held[:cut])
        self._held = self._held[cut:]

    def end(self, text: str) -> None:
        """``text`` is the answer without echoes: what was told must be it."""
        self._out(self._held)
        self._held = ""
        if "".join(self.told) != text:
            self.take(None)
            self.told.append(text)
            self._tell(text)

    def _out(self, text: str) -> None:
        if text:
            self.told.append(self._echoes.without(text))
            self._tell(self.told[-1])


@lru_cache(maxsize=64)
def _rows(text: str, length: int) -> frozenset[tuple[str, ...]]:
    return frozenset(_in_rows([word.casefold() for word in _WORD.findall(text)], length))


def _in_rows(words: list[str], length: int) -> Iterator[tuple[str, ...]]:
    """Each run of so many words."""
    return zip(*(words[at:] for at in range(length)), strict=False)


def _secrets(text: str) -> list[str]:
    """What stands under a telling name, and what looks as if no one could have thought of it."""
    named = [match.group(1).rstrip(".") for match in _NAMED.finditer(text)]
    looks = [t.strip(".") for t in _TOKEN.findall(text) if len(_CHANGE.findall(t)) >= _CHANGES]
    return list(dict.fromkeys((*looks, *(word for word in named if any(c.isdigit() for c in word)))))


def _merge_spans(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    made: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if made and start <= made[-1][1] + 1:
            made[-1] = (made[-1][0], max(made[-1][1], end))
        else:
            made.append((start, end))
    return made
