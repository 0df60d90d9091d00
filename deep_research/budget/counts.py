"""How many tokens texts have, remembered by what they are and how they are counted: a text is counted once a process."""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict

from deep_research.budget.tokens import Counter
from deep_research.forks import renew_in_children

MOST = 100_000  # texts that are remembered, those asked for last


class Counts:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], int] = OrderedDict()

    def known(self, content_hash: str, counter: Counter) -> int | None:
        """About how many tokens the text of that hash has, where it was counted before."""
        key = content_hash, counter.name
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def count(self, content_hash: str, text: str, counter: Counter) -> int:
        """About how many tokens ``text``, whose hash that is, has."""
        found = self.known(content_hash, counter)
        if found is None:
            found = counter.expected(text)
            with self._lock:
                self._known[content_hash, counter.name] = found
                while len(self._known) > MOST:
                    self._known.popitem(last=False)
        return found

    def renew(self) -> None:
        """In a child process nobody holds the lock."""
        self._lock = threading.Lock()


@functools.cache
def counts() -> Counts:
    """Those of this process."""
    made = Counts()
    renew_in_children(made)
    return made
