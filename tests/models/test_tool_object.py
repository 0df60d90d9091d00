"""Calls of tools as one object: what any schema becomes, and how it is given in every way that a model has."""

import asyncio
import json
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from deep_research.models import Message, ModelCall, ToolSpec
from deep_research.models.structured import Abilities, Rung
from deep_research.models.tool_turns import ToolObject
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


class Fact(BaseModel):
    content: str = Field(description="a statement")
    source: str
    confidence: Literal["low", "high"] = "low"


class Done(BaseModel):
    answer: str | None = None
    facts: list[Fact] = Field(default_factory=list, description="what it rests on")
    missing: list[str] = Field(default_factory=list)


DONE = ToolSpec(name="done", description="Ends it.", parameters=Done.model_json_schema())


def test_the_schema_of_a_call_is_that_of_its_tool():
    tools = ToolObject.of((SEARCH, WIDE, DONE))
    schema = tools.form.model_json_schema()
    uses = {
        use["properties"]["tool"]["enum"][0]: use for use in schema["properties"]["calls"]["items"]["anyOf"]
    }
    assert uses["search"]["properties"]["arguments"] == SEARCH.parameters
    wide = uses["wide"]["properties"]["arguments"]["properties"]
    assert wide["when"] == {"$ref": "#/$defs/wide.When"}
    assert schema["$defs"]["wide.When"] == WIDE.parameters["$defs"]["When"]


def test_arguments_are_taken_as_they_are_given():
    tools = ToolObject.of((SEARCH, WIDE))
    given = {"tool": "t", "class": "a", "when": {"day": 3}, "tags": None}
    value = tools.form.model_validate(
        {
            "thought": "Two.",
            "calls": [
                {"tool": "search", "query": "3"},
                {"tool": "wide", "arguments": given},
                {"tool": "wide", "arguments": "[1]"},
            ],
        }
    )
    first, second, third = tools.message(value, 7).calls
    assert (first.id, first.arguments) == ("call_7", {"query": "3"})
    assert second.arguments == {"tool": "t", "class": "a", "when": {"day": 3}}
    assert "no JSON object" in third.problem


FACTS = [
    {"content": "Seven passed.", "source": "S1", "confidence": "high"},
    {"content": "Two sank.", "source": "S2"},
]
ENDED = {
    "thought": "That is all.",
    "calls": [{"tool": "done", "arguments": {"answer": "Seven.", "facts": FACTS, "missing": ["the eighth"]}}],
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
