"""What is made of texts to look things up in them, kept for a few texts at a time. Pure.

A prepared text takes many times the memory of the text, and a run has a thousand texts: those that were used last are
kept, the others are made again when they are needed once more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

MOST = 2_000_000  # characters of the texts that are kept prepared: about 20 MB

T = TypeVar("T")


class Prepared(Generic[T]):
    """What was made of texts, by any key. Of the texts that are kept there are at most ``most`` characters in all, or
    one text that is longer.

    Example:
        views = Prepared[View]()
        views.of("S1", text, View)
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._held = 0
        self._made: dict[Hashable, tuple[T, int]] = {}  # the one that was used last comes last

    def of(self, key: Hashable, text: str, make: Callable[[str], T]) -> T:
        """What ``make`` makes of the text, or made of it before."""
        if key in self._made:
            found = self._made[key] = self._made.pop(key)
            return found[0]
        while self._made and self._held + len(text) > self._most:  # before there is one more
            self._held -= self._made.pop(next(iter(self._made)))[1]
        made = make(text)
        self._made[key] = made, len(text)
        self._held += len(text)
        return made

    def __len__(self) -> int:
        """How many texts are kept."""
        return len(self._made)
