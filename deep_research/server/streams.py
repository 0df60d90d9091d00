"""The streams that are open, within a cap for each user and for all together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from deep_research.errors import QuotaError

MAX_STREAMS = 1_000
MAX_USER_STREAMS = 100
RETRY_SECONDS = 10


class Streams:
    """Counts open streams by the name of their user."""

    def __init__(self, most: int = MAX_STREAMS, most_of_user: int = MAX_USER_STREAMS) -> None:
        self._most = most
        self._most_of_user = most_of_user
        self._by_user: Counter[str | None] = Counter()

    @property
    def count(self) -> int:
        return self._by_user.total()

    def check(self, user: str | None) -> None:
        """Raises `QuotaError` where the user may open no further stream."""
        if self.count >= self._most or self._by_user[user] >= self._most_of_user:
            raise QuotaError(
                f"{self._by_user[user]} of your streams are open, of all users {self.count}; at most"
                f" {self._most_of_user} and {self._most} may be.",
                hint="Close one.",
                retry_after=RETRY_SECONDS,
            )

    @contextmanager
    def opened(self, user: str | None) -> Iterator[None]:
        self._by_user[user] += 1
        try:
            yield
        finally:
            self._by_user[user] -= 1
            if not self._by_user[user]:
                del self._by_user[user]
