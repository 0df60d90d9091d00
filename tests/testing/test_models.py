"""The doubles for models are honest ones."""

import asyncio

import pytest
from pydantic import BaseModel, ValidationError

from deep_research.errors import ModelError
from deep_research.models.base import Message, ModelCall, Reply, StopReason, TokenUsage
from deep_research.testing.models import ScriptedModel, ScriptedProvider

CALL = ModelCall(messages=(Message(content="12345678"),), system="1234")


class Note(BaseModel):
    name: str
    number: int = 3


def test_answers_come_in_their_order_the_last_one_again_and_again():
    model = ScriptedModel(["a", "b"])
    assert [asyncio.run(model.text(CALL)).value for _ in range(3)] == ["a", "b", "b"]
    assert model.calls == [(CALL, None)] * 3


@pytest.mark.parametrize("said", [Note(name="x"), {"name": "x"}, '{"name": "x"}'])
def test_data_becomes_an_object_of_the_type_that_is_wanted(said):
    answer = asyncio.run(ScriptedModel([said]).object(CALL, Note))
    assert answer.value == Note(name="x")


def test_a_script_that_does_not_fit_is_a_mistake_in_the_test():
    with pytest.raises(ValidationError):
        asyncio.run(ScriptedModel([{"nam": "x"}]).object(CALL, Note))


def test_without_answers_a_sentence_is_given():
    assert asyncio.run(ScriptedModel().text(CALL)).value


def test_a_function_is_told_the_call_and_the_type_and_may_be_a_coroutine():
    async def answer(call, wanted):
        return {"name": call.messages[0].content} if wanted else "text"

    model = ScriptedModel(answer)
    assert asyncio.run(model.object(CALL, Note)).value.name == "12345678"
    assert asyncio.run(model.text(CALL)).value == "text"


def test_usage_is_counted_a_token_for_four_bytes():
    model = ScriptedModel(["12345"])
    answer = asyncio.run(model.text(CALL))
    assert answer.usage == model.usage == TokenUsage(input=3, output=2)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_provider_streams_the_text_that_it_gives(streamed):
    pieces = []
    provider = ScriptedProvider([{"name": "x" * 90}])
    reply = asyncio.run(provider.send(CALL, pieces.append if streamed else None))
    assert "".join(pieces) == (reply.text if streamed else "")
    assert len(pieces) > 1 or not streamed
    assert (provider.calls, provider.usage) == ([CALL], reply.usage)


def test_a_provider_gives_replies_and_raises_errors_as_they_are():
    reply = Reply(text="", stop=StopReason.LENGTH, usage=TokenUsage(is_known=False))
    provider = ScriptedProvider([reply, ModelError("no")])
    assert asyncio.run(provider.send(CALL)) is reply
    with pytest.raises(ModelError):
        asyncio.run(provider.send(CALL))
    assert not provider.usage.is_known
