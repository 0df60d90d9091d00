"""The conformance suite of capabilities: one item a promise.

A subject makes a capability, and has a conversation after which it can do its work::

    SUBJECT = CapabilitySubject(make=Translate, messages=("Who built Bell Rock?", REPORT))

    @pytest.mark.parametrize("check", CAPABILITY_CHECKS, ids=str)
    def test_my_capability(check: Check) -> None:
        check(SUBJECT)
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from deep_research.capabilities import AgentMessage, Capability, CapabilityAnswer, CapabilityRequest
from deep_research.capabilities.completion_contract import completed_capability
from deep_research.capabilities.offers import NAME_PATTERN
from deep_research.errors import DeepResearchError
from deep_research.testing.promises import Check as Promise
from deep_research.testing.promises import promises

__all__ = ["CAPABILITY_CHECKS", "CapabilitySubject", "Check"]


@dataclass(frozen=True, kw_only=True)
class CapabilitySubject:
    """``make`` gives a new capability; ``messages`` are the texts of a conversation, of which the first is the user's and
    the others are those of agents; ``context`` is what they share."""

    make: Callable[[], Capability]
    messages: tuple[str, ...] = ("Who built Bell Rock?",)
    context: dict[str, Any] = field(default_factory=dict)

    def on_a_loop(self, check: Callable[[CapabilitySubject], Coroutine[Any, Any, None]]) -> None:
        asyncio.run(check(self))

    def request(self, *texts: str, key: str = "plan-0123456789ab-0-0") -> CapabilityRequest:
        """A request after these texts, by default those of the subject."""
        human, *agents = texts or self.messages
        messages = [AgentMessage(type="human", content=human, id="request")]
        messages += [
            AgentMessage(type="ai", content=text, id=f"m{n}", name=completed_capability(text))
            for n, text in enumerate(agents)
        ]
        return CapabilityRequest(
            capability=self.make().name, messages=tuple(messages), context=self.context, key=key
        )


Check = Promise[CapabilitySubject]


async def it_has_a_name_and_a_line_that_says_what_it_does(bench: CapabilitySubject) -> None:
    capability = bench.make()
    assert re.fullmatch(NAME_PATTERN, capability.name)
    assert capability.description.strip()
    assert "\n" not in capability.description
    assert isinstance(capability.read_only, bool)


async def its_last_message_says_that_it_is_completed(bench: CapabilitySubject) -> None:
    capability = bench.make()
    answer = await capability.invoke(bench.request())
    assert isinstance(answer, CapabilityAnswer)
    assert completed_capability(answer.messages[-1].content) == capability.name


async def its_messages_are_its_own_and_new(bench: CapabilitySubject) -> None:
    request = bench.request()
    answer = await bench.make().invoke(request)
    assert {message.type for message in answer.messages} == {"ai"}
    assert not {message.id for message in answer.messages} & {message.id for message in request.messages}


async def what_it_shares_is_json(bench: CapabilitySubject) -> None:
    answer = await bench.make().invoke(bench.request())
    json.dumps(answer.context, allow_nan=False)


async def a_repeated_key_gets_the_same_answer(bench: CapabilitySubject) -> None:
    """Also from another process: a supervisor repeats a call whose answer it did not get."""
    first = await bench.make().invoke(bench.request())
    second = await bench.make().invoke(bench.request())
    assert first.messages[-1].content == second.messages[-1].content


async def strange_conversations_are_an_answer_or_an_error_of_the_tree(bench: CapabilitySubject) -> None:
    for number, text in enumerate(("", " ", "Hello!", "{}", '{"completed_capability": 1}', "x" * 100_000)):
        with suppress(DeepResearchError):
            request = bench.request(text, text, key=f"plan-0123456789ab-0-{number + 1}")
            assert isinstance(await bench.make().invoke(request), CapabilityAnswer)


CAPABILITY_CHECKS: tuple[Check, ...] = tuple(
    Check(name, function) for name, function in promises(sys.modules[__name__])
)
"""What every capability has to pass, one item a promise."""
