"""Providers keep deadlines however slow the service is, and close the connection of a cancelled call."""

from __future__ import annotations

import asyncio
from typing import Any

from deep_research.errors import ModelError
from deep_research.models.base import Message
from deep_research.models.failures import Verdict
from deep_research.testing.model_bench import CALL, WAYS, Bench
from deep_research.testing.pace import Lateness, Pace
from deep_research.testing.patience import PATIENCE_SECONDS, until

_SECONDS = 0.25
# Tried in turn: on a stalled machine the deadline may pass before the request is sent.
_TRIED = (_SECONDS, _SECONDS, _SECONDS, 1.0, 4.0, 16.0)
_GRACE_SECONDS = 0.1
_MAX_READ_SECONDS = 3.0
_MAX_COUNT_SECONDS = 5.0  # far above the deadline of a count, far below `PATIENCE_SECONDS`


async def a_service_that_hangs_is_left_in_time(bench: Bench) -> None:
    await _in_time(bench, "hang", times=None)


async def a_body_that_drips_is_left_in_time(bench: Bench) -> None:
    await _in_time(bench, "drip-body", times=None)


async def headers_that_drip_are_left_in_time(bench: Bench) -> None:
    await _in_time(bench, "drip-headers", times=None)


async def a_stream_that_stops_is_left_in_time(bench: Bench) -> None:
    await _in_time(bench, "sse-hang", times=None)


async def a_slow_stream_is_left_in_time(bench: Bench) -> None:
    await _in_time(bench, "sse-slow", times=None, interval=0.1)


async def a_count_is_left_in_time(bench: Bench) -> None:
    provider = bench.provider()
    if await provider.count(CALL) is None:
        return
    bench.server.fail("drip-headers", path="/", times=None)
    counting = provider.count(CALL.model_copy(update={"timeout": _SECONDS}))
    async with Pace() as pace:
        (raised,) = await asyncio.gather(asyncio.wait_for(counting, PATIENCE_SECONDS), return_exceptions=True)
    assert pace.seconds < _MAX_COUNT_SECONDS
    assert isinstance(raised, ModelError), f"{raised!r} in place of a ModelError"
    assert raised.verdict == Verdict.TRANSIENT


async def a_cancelled_call_closes_the_connection(bench: Bench) -> None:
    for kind in ("hang", "sse-hang", "drip-body"):
        for streamed in WAYS:
            bench.server.fail(kind)
            before = len(bench.server.log)
            task = asyncio.create_task(bench.send(streamed=streamed))
            await until(lambda before=before: len(bench.server.log) > before)  # type: ignore[misc]
            assert task.cancel()
            results = await asyncio.gather(task, return_exceptions=True)
            assert isinstance(results[0], asyncio.CancelledError)
            await until(lambda: bench.server.connections == 0)
            assert (await bench.send(streamed=streamed)).answer.text
            assert len(bench.server.log) == before + 2


async def a_stream_cancelled_in_its_text_is_closed(bench: Bench) -> None:
    provider = bench.provider()
    bench.server.fail("sse-slow", interval=0.01)
    first_piece = asyncio.Event()
    task = asyncio.create_task(provider.send(CALL, lambda _: first_piece.set()))
    await asyncio.wait_for(first_piece.wait(), CALL.timeout)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()
    await until(lambda: bench.server.connections == 0)
    assert (await bench.send(streamed=True)).answer.text


async def _in_time(bench: Bench, kind: str, **fault: Any) -> None:
    """Checks that a call under this fault fails at its deadline, is not repeated, and leaves no connection open."""
    bench.server.fail(kind, **fault)
    await bench.send(CALL.model_copy(update={"timeout": 0.05}))  # creates the client, which is slow
    for streamed in WAYS:
        lateness: list[float] = []
        for number, seconds in enumerate(_TRIED):
            question = f"How many ships passed? ({'streamed' if streamed else 'plain'}, {number})"
            call = CALL.model_copy(update={"timeout": seconds, "messages": (Message(content=question),)})
            async with Pace() as pace:
                late = Lateness(pace, seconds)
                outcome = await bench.send(call, streamed=streamed)
                missed = late.seconds
            assert outcome.failure.verdict == Verdict.TRANSIENT
            if not await _was_read(bench, question):
                continue
            assert outcome.failure.data["maybe_billed"]
            assert not outcome.usage.is_known
            lateness.append(missed)
            if missed < _GRACE_SECONDS:
                break
        assert lateness, "the service was never asked"
        assert min(lateness) < _GRACE_SECONDS, f"{min(lateness):.3f} s late"
    await until(lambda: bench.server.connections == 0)
    questions = [served.text for served in bench.server.log]
    assert len(questions) == len(set(questions)), "one was asked twice"
    bench.server.fail()
    assert (await bench.send()).answer.text


async def _was_read(bench: Bench, question: str) -> bool:
    """Whether the service received this question. On a busy machine the service may receive a question, this or the
    first, after its deadline; so questions are told apart by their words."""
    try:
        await until(lambda: question in [served.text for served in bench.server.log], _MAX_READ_SECONDS)
    except TimeoutError:
        return False
    return True
