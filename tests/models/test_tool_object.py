"""Calls of tools as one object: what any schema becomes, and how it is given in every way that a model has."""

import asyncio
import json
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from deep_research.models import Message, ModelCall, ToolSpec
from deep_research.models.abilities import Abilities, Rung
from deep_research.models.tool_object import ToolObject
from deep_research.testing.models import ScriptedProvider

SEARCH = ToolSpec(
    name="search",
    description="Finds ships.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}},
)
WIDE = ToolSpec(
    name="wide",
    parameters={
        "type": "object",
        "properties": {
            "tool": {"type": "string"},
            "model_config": {"type": "integer"},
            "class": {"enum": ["a", "b"]},
            "from-day": {"type": ["string", "null"]},
            "when": {"$ref": "#/$defs/When"},
            "tags": {"type": "array", "items": {"type": "integer"}},
            "query": {"type": "number"},
            "odd": True,
        },
        "$defs": {"When": {"type": "object", "properties": {"day": {"type": "integer"}}}},
    },
)


def test_tools_of_any_schema_become_one_flat_type():
    tools = ToolObject.of((SEARCH, WIDE))
    value = tools.form.model_validate(
        {
            "thought": "Two.",
            "calls": [
                {"tool": "search", "query": "3", "tags": [1]},
                {
                    "tool": "wide",
                    "argument_tool": "t",
                    "argument_model_config": 4,
                    "argument_class": "a",
                    "from_day": "1912",
                    "when": '{"day": 3}',
                    "tags": [1],
                    "query": "2.5",
                },
            ],
        }
    )
    first, second = tools.message(value, 7).calls
    assert (first.id, first.arguments) == ("call_7", {"query": "3"})
    assert second.arguments == {
        "tool": "t",
        "model_config": 4,
        "class": "a",
        "from-day": "1912",
        "when": {"day": 3},
        "tags": [1],
        "query": "2.5",
    }
    assert set(json.loads(tools.text(tools.message(value, 1)))["calls"][1]) == {
        "tool",
        "argument_tool",
        "argument_model_config",
        "argument_class",
        "from_day",
        "when",
        "tags",
        "query",
    }


class Fact(BaseModel):
    content: str = Field(description="a statement")
    source: str
    confidence: Literal["low", "high"] = "low"


class Done(BaseModel):
    answer: str | None = None
    facts: list[Fact] = Field(default_factory=list, description="what it rests on")
    missing: list[str] = Field(default_factory=list)


DONE = ToolSpec(name="done", description="Ends it.", parameters=Done.model_json_schema())
FACTS = [
    {"content": "Seven passed.", "source": "S1", "confidence": "high"},
    {"content": "Two sank.", "source": "S2"},
]
ENDED = {
    "thought": "That is all.",
    "calls": [{"tool": "done", "answer": "Seven.", "missing": ["the eighth"]}],
    "facts": FACTS,
}


@pytest.mark.parametrize("rung", [Rung.SCHEMA, Rung.TOOL, Rung.JSON])
def test_a_list_of_objects_can_be_given_in_every_way(model_of, rung):
    abilities = Abilities()
    for before in list(Rung)[: list(Rung).index(rung)]:
        abilities.failed("scripted:model-1", before)
    provider = ScriptedProvider([ENDED])
    call = ModelCall(messages=(Message(content="Which ships?"),), tools=(SEARCH, DONE))
    answer = asyncio.run(model_of(provider, abilities=abilities).turn(call))
    (done,) = answer.value.calls
    assert (answer.rung, answer.requests) == (rung, 1)
    assert done.arguments == {"answer": "Seven.", "facts": FACTS, "missing": ["the eighth"]}
    assert Done.model_validate(done.arguments).facts[1].confidence == "low"
    assert json.loads(ToolObject.of((SEARCH, DONE)).text(answer.value)) == ENDED


def test_lists_beside_the_calls_are_of_the_first_call_of_their_tool():
    tools = ToolObject.of((SEARCH, DONE))
    said = {"thought": "", "calls": [{"tool": "search"}, {"tool": "done"}, {"tool": "done"}], "facts": FACTS}
    calls = tools.message(tools.form.model_validate(said), 1).calls
    assert [call.arguments for call in calls] == [{}, {"facts": FACTS}, {}]
