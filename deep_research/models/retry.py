"""Retries of model requests. A unit of work has a limited number of requests and a time limit, shared by everything that
asks again. In one run, the same request goes to a model at most `MAX_REQUESTS` times."""

from __future__ import annotations

import asyncio
import math
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt
from tenacity.stop import stop_base

from deep_research.calls import TEXT_UNIT_CHARS, contained, first, off_loop
from deep_research.errors import DeepResearchError, ModelError, StopResearch, bounded_line
from deep_research.limits import Gate
from deep_research.logs import cut, describe_error
from deep_research.models.base import ModelCall, ModelProvider, Reply, StopReason, TokenUsage
from deep_research.models.characters import whole
from deep_research.models.failures import MAX_WAIT_SECONDS, Verdict, failure, usage_of
from deep_research.models.recording import key_of
from deep_research.models.stream import Pieces
from deep_research.models.thoughts import AnswerStream, answer_text
from deep_research.models.tool_calls import is_shallow

MAX_REQUESTS = 4  # of one unit of work, and of one wording in a run
REQUEST_TIMEOUTS_PER_UNIT = 2.5  # time limit of a unit: after one request hangs, another has its full time
MIN_REQUEST_SECONDS = 0.001  # HTTP clients accept no negative time
GRACE_SECONDS = 0.05  # after its deadline, a provider that has not returned is cancelled
FIRST_WAIT = 0.5  # seconds, doubled each time
MAX_BACKOFF_SECONDS = 8.0
MAX_BACKOFF_SHARE = 0.25  # largest share of the time left that a wait may use
JITTER = 1.0  # seconds at most, so that many runs do not come back at the same moment

MAX_ANSWER_CHARS = 400_000  # twice the longest report that one may want
MAX_NAME_CHARS = 300  # of a model, and of a request

OnWait = Callable[[float, ModelError], None]  # seconds to wait, and for what
Sleep = Callable[[float], Awaitable[None]]

Wording = tuple[str, str]  # which model of which server, and a digest of what it reads


class ReservedCall(Protocol):
    """A request that is set aside for. ``call`` is what may be sent: its answer may have to be shorter than wanted."""

    @property
    def call(self) -> ModelCall: ...


class UsageRecorder(Protocol):
    """Records each request before it is sent, and its cost afterwards. An error of `reserve` ends the unit. The retries
    pass what `reserve` returns to `settle`, or to `lose` if the request was cancelled."""

    async def reserve(self, provider: ModelProvider, call: ModelCall) -> ReservedCall: ...

    async def settle(self, reserved: Any, outcome: Reply | ModelError, seconds: float) -> None: ...

    def lose(self, reserved: Any) -> None: ...


def loop_time() -> float:
    """Seconds by the clock of the running loop, by which its deadlines are kept."""
    return asyncio.get_running_loop().time()


class _TooOftenError(Exception):
    """The wording was already sent as often as allowed."""


@dataclass(slots=True)
class Tries:
    """What one unit of work may still ask, until when (by ``clock``), and what it has used. ``request_seconds`` is the
    time limit of one request. ``partial`` are the cut replies so far, used if no better one comes."""

    deadline: float
    request_seconds: float = math.inf
    left: int = MAX_REQUESTS
    requests: int = 0
    usage: TokenUsage = field(default_factory=TokenUsage)
    clock: Callable[[], float] = loop_time
    partial: list[Reply] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        return self.deadline - self.clock()


def _never(_outcome: ModelError) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Persistence:
    """How to ask again. ``gates`` are entered in their order: the model's own, if there is one, then the service's;
    ``wordings`` are those of the run. All of it can be replaced in tests."""

    sleep: Sleep = asyncio.sleep
    chance: Callable[[], float] = random.random
    on_wait: OnWait | None = None
    gates: tuple[Gate, ...] = ()
    usage_recorder: UsageRecorder | None = None
    wordings: Wordings = field(default_factory=lambda: Wordings(math.inf))

    async def send(
        self,
        provider: ModelProvider,
        call: ModelCall,
        tries: Tries,
        pieces: Pieces | None = None,
        *,
        usable: Callable[[Reply], Awaitable[bool]] | None = None,
        in_vain: Callable[[ModelError], bool] = _never,
    ) -> Reply:
        """Return the reply. Repeats a request that was cut, or failed in a way that may pass, while ``tries`` lasts,
        unless ``in_vain(error)`` or ``usable(reply)`` is true; stores cut replies in ``tries.partial``.

        Raises `ModelError`, with the usage and number of all requests of the unit. Malformed data from the service counts
        as ``transient``; a request sent too often fails as ``malformed``, so that another model is tried.
        """
        wording = _wording_of(provider, call)

        async def once() -> Reply:
            if tries.left <= 0 or tries.seconds <= 0:
                raise _spent(provider, tries)
            if pieces is not None:
                pieces.void()
            reply = await self._once(provider, call, tries, pieces, wording)
            if reply.stop is StopReason.INCOMPLETE and not (usable and await usable(reply)):
                if reply.text.strip():
                    tries.partial.append(reply)
                raise failure(
                    Verdict.INCOMPLETE,
                    "the answer was cut off",
                    model=provider.name,
                    request_id=reply.request_id,
                )
            return reply

        retrying = AsyncRetrying(
            stop=stop_after_attempt(max(1, tries.left))
            | _StopRetrying(tries, lambda: self.wordings.is_used_up(wording)),
            wait=partial(self._wait, tries),
            retry=retry_if_exception(
                lambda e: _may_help(e) and not (isinstance(e, ModelError) and in_vain(e))
            ),
            sleep=self.sleep,
            before_sleep=self._report_wait,
            reraise=True,
        )
        try:
            return await retrying(once)
        except _TooOftenError:
            failed = with_unit_usage(_sent_too_often(provider), tries)
        except ModelError as error:
            failed = with_unit_usage(error, tries)
            if failed.verdict == Verdict.MALFORMED:
                failed.data["verdict"] = Verdict.TRANSIENT.value
        # Raised here, the error drags along no frames of a provider, whose variables may hold keys.
        raise failed

    async def _once(
        self,
        provider: ModelProvider,
        call: ModelCall,
        tries: Tries,
        pieces: Pieces | None,
        wording: Wording,
    ) -> Reply:
        async with AsyncExitStack() as stack:
            began = tries.clock()
            if not self.wordings.take(wording):
                raise _TooOftenError
            try:
                for gate in self.gates:
                    await stack.enter_async_context(gate.entered())
                reserved = await self.usage_recorder.reserve(provider, call) if self.usage_recorder else None
            except BaseException:
                self.wordings.give_back(wording)
                raise
            tries.deadline += tries.clock() - began  # the queue's time is not the model's
            tries.left -= 1
            tries.requests += 1
            sent = tries.clock()
            try:
                seconds = max(MIN_REQUEST_SECONDS, min(tries.request_seconds, tries.seconds))
                outcome = await _send_once(provider, reserved.call if reserved else call, seconds, pieces)
            except BaseException:  # cancelled, most often
                tries.usage += TokenUsage(is_known=False)
                if self.usage_recorder:
                    self.usage_recorder.lose(reserved)
                raise
            if self.usage_recorder:
                await self.usage_recorder.settle(reserved, outcome, tries.clock() - sent)
        if isinstance(outcome, Reply):
            tries.usage += outcome.usage
            return outcome
        tries.usage += usage_of(outcome)
        asked = _retry_after_seconds(outcome)
        if asked and asked <= MAX_WAIT_SECONDS:
            for gate in self.gates[-1:]:  # the service's: it would tell all others the same
                gate.pause(asked)
        raise outcome

    def _wait(self, tries: Tries, state: RetryCallState) -> float:
        """Waits as long as the service asks, plus jitter; otherwise doubles the wait each time, minus up to a quarter."""
        asked = _retry_after_seconds(state.outcome.exception() if state.outcome else None)
        if asked is None:
            backoff = min(MAX_BACKOFF_SECONDS, FIRST_WAIT * 2.0 ** (state.attempt_number - 1))
            return min(backoff, max(0.0, tries.seconds) * MAX_BACKOFF_SHARE) * (1.0 - 0.25 * self.chance())
        return asked + JITTER * self.chance() * min(1.0, asked)

    def _report_wait(self, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        if self.on_wait and isinstance(error, ModelError) and state.next_action:
            self.on_wait(state.next_action.sleep, error)


async def _send_once(
    provider: ModelProvider, call: ModelCall, seconds: float, pieces: Pieces | None
) -> Reply | ModelError:
    """What came of one request, within its seconds. Anyone may write a provider, so anything may be raised in it."""
    stream = None if pieces is None or pieces.take is None else AnswerStream(pieces.take, pieces.void)
    try:
        async with asyncio.timeout(seconds + GRACE_SECONDS):
            with contained():
                reply: object = await provider.send(
                    call.model_copy(update={"timeout": seconds}), None if stream is None else stream.take
                )
        if stream is not None:
            stream.end()
    except TimeoutError:
        problem = f"no answer within {seconds:g} s"
        return failure(Verdict.TRANSIENT, problem, model=provider.name, maybe_billed=True)
    except Exception as raised:
        error = first(raised)
        if pieces is not None and pieces.broke is error:
            raise  # who listens stumbled, not the provider
        if isinstance(error, ModelError):
            return error
        if isinstance(error, DeepResearchError | StopResearch):
            raise error from None
        problem = f"the provider raised {describe_error(error)}"
    else:
        if isinstance(reply, Reply):
            return await _readable(reply)
        problem = f"the provider gave a {type(reply).__name__} in place of a Reply"
    return failure(Verdict.FATAL, problem, model=provider.name, maybe_billed=True)


async def _readable(reply: Reply) -> Reply:
    """The reply with the text of its answer, within bounds: anybody may have written the provider."""
    raw = cut(reply.text, MAX_ANSWER_CHARS)
    text = await off_loop(len(raw) // TEXT_UNIT_CHARS, answer_text, raw)
    beside: dict[str, Any] = {"model": bounded_line(reply.model, MAX_NAME_CHARS)}
    if reply.request_id is not None:
        beside["request_id"] = bounded_line(reply.request_id, MAX_NAME_CHARS)
    if reply.native is not None and not is_shallow(reply.native.blocks):
        beside["native"] = None
    calls = tuple(call for call in reply.calls if is_shallow(call.arguments))
    return whole(reply.model_copy(update={"text": text, "calls": calls, **beside}))


def _may_help(error: BaseException) -> bool:
    return isinstance(error, ModelError) and error.verdict in (
        Verdict.TRANSIENT,
        Verdict.INCOMPLETE,
        Verdict.MALFORMED,  # raised by a provider, it is what the wire carried
    )


def _retry_after_seconds(error: BaseException | None) -> float | None:
    """Seconds that the service asks to wait."""
    asked = error.data.get("retry_after") if isinstance(error, ModelError) else None
    if isinstance(asked, int | float) and math.isfinite(asked) and asked >= 0:
        return float(asked)
    return None


class _StopRetrying(stop_base):
    """Stops if the same may not be asked again, or if the time would be up after the wait."""

    def __init__(self, tries: Tries, is_used_up: Callable[[], bool]) -> None:
        self._tries = tries
        self._is_used_up = is_used_up

    def __call__(self, retry_state: RetryCallState) -> bool:
        return retry_state.upcoming_sleep >= self._tries.seconds or self._is_used_up()


def _spent(provider: ModelProvider, tries: Tries) -> ModelError:
    why = "its time was up" if tries.seconds <= 0 else f"{tries.requests} requests were made"
    return failure(Verdict.TRANSIENT, f"no usable answer before {why}", model=provider.name)


def _sent_too_often(provider: ModelProvider) -> ModelError:
    problem = f"the same was asked {MAX_REQUESTS} times in this run"
    hint = "Another model in the chain, or guidance by a hook, may lead on."
    return failure(Verdict.MALFORMED, problem, model=provider.name, hint=hint)


def with_unit_usage(error: ModelError, tries: Tries) -> ModelError:
    """The same error with the usage of all requests of the unit, and without its traceback and cause."""
    data = dict(error.data) | {
        "usage": tries.usage.model_dump(),
        "requests": tries.requests,
        "maybe_billed": not tries.usage.is_known,
    }
    return ModelError(error.problem, hint=error.hint, **data)


class Wordings:
    """How often each wording was sent to each model in a run, from when it was begun or resumed. Thread-safe."""

    def __init__(self, most: float = MAX_REQUESTS) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._sent: Counter[Wording] = Counter()

    def take(self, wording: Wording) -> bool:
        """Whether it may be sent once more, which is counted."""
        with self._lock:
            if self._sent[wording] >= self._most:
                return False
            self._sent[wording] += 1
            return True

    def give_back(self, wording: Wording) -> None:
        """It was not sent after all."""
        with self._lock:
            self._sent[wording] -= 1

    def is_used_up(self, wording: Wording) -> bool:
        with self._lock:
            return self._sent[wording] >= self._most


def _wording_of(provider: ModelProvider, call: ModelCall) -> Wording:
    """Which model of which server reads it, and what it reads, whatever the form of the answer."""
    said = ModelCall(system=call.system, messages=call.messages, nonce=call.nonce)
    return provider.identity, key_of(said)
