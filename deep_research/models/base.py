"""What a language model is asked, what it answers, and the one method that a provider has to write.

A provider carries one call over one wire: `send` makes exactly one HTTP request and returns what came back, or raises
`ModelError` with a verdict. Asking again, asking in another way, deadlines, limits and books are not its business:
see `retry`, `structured`, `language`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import deepcopy
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal

from pydantic import BaseModel, Field

from deep_research.models.tool_calls import NativeTurn, ToolCall, ToolOutput, ToolSpec
from deep_research.state import Record
from deep_research.state import TokenUsage as TokenUsage  # part of this contract

OnText = Callable[[str], None]  # takes each piece of an answer as it comes
MEMORY_LABEL = "memory"  # of material of prompts that is remembered of a user: a record names it alone


class StopReason(StrEnum):
    """Why an answer ended. ``incomplete``: the service never said that it was done, so it was cut."""

    END = "end"
    LENGTH = "length"
    REFUSAL = "refusal"
    INCOMPLETE = "incomplete"


class Effort(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Message(Record):
    """One turn. ``stable`` marks the last turn of a beginning that later calls will repeat word for word, so that a
    provider with prompt caching may keep all up to it. ``cuts`` are places in the content, in code points, that such a
    beginning may end at as well; where a secret was masked since, they are off by a little.

    A turn of a model that has tools holds its ``calls``, and how its service gave it (``native``); one of the user
    answers them with ``outputs``, which stand before the content."""

    role: Literal["user", "assistant"] = "user"
    content: str = ""
    stable: bool = False
    cuts: tuple[int, ...] = ()
    calls: tuple[ToolCall, ...] = ()
    outputs: tuple[ToolOutput, ...] = ()
    native: NativeTurn | None = None

    @property
    def pieces(self) -> tuple[tuple[str, bool], ...]:
        """The content, cut, and of each piece whether later calls repeat all up to its end."""
        ends = sorted({cut for cut in self.cuts if 0 < cut < len(self.content)})
        starts = (0, *ends)
        made = [(self.content[start:end], True) for start, end in zip(starts, ends, strict=False)]
        return (*made, (self.content[starts[-1] :], self.stable))

    @property
    def texts(self) -> tuple[str, ...]:
        """All that is written in it, without thoughts."""
        calls = [f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in self.calls]
        return (self.content, *calls, *(output.text for output in self.outputs))


class Form(Record):
    """The shape an answer must have, asked for by the service's own means: its schema output, or a tool that must be
    called. ``json_schema`` is a JSON schema as `ModelProvider.schema_of` made it. The answer's text is JSON then."""

    by: Literal["schema", "tool"]
    name: str
    json_schema: dict[str, Any]
    description: str = ""


class ModelCall(Record):
    """One question to a model. ``max_output`` caps the tokens of the answer, reasoning included; ``context`` is the
    size of the window in tokens, for servers that must be told; ``timeout`` in seconds is for the request as a whole.
    ``tools`` may be called, several at once, in place of a form. ``temperature``, ``effort`` and ``thinking`` (tokens for
    reasoning, part of ``max_output``; 0: as the service does by itself) are optional: a provider without the like leaves
    them out. Neither sent nor meant for the model: ``nonce`` is a word in the texts that is another in each call,
    ``label`` what watchers are told."""

    messages: tuple[Message, ...]
    system: str = ""
    form: Form | None = None
    tools: tuple[ToolSpec, ...] = ()
    max_output: int = Field(default=4_096, ge=1)
    context: int | None = None
    temperature: float | None = None
    effort: Effort | None = None
    thinking: int | None = Field(default=None, ge=0)
    nonce: str = ""
    label: str = ""
    timeout: float = Field(default=120.0, gt=0)

    @property
    def texts(self) -> tuple[str, ...]:
        """All that is written in its turns, and the system text first."""
        return (self.system, *(text for message in self.messages for text in message.texts))


class Reply(Record):
    """What came back: ``text`` is the answer, JSON where a form was asked for; ``model`` is what the service says
    that it used. Where tools were given, the text is what is said beside the ``calls``; ``native`` is the whole turn as
    the service wants it back."""

    text: str
    stop: StopReason
    usage: TokenUsage
    model: str = ""
    request_id: str | None = None
    calls: tuple[ToolCall, ...] = ()
    native: NativeTurn | None = None


@lru_cache(maxsize=128)
def json_schema(answer: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a type, made once: it takes longer than all else that is done for a request. To be copied
    before it is changed."""
    return answer.model_json_schema()


class ModelProvider(ABC):
    """One model behind one service. Usable from several loops; ``aclose`` lets go of the connections of this one."""

    service: str  # as in "anthropic:MODEL"
    probed: bool = True  # whether it has to be found out what the model can do
    base_url: str = ""  # where the service is, if it can be in more than one place
    own_url: str = ""  # where it is unless another place is named
    sent_key: str = ""  # the variable of the environment whose key goes with each request, if one does
    forms: tuple[Literal["schema", "tool"], ...] = ()  # what the service has, best first
    has_tools: bool = False  # whether `send` takes tools; for others they are put into words
    window: tuple[int, int] | None = (
        None  # the tokens of it and of the longest answer, if the provider itself knows
    )

    tells_window: bool = False  # whether `ask_window` may find it out

    def __init__(self, model: str) -> None:
        self.model = model

    @property
    def name(self) -> str:
        return f"{self.service}:{self.model}"

    @property
    def identity(self) -> str:
        """The name and where the service is: two servers may have the same model in different shape."""
        return f"{self.name}@{self.base_url}" if self.base_url else self.name

    @property
    def endpoint(self) -> str:
        """What shares limits: the service, and where it is."""
        return f"{self.service}@{self.base_url}" if self.base_url else self.service

    @abstractmethod
    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        """One request. With ``on_text`` the answer is streamed, and each piece handed over as it comes; the reply is
        the same. An answer that ends by length or refusal, or was cut, is a reply with that `StopReason`, since it
        was paid for; everything else that is no answer raises `ModelError`, with the usage if there is any."""

    async def count(self, call: ModelCall) -> int | None:
        """The input tokens of a call as the service counts them; None where it cannot. Raises `ModelError`."""
        return None

    async def ask_window(self) -> tuple[int, int] | None:
        """The tokens of the model's window and of its longest answer, as its server says; None where it does not. Raises
        `ModelError`."""
        return None

    def schema_of(self, answer: type[BaseModel]) -> dict[str, Any]:
        """The JSON schema of a type as the service takes it."""
        return deepcopy(json_schema(answer))

    async def aclose(self) -> None:  # noqa: B027 - many have nothing to close
        """Closes what the running loop has open. May be called twice."""


class Wrapped(ModelProvider):
    """A provider that stands before another and changes how requests are sent, not what they are."""

    def __init__(self, inner: ModelProvider) -> None:
        super().__init__(inner.model)
        self.inner = inner
        self.service = inner.service
        self.forms = inner.forms
        self.has_tools = inner.has_tools
        self.base_url = inner.base_url
        self.own_url = inner.own_url
        self.sent_key = inner.sent_key
        self.probed = inner.probed
        self.window = inner.window
        self.tells_window = inner.tells_window

    async def ask_window(self) -> tuple[int, int] | None:
        return await self.inner.ask_window()

    async def send(self, call: ModelCall, on_text: OnText | None = None) -> Reply:
        return await self.inner.send(call, on_text)

    async def count(self, call: ModelCall) -> int | None:
        return await self.inner.count(call)

    def schema_of(self, answer: type[BaseModel]) -> dict[str, Any]:
        return self.inner.schema_of(answer)

    async def aclose(self) -> None:
        await self.inner.aclose()
