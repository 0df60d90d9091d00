"""Counting tokens as these servers do, and the prompt caches that make some of them cheap."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from servers.server_exchange import Segment

STRETCH = 512  # bytes: 128 tokens


def prompt_tokens(segments: Sequence[Segment]) -> int:
    """Rounded up once for the whole prompt, so that the parts of a prompt add up."""
    return _rounded_up(sum(len(segment.text.encode()) for segment in segments))


class PrefixCache:
    """Remembers the prefixes of prompts.

    A service with marked prefixes keeps those that end at a breakpoint; one without (``implicit``) keeps all that end
    with a segment, or within one after so many times `STRETCH`. ``least``: tokens below which a prefix is not kept.
    """

    def __init__(self, *, least: int = 0) -> None:
        self._least = least
        self._known: set[bytes] = set()

    def clear(self) -> None:
        self._known.clear()

    def look(self, scope: str, segments: Sequence[Segment], *, implicit: bool) -> tuple[int, int]:
        """The tokens (read, written) for a prompt, whose prefixes are known from now on.

        ``scope``: caches of different models, services or cache keys know nothing of one another.
        """
        read, longest, size = 0, 0, 0
        running = hashlib.sha256(scope.encode())
        fresh = []
        for segment in segments:
            running.update(b"segment")
            for stretch in _stretches(segment.text.encode()) if implicit else [segment.text.encode()]:
                running.update(stretch)
                size += len(stretch)
                if not (implicit or segment.marked) or _rounded_up(size) < self._least:
                    continue
                longest = _rounded_up(size)
                if running.digest() in self._known:
                    read = longest
                fresh.append(running.digest())
        self._known.update(fresh)
        return read, 0 if implicit else longest - read


def _stretches(text: bytes) -> list[bytes]:
    return [text[at : at + STRETCH] for at in range(0, len(text), STRETCH)] or [b""]


def _rounded_up(size: int) -> int:
    return -(-size // 4)
