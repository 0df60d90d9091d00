"""Tokens of a text and of a call: how many are expected, how many there can be at most, and the window that they fit.

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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from deep_research.forks import renew_in_children
from deep_research.logs import get_log
from deep_research.models.base import Effort, ModelCall
from deep_research.models.profiles import Profile
from deep_research.state import ModelRole
from deep_research.state.phases import EVERY_ROLE

LOAD_SECONDS = 5.0  # an encoding that is not here by then is done without
BYTES_A_TOKEN = 3.0  # expected of prose without an encoding: English takes 4.5, tables and JSON 2
MEASURED = (2.0, 6.0)  # what is believed of a measurement
CAUTION = 0.9  # of what was measured: the next texts may be others
IN_PLACE = 20_000  # characters that are counted on the loop; more take a thread
MAX_REMEMBERED_TEXTS = 100_000  # whose counts are kept, those asked for last
# Tokens that services add around what is sent, at most: for a request, for each part of a turn, for a form or tools.
PER_CALL, PER_MESSAGE, PER_FORM = 64, 12, 600

log = get_log("tokens")
# Tokens that the environment of a call takes beside it, as the spec gives them.
RUNTIMES = {
    "direct-api": 10_000,
    "gemini-cli": 20_000,
    "codex": 30_000,
    "cursor": 40_000,
    "claude-code": 60_000,
}
# Of the window at most: ten thousand tokens of a small local model's would be all it has.
MAX_OVERHEAD_SHARES = {"direct-api": 0.05}
SAFETY_MARGIN = 0.15
MIN_ANSWER_TOKENS = 256
# Those who decide what is done, and who write and judge; the others read and sort.
USUAL_EFFORT: Mapping[str, Effort] = MappingProxyType(
    {
        ModelRole.SUPERVISOR.value: Effort.HIGH,
        ModelRole.PLANNER.value: Effort.HIGH,
        ModelRole.REFINER.value: Effort.HIGH,
        ModelRole.TASK_AGENT.value: Effort.MEDIUM,
        ModelRole.SYNTHESIZER.value: Effort.MEDIUM,
        ModelRole.JUDGE.value: Effort.MEDIUM,
    }
)


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
    """Counts for one model. ``encoding``: the model's own; None if unavailable, then tokens are estimated from bytes.
    ``name``: how it counts."""

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
        """Return an upper bound on the input tokens of a call, with what the service adds."""
        return await self._of(call, self.bound)

    async def expected_of(self, call: ModelCall) -> int:
        return await self._of(call, self.expected)

    @staticmethod
    def bytes_of(call: ModelCall) -> int:
        """Return the UTF-8 bytes of all texts of a call."""
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
                while len(self._known) > MAX_REMEMBERED_TEXTS:
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


@dataclass(frozen=True, slots=True)
class Window:
    """A model's window in tokens. ``output`` is kept for the answer, ``overhead`` for what surrounds a call, and of
    what is left ``margin`` (a fraction) for counts that are wrong."""

    context: int
    output: int
    overhead: int = 0
    margin: float = SAFETY_MARGIN

    @classmethod
    def of(
        cls,
        context: int,
        output: int,
        *,
        runtime: str = "direct-api",
        overhead: int | None = None,
        margin: float,
    ) -> Window:
        """With so much ``overhead``, or what the ``runtime`` takes."""
        if overhead is None:
            overhead = RUNTIMES[runtime]
            if runtime in MAX_OVERHEAD_SHARES:
                overhead = min(overhead, int(context * MAX_OVERHEAD_SHARES[runtime]))
        return cls(context, min(output, context // 2), overhead, margin)

    @property
    def input(self) -> int:
        """Tokens that may be sent by plan. The margin is for the planner alone: see ``most``."""
        return max(0, int((self.context - self.output - self.overhead) * (1 - self.margin)))

    @property
    def most(self) -> int:
        """Tokens that may be sent at all: what is certain to be a bound needs no margin."""
        return max(0, self.context - self.output - self.overhead)


def answer_cap(most: int, profile: Profile) -> int:
    """Tokens that an answer may have: ``most``, but of a small window no more than a third."""
    return max(MIN_ANSWER_TOKENS, min(most, profile.output, profile.context // 3))


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The ``effort`` and the tokens for ``thinking`` that an owner wants, by role or for `EVERY_ROLE`; a role's own goes
    first.

    >>> Reasoning(effort={"all": "low", "planner": "medium"}).effort_of(ModelRole.PLANNER)
    <Effort.MEDIUM: 'medium'>
    """

    effort: Mapping[str, str] = field(default_factory=dict)
    thinking: Mapping[str, int] = field(default_factory=dict)

    def effort_of(self, role: ModelRole) -> Effort:
        """What is wanted, else what is usual."""
        wanted = self.effort.get(role) or self.effort.get(EVERY_ROLE)
        return Effort(wanted) if wanted else USUAL_EFFORT.get(role, Effort.LOW)

    def thinking_of(self, role: ModelRole) -> int:
        """Tokens that are for thinking alone; 0: as many as the service has it."""
        return self.thinking.get(role, self.thinking.get(EVERY_ROLE, 0))

    def output(self, role: ModelRole, output: int, profile: Profile) -> int:
        """Tokens of an answer of ``output`` tokens with the thinking before it, within what the model has."""
        thinking = self.thinking_of(role)
        return max(output, answer_cap(output + thinking, profile)) if thinking else output

    def call(self, role: ModelRole, call: ModelCall, profile: Profile) -> ModelCall:
        """The call as it is sent for a role; an effort and thinking of its own go before."""
        return call.model_copy(
            update={
                "effort": call.effort or self.effort_of(role),
                "thinking": call.thinking if call.thinking is not None else self.thinking_of(role),
                "max_output": self.output(role, call.max_output, profile),
            }
        )
