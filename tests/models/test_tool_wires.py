"""What is each service's own in turns with tools: what stands where in a request, in the types of the SDKs."""

import asyncio
from itertools import pairwise

import anthropic.types
import pytest
from openai.types import responses
from pydantic import TypeAdapter
from servers import Fault, ModelServer

from deep_research.models import Effort, Message, ModelCall, ToolCall, ToolOutput, ToolSpec
from deep_research.models.anthropic import AnthropicMessages
from deep_research.models.anthropic_wire import request_of
from deep_research.models.clients_wire import without_system
from deep_research.models.language_model import SingleModel
from deep_research.models.openai import OpenAIResponses
from deep_research.models.profiles import Profile
from deep_research.models.retry import Persistence
from deep_research.models.structured import Abilities

pytestmark = pytest.mark.timed

KEY = "key-0123456789"
SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
TOOLS = (ToolSpec(name="search", description="Finds ships.", parameters=SCHEMA), ToolSpec(name="stop"))
MARK = {"type": "ephemeral"}
BLOCKS = {
    "text": anthropic.types.TextBlockParam,
    "thinking": anthropic.types.ThinkingBlockParam,
    "redacted_thinking": anthropic.types.RedactedThinkingBlockParam,
    "tool_use": anthropic.types.ToolUseBlockParam,
    "tool_result": anthropic.types.ToolResultBlockParam,
}
ITEMS = {
    "reasoning": responses.ResponseReasoningItemParam,
    "message": responses.ResponseOutputMessageParam,
    "function_call": responses.ResponseFunctionToolCallParam,
    "function_call_output": responses.response_input_item_param.FunctionCallOutput,
    "": responses.EasyInputMessageParam,
}


async def no_sleep(_seconds):
    pass


def anthropic_at(server):
    return AnthropicMessages("model-1", api_key=KEY, base_url=server.base_url)


def openai_at(server):
    return OpenAIResponses("model-1", api_key=KEY, base_url=f"{server.base_url}/v1")


def talk(make, *, turns=3, system="Find ships.", effort=None, redacted=False, faults=()):
    """The bodies of the requests of a conversation, and its answers."""
    with ModelServer(faults=faults) as server:
        server.call_tools(
            ("search", {"query": "a"}),
            ("search", {"query": "b"}),
            text="Look.",
            reasoning="Sloops first.",
            redacted=redacted,
        )

        async def journey():
            provider = make(server)
            model = SingleModel(
                provider,
                Profile(context=100_000, output=4_000),
                abilities=Abilities(),
                persistence=Persistence(sleep=no_sleep),
            )
            messages, answers = (Message(content="Which ships?"),), []
            for _ in range(turns):
                call = ModelCall(
                    messages=messages,
                    system=system,
                    tools=TOOLS,
                    effort=effort,
                    max_output=1_000,
                    timeout=120,
                )
                answers.append(await model.turn(call))
                calls = answers[-1].value.calls
                outputs = (calls[0].output("none"), calls[1].output("shut", failed=True))
                messages = (*messages, answers[-1].value, Message(outputs=outputs))
            await provider.aclose()
            return answers

        answers = asyncio.run(journey())
        return [served.body for served in server.log], answers


def marks(part):
    if isinstance(part, dict):
        return ("cache_control" in part) + marks(part.get("content"))
    return sum(map(marks, part)) if isinstance(part, list) else 0


@pytest.mark.parametrize("redacted", [False, True])
def test_the_turns_of_anthropic_are_of_the_types_of_its_sdk(redacted):
    *_, last = talk(anthropic_at, redacted=redacted)[0]
    for tool in last["tools"]:
        TypeAdapter(anthropic.types.ToolParam).validate_python(tool)
    kinds = []
    for message in last["messages"]:
        kinds.append([block["type"] for block in message["content"]])
        for block in message["content"]:
            TypeAdapter(BLOCKS[block["type"]]).validate_python(block)
    thought = "redacted_thinking" if redacted else "thinking"
    model, user = [thought, "text", "tool_use", "tool_use"], ["tool_result", "tool_result"]
    assert kinds == [["text"], model, user, model, user]
    failed = last["messages"][2]["content"][1]
    assert (failed["content"], failed["is_error"]) == ("shut", True)


def test_the_turns_of_openai_are_of_the_types_of_its_sdk():
    *_, last = talk(openai_at)[0]
    for tool in last["tools"]:
        TypeAdapter(responses.FunctionToolParam).validate_python(tool)
    kinds = [item.get("type", "") for item in last["input"]]
    for item in last["input"]:
        TypeAdapter(ITEMS[item.get("type", "")]).validate_python(item)
    turn = ["reasoning", "message", "function_call", "function_call"]
    assert kinds == ["", *(turn + ["function_call_output"] * 2) * 2]
    assert last["input"][6]["output"] == "Failed: shut"
    assert last["store"] is False
    assert last["include"] == ["reasoning.encrypted_content"]
    assert last["parallel_tool_calls"] is True


def test_all_requests_of_a_conversation_at_openai_share_one_key_of_the_cache():
    bodies, _ = talk(openai_at)
    assert len({body["prompt_cache_key"] for body in bodies}) == 1


def test_each_request_to_anthropic_begins_as_the_one_before_ended_and_is_marked_at_its_end():
    bodies, answers = talk(anthropic_at, turns=6)
    for before, after in pairwise(bodies):
        assert _plain(after["messages"])[: len(before["messages"])] == _plain(before["messages"])
    for body in bodies:
        assert body["messages"][-1]["content"][-1]["cache_control"] == MARK
        assert body["system"][-1]["cache_control"] == MARK
        assert marks(body["tools"]) == 0
        assert marks(body["messages"]) <= 3
    assert all(after.usage.cache_read > before.usage.cache_read for before, after in pairwise(answers))


def _plain(messages):
    return [
        [
            {name: part for name, part in block.items() if name != "cache_control"}
            for block in message["content"]
        ]
        for message in messages
    ]


def test_what_is_said_beside_outputs_stands_behind_the_mark_for_the_cache():
    outputs = ToolOutput(call_id="a", text="one"), ToolOutput(call_id="b", text="two")
    turn = Message(outputs=outputs, content="Two steps are left.", stable=True)
    (sent,) = request_of("m", ModelCall(messages=(turn,), tools=TOOLS), {"cache_control": MARK})["messages"]
    assert [block["type"] for block in sent["content"]] == ["tool_result", "tool_result", "text"]
    assert ["cache_control" in block for block in sent["content"]] == [False, True, False]


def test_turns_with_calls_stay_apart_where_a_model_has_no_system_text():
    call = ToolCall(id="a", name="search")
    turns = (
        Message(content="Which ships?"),
        Message(role="assistant", calls=(call,)),
        Message(outputs=(call.output("none"),)),
        Message(content="And now?"),
    )
    made = without_system(ModelCall(system="Find ships.", messages=turns)).messages
    assert made == (Message(content="Find ships.\n\nWhich ships?"), *turns[1:])


def test_without_a_system_text_the_tools_are_marked():
    body = talk(anthropic_at, turns=1, system="")[0][0]
    assert [tool.get("cache_control") for tool in body["tools"]] == [None, MARK]


def test_anthropic_thinks_between_calls_where_there_is_an_effort():
    assert "thinking" not in talk(anthropic_at, turns=1)[0][0]
    bodies, _ = talk(anthropic_at, turns=2, effort=Effort.HIGH)
    assert [body["thinking"] for body in bodies] == [{"type": "adaptive"}] * 2
    assert bodies[0]["output_config"] == {"effort": "high"}


def test_thinking_that_was_refused_is_left_out():
    words = "thinking.type: adaptive thinking is not supported on this model"
    fault = Fault("400", match='"adaptive"', message=words, times=None)
    bodies, answers = talk(anthropic_at, turns=2, effort=Effort.LOW, faults=[fault])
    assert ["thinking" in body for body in bodies] == [True, False, False]
    assert [answer.requests for answer in answers] == [2, 1]
    assert [answer.rung for answer in answers] == ["calls", "calls"]


@pytest.mark.parametrize("name", ["include", "parallel_tool_calls"])
def test_what_openai_refuses_beside_tools_is_left_out(name):
    """Thoughts that are not there encrypted cannot go back: the turn is told in words."""
    fault = Fault("400", match=f'"{name}"', message=f"Unsupported parameter: '{name}'", times=None)
    bodies, answers = talk(openai_at, turns=2, faults=[fault])
    assert [name in body for body in bodies] == [True, False, False]
    assert [answer.rung for answer in answers] == ["calls", "calls"]
    kinds = [item.get("type", "") for item in bodies[-1]["input"]]
    assert ("function_call" in kinds) is (name != "include")
