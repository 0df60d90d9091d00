"""The bench of the model suite: a model service on loopback, and providers that speak to it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from pydantic import BaseModel

from deep_research.errors import ModelError
from deep_research.models.base import Form, Message, ModelCall, ModelProvider, Reply, TokenUsage
from deep_research.testing.patience import PATIENCE_SECONDS
from deep_research.testing.service_bench import Service, ServiceBench

KEY = "sk-canary-Zm9yIHRlc3Rz-0123456789"
MODEL = "model-1"
WAYS = (False, True)  # plain and streamed
CALL = ModelCall(messages=(Message(content="How many ships passed?"),), timeout=PATIENCE_SECONDS)


class Ability(StrEnum):
    """What not every service has."""

    CACHE = "it says how much of a prompt was read from a cache"
    CODES = "its errors have codes"
    CONTEXT = "it is told the size of the window"
    FLOOR = "a stream says at its beginning what the prompt costs"
    KEY = "nobody gets in without a key"
    REASONING = "it says how many tokens were thoughts"
    REFUSAL = "it says that it refused"
    SERVICE = "it asks a service over HTTP"
    TEMPERATURE = "it takes a temperature"
    TOOLS = "it has calls of tools that its provider uses"


class ModelService(Service, Protocol):
    """A service of models. ``answers``: a sequence, whose last item is given again and again, or a function of the
    request, plain or coroutine. ``abilities``: what it can do, by name; it refuses the others, or answers in prose
    those in ``ignores``. ``prose``: the answer of the fault of that name."""

    answers: Any
    abilities: Any
    ignores: Any
    prose: str

    @property
    def most_at_once(self) -> int:
        """The largest number of requests in work."""

    def say(self, text: str, *, stop: str = "end", reasoning: str = "") -> None:
        """The answer from now on."""

    def call_tools(self, *calls: Any, text: str = "", reasoning: str = "", redacted: bool = False) -> None:
        """The turn from now on, where tools are offered: for each call the name, the arguments as data or text, and an id
        in place of the service's own, if there is one. ``redacted``: the thoughts are not shown, where there is that."""

    def clear(self) -> None:
        """Forget the log, faults and caches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The provider to be checked. ``service`` starts with each check; ``make`` gives a provider of `MODEL` for its base
    URL and a key. ``saying``: in place of both, a provider of a model that answers every request with this text.
    ``optional``: the fields of its requests that it leaves out once a service has refused them."""

    service: Callable[[], ModelService] | None = None
    make: Callable[[str, str | None], ModelProvider] | None = None
    saying: Callable[[str], ModelProvider] | None = None
    lacks: frozenset[Ability] = frozenset()
    optional: tuple[str, ...] = ()


@dataclass(slots=True)
class Outcome:
    """What became of one `send`: a reply or a `ModelError`, and how the service saw it."""

    reply: Reply | None = None
    error: ModelError | None = None
    pieces: list[str] = field(default_factory=list)
    served: Sequence[Any] = ()

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


class Bench(ServiceBench[ModelProvider, ModelService]):
    """A model service, and providers over it."""

    key = KEY

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject.service() if subject.service else None)
        self.subject, self.lacks = subject, subject.lacks
        self._text = "Seven ships passed."

    def model_says(self, text: str) -> None:
        """From now on, the model answers this."""
        self._text = text
        if self._service is not None:
            self._service.say(text)

    def provider(self, *, url: str = "", key: str | None = KEY) -> ModelProvider:
        if self.subject.saying is not None:
            provider = self.subject.saying(self._text)
        else:
            assert self.subject.make is not None, "a subject has either make or saying"
            provider = self.subject.make(url or self.server.base_url, key)
        self._providers.append(provider)
        return provider

    def calls(self, provider: ModelProvider) -> Iterator[Coroutine[Any, Any, Reply]]:
        """Plain and streamed."""
        yield provider.send(CALL)
        yield provider.send(CALL, lambda _: None)

    def has_content(self, answer: Reply) -> bool:
        return bool(answer.text)

    async def send(
        self, call: ModelCall = CALL, *, streamed: bool = False, provider: ModelProvider | None = None
    ) -> Outcome:
        """One request. What is raised and is no `ModelError` fails the check."""
        if not provider:
            provider = self._providers[0] if self._providers and self.subject.make else self.provider()
        before = len(self.server.log) if self._service else 0
        outcome = Outcome()
        try:
            outcome.reply = await provider.send(call, outcome.pieces.append if streamed else None)
        except ModelError as error:
            outcome.error = error
        outcome.served = self.server.log[before:] if self._service else ()
        return outcome


def form_of(provider: ModelProvider, answer: type[BaseModel], by: str, name: str = "") -> Form:
    schema = provider.schema_of(answer)
    return Form(
        by="tool" if by == "tool" else "schema",
        name=name or answer.__name__,
        json_schema=schema,
        description="Ships.",
    )
