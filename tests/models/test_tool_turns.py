"""Turns with tools above the wires: the ladder, chains, records, and the object below the services' own calls."""

import asyncio
import json

import pytest

from deep_research.errors import ModelError
from deep_research.models import (
    Message,
    ModelCall,
    Reply,
    StopReason,
    TokenUsage,
    ToolCall,
    ToolOutput,
    ToolSpec,
)
from deep_research.models.failures import from_status
from deep_research.models.language_model import expected_tokens
from deep_research.models.model_pool import Chain
from deep_research.models.recording import Recorder, Replay, key_of
from deep_research.models.structured import Abilities, Rung
from deep_research.models.tool_calls import MAX_ARGUMENT_CHARS, NativeTurn, read_call
from deep_research.models.tool_turns import MAX_CALLS, MAX_NATIVE_CHARS
from deep_research.testing.models import ScriptedModel, ScriptedProvider

SEARCH = ToolSpec(
    name="search",
    description="Finds ships.",
    parameters={"type": "object", "properties": {"query": {"type": "string"}}},
)
CALLED = ToolCall(id="a1", name="search", arguments={"query": "brigs"})
USED = TokenUsage(input=50, output=20, reasoning=8)
THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
OBJECT = {"thought": "Look.", "calls": [{"tool": "search", "arguments": {"query": "brigs"}}]}


def asked(*messages, **more):
    return ModelCall(messages=(Message(content="Which ships?"), *messages), tools=(SEARCH,), **more)


def said(*calls, text="Look.", blocks=(THINKING,), stop=StopReason.END):
    native = NativeTurn(blocks=tuple(blocks)) if blocks else None
    return Reply(text=text, stop=stop, usage=USED, calls=tuple(calls), native=native)


def outputs(message, text="none"):
    return Message(outputs=tuple(call.output(text) for call in message.calls))


def ask(work):
    try:
        return asyncio.run(work)
    except ModelError as error:
        return error


def test_a_turn_holds_what_is_said_and_called_and_goes_back_as_it_came(model_of):
    provider = ScriptedProvider([said(CALLED), said(text="Seven.")], tools=True)
    model = model_of(provider)
    answer = ask(model.turn(asked()))
    turn = answer.value
    assert (turn.content, turn.calls, answer.rung, answer.usage) == ("Look.", (CALLED,), Rung.CALLS, USED)
    assert turn.native == NativeTurn(blocks=(THINKING,), origin=provider.identity, tokens=20)
    ask(model.turn(asked(turn, outputs(turn))))
    sent = provider.calls[1]
    assert sent.messages[1].native == turn.native
    assert sent.messages[2].outputs == (ToolOutput(call_id="a1", text="none"),)
    assert [message.stable for message in sent.messages] == [True, False, True]


def test_another_model_of_the_chain_goes_on_in_words(model_of):
    """And the first, when it is back, reads what the other did in words, and its own as it came."""
    down = from_status(503, "down", model="m")
    first = ScriptedProvider([said(CALLED), *[down] * 4, said(text="Ended.")], service="a", tools=True)
    other = said(CALLED.model_copy(update={"id": "b1"}), text="More.", blocks=({"type": "reasoning"},))
    second = ScriptedProvider([other], service="b", tools=True)
    chain = Chain([model_of(first), model_of(second)])
    turns: list[Message] = []
    for _ in range(3):
        turns.append(ask(chain.turn(asked(*turns))).value)
        turns.append(outputs(turns[-1], text="found «Ada»"))
    (sent,) = second.calls
    assert [(m.native, m.calls, m.outputs) for m in sent.messages] == [(None, (), ())] * 3
    assert sent.messages[1].content == 'Look.\n\nTools were used: search({"query": "brigs"})'
    assert sent.messages[2].content == "1. search:\nfound «Ada»"
    back = first.calls[-1].messages
    assert [bool(message.native) for message in back] == [False, True, False, False, False]
    assert back[2].outputs
    assert back[4].content == "1. search:\nfound «Ada»"


def test_below_the_calls_of_a_service_the_conversation_is_made_of_objects(model_of):
    provider = ScriptedProvider([OBJECT])
    turn = Message(role="assistant", content="Look.", calls=(CALLED,))
    failed = Message(outputs=(CALLED.output("It is shut.", failed=True),), content="Go on.")
    answer = ask(model_of(provider).turn(asked(turn, failed, system="Find ships.")))
    (sent,) = provider.calls
    assert sent.system.startswith("Find ships.\n\nYou have tools.")
    assert "- search(query): Finds ships." in sent.system
    assert json.loads(sent.messages[1].content) == OBJECT
    assert sent.messages[2].content.startswith("1. search failed:\nIt is shut.\n\nGo on.")
    assert sent.tools == ()
    assert answer.rung is Rung.SCHEMA
    assert answer.value.calls == (ToolCall(id="call_2", name="search", arguments={"query": "brigs"}),)


def test_what_a_service_refuses_is_remembered_once_another_way_works(model_of):
    abilities = Abilities()
    refusal = from_status(400, "tools: not supported", model="m")
    provider = ScriptedProvider([refusal, OBJECT, OBJECT], tools=True)
    model = model_of(provider, abilities=abilities)
    assert [ask(model.turn(asked())).requests for _ in range(2)] == [2, 1]
    assert not abilities.may(provider.identity, Rung.CALLS)


def test_tools_that_worked_are_not_given_up_for_one_refusal(model_of):
    abilities = Abilities()
    refusal = from_status(400, "tools: not now", model="m")
    provider = ScriptedProvider([said(CALLED), refusal, OBJECT, said(CALLED)], tools=True)
    model = model_of(provider, abilities=abilities)
    rungs = [ask(model.turn(asked())).rung for _ in range(3)]
    assert rungs == [Rung.CALLS, Rung.SCHEMA, Rung.CALLS]


def test_a_service_that_fails_over_tools_without_a_word_is_asked_for_an_object(model_of):
    provider = ScriptedProvider([from_status(500, "", model="m")] * 2 + [OBJECT], tools=True)
    answer = ask(model_of(provider).turn(asked()))
    assert (answer.rung, answer.requests) == (Rung.SCHEMA, 3)


@pytest.mark.parametrize(
    ("replies", "verdict", "requests"),
    [
        ([said(stop=StopReason.REFUSAL)], "refusal", 1),
        ([said(stop=StopReason.LENGTH)], "length", 2),
        ([said(text="", blocks=())] * 2 + ["prose"], "malformed", 4),
        ([from_status(401, "no", model="m")], "fatal", 1),
        ([from_status(404, "no", model="m", code="model_not_found")], "fatal", 1),
        ([said(stop=StopReason.INCOMPLETE)], "incomplete", 4),
    ],
)
def test_what_is_no_turn_is_an_error_with_the_books_of_all_requests(model_of, replies, verdict, requests):
    provider = ScriptedProvider(replies, tools=True)
    error = ask(model_of(provider).turn(asked(max_output=700)))
    assert (error.verdict, error.data["requests"]) == (verdict, requests)
    assert len(provider.calls) == requests
    assert TokenUsage.model_validate(error.data["usage"]) == provider.usage


def test_a_cut_turn_is_asked_for_once_more_with_more_room(model_of):
    provider = ScriptedProvider([said(CALLED, stop=StopReason.LENGTH), said(CALLED)], tools=True)
    answer = ask(model_of(provider).turn(asked(max_output=700)))
    assert [call.max_output for call in provider.calls] == [700, 1_400]
    assert (answer.value.calls, answer.usage) == ((CALLED,), USED + USED)


def test_a_turn_that_is_too_large_to_be_kept_is_told_in_words(model_of):
    blocks = ({"type": "thinking", "thinking": "hm " * MAX_NATIVE_CHARS},)
    turn = ask(model_of(ScriptedProvider([said(CALLED, blocks=blocks)], tools=True)).turn(asked())).value
    assert (turn.native, turn.calls) == (None, (CALLED,))


def test_values_without_end_within_values_are_not_kept(model_of):
    deep: dict = {}
    for _ in range(5_000):
        deep = {"a": deep}
    reply = said(
        CALLED, CALLED.model_copy(update={"id": "b", "arguments": deep}), blocks=({"type": "x", "y": deep},)
    )
    turn = ask(model_of(ScriptedProvider([reply], tools=True)).turn(asked())).value
    assert (turn.native, turn.calls) == (None, (CALLED,))


def test_a_turn_has_no_more_calls_than_anybody_needs(model_of):
    many = [CALLED.model_copy(update={"id": f"c{n}"}) for n in range(5 * MAX_CALLS)]
    turn = ask(model_of(ScriptedProvider([said(*many)], tools=True)).turn(asked())).value
    assert (len(turn.calls), turn.native) == (MAX_CALLS, None)


def test_a_turn_needs_tools(model_of):
    with pytest.raises(ValueError, match="needs tools"):
        asyncio.run(model_of(ScriptedProvider()).turn(ModelCall(messages=(Message(content="x"),))))


def test_thoughts_that_go_back_are_counted():
    turn = Message(role="assistant", native=NativeTurn(blocks=(THINKING,), tokens=5_000), calls=(CALLED,))
    assert expected_tokens(asked(turn)) > 5_000 > expected_tokens(asked())


# Records


def test_a_conversation_with_tools_is_replayed_as_it_was(model_of, tmp_path):
    path = tmp_path / "record.jsonl"
    replies = [said(CALLED), said(CALLED.model_copy(update={"id": "a2"})), said(text="Seven.")]

    async def talk(model):
        turns: list[Message] = []
        for _ in replies:
            turns.append((await model.turn(asked(*turns))).value)
            turns.append(outputs(turns[-1]))
        return [(turn.content, turn.calls, turn.native and turn.native.blocks) for turn in turns]

    recorded = asyncio.run(talk(model_of(Recorder(ScriptedProvider(replies, tools=True), path))))
    replay = Replay(str(path))
    assert replay.has_tools
    assert asyncio.run(talk(model_of(replay))) == recorded
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert "native" in lines[0]["reply"]
    assert "thinking" not in json.dumps(
        [line["call"] for line in lines]
    )  # it is in the reply that it came with


def test_a_conversation_by_objects_is_replayed_as_it_was(model_of, tmp_path):
    path = tmp_path / "record.jsonl"
    provider = Recorder(ScriptedProvider([from_status(400, "no tools", model="m"), OBJECT], tools=True), path)
    recorded = ask(model_of(provider).turn(asked()))
    answer = ask(model_of(Replay(str(path))).turn(asked()))
    assert (answer.value, answer.rung) == (recorded.value, Rung.SCHEMA)


def test_a_record_may_hold_calls_of_one_model_and_objects_of_another(model_of, tmp_path):
    path = tmp_path / "record.jsonl"
    other = asked().model_copy(update={"messages": (Message(content="Which harbours?"),)})
    ask(model_of(Recorder(ScriptedProvider([said(CALLED)], tools=True), path)).turn(asked()))
    ask(model_of(Recorder(ScriptedProvider([OBJECT]), path)).turn(other))
    model = model_of(Replay(str(path)))
    assert [ask(model.turn(call)).rung for call in (asked(), other)] == [Rung.CALLS, Rung.SCHEMA]


def test_what_is_called_given_and_offered_makes_another_question():
    turn = Message(role="assistant", content="Look.", calls=(CALLED,))
    other = turn.model_copy(update={"calls": (CALLED.model_copy(update={"arguments": {}}),)})
    keys = [
        key_of(asked()),
        key_of(asked().model_copy(update={"tools": ()})),
        key_of(asked().model_copy(update={"tools": (SEARCH.model_copy(update={"description": ""}),)})),
        key_of(asked(turn)),
        key_of(asked(other)),
        key_of(asked(turn, outputs(turn))),
        key_of(asked(turn, outputs(turn, text="one"))),
    ]
    assert len(set(keys)) == len(keys)
    native = turn.model_copy(update={"native": NativeTurn(blocks=(THINKING,))})
    assert key_of(asked(native)) == key_of(asked(turn))


# Calls


@pytest.mark.parametrize(
    ("arguments", "read", "problem"),
    [
        ('{"query": "x"}', {"query": "x"}, ""),
        ({"query": "x"}, {"query": "x"}, ""),
        ("", {}, ""),
        ('{"query": "\\ud800"}', {"query": "\ufffd"}, ""),
        ("[1]", {}, "The arguments of search are no JSON object that can be read: [1]"),
        ('{"query": "x', {}, 'The arguments of search are no JSON object that can be read: {"query": "x'),
        ("[" * 90_000, {}, "The arguments of search are no JSON object that can be read: [[["),
        ('{"a":' * 90 + "1" + "}" * 90, {}, "The arguments of search are no JSON object"),
        ('{"query": "' + "x" * MAX_ARGUMENT_CHARS + '"}', {}, "The arguments of search are no JSON object"),
    ],
)
def test_arguments_are_an_object_or_a_problem(arguments, read, problem):
    call = read_call("i", "search", arguments)
    assert call.arguments == read
    assert call.problem.startswith(problem)
    assert bool(call.problem) is bool(problem)
    assert len(call.problem) < 300


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "é"])
def test_a_tool_has_a_name_that_every_service_takes(name):
    with pytest.raises(ValueError, match="name"):
        ToolSpec(name=name)


def test_a_scripted_model_takes_turns_for_agents():
    turn = Message(role="assistant", content="Look.", calls=(CALLED,))
    model = ScriptedModel([turn, {"content": "Seven."}])
    assert ask(model.turn(asked())).value == turn
    assert ask(model.turn(asked())).value == Message(role="assistant", content="Seven.")
    assert [wanted for _, wanted in model.calls] == [Message, Message]
