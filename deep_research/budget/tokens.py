"""Tokens of a text and of a call: how many are to be expected, and how many it can be at most.

Two figures, since a wrong guess costs differently. What is *expected* decides how much is put into a prompt. The
*bound* decides whether it may be sent and what is set aside for it, and must never be too small: that is a count with
the model's own encoding, or else the UTF-8 bytes, of which a byte-level encoding needs at least one a token.

What a text is counted to have is remembered, by what it is and how it is counted: a text is counted once a process.
"""

from __future__ import annotations

import asyncio
import functools
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from deep_research.forks import renew_in_children
from deep_research.logs import get_log
from deep_research.models.base import ModelCall

LOAD_SECONDS = 5.0  # an encoding that is not here by then is done without
BYTES_A_TOKEN = 3.0  # expected of prose without an encoding: English takes 4.5, tables and JSON 2
MEASURED = (2.0, 6.0)  # what is believed of a measurement
CAUTION = 0.9  # of what was measured: the next texts may be others
IN_PLACE = 20_000  # characters that are counted on the loop; more take a thread
# Tokens that services add around what is sent, at most: for a request, for each part of a turn, for a form or tools.
PER_CALL, PER_MESSAGE, PER_FORM = 64, 12, 600

log = get_log("tokens")

MOST = 100_000  # texts that are remembered, those asked for last


class Encoding(Protocol):
    def encode_ordinary(self, text: str) -> list[int]: ...


class Encodings:
    """Encodings by name, loaded when first asked for in a thread of their own, since loading may want the network and
    wait for it without end. Thread-safe."""

    def __init__(self, seconds: float = LOAD_SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._loading: dict[str, threading.Thread] = {}
        self._until: dict[str, float] = {}
        self._loaded: dict[str, Encoding] = {}

    async def get(self, name: str) -> Encoding | None:
        """The encoding, or None when it cannot be had in time. Who asks while it is loaded waits as long as the first,
        so that all count alike; nobody waits for it after that."""
        with self._lock:
            if name not in self._loading:
                thread = threading.Thread(
                    target=self._load, args=(name,), name=f"deep-research-{name}", daemon=True
                )
                self._loading[name] = thread
                self._until[name] = time.monotonic() + self._seconds
                thread.start()
            thread, left = self._loading[name], self._until[name] - time.monotonic()
        if left > 0 and thread.is_alive():
            await asyncio.to_thread(thread.join, left)
        with self._lock:
            return self._loaded.get(name)

    def _load(self, name: str) -> None:
        try:
            import tiktoken  # here, because importing the package must stay cheap

            loaded = tiktoken.get_encoding(name)
        except Exception as error:  # no network, no such encoding, a folder that cannot be written
            log.info("encoding_missing", encoding=name, error=type(error).__name__)
            return
        with self._lock:
            self._loaded[name] = loaded


@functools.cache
def encodings() -> Encodings:
    """Those of the process: each takes a second and tens of megabytes."""
    return Encodings()


@dataclass(frozen=True, slots=True)
class Counter:
    """Counts for one model. ``encoding`` is its own, or None where there is none that can be had; then tokens are
    expected by the bytes. ``name`` says how is counted."""

    encoding: Encoding | None = None
    name: str = ""
    bytes_a_token: float = BYTES_A_TOKEN

    @classmethod
    async def of(cls, encoding: str | None, measured: float | None = None) -> Counter:
        """``measured`` are the bytes that a token of the model was found to have."""
        found = await encodings().get(encoding) if encoding else None
        if found is not None:
            return cls(found, encoding or "")
        if measured is None:
            return cls()
        believed = min(max(round(CAUTION * measured, 2), MEASURED[0]), MEASURED[1])
        return cls(None, f"{believed} bytes", believed)

    @property
    def exact(self) -> bool:
        return self.encoding is not None

    def expected(self, text: str) -> int:
        """About how many tokens a text has."""
        if self.encoding is not None:
            return len(self.encoding.encode_ordinary(text))
        return round(_bytes(text) / self.bytes_a_token)

    def bound(self, text: str) -> int:
        """How many tokens a text has at most."""
        return len(self.encoding.encode_ordinary(text)) if self.encoding is not None else _bytes(text)

    async def bound_of(self, call: ModelCall) -> int:
        """How many tokens a call has as input at most, what the service adds included."""
        return await self._of(call, self.bound)

    async def expected_of(self, call: ModelCall) -> int:
        return await self._of(call, self.expected)

    @staticmethod
    def bytes_of(call: ModelCall) -> int:
        """Those of all texts of a call."""
        return sum(map(_bytes, _texts(call)))

    async def _of(self, call: ModelCall, count: Callable[[str], int]) -> int:
        texts = _texts(call)
        parts = sum(1 + len(message.calls) + len(message.outputs) for message in call.messages)
        around = PER_CALL + PER_MESSAGE * (parts + len(call.tools) + 1)
        around += PER_FORM * (call.form is not None or bool(call.tools))
        around += sum(message.native.tokens for message in call.messages if message.native)
        if self.encoding is not None and sum(map(len, texts)) > IN_PLACE:
            return around + sum(await asyncio.to_thread(lambda: [count(text) for text in texts]))
        return around + sum(map(count, texts))


def _texts(call: ModelCall) -> list[str]:
    texts = list(call.texts)
    if call.form is not None:
        texts += [call.form.name, call.form.description, json.dumps(call.form.json_schema)]
    for tool in call.tools:
        texts += [tool.name, tool.description, json.dumps(tool.parameters)]
    return texts


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


class Counts:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[str, str], int] = OrderedDict()

    def known_count(self, content_hash: str, counter: Counter) -> int | None:
        """About how many tokens the text of that hash has, where it was counted before."""
        key = content_hash, counter.name
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def count(self, content_hash: str, text: str, counter: Counter) -> int:
        """About how many tokens ``text``, whose hash that is, has."""
        found = self.known_count(content_hash, counter)
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
