"""What every wire format has to say: how a request is read, and an answer, a stream and an error are written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deep_research.testing.models import as_json
from servers.server_exchange import Asked, Said, Segment


@dataclass(frozen=True, slots=True)
class Stream:
    """``events`` ready to be sent. The last ``closing`` of them say how the answer ended; before, it is incomplete."""

    events: Sequence[bytes]
    closing: int


class Wire(ABC):
    """One format. Malformed requests raise `KeyError`, `TypeError`, `ValueError` or `AttributeError`."""

    stream_media = "text/event-stream"
    implicit_cache = False
    request_id_header = "x-request-id"

    @abstractmethod
    def read(self, body: Any) -> Asked:
        """What a request says."""

    @abstractmethod
    def reply(self, said: Said) -> dict[str, Any]:
        """The body of an answer that is not streamed."""

    @abstractmethod
    def stream(self, said: Said) -> Stream:
        """The events of one that is."""

    @abstractmethod
    def error(self, status: int, message: str | None = None, code: str | None = None) -> dict[str, Any]:
        """The body of an error; without a message, the service's own words for this status."""

    @abstractmethod
    def stream_error(self, message: str | None = None, code: str | None = None) -> bytes:
        """The event by which a stream says that it cannot go on."""

    @abstractmethod
    def lacks(self, ability: str, model: str) -> str:
        """What the service says when a model cannot do what is asked."""

    def count(self, tokens: int) -> dict[str, Any]:
        """The answer to a request to count."""
        return {"input_tokens": tokens}


def message(role: str, content: Any) -> dict[str, str]:
    """A message whose content is text, whatever it was."""
    return {"role": role, "content": content_text(content)}


def content_text(content: Any) -> str:
    """The text of a message's content: a string, nothing, or parts, of which those without text become JSON."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] if isinstance(part.get("text"), str) else as_json(part) for part in content)


def segments(
    tools: Mapping[str, Any], schema: Mapping[str, Any] | None, messages: Sequence[Mapping[str, str]]
) -> list[Segment]:
    """A prompt without breakpoints: the tools, the schema, then each message."""
    parts = [as_json(tool) for tool in tools.values()]
    parts += [as_json(schema)] if schema is not None else []
    parts += [f"{item['role']}: {item['content']}" for item in messages]
    return [Segment(part) for part in parts]


def sse(data: Mapping[str, Any] | str, event: str | None = None) -> bytes:
    """One server-sent event."""
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {data if isinstance(data, str) else as_json(data)}\n\n".encode()
