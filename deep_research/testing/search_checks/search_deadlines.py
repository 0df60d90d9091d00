"""Providers keep deadlines however slow the service is, and close the connection of a cancelled search."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from deep_research.testing.pace import Lateness, Pace
from deep_research.testing.patience import until
from deep_research.testing.search_bench import Bench, Outcome

# Tried in turn: on a stalled machine the deadline may pass before the request is sent.
_SECONDS = (0.2, 0.2, 0.2, 0.8, 3.2, 12.8)
_GRACE_SECONDS = 0.1


async def a_service_that_hangs_is_left_in_time(bench: Bench) -> None:
    await _in_time(bench, "hang", times=None)


async def a_body_that_drips_is_left_in_time(bench: Bench) -> None:
    await _in_time(bench, "drip-body", times=None, interval=0.05)


async def headers_that_drip_are_left_in_time(bench: Bench) -> None:
    await _in_time(bench, "drip-headers", times=None, interval=0.05)


async def a_cancelled_call_closes_the_connection(bench: Bench) -> None:
    for kind in ("hang", "drip-body", "drip-headers"):
        bench.server.fail(kind)
        before, others = len(bench.server.log), max(0, bench.server.connections - 1)
        task = asyncio.create_task(bench.search())
        await until(lambda before=before: len(bench.server.log) > before)  # type: ignore[misc]
        assert task.cancel()
        (raised,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(raised, asyncio.CancelledError)
        await until(lambda others=others: bench.server.connections <= others)  # type: ignore[misc]
        assert (await bench.search()).answer


async def _in_time(bench: Bench, kind: str, **fault: Any) -> None:
    lateness: list[float] = []
    for seconds in _SECONDS:
        outcome, late = await _given_up(bench, kind, fault, seconds)
        if outcome is None or not outcome.requests:
            continue
        assert outcome.failure.data["trouble"] == "transient"
        assert len(outcome.requests) == 1
        lateness.append(late)
        if late < _GRACE_SECONDS:
            break
    assert lateness, "the service was never asked"
    assert min(lateness) < _GRACE_SECONDS, f"{min(lateness):.3f} s late"
    bench.server.fail()
    assert (await bench.search(provider=bench.provider())).answer


async def _given_up(
    bench: Bench, kind: str, fault: Mapping[str, Any], seconds: float
) -> tuple[Outcome | None, float]:
    """A search under the fault by a provider with so many seconds, and how late it ended; none where already one
    without a fault took longer."""
    provider = bench.provider(seconds=seconds)
    bench.server.fail()
    if (await bench.search(provider=provider)).results is None:  # makes the client, which takes its time
        return None, 0.0
    idle = bench.server.connections
    bench.server.fail(kind, **fault)
    async with Pace() as pace:
        lateness = Lateness(pace, seconds)
        outcome = await bench.search(provider=provider)
        late = lateness.seconds
    await until(lambda: bench.server.connections < idle)
    return outcome, late
