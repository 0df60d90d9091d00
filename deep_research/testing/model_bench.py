"""What a check of the model suite works with: a model service on loopback and providers that speak to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import BaseModel

from deep_research.errors import ModelError
from deep_research.models.base import Form, Message, ModelCall, ModelProvider, Reply, TokenUsage
from deep_research.testing.servers import ModelServer, Served

KEY = "sk-canary-Zm9yIHRlc3Rz-0123456789"
MODEL = "model-1"
PATIENCE = 240.0  # seconds until a check gives up waiting, also where the machine stands still
WAYS = (False, True)  # plain and streamed
CALL = ModelCall(messages=(Message(content="How many ships passed?"),), timeout=PATIENCE)


class Ability(StrEnum):
    """What not every service has."""

    CACHE = "it says how much of a prompt was read from a cache"
    CODES = "its errors have codes"
    CONTEXT = "it is told the size of the window"
    FLOOR = "a stream says at its beginning what the prompt costs"
    KEY = "nobody gets in without a key"
    REASONING = "it says how many tokens were thoughts"
    REFUSAL = "it says that it refused"
    TEMPERATURE = "it takes a temperature"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is checked. ``make``: a provider of `MODEL` for the base URL of a `ModelServer` and a key. ``optional``: the
    fields of its requests that it leaves out once a service has refused them."""

    make: Callable[[str, str | None], ModelProvider]
    lacks: frozenset[Ability] = frozenset()
    optional: tuple[str, ...] = ()


@dataclass(slots=True)
class Outcome:
    """What became of one `send`: a reply or a `ModelError`, and how the service saw it."""

    reply: Reply | None = None
    error: ModelError | None = None
    pieces: list[str] = field(default_factory=list)
    served: Sequence[Served] = ()

    @property
    def answer(self) -> Reply:
        assert self.reply is not None, f"{self.error!r} in place of a reply"
        return self.reply

    @property
    def failure(self) -> ModelError:
        assert self.error is not None, f"{self.reply!r} in place of a ModelError"
        return self.error

    @property
    def usage(self) -> TokenUsage:
        return self.reply.usage if self.reply else TokenUsage.model_validate(self.failure.data["usage"])


class Bench:
    """A server, and providers over it. Checks run on a loop of their own, see `on_a_loop`."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.server = ModelServer(models=(MODEL,))
        self._made: list[ModelProvider] = []

    def __enter__(self) -> Bench:
        self.server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    def has(self, ability: Ability) -> bool:
        return ability not in self.subject.lacks

    def provider(self, *, url: str = "", key: str | None = KEY) -> ModelProvider:
        """A new one, which is closed at the end of the check."""
        made = self.subject.make(url or self.server.base_url, key)
        self._made.append(made)
        return made

    async def send(
        self, call: ModelCall = CALL, *, streamed: bool = False, provider: ModelProvider | None = None
    ) -> Outcome:
        """One request. What is raised and is no `ModelError` fails the check."""
        if not provider:
            provider = self._made[0] if self._made else self.provider()
        before = len(self.server.log)
        outcome = Outcome()
        try:
            outcome.reply = await provider.send(call, outcome.pieces.append if streamed else None)
        except ModelError as error:
            outcome.error = error
        outcome.served = self.server.log[before:]
        return outcome

    def on_a_loop(self, check: Callable[[Bench], object]) -> None:
        """Run a check, a coroutine function on a loop of its own."""

        async def bounded() -> None:
            try:
                async with asyncio.timeout(3 * PATIENCE):
                    await check(self)  # type: ignore[misc]
            finally:
                for made in self._made:
                    await made.aclose()

        asyncio.run(bounded())


def form_of(provider: ModelProvider, answer: type[BaseModel], by: str, name: str = "") -> Form:
    schema = provider.schema_of(answer)
    return Form(
        by="tool" if by == "tool" else "schema",
        name=name or answer.__name__,
        json_schema=schema,
        description="Ships.",
    )


async def until(condition: Callable[[], bool], patience: float = PATIENCE) -> None:
    """Wait for something that the service does by itself. Raises `TimeoutError`."""
    async with asyncio.timeout(patience):
        while not condition():  # noqa: ASYNC110 - it is in another thread
            await asyncio.sleep(0.002)
