"""Capabilities that answer from a script."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from deep_research.capabilities import (
    AgentMessage,
    Capability,
    CapabilityAnswer,
    CapabilityRequest,
    completed,
)

Outcome = CapabilityAnswer | BaseException | Callable[[CapabilityRequest], Any]


class Scripted(Capability):
    """Gives one outcome a call, the last one again and again; a repeated key gets the answer that it got. ``asked`` are
    the requests."""

    def __init__(
        self, name: str, *outcomes: Outcome, read_only: bool = True, keywords: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.description = f"Does {name}."
        self.read_only = read_only
        self.keywords = tuple(keywords)
        self.asked: list[CapabilityRequest] = []
        self._answers: dict[str, CapabilityAnswer] = {}
        self._outcomes = list(outcomes) or [completed(name, {"by": name})]

    async def invoke(self, request: CapabilityRequest) -> CapabilityAnswer:
        self.asked.append(request)
        if request.key in self._answers:
            return self._answers[request.key]
        outcome = self._outcomes[0] if len(self._outcomes) == 1 else self._outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        answer: CapabilityAnswer = outcome if isinstance(outcome, CapabilityAnswer) else outcome(request)
        self._answers[request.key] = answer
        return answer


def sentence(text: str, **context: Any) -> CapabilityAnswer:
    """An answer that completes nothing."""
    return CapabilityAnswer(messages=(AgentMessage(type="ai", content=text),), context=context)


def by_name(*capabilities: Capability) -> dict[str, Capability]:
    return {capability.name: capability for capability in capabilities}
