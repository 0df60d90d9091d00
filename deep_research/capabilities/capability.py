"""The contract of a capability: it takes the state of a conversation and adds to it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from deep_research.state import Record


class AgentMessage(Record):
    """A message of a conversation: ``human`` is the user's, ``ai`` that of the agent ``name``."""

    type: Literal["human", "ai"]
    content: str
    id: str | None = None
    name: str | None = None


class CapabilityRequest(Record):
    """What a capability is asked. ``key`` is the same when a call is repeated since its answer did not arrive, and
    another one after an answer: an agent that starts work remembers it, and starts nothing twice."""

    capability: str
    messages: tuple[AgentMessage, ...]
    context: dict[str, Any] = Field(default_factory=dict)
    key: str

    @property
    def state(self) -> dict[str, Any]:
        """The state of a graph of agents, as JSON has it."""
        messages = [message.model_dump(exclude_none=True) for message in self.messages]
        return {"messages": messages, "next": self.capability, "context": self.context}


class CapabilityAnswer(Record):
    """What a capability adds: at least one message of its own, and what it shares with others."""

    messages: tuple[AgentMessage, ...] = Field(min_length=1)
    context: dict[str, Any] = Field(default_factory=dict)


class Capability(ABC):
    """Something an agent can do. Subclasses set ``name`` and ``description`` and implement `invoke`.

    ``read_only`` says that it changes and sends nothing: every other capability is asked only after its user approved.
    ``keywords`` are words of a request that wants it, beside those of its name; ``place`` is where it works, for people.
    Packages join through the entry-point group ``deep_research.capabilities``, as a class that is called without
    arguments. The suite `deep_research.testing.capability_suite` says what one has to keep.

    Example:
        class Translate(Capability):
            name = "translate"
            description = "Translates the last report into German."
            read_only = True

            async def invoke(self, request: CapabilityRequest) -> CapabilityAnswer:
                return completed(self.name, {"text": await german(request.messages[-1].content)})
    """

    name: str
    description: str = ""
    read_only: bool = False
    keywords: tuple[str, ...] = ()
    place: str = "here"

    @abstractmethod
    async def invoke(self, request: CapabilityRequest) -> CapabilityAnswer:
        """Do it. The last message of the answer is a contract (see `completed`) when it is done, and a plain sentence
        when it is not. Raises `CapabilityError` when it cannot tell."""


def completed(name: str, data: Mapping[str, Any], *, message_id: str | None = None) -> CapabilityAnswer:
    """The answer of a capability that is done, with its ``data``."""
    content = json.dumps({"completed_capability": name, "data": dict(data)}, ensure_ascii=False)
    return CapabilityAnswer(messages=(AgentMessage(type="ai", content=content, id=message_id),))
