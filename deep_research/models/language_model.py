"""A language model as agents hold it: text or a validated object, within a deadline and four requests, with books."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel

from deep_research.errors import ModelError, WindowError
from deep_research.models import structured
from deep_research.models.base import Message, ModelCall, ModelProvider, Reply, StopReason, TokenUsage
from deep_research.models.failures import Verdict, failure, limits_of
from deep_research.models.probe import Probes, Windows
from deep_research.models.profiles import Profile
from deep_research.models.retry import (
    REQUEST_TIMEOUTS_PER_UNIT,
    Persistence,
    Tries,
    loop_time,
    with_unit_usage,
)
from deep_research.models.stream import WORTH, OnPiece, Pieces, going_on, join_texts
from deep_research.models.structured import Abilities, Rung
from deep_research.models.tool_turns import ToolLadder

_T = TypeVar("_T")
_Object = TypeVar("_Object", bound=BaseModel)


MIN_ANSWER_TOKENS = 256  # of an answer that is worth asking for
BYTES_A_TOKEN = 3.0
TOKENS_AROUND = 64  # what servers put around a prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[_T]):
    """What a model gave and what it took: ``usage`` and ``requests`` are those of the whole unit, failed tries too.
    ``stop`` is END, or for a text LENGTH or INCOMPLETE where it is not whole."""

    value: _T
    stop: StopReason
    usage: TokenUsage
    requests: int
    model: str
    rung: Rung | None = None


class LanguageModel(Protocol):
    """What an agent is handed. All three raise `ModelError`; its ``data`` holds the usage of the unit."""

    @property
    def name(self) -> str: ...

    @property
    def profile(self) -> Profile: ...

    def room(self, output: int) -> int:
        """Tokens that may be sent, by plan, for an answer of so many at most."""

    async def text(self, call: ModelCall, *, on_piece: OnPiece | None = None) -> Answer[str]: ...

    async def object(self, call: ModelCall, answer: type[_Object]) -> Answer[_Object]: ...

    async def turn(self, call: ModelCall) -> Answer[Message]:
        """The next turn of a conversation with tools, to be added to it. Every one of its calls wants an output."""


class SingleModel:
    """One model behind one provider. ``timeout`` is the time limit of a request, in seconds, unless a call sets its
    own. ``unit_timeout`` is that of the unit, by default `REQUEST_TIMEOUTS_PER_UNIT` times ``timeout``: waits count, the
    time in the queue of the process's limits does not. If a call sets its own limit, that of its unit changes in
    proportion."""

    def __init__(
        self,
        provider: ModelProvider,
        profile: Profile,
        *,
        abilities: Abilities,
        persistence: Persistence | None = None,
        timeout: float = 120.0,
        unit_timeout: float | None = None,
        probes: Probes | None = None,
        windows: Windows | None = None,
        clock: Callable[[], float] = loop_time,
    ) -> None:
        self.provider = provider
        self._profile = profile
        self._windows = windows
        self._abilities = abilities
        self._persistence = persistence or Persistence()
        self._timeout = timeout
        self._units = REQUEST_TIMEOUTS_PER_UNIT if unit_timeout is None else unit_timeout / timeout
        self._probes = probes
        self._clock = clock

    @property
    def name(self) -> str:
        return self.provider.name

    @property
    def profile(self) -> Profile:
        """The profile with the window that is known by now."""
        return self._windows.profile_of(self.provider) if self._windows is not None else self._profile

    def room(self, output: int) -> int:
        return max(0, self.profile.context - min(output, self.profile.output))

    async def text(self, call: ModelCall, *, on_piece: OnPiece | None = None) -> Answer[str]:
        """A text. Of one that the wire cut the rest is asked for; one that its cap cut is asked for again with twice the
        room. Where nothing better comes of it, the longest is given as it is. An empty one is asked for once more."""
        tries, pieces = self._tries(call), Pieces(on_piece)
        try:
            reply = await self._in_window(call, tries, lambda fitted: self._text(fitted, tries, pieces))
        except (ModelError, WindowError):
            if not tries.partial:
                raise
            reply = max(tries.partial, key=lambda partial: len(partial.text))
        pieces.end(reply.text)
        return Answer(
            value=reply.text,
            stop=reply.stop,
            usage=tries.usage,
            requests=tries.requests,
            model=reply.model or self.name,
        )

    async def object(self, call: ModelCall, answer: type[_Object]) -> Answer[_Object]:
        """An object. What a model can do that nothing is known of is found out first, with a small question."""
        await self._find_out()
        found, tries = await self._unit(
            call,
            lambda fitted, tries: structured.ask(
                self.provider,
                fitted,
                answer,
                tries,
                persistence=self._persistence,
                abilities=self._abilities,
                most_output=self.profile.output,
                forms=self.profile.forms,
            ),
        )
        return Answer(
            value=found.value,
            stop=StopReason.END,
            usage=tries.usage,
            requests=tries.requests,
            model=found.reply.model or self.name,
            rung=found.rung,
        )

    async def turn(self, call: ModelCall) -> Answer[Message]:
        """A turn by the service's own calls of tools, else as an object that holds them: see `ToolLadder`."""
        taken, tries = await self._unit(
            call,
            lambda fitted, tries: ToolLadder(
                self.provider,
                tries,
                self._persistence,
                self._abilities,
                self.profile.output,
                self.profile.forms,
                self._find_out,
            ).take(fitted),
        )
        return Answer(
            value=taken.message,
            stop=StopReason.END,
            usage=tries.usage,
            requests=tries.requests,
            model=taken.reply.model or self.name,
            rung=taken.rung,
        )

    async def _find_out(self) -> None:
        if self._probes is not None and self.profile.forms is None:
            await self._probes.ensure(
                self.provider,
                self.profile,
                self._persistence,
                seconds=self._timeout,
                unit_seconds=self._timeout * self._units,
            )

    async def _unit(
        self, call: ModelCall, ask: Callable[[ModelCall, Tries], Awaitable[_T]]
    ) -> tuple[_T, Tries]:
        """What comes of a unit of requests, and what they took; an error holds that as well."""
        tries = self._tries(call)
        try:
            return await self._in_window(call, tries, lambda fitted: ask(fitted, tries)), tries
        except ModelError as error:
            failed = with_unit_usage(error, tries)
        raise failed

    async def _text(self, call: ModelCall, tries: Tries, pieces: Pieces) -> Reply:
        """A whole text. What there is of others is in ``tries.partial``."""
        larger = min(self.profile.output, call.max_output * 2)
        empty = False
        so_far = ""
        while True:
            asked = going_on(call, so_far) if so_far else call
            reply = await self._persistence.send(
                self.provider, asked, tries, pieces, usable=_is_worth_keeping
            )
            if so_far and reply.stop is not StopReason.REFUSAL:
                reply = reply.model_copy(update={"text": join_texts(so_far, reply.text)})
            blank = not reply.text.strip()
            if reply.stop is StopReason.INCOMPLETE:
                tries.partial.append(reply)
                if tries.left <= 0 or tries.seconds <= 0:
                    raise with_unit_usage(self._failure(Verdict.INCOMPLETE, "the answer was cut off"), tries)
                so_far = reply.text
                pieces.keep()
                continue
            if reply.stop is StopReason.REFUSAL:
                raise with_unit_usage(self._failure(Verdict.REFUSAL, "the model refused to answer"), tries)
            if reply.stop is StopReason.LENGTH:
                if not blank:
                    tries.partial.append(reply)
                if larger <= call.max_output or tries.left <= 0:
                    raise with_unit_usage(
                        self._failure(Verdict.LENGTH, "the answer did not fit its limit"), tries
                    )
                call = call.model_copy(update={"max_output": larger})
            elif not blank:
                return reply
            elif empty or tries.left <= 0:
                raise with_unit_usage(self._failure(Verdict.MALFORMED, "the answer is empty"), tries)
            else:
                empty = True

    async def _in_window(
        self, call: ModelCall, tries: Tries, ask: Callable[[ModelCall], Awaitable[_T]]
    ) -> _T:
        """Returns the outcome of a call. After an error that names a smaller window than was known, one more request asks
        for an answer that leaves room for the prompt, if there is any: only its author can shorten a prompt."""
        asked_for = self.profile
        try:
            return await ask(self._fitted(call))
        except ModelError as error:
            if self._windows is None or tries.left <= 0:
                raise
            # Another request may have learned it while this one was on its way.
            learned = self._windows.learn(self.provider, error) or self.profile != asked_for
            if not learned or limits_of(error) == (None, None):
                raise
            output = self.profile.context - expected_tokens(call)
            if output < MIN_ANSWER_TOKENS:
                raise
        return await ask(self._fitted(call.model_copy(update={"max_output": min(call.max_output, output)})))

    async def aclose(self) -> None:
        await self.provider.aclose()

    def _tries(self, call: ModelCall) -> Tries:
        seconds = call.timeout if "timeout" in call.model_fields_set else self._timeout
        return Tries(self._clock() + seconds * self._units, request_seconds=seconds, clock=self._clock)

    def _fitted(self, call: ModelCall) -> ModelCall:
        return call.model_copy(
            update={
                "max_output": min(call.max_output, self.profile.output),
                "context": call.context or self.profile.context,
            }
        )

    def _failure(self, verdict: Verdict, problem: str) -> ModelError:
        return failure(verdict, problem, model=self.name)


def expected_tokens(call: ModelCall) -> int:
    """About how many tokens a prompt has: as many as there are to be in prose with tables."""
    size = sum(len(text.encode("utf-8", "replace")) for text in call.texts)
    tools = sum(len(tool.model_dump_json()) for tool in call.tools)
    thoughts = sum(message.native.tokens for message in call.messages if message.native)
    return round((size + tools) / BYTES_A_TOKEN) + thoughts + TOKENS_AROUND


async def _is_worth_keeping(reply: Reply) -> bool:
    """Whether so much of a cut answer came that the rest is asked for, and not all of it again."""
    return len(reply.text.strip()) >= WORTH
