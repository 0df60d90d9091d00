"""Checks of answers: texts, turns, streams and ends arrive."""

from __future__ import annotations

import asyncio

from deep_research.models.base import Message, StopReason
from deep_research.testing.model_bench import CALL, MODEL, WAYS, Bench
from deep_research.testing.patience import until

SAID = "The keeper of the light wrote it down: seven ships passed, and none of them was seen again."
ANY_CHARACTERS = (
    "עשר · 你好 · 👩‍👩‍👧‍👦🏴 · e\u0301 · \u2028\u2029\x85\x0b\x0c\x1c · \x00 · \r\n\r\n\t · "
    'data: [DONE] · "}]\\n</html>'
)


async def a_text_is_given_as_it_was_said(bench: Bench) -> None:
    bench.model_says(SAID)
    for streamed in WAYS:
        outcome = await bench.send(streamed=streamed)
        assert (outcome.answer.text, outcome.answer.stop) == (SAID, StopReason.END)


async def the_model_and_the_stream_are_as_asked(bench: Bench) -> None:
    for streamed in WAYS:
        outcome = await bench.send(streamed=streamed)
        assert outcome.answer.model == MODEL
        assert [served.stream for served in outcome.served] == [streamed]


async def any_characters_come_through(bench: Bench) -> None:
    bench.model_says(ANY_CHARACTERS * 3)
    for streamed in WAYS:
        outcome = await bench.send(streamed=streamed)
        assert outcome.answer.text == ANY_CHARACTERS * 3


async def characters_that_are_cut_on_the_way_are_joined(bench: Bench) -> None:
    bench.model_says(ANY_CHARACTERS)
    bench.server.fail("drip-body", interval=0.0, times=None)  # a chunk for each byte
    for streamed in WAYS:
        outcome = await bench.send(streamed=streamed)
        assert outcome.answer.text == ANY_CHARACTERS


async def any_characters_can_be_asked(bench: Bench) -> None:
    """Halves of characters too, which are in no UTF-8: they are joined, or replaced."""
    call = CALL.model_copy(
        update={
            "system": f"{ANY_CHARACTERS} \udfff",
            "messages": (Message(content=f"{ANY_CHARACTERS} \ud83d\ude00 \ud800", stable=True),),
        }
    )
    for streamed in WAYS:
        outcome = await bench.send(call, streamed=streamed)
        assert outcome.answer.stop is StopReason.END
        system, question = (message["content"] for message in outcome.served[0].messages)
        assert system.startswith(ANY_CHARACTERS)
        assert question.startswith(f"{ANY_CHARACTERS} \U0001f600 ")


async def the_system_and_all_turns_arrive_in_order(bench: Bench) -> None:
    turns = [
        ("user", "One?"),
        ("assistant", "One."),
        ("user", "Two?"),
        ("assistant", "Two."),
        ("user", "Three?"),
    ]
    messages = tuple(
        Message(role="assistant" if role == "assistant" else "user", content=content)
        for role, content in turns
    )
    outcome = await bench.send(CALL.model_copy(update={"system": "Be brief.", "messages": messages}))
    arrived = [(message["role"], message["content"]) for message in outcome.served[0].messages]
    assert arrived == [("system", "Be brief."), *turns]


async def without_a_system_text_none_is_sent(bench: Bench) -> None:
    outcome = await bench.send()
    assert [message["role"] for message in outcome.served[0].messages] == ["user"]


async def streamed_is_the_same_as_plain(bench: Bench) -> None:
    for text, stop, reasoning in (
        (SAID, "end", ""),
        (SAID * 40, "end", "Let me see. " * 9),
        (SAID, "length", ""),
        (SAID, "refusal", ""),
        (SAID, "content-filter", ""),
        ("", "end", ""),
    ):
        replies = []
        for streamed in WAYS:
            bench.server.clear()  # else the second is read from a cache
            bench.server.say(text, stop=stop, reasoning=reasoning)
            outcome = await bench.send(streamed=streamed)
            replies.append(outcome.answer)
            assert "".join(outcome.pieces) == (outcome.answer.text if streamed else "")
        assert replies[0] == replies[1]


async def the_pieces_are_the_text(bench: Bench) -> None:
    bench.model_says(SAID * 3)
    outcome = await bench.send(streamed=True)
    assert "".join(outcome.pieces) == outcome.answer.text == SAID * 3


async def the_pieces_are_given_as_they_come(bench: Bench) -> None:
    bench.model_says(SAID * 3)
    outcome = await bench.send(streamed=True)
    assert len(outcome.pieces) > 3
    assert all(outcome.pieces)


async def thoughts_are_no_part_of_the_answer(bench: Bench) -> None:
    bench.server.say(SAID, reasoning="Let me count the ships.")
    for streamed in WAYS:
        outcome = await bench.send(streamed=streamed)
        assert outcome.answer.text == SAID


async def a_service_that_does_not_stream_is_understood(bench: Bench) -> None:
    """It sends the whole answer where a stream was asked for."""
    bench.model_says(SAID)
    bench.server.abilities = bench.server.abilities - {"stream"}
    bench.server.ignores = {"stream"}
    outcome = await bench.send(streamed=True)
    assert (outcome.answer.text, outcome.answer.stop) == (SAID, StopReason.END)
    assert "".join(outcome.pieces) == SAID


async def an_empty_answer_is_an_answer(bench: Bench) -> None:
    for streamed in WAYS:
        bench.server.fail("empty")
        outcome = await bench.send(streamed=streamed)
        assert (outcome.answer.text, outcome.answer.stop) == ("", StopReason.END)


async def an_answer_that_reached_its_cap_is_told(bench: Bench) -> None:
    bench.model_says(SAID)
    for streamed in WAYS:
        outcome = await bench.send(CALL.model_copy(update={"max_output": 5}), streamed=streamed)
        assert outcome.answer.stop is StopReason.LENGTH
        assert SAID.startswith(outcome.answer.text)
        assert outcome.answer.text


async def a_refusal_is_told(bench: Bench) -> None:
    for kind in ("refusal", "content-filter"):
        for streamed in WAYS:
            bench.server.fail(kind)
            outcome = await bench.send(streamed=streamed)
            assert outcome.answer.stop is StopReason.REFUSAL
            assert outcome.answer.usage.is_known


async def an_answer_that_was_cut_is_incomplete(bench: Bench) -> None:
    """A stream that ends properly, but before the service said that it was done."""
    bench.model_says(SAID)
    for after in (0, 1, None):
        bench.server.fail("sse-cut-clean", after=after)
        outcome = await bench.send(streamed=True)
        assert outcome.answer.stop is StopReason.INCOMPLETE
        assert SAID.startswith(outcome.answer.text)
        assert not outcome.answer.usage.is_known
    assert outcome.answer.text


async def what_the_listener_raises_is_its_own(bench: Bench) -> None:
    """The stream is closed, and the provider goes on to work."""
    provider = bench.provider()
    trouble = ValueError("the listener's")
    bench.server.fail("sse-slow", interval=0.02)

    def listen(_: str) -> None:
        raise trouble

    (raised,) = await asyncio.gather(provider.send(CALL, listen), return_exceptions=True)
    assert raised is trouble
    await until(lambda: bench.server.connections == 0)
    bench.server.fail()
    assert (await bench.send(streamed=True)).answer.text
