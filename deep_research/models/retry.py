"""The one place that asks again. A unit of work has so many requests in all, whatever they are used for."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.stop import stop_base

from deep_research.errors import ModelError
from deep_research.models.base import ModelCall, ModelProvider, OnText, Reply, StopReason, TokenUsage
from deep_research.models.limits import Gate
from deep_research.models.verdicts import LONGEST_WAIT, Verdict, failure

MOST_REQUESTS = 4
FIRST_WAIT = 0.5  # seconds, doubled each time
LONGEST_BACKOFF = 8.0
GRACE = 0.05  # seconds after which a provider that does not keep its deadline is left
JITTER = 1.0  # seconds at most, so that many runs do not come back at the same moment

OnWait = Callable[[float, ModelError], None]  # seconds to wait, and for what
OnPiece = Callable[
    [str | None], None
]  # a piece of an answer; None: what came is void, the answer begins anew
Sleep = Callable[[float], Awaitable[None]]


class Book(Protocol):
    """Where each request is set down before it is sent, and its cost after it. What `reserve` raises ends the unit;
    what it gives is handed to `settle`, or to `lose` when the request was cancelled."""

    async def reserve(self, provider: ModelProvider, call: ModelCall) -> Any: ...

    async def settle(self, reserved: Any, outcome: Reply | ModelError, seconds: float) -> None: ...

    def lose(self, reserved: Any) -> None: ...


@dataclass(slots=True)
class Tries:
    """What one unit of work may still ask, until when (by ``clock``), and what it has used."""

    deadline: float
    left: int = MOST_REQUESTS
    requests: int = 0
    usage: TokenUsage = field(default_factory=TokenUsage)
    clock: Callable[[], float] = time.monotonic

    @property
    def seconds(self) -> float:
        return self.deadline - self.clock()


@dataclass(frozen=True, slots=True)
class Persistence:
    """How to ask again. All of it can be replaced in tests."""

    sleep: Sleep = asyncio.sleep
    chance: Callable[[], float] = random.random
    on_wait: OnWait | None = None
    gates: tuple[Gate, ...] = ()
    book: Book | None = None

    async def send(
        self, provider: ModelProvider, call: ModelCall, tries: Tries, on_piece: OnPiece | None = None
    ) -> Reply:
        """The reply, asked for again while that may help and ``tries`` lasts. A cut answer is returned as it is when
        nothing better came. Raises `ModelError`, with the usage and number of all requests of the unit."""
        cut: list[Reply] = []

        async def once() -> Reply:
            if tries.left <= 0 or tries.seconds <= 0:
                raise _spent(provider, tries)
            if cut and on_piece:
                on_piece(None)
            reply = await self._once(provider, call, tries, on_piece)
            if reply.stop is StopReason.INCOMPLETE:
                cut.append(reply)
                raise failure(Verdict.INCOMPLETE, "the answer was cut off", model=provider.name)
            return reply

        retrying = AsyncRetrying(
            stop=stop_after_attempt(max(1, tries.left)) | _NoTime(tries),
            wait=self._wait,
            retry=retry_if_exception(_may_help),
            sleep=self.sleep,
            before_sleep=self._told,
            reraise=True,
        )
        try:
            return await retrying(once)
        except ModelError as error:
            longest = max(cut, key=lambda r: len(r.text), default=None)
            if error.verdict == Verdict.INCOMPLETE and longest is not None and longest.text.strip():
                return longest
            raise with_books(error, tries) from error.__cause__

    async def _once(
        self, provider: ModelProvider, call: ModelCall, tries: Tries, on_piece: OnPiece | None
    ) -> Reply:
        async with AsyncExitStack() as stack:
            began = tries.clock()
            for gate in self.gates:
                await stack.enter_async_context(gate.entered())
            reserved = await self.book.reserve(provider, call) if self.book else None
            tries.deadline += tries.clock() - began  # the queue's time is not the model's
            tries.left -= 1
            tries.requests += 1
            sent = tries.clock()
            try:
                outcome = await _sent(provider, call, tries.seconds, on_piece)
            except BaseException:  # cancelled, most often
                if self.book:
                    self.book.lose(reserved)
                raise
            if self.book:
                await self.book.settle(reserved, outcome, tries.clock() - sent)
        if isinstance(outcome, Reply):
            tries.usage += outcome.usage
            return outcome
        tries.usage += usage_of(outcome)
        asked = outcome.data.get("retry_after")
        if asked and asked <= LONGEST_WAIT:
            for gate in self.gates[:1]:  # the service's: it would tell all others the same
                gate.pause(asked)
        raise outcome

    def _wait(self, state: RetryCallState) -> float:
        """What the service asks for, else twice as long each time; and a little more by chance."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.data.get("retry_after") if isinstance(error, ModelError) else None
        if asked is None:
            backoff = min(LONGEST_BACKOFF, FIRST_WAIT * 2.0 ** (state.attempt_number - 1))
            return backoff * (1.0 - 0.25 * self.chance())
        return float(asked) + JITTER * self.chance() * min(1.0, float(asked))

    def _told(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if self.on_wait and isinstance(error, ModelError) and state.next_action:
            self.on_wait(state.next_action.sleep, error)


async def _sent(
    provider: ModelProvider, call: ModelCall, seconds: float, on_text: OnText | None
) -> Reply | ModelError:
    """What came of one request, within its seconds."""
    try:
        async with asyncio.timeout(seconds + GRACE):
            return await provider.send(call.model_copy(update={"timeout": seconds}), on_text)
    except TimeoutError:
        problem = f"no answer within {seconds:g} s"
        return failure(Verdict.TRANSIENT, problem, model=provider.name, maybe_billed=True)
    except ModelError as error:
        return error


def _may_help(error: BaseException) -> bool:
    return isinstance(error, ModelError) and error.verdict in (Verdict.TRANSIENT, Verdict.INCOMPLETE)


class _NoTime(stop_base):
    """Stops where the deadline would pass during the wait: nobody sleeps for nothing."""

    def __init__(self, tries: Tries) -> None:
        self._tries = tries

    def __call__(self, retry_state: RetryCallState) -> bool:
        return retry_state.upcoming_sleep >= self._tries.seconds


def _spent(provider: ModelProvider, tries: Tries) -> ModelError:
    why = "its time was up" if tries.seconds <= 0 else f"{tries.requests} requests were made"
    return failure(Verdict.TRANSIENT, f"no usable answer before {why}", model=provider.name)


def usage_of(error: ModelError) -> TokenUsage:
    """What the request, or all requests of the unit, took; not known where they may have been paid for in vain."""
    return TokenUsage.model_validate(error.data.get("usage") or {})


def with_books(error: ModelError, tries: Tries) -> ModelError:
    """The same error with what all requests of the unit have used."""
    data = dict(error.data) | {"usage": tries.usage.model_dump(), "requests": tries.requests}
    return ModelError(error.problem, hint=error.hint, **data)
