"""Tokens: what is said to have been used is what was charged."""

from __future__ import annotations

import asyncio

from deep_research.errors import ModelError
from deep_research.models.base import Message, TokenUsage
from deep_research.testing.model_bench import CALL, WAYS, Ability, Bench, Outcome

_LONG = "The log of the light, year by year. " * 60


async def the_usage_is_what_was_charged(bench: Bench) -> None:
    call = CALL.model_copy(
        update={"system": _LONG, "messages": (Message(content=_LONG, stable=True), Message(content="Well?"))}
    )
    bench.server.say("Seven ships.", reasoning="One, two, three. " * 9)
    for streamed in (*WAYS, *WAYS):
        outcome = await bench.send(call, streamed=streamed)
        charged = outcome.served[0].usage
        assert charged is not None
        usage = outcome.answer.usage
        assert usage.is_known
        assert (usage.input, usage.output) == (charged.input, charged.output)
        if bench.has(Ability.CACHE):
            assert (usage.cache_read, usage.cache_write) == (charged.cached, charged.written)
        assert usage.reasoning == (charged.reasoning if bench.has(Ability.REASONING) else 0)


async def a_stable_beginning_is_read_from_the_cache(bench: Bench) -> None:
    beginning = (
        Message(content=_LONG),
        Message(role="assistant", content="Read."),
        Message(content=_LONG, stable=True),
    )
    calls = [
        CALL.model_copy(update={"system": _LONG, "messages": (*beginning, Message(content=question))})
        for question in ("How many?", "When?")
    ]
    first, second = [(await bench.send(call)).answer.usage for call in calls]
    assert first.cache_read == 0
    assert second.cache_read >= len(_LONG) * 3 // 4
    assert second.cache_read < second.input


async def a_message_that_grows_is_read_from_the_cache_up_to_where_it_grew(bench: Bench) -> None:
    steps = [f"Step {number}. {_LONG}" for number in range(3)]
    cached = []
    for many in (1, 2, 3):
        text = "".join(steps[:many])
        cuts = tuple(sum(map(len, steps[:count])) for count in range(1, many + 1))
        message = Message(content=f"{text}What next, after {many}?", cuts=cuts)
        outcome = await bench.send(CALL.model_copy(update={"system": _LONG, "messages": (message,)}))
        cached.append(outcome.answer.usage.cache_read)
        assert str(outcome.served[0].body).count("ephemeral") <= 4
    assert cached[0] == 0
    assert cached[2] - cached[1] >= len(_LONG) * 3 // 4 // 4  # a token has four characters, about


async def many_stable_messages_are_no_harm(bench: Bench) -> None:
    messages = tuple(Message(content=f"{n}. {_LONG}", stable=True) for n in range(9))
    for _ in range(2):
        outcome = await bench.send(CALL.model_copy(update={"system": _LONG, "messages": messages}))
        assert str(outcome.served[0].body).count("ephemeral") <= 4
        assert outcome.answer.text


async def usage_that_was_not_told_is_unknown(bench: Bench) -> None:
    bench.server.abilities = bench.server.abilities - {"usage"}
    for streamed in WAYS:
        outcome = await bench.send(streamed=streamed)
        assert outcome.answer.usage == TokenUsage(is_known=False)


async def what_is_charged_is_never_left_out_of_the_books(bench: Bench) -> None:
    """Whatever goes wrong: what is said to be known is what was charged, and else it is said to be unknown."""
    for kind in sorted(
        set(bench.server.fault_kinds) - {"hang", "drip-body", "drip-headers", "sse-hang", "sse-slow"}
    ):
        for streamed in WAYS:
            bench.server.fail(kind)
            outcome = await bench.send(streamed=streamed)
            _told_honestly(outcome, kind)


async def a_stream_that_breaks_says_what_the_prompt_cost(bench: Bench) -> None:
    for kind in ("sse-cut-abrupt", "sse-reset", "sse-bad-json", "sse-error"):
        bench.server.fail(kind)
        outcome = await bench.send(streamed=True)
        charged = outcome.served[0].usage
        assert charged is not None
        assert outcome.failure.data["maybe_billed"]
        assert outcome.usage.input == charged.input
        assert not outcome.usage.is_known


async def counted_is_what_is_charged(bench: Bench) -> None:
    """Where the service counts; else the count is None."""
    provider = bench.provider()
    call = CALL.model_copy(update={"system": "Be brief.", "messages": (Message(content=_LONG, stable=True),)})
    count = await provider.count(call)
    outcome = await bench.send(call)
    assert count in (None, outcome.answer.usage.input)


async def what_cannot_be_counted_is_none(bench: Bench) -> None:
    bench.server.abilities = bench.server.abilities - {"count"}
    assert await bench.provider().count(CALL) is None


async def a_failed_count_is_a_model_error(bench: Bench) -> None:
    provider = bench.provider()
    if await provider.count(CALL) is None:
        return
    for kind in ("401", "429", "500", "close", "html-200", "null", "empty-object", "bad-json", "short-body"):
        before = len(bench.server.log)
        bench.server.fail(kind, path="/")
        (raised,) = await asyncio.gather(provider.count(CALL), return_exceptions=True)
        assert isinstance(raised, ModelError), f"{raised!r} after {kind}"
        assert len(bench.server.log) == before + 1


def _told_honestly(outcome: Outcome, kind: str) -> None:
    assert len(outcome.served) == 1, f"{len(outcome.served)} requests after {kind}"
    charged, usage = outcome.served[0].usage, outcome.usage
    if outcome.error is not None:
        assert usage.is_known is not outcome.error.data["maybe_billed"], kind
    if charged is not None and usage.is_known:
        assert (usage.input, usage.output) == (charged.input, charged.output), kind
    if charged is None and usage.is_known:
        assert usage == TokenUsage(), kind
