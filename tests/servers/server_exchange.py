"""What a model server was asked and what it said, whatever the wire format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PROSE = "Certainly! Having thought about it, I would say that it depends on what one is looking for."


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens. ``cached`` and ``written`` (to a cache) are parts of ``input``, ``reasoning`` is part of ``output``."""

    input: int = 0
    cached: int = 0
    output: int = 0
    written: int = 0
    reasoning: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input + other.input,
            self.cached + other.cached,
            self.output + other.output,
            self.written + other.written,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True, slots=True)
class Called:
    """One use of a tool by the model. ``arguments``: data, or the text as the model writes it. ``id``: in place of the
    service's own."""

    name: str
    arguments: str | Mapping[str, Any] = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model says.

    ``text``: prose, or data. Data is the arguments of a tool call if the request forces a tool, else JSON text.
    ``stop``: "end", "length", "refusal", "content-filter" or "failed" (OpenAI responses only; elsewhere "end").
    ``reasoning``: thoughts ahead of the text. ``usage``: over the counted one. ``tool``: calls this tool, forced or
    not. ``calls``: the tools that are called beside the text, where some are offered. ``redacted``: the thoughts
    are not shown (Anthropic messages only).
    """

    text: str | Mapping[str, Any] = ""
    stop: str = "end"
    reasoning: str = ""
    usage: Usage | None = None
    tool: str | None = None
    calls: Sequence[Called] = ()
    redacted: bool = False


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a prompt, in the order in which caches see it. ``marked``: a cache breakpoint follows."""

    text: str
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request says.

    ``tool`` is the one it forces, ``limit`` the most tokens that it wants. ``objection`` is what the service has
    against its schema, or against its conversation. ``sealed``: thoughts are wanted encrypted.
    """

    model: str
    messages: Sequence[Mapping[str, str]]
    segments: Sequence[Segment]
    schema: Mapping[str, Any] | None = None
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    tool: str | None = None
    wants_json: bool = False
    stream: bool = False
    stream_usage: bool = True
    limit: int | None = None
    context: int | None = None
    objection: str | None = None
    sealed: bool = False

    @property
    def needs(self) -> list[str]:
        """The abilities without which a server cannot do this."""
        wanted = {
            "schema": self.schema is not None,
            "tools": bool(self.tools),
            "json": self.wants_json,
            "stream": self.stream,
        }
        return [ability for ability, needed in wanted.items() if needed]


@dataclass(slots=True)
class Served:
    """One request, as it came in and as it was dealt with: the ground truth of what was sent and paid.

    ``headers``: authorization, x-api-key and user-agent as sent. ``schema``, ``tools`` (their names) and ``tool`` (the
    one that is forced) are what the request asked for. ``context`` is Ollama's ``num_ctx``. ``at``: seconds on the
    monotonic clock. ``status``: of the reply, None as long as there is none. ``fault``: the kind that struck.
    ``usage``: what is charged for it, None if nothing is. ``maybe``: the client cannot know from the reply whether,
    or how much, it was charged.
    """

    number: int
    path: str
    body: Any
    headers: Mapping[str, str]
    at: float
    model: str = ""
    stream: bool = False
    messages: Sequence[Mapping[str, str]] = ()
    schema: Mapping[str, Any] | None = None
    tools: tuple[str, ...] = ()
    tool: str | None = None
    limit: int | None = None
    context: int | None = None
    status: int | None = None
    fault: str | None = None
    usage: Usage | None = None
    maybe: bool = False

    @property
    def text(self) -> str:
        """All messages, the system's first, a blank line between two."""
        return "\n\n".join(message["content"] for message in self.messages)


@dataclass(frozen=True, slots=True)
class Said:
    """An answer made ready for the wire. ``tool``: ``text`` is the arguments of a call to it. ``calls``: others beside
    the text, their arguments as text.

    ``usage`` is what the reply reports; None reports nothing. ``number`` makes the ids.
    """

    number: int
    model: str
    text: str
    stop: str = "end"
    reasoning: str = ""
    tool: str | None = None
    usage: Usage | None = None
    calls: tuple[Called, ...] = ()
    redacted: bool = False
    sealed: bool = False
