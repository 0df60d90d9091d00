"""Turns with tools: one shape over the services' own calls and over the object below them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from deep_research.errors import ModelError
from deep_research.models.base import Message, ModelCall, ModelProvider, TokenUsage
from deep_research.models.failures import Verdict
from deep_research.models.language_model import Answer, SingleModel
from deep_research.models.profiles import Profile
from deep_research.models.retry import Persistence
from deep_research.models.structured import Abilities, Rung
from deep_research.models.tool_calls import NativeTurn, ToolSpec
from deep_research.testing.model_bench import WAYS, Ability, Bench
from deep_research.testing.patience import PATIENCE_SECONDS

TOOLS = (
    ToolSpec(
        name="search",
        description="Finds ships.",
        parameters={
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "words to look for"},
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            },
            "required": ["query"],
        },
    ),
    ToolSpec(
        name="open_logs",
        description="Reads the logs of ships.",
        parameters={
            "type": "object",
            "properties": {
                "names": {"type": "array", "items": {"type": "string"}},
                "part": {"type": "string", "enum": ["first", "last"]},
            },
        },
    ),
)
THOUGHT = "Two things can be looked for at once."
CALLS = (
    ("search", {"query": "sloops «Ärmel» 👩‍👧", "limit": 3}),
    ("search", {"query": "brigs"}),
    ("open_logs", {"names": ["Ada", "Bee"], "part": "last"}),
)
THOUGHTS = "Nobody but the service reads this: sloops first, then brigs."
QUESTION = Message(content="Which ships passed?")


@dataclass(slots=True)
class Talk:
    """A conversation with the model of a bench."""

    bench: Bench
    provider: ModelProvider
    abilities: Abilities = field(default_factory=Abilities)
    messages: tuple[Message, ...] = (QUESTION,)
    system: str = "You look for ships."
    max_output: int = 1_000

    @classmethod
    def over(cls, bench: Bench, **options: Any) -> Talk:
        return cls(bench, bench.provider(), **options)

    @property
    def call(self) -> ModelCall:
        return ModelCall(
            messages=self.messages,
            system=self.system,
            tools=TOOLS,
            max_output=self.max_output,
            timeout=PATIENCE_SECONDS,
        )

    async def turn(self) -> Answer[Message]:
        """The next turn, which goes on the conversation."""
        model = SingleModel(
            self.provider,
            Profile(context=8_192, output=4_000),
            abilities=self.abilities,
            persistence=Persistence(sleep=_at_once, chance=lambda: 0.0),
        )
        answer = await model.turn(self.call)
        self.messages = (*self.messages, answer.value)
        return answer

    def answer_calls(self, output: Callable[[str], str] = lambda name: f"Of {name}: none.") -> None:
        calls = self.messages[-1].calls
        outputs = (c.output(c.problem or output(c.name), failed=bool(c.problem)) for c in calls)
        self.messages = (*self.messages, Message(outputs=tuple(outputs)))

    async def failure(self) -> ModelError:
        try:
            answer = await self.turn()
        except ModelError as error:
            return error
        raise AssertionError(f"{answer!r} in place of a ModelError")

    def says(self, *calls: Any, text: str = THOUGHT, reasoning: str = "", redacted: bool = False) -> None:
        """What the model says from now on, by its service's calls or as the object that is asked for."""
        if self.bench.has(Ability.TOOLS):
            self.bench.server.call_tools(*calls, text=text, reasoning=reasoning, redacted=redacted)
        else:
            tool_calls = [{"tool": name, **arguments} for name, arguments in calls]
            self.bench.model_says(json.dumps({"thought": text, "calls": tool_calls}))


async def _at_once(_: float) -> None:
    await asyncio.sleep(0)


def _calls_in(message: Message) -> list[tuple[str, Mapping[str, Any]]]:
    assert not any(call.problem for call in message.calls)
    return [(call.name, call.arguments) for call in message.calls]


async def several_tools_are_called_at_once(bench: Bench) -> None:
    talk = Talk.over(bench)
    talk.says(*CALLS)
    answer = await talk.turn()
    assert _calls_in(answer.value) == list(CALLS)
    assert (answer.value.role, answer.value.content, answer.requests) == ("assistant", THOUGHT, 1)
    assert (answer.rung is Rung.CALLS) is bench.has(Ability.TOOLS)


async def the_model_is_told_of_the_tools(bench: Bench) -> None:
    talk = Talk.over(bench)
    talk.says(*CALLS)
    await talk.turn()
    body = json.dumps(bench.server.log[0].body)
    for tool in TOOLS:
        assert tool.name in body
        assert tool.description in body
    assert "words to look for" in body
    assert bench.server.log[0].tools == (("search", "open_logs") if bench.has(Ability.TOOLS) else ())


async def a_conversation_goes_on_with_the_outputs(bench: Bench) -> None:
    talk = Talk.over(bench)
    for number in range(3):
        talk.says(*CALLS, text=f"{THOUGHT} {number}", reasoning="Let me see. ")
        answer = await talk.turn()
        assert (answer.requests, len(answer.value.calls)) == (1, 3)
        talk.answer_calls(lambda name, number=number: f"{name} {number} found «Ärmel».")  # type: ignore[misc]
    last = bench.server.log[-1]
    body = json.dumps(last.body, ensure_ascii=False)
    for number in range(2):
        assert body.count(f"search {number} found «Ärmel».") == 2
        assert f"open_logs {number} found" in body
        assert f"{THOUGHT} {number}" in body
    ids = [call.id for message in talk.messages for call in message.calls]
    assert len(set(ids)) == len(ids) == 9


async def an_output_of_a_call_that_failed_is_told(bench: Bench) -> None:
    talk = Talk.over(bench)
    talk.says(CALLS[0])
    answer = await talk.turn()
    outputs = (answer.value.calls[0].output("The harbour does not answer.", failed=True),)
    talk.messages = (*talk.messages, Message(outputs=outputs, content="One step is left."))
    await talk.turn()
    body = json.dumps(bench.server.log[-1].body)
    assert "The harbour does not answer." in body
    assert "One step is left." in body
    assert any(word in body for word in ('"is_error": true', "Failed: ", "search failed"))


async def thoughts_go_back_as_they_came(bench: Bench) -> None:
    """The service refuses the outputs of calls whose thoughts were lost or changed."""
    for redacted in (False, True):
        talk = Talk.over(bench)
        talk.says(*CALLS, reasoning=THOUGHTS, redacted=redacted)
        for _ in range(3):
            answer = await talk.turn()
            assert (answer.rung, answer.requests) == (Rung.CALLS, 1)
            assert answer.usage.reasoning > 0
            talk.answer_calls()
        assert all(served.status == 200 for served in bench.server.log)


async def thoughts_are_in_nothing_but_the_turn_of_the_service(bench: Bench) -> None:
    talk = Talk.over(bench)
    talk.says(*CALLS, reasoning=THOUGHTS)
    value = (await talk.turn()).value
    assert value.native is not None
    assert THOUGHTS not in value.model_copy(update={"native": None}).model_dump_json()
    assert value.native.origin == talk.provider.identity
    assert value.native.tokens > 0


async def a_turn_that_the_service_does_not_know_is_put_into_words(bench: Bench) -> None:
    """It lost its blocks, was another service's, or is refused: what was said, called and found is told all the same."""
    for change in (_without, _of_another, _changed):
        talk = Talk.over(bench)
        talk.says(*CALLS, reasoning=THOUGHTS)
        first = (await talk.turn()).value
        talk.messages = (QUESTION, first.model_copy(update={"native": change(first.native)}))
        talk.answer_calls()
        before = len(bench.server.log)
        answer = await talk.turn()
        assert (answer.rung, len(answer.value.calls)) == (Rung.CALLS, 3)
        assert answer.requests == len(bench.server.log) - before == (2 if change is _changed else 1)
        body = json.dumps(bench.server.log[-1].body, ensure_ascii=False)
        for words in (THOUGHT, "brigs", "Of open_logs: none."):
            assert words in body
        assert THOUGHTS not in body


def _without(_: NativeTurn | None) -> None:
    return None


def _of_another(native: NativeTurn | None) -> NativeTurn:
    assert native is not None
    return native.model_copy(update={"origin": "another:model"})


def _changed(native: NativeTurn | None) -> NativeTurn:
    assert native is not None
    blocks = [block for block in native.blocks if block["type"] not in ("thinking", "reasoning")]
    return native.model_copy(update={"blocks": tuple(blocks)})


async def calls_without_all_their_outputs_are_put_into_words(bench: Bench) -> None:
    talk = Talk.over(bench)
    talk.says(*CALLS, reasoning=THOUGHTS)
    first = (await talk.turn()).value
    talk.messages = (*talk.messages, Message(outputs=(first.calls[0].output("Sloops: none."),)))
    answer = await talk.turn()
    assert (answer.requests, len(answer.value.calls)) == (1, 3)
    assert "Sloops: none." in json.dumps(bench.server.log[-1].body)


async def a_text_without_a_call_is_the_end(bench: Bench) -> None:
    talk = Talk.over(bench)
    talk.says(*CALLS, reasoning=THOUGHTS)
    await talk.turn()
    talk.answer_calls()
    if bench.has(Ability.TOOLS):
        bench.server.say("Seven ships.", reasoning=THOUGHTS)
    else:
        talk.says(text="Seven ships.")
    answer = await talk.turn()
    assert (answer.value.content, answer.value.calls, answer.requests) == ("Seven ships.", (), 1)
    talk.messages = (*talk.messages, Message(content="And brigs?"))  # it may go on all the same
    assert (await talk.turn()).requests == 1


async def a_tool_that_there_is_not_is_told_with_the_call(bench: Bench) -> None:
    talk = Talk.over(bench)
    talk.says(("sink", {"query": "x"}), CALLS[1])
    answer = await talk.turn()
    sink, search = answer.value.calls
    assert sink.name == "sink"
    assert sink.problem == "There is no tool 'sink'. There are: search, open_logs."
    assert (search.name, search.problem) == ("search", "")
    talk.answer_calls()
    assert (await talk.turn()).requests == 1
    assert "There is no tool 'sink'" in json.dumps(bench.server.log[-1].body)


async def arguments_that_are_no_json_are_told_with_the_call(bench: Bench) -> None:
    """Some services send an empty object in their place. The conversation goes on."""
    for arguments in ('{"query": "sh', "[1]", '"query"', "null", "[" * 2_000):
        talk = Talk.over(bench)
        talk.says(("search", arguments), CALLS[1], reasoning=THOUGHTS)
        first, second = (await talk.turn()).value.calls
        assert (first.name, first.arguments) == ("search", {})
        assert not first.problem or first.problem.startswith("The arguments of search are no JSON object")
        assert len(first.problem) < 400
        assert (second.arguments, second.problem) == (CALLS[1][1], "")
        talk.answer_calls()
        assert (await talk.turn()).requests == 1


async def each_call_has_an_id_of_its_own(bench: Bench) -> None:
    """Whatever the service gave it."""
    for call_id in ("same", "", "no id\n", "x" * 200):
        talk = Talk.over(bench)
        talk.says(*((name, arguments, call_id) for name, arguments in CALLS), reasoning=THOUGHTS)
        for _ in range(2):
            answer = await talk.turn()
            assert _calls_in(answer.value) == list(CALLS)
            assert answer.requests == 1
            talk.answer_calls()
        ids = [call.id for message in talk.messages for call in message.calls]
        assert len(set(ids)) == len(ids) == 6
        assert all(0 < len(name) <= 64 for name in ids)


async def a_refusal_ends_a_turn(bench: Bench) -> None:
    talk = Talk.over(bench)
    talk.says(*CALLS)
    bench.server.fail("refusal")
    error = await talk.failure()
    assert (error.verdict, error.data["requests"]) == (Verdict.REFUSAL, 1)
    assert error.data["usage"]["output"] > 0


async def a_turn_that_its_cap_cut_is_asked_for_once_with_more_room(bench: Bench) -> None:
    long = (("open_logs", {"names": ["Ada " * 20], "part": "last"}),)
    talk = Talk.over(bench, max_output=40)
    talk.says(*long)
    answer = await talk.turn()
    assert _calls_in(answer.value) == list(long)
    assert bench.server.log[0].limit == 40
    assert bench.server.log[-1].limit == 80
    assert answer.requests == len(bench.server.log) <= 3  # what was cut off an object is asked for first
    error = await Talk.over(bench, max_output=10).failure()
    assert error.verdict == Verdict.LENGTH


async def what_a_turn_took_is_counted(bench: Bench) -> None:
    talk = Talk.over(bench)
    talk.says(*CALLS, reasoning=THOUGHTS)
    for _ in range(2):
        before = len(bench.server.log)
        answer = await talk.turn()
        assert _token_counts(answer.usage) == _charged(bench.server.log[before:])
        assert answer.usage.is_known
        talk.answer_calls()


def _token_counts(usage: TokenUsage) -> tuple[int, int]:
    return usage.input, usage.output


def _charged(served: Sequence[Any]) -> tuple[int, int]:
    usages = [request.usage for request in served if request.usage is not None]
    return sum(usage.input for usage in usages), sum(usage.output for usage in usages)


async def what_was_said_before_is_read_from_the_cache(bench: Bench) -> None:
    talk = Talk.over(bench)
    talk.says(*CALLS, reasoning=THOUGHTS)
    took: list[TokenUsage] = []
    for number in range(4):
        took.append((await talk.turn()).usage)
        talk.answer_calls(lambda name, number=number: f"{name} {number}: " + "none. " * 60)  # type: ignore[misc]
    for before, after in pairwise(took[1:]):
        assert after.cache_read >= before.input - 40  # all but what ended the prompt before


async def a_service_that_will_not_have_tools_is_asked_for_an_object(bench: Bench) -> None:
    talk = Talk.over(bench)
    bench.server.abilities = bench.server.abilities - {"tools"}
    tool_calls = [{"tool": name, **arguments} for name, arguments in CALLS]
    bench.server.say(json.dumps({"thought": THOUGHT, "calls": tool_calls}))
    for requests in (2, 1):  # it is remembered
        answer = await talk.turn()
        assert (_calls_in(answer.value), answer.rung, answer.requests) == (list(CALLS), Rung.SCHEMA, requests)
        talk.answer_calls()


async def a_turn_is_the_same_streamed_and_plain(bench: Bench) -> None:
    talk = Talk.over(bench)
    for calls in (CALLS, (("search", '{"query": "sh'), CALLS[1]), ()):
        talk.says(*calls, reasoning=THOUGHTS)
        replies = []
        for streamed in WAYS:
            bench.server.clear()
            outcome = await bench.send(talk.call, streamed=streamed, provider=talk.provider)
            replies.append(outcome.answer)
            assert "".join(outcome.pieces) == (outcome.answer.text if streamed else "")
            assert THOUGHTS not in "".join(outcome.pieces)
        assert replies[0].model_copy(update={"calls": ()}) == replies[1].model_copy(update={"calls": ()})
        assert [c.arguments for c in replies[0].calls] == [c.arguments for c in replies[1].calls]


OF_NATIVE = (
    thoughts_go_back_as_they_came,
    thoughts_are_in_nothing_but_the_turn_of_the_service,
    a_turn_that_the_service_does_not_know_is_put_into_words,
    arguments_that_are_no_json_are_told_with_the_call,
    each_call_has_an_id_of_its_own,
    a_service_that_will_not_have_tools_is_asked_for_an_object,
    a_turn_is_the_same_streamed_and_plain,
)
