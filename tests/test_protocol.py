"""The events of a run in the five types of a streaming graph."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from every_event import every_event

from deep_research import DeepResearch
from deep_research.protocol import as_protocol
from deep_research.state import DeepResearchPhase
from deep_research.state import events as ev
from deep_research.testing import ScriptedSearch, scripted_agents

TYPES = {"on_chat_model_start", "on_chat_model_stream", "on_tool_start", "on_tool_end", "on_custom_event"}
NODES = {"planner", "tool_executor", "analyzer", "generator", "verifier"}
GATHERING, SYNTHESIS = DeepResearchPhase.GATHERING, DeepResearchPhase.SYNTHESIS


def test_every_event_has_its_place_in_the_protocol() -> None:
    assert {event.name for event in every_event()} == set(ev.EVENT_TYPES)
    for event in every_event():
        made = list(as_protocol([event]))
        assert made or isinstance(event, ev.TaskStepped)
        for each in made:
            assert each["event"] in TYPES
            assert each["name"] in NODES
            assert each["seq"] == event.seq
            json.dumps(each)
            if each["event"] == "on_custom_event":
                assert each["data"]["status"]


@pytest.mark.parametrize(
    ("event", "kind", "node", "data"),
    [
        (
            ev.Started(phase=GATHERING, tool="fetch", input="https://a.example/"),
            "on_tool_start",
            "tool_executor",
            {"tool": "fetch", "input": "https://a.example/"},
        ),
        (
            ev.Written(phase=SYNTHESIS, label="report", text="The tower"),
            "on_chat_model_stream",
            "generator",
            {"chunk": "The tower", "label": "report"},
        ),
        (
            ev.Written(phase=SYNTHESIS, label="report"),
            "on_chat_model_stream",
            "generator",
            {"chunk": "", "label": "report", "reset": True},
        ),
        (
            ev.PhaseRetried(phase=DeepResearchPhase.PLANNING, attempt=1, issues=("too few",)),
            "on_custom_event",
            "verifier",
            {"status": "planning_retry", "attempt": 1, "issues": ["too few"], "asked_by": "gate"},
        ),
        (
            ev.SubQueryFailed(sub_query_id="subq-000000000001", error="down"),
            "on_tool_end",
            "tool_executor",
            {"tool": "search", "id": "subq-000000000001", "error": "down"},
        ),
    ],
)
def test_an_event_in_the_protocol(event: Any, kind: str, node: str, data: dict[str, Any]) -> None:
    (made,) = as_protocol([event])
    assert (made["event"], made["name"], made["data"]) == (kind, node, data)


def test_notes_that_say_nothing_of_their_own_are_left_out() -> None:
    assert (
        list(as_protocol([ev.Progress(phase=GATHERING, message="x"), ev.Missed(phase=GATHERING, count=3)]))
        == []
    )


@pytest.mark.timed
def test_a_run_that_is_followed_shows_its_tools_as_they_start_and_end() -> None:
    async def wait(_: object) -> None:
        await asyncio.sleep(0.05)

    async def journey() -> list[dict[str, Any]]:
        async with DeepResearch(
            search=[ScriptedSearch(before=wait)],
            max_concurrent=1,
            agents=scripted_agents(without=["gatherer"]),
            store="memory",
        ) as research:

            async def events() -> AsyncIterator[Any]:
                async for event in research.stream("What is known of towers?"):
                    yield event

            async with asyncio.timeout(120):
                return [event async for event in as_protocol(events())]

    made = asyncio.run(journey())
    run_id = made[0]["run_id"]
    assert all(event["run_id"] == run_id for event in made)
    started = [event["data"]["input"] for event in made if event["event"] == "on_tool_start"]
    ended = [event for event in made if event["event"] == "on_tool_end"]
    assert started
    assert len(ended) >= len(set(started))
    assert made[-1]["data"]["status"] == "run_completed"
