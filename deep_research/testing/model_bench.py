"""What a check of the model suite works with: a model service on loopback and providers that speak to it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import BaseModel
from servers import ModelServer, Served

from deep_research.errors import ModelError
from deep_research.models.base import Form, Message, ModelCall, ModelProvider, Reply, TokenUsage
from deep_research.testing.service_bench import PATIENCE, ServiceBench

KEY = "sk-canary-Zm9yIHRlc3Rz-0123456789"
MODEL = "model-1"
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


class Bench(ServiceBench[ModelProvider]):
    """A model service, and providers over it."""

    server: ModelServer
    key = KEY

    def __init__(self, subject: Subject) -> None:
        super().__init__()
        self.subject, self.lacks = subject, subject.lacks
        self.server = ModelServer(models=(MODEL,))

    def provider(self, *, url: str = "", key: str | None = KEY) -> ModelProvider:
        made = self.subject.make(url or self.server.base_url, key)
        self._made.append(made)
        return made

    def calls(self, provider: ModelProvider) -> Iterator[Coroutine[Any, Any, Reply]]:
        """Plain and streamed."""
        yield provider.send(CALL)
        yield provider.send(CALL, lambda _: None)

    def says(self, answer: Reply) -> bool:
        return bool(answer.text)

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


def form_of(provider: ModelProvider, answer: type[BaseModel], by: str, name: str = "") -> Form:
    schema = provider.schema_of(answer)
    return Form(
        by="tool" if by == "tool" else "schema",
        name=name or answer.__name__,
        json_schema=schema,
        description="Ships.",
    )
