"""One request that hangs or drips is no outage: the next one is answered, and the run completes. In virtual time, over
real sockets: the service runs on the loop of the run."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
import virtual_time
from fault_runs import QUESTION, answer, found, role_of
from servers.http import Connection, Ending, Reply, Request
from servers.loopback import lets_nobody_in
from servers.service import Service

from deep_research import DeepResearch, ResearchResult, RunStatus
from deep_research.limits import Gates
from deep_research.models.anthropic import AnthropicMessages
from deep_research.models.base import ModelProvider
from deep_research.models.model_pool import Shared
from deep_research.models.ollama import Ollama
from deep_research.models.openai import OpenAIResponses
from deep_research.models.openai_chat import OpenAIChat
from deep_research.models.profiles import Profile
from deep_research.models.retry import MAX_REQUESTS, Persistence
from deep_research.models.structured import Abilities
from deep_research.testing import ScriptedSearch

pytestmark = pytest.mark.timed
TIMEOUT = 120.0  # of an operation
FOR_EVER = 1e9
WIRES: dict[str, Callable[[str], ModelProvider]] = {
    "anthropic": lambda url: AnthropicMessages("m", api_key="sk-1", base_url=url),
    "responses": lambda url: OpenAIResponses("m", api_key="sk-1", base_url=f"{url}/v1"),
    "chat": lambda url: OpenAIChat("m", base_url=f"{url}/v1"),
    "ollama": lambda url: Ollama("m", base_url=url),
}


# What is sent in place of a good reply


def before_the_head(_: Reply) -> Reply:
    return Reply(silent=True, ending=Ending.HANGING, patience=FOR_EVER)


def _hanging_at(reply: Reply, count: int) -> Reply:
    whole = b"".join(reply.pieces)
    length = None if reply.chunked else len(whole)
    return replace(reply, pieces=(whole[:count],), length=length, ending=Ending.HANGING, patience=FOR_EVER)


def after_the_head(reply: Reply) -> Reply:
    return _hanging_at(reply, 0)


def at_the_first_byte(reply: Reply) -> Reply:
    return _hanging_at(reply, 1)


def in_the_middle(reply: Reply) -> Reply:
    return _hanging_at(reply, len(b"".join(reply.pieces)) // 2)


def dripping(reply: Reply) -> Reply:
    whole = b"".join(reply.pieces)
    bytewise = tuple(whole[at : at + 1] for at in range(len(whole)))
    return replace(reply, pieces=bytewise, length=len(whole), pause=TIMEOUT / 9, patience=FOR_EVER)


def kept_alive(reply: Reply) -> Reply:
    """Bytes that say nothing, for ever: comments of a stream, blanks before JSON."""
    nothing = b": still here\n\n" if "event" in reply.media else b"\n"
    return replace(reply, pieces=(nothing,) * 500, pause=TIMEOUT / 9, patience=FOR_EVER)


PLACES = (before_the_head, after_the_head, at_the_first_byte, in_the_middle, dripping, kept_alive)


@dataclass
class Tale:
    """A run and what its model's service saw. ``slow`` says what is done with a good reply, ``strikes`` how often."""

    service: Service = field(default_factory=lambda: Service(answers=answer))
    slow: Callable[[Reply], Reply] | None = None
    wait: float = 0.0
    strikes: int = 1
    role: str = ""
    result: ResearchResult | None = None

    async def handle(self, request: Request) -> Reply:
        reply = await self.service.handle(request)
        served = self.service.log[-1]
        if not self.role or role_of(served) == self.role:
            if self.wait:
                await asyncio.sleep(self.wait)
            if self.slow is not None and self.strikes > 0:
                self.strikes -= 1
                return self.slow(reply)
        return reply

    @property
    def asked(self) -> Counter[str]:
        """How often each role was asked."""
        return Counter(role_of(served) for served in self.service.log)


@asynccontextmanager
async def served(tale: Tale) -> AsyncIterator[str]:
    connections: set[Connection] = set()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(tale.handle, connections), "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        lets_nobody_in(server)
        for _ in range(3):  # turns in which who was let in at the last moment becomes a connection
            await asyncio.sleep(0)
        tasks = [connection.task for connection in connections]
        for connection in list(connections):
            connection.abort()
        await asyncio.gather(*tasks, return_exceptions=True)
        server.close()


async def told(tale: Tale, wire: str, *, watched: bool = False, **more: Any) -> Tale:
    """A whole run. One that is watched has its texts streamed."""
    async with served(tale) as url:
        provider = WIRES[wire](url)
        settings = {"operation_timeout": TIMEOUT, "reflection": "never", "max_iterations": 1, **more}
        engine = DeepResearch(
            model=provider,
            judge="off",
            search=[ScriptedSearch(found)],
            store="memory",
            max_sub_queries=2,
            task_timeout=86_400.0,
            **settings,
        )
        pool = engine._parts.models.pool
        pool.common = Shared(gates=Gates(), abilities=Abilities())
        # Wide enough that no prompt comes so near to the window that the service is asked to count it.
        pool.profiles = {provider.name: Profile(context=32_000, forms=provider.forms)}
        pool.persistence = Persistence(chance=lambda: 0.0)
        try:
            if watched:
                handle = await engine.astart(QUESTION)
                async for _ in engine.follow(handle.research_id):
                    pass
                tale.result = await engine.aresult(handle.research_id)
            else:
                tale.result = await engine.arun(QUESTION)
        finally:
            await engine.aclose()
            await provider.aclose()
    return tale


ROLE = {False: "planner", True: "synthesizer"}  # texts alone are streamed


HANGS = [
    pytest.param(
        wire,
        place,
        watched,
        marks=() if (m + n + watched) % 4 == 0 else pytest.mark.sweep,
        id=f"{wire}-{place.__name__}-{'streamed' if watched else 'whole'}",
    )
    for m, wire in enumerate(WIRES)
    for n, place in enumerate(PLACES)
    for watched in (False, True)
]


@pytest.mark.parametrize(("wire", "place", "watched"), HANGS)
def test_a_run_with_one_request_that_hangs_completes_at_the_second_try(
    wire: str, place: Callable[[Reply], Reply], watched: bool
) -> None:
    role = ROLE[watched]
    tale = virtual_time.run(told(Tale(slow=place, role=role), wire, watched=watched))
    assert tale.result is not None
    assert tale.result.status is RunStatus.COMPLETED, tale.result.message
    assert tale.asked[role] == 2
    assert all(count <= 2 for other, count in tale.asked.items() if other != role)
    assert [notice.message for notice in tale.result.notices if notice.name == "agent"] == []
    streamed = {served.stream for served in tale.service.log if role_of(served) == role}
    assert streamed == {watched}


@pytest.mark.parametrize("watched", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("wire", WIRES)
def test_an_honest_answer_at_nine_tenths_of_its_time_takes_one_request(wire: str, watched: bool) -> None:
    tale = virtual_time.run(told(Tale(wait=0.9 * TIMEOUT), wire, watched=watched))
    assert tale.result is not None
    assert tale.result.status is RunStatus.COMPLETED
    assert set(Counter(served.text for served in tale.service.log).values()) == {1}


def test_what_hangs_for_ever_takes_three_requests_and_parks_the_run() -> None:
    tale = virtual_time.run(told(Tale(slow=before_the_head, strikes=10**6), "chat"))
    assert tale.result is not None
    assert tale.result.status is RunStatus.PARKED
    assert tale.asked == {"planner": 3}  # two with all their time, one with the half that is left


def test_a_unit_has_the_time_that_is_set() -> None:
    for seconds, requests in ((TIMEOUT, 1), (10 * TIMEOUT, MAX_REQUESTS)):
        tale = virtual_time.run(told(Tale(slow=before_the_head, strikes=10**6), "chat", unit_timeout=seconds))
        assert tale.asked == {"planner": requests}
