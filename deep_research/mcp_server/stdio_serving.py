"""The process of a server for one client: it answers until the client goes or a signal comes."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

import anyio

from deep_research.logs import describe_error, get_log
from deep_research.mcp_server.background_runs import BackgroundRuns
from deep_research.mcp_server.protocol_server import protocol_server
from deep_research.mcp_server.research_tools import Tools
from deep_research.mcp_server.standard_streams import Wire
from deep_research.mcp_server.stdio_transport import message_streams

if TYPE_CHECKING:
    from deep_research.research import DeepResearch

# Seconds for runs to come to the end of a unit. Clients send SIGTERM two seconds after they closed stdin.
DRAIN_SECONDS = 1.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
log = get_log("mcp")


async def serve(engine: DeepResearch, wire: Wire) -> None:
    """Serve an engine to the client at the other end of the wire, until it closes its end or SIGTERM or Ctrl-C comes.

    Runs are parked then before their next unit, for which they have `DRAIN_SECONDS`; the rest is interrupted. All of them
    can be resumed. A second signal ends the process at once.
    """
    runs = BackgroundRuns(engine)
    serving = asyncio.create_task(_answer(runs, wire))
    _end_on_signals(serving, runs.close)
    try:
        await asyncio.wait({serving})
    finally:
        runs.close()
        await _park(runs)
    if not serving.cancelled():
        serving.result()


async def _answer(runs: BackgroundRuns, wire: Wire) -> None:
    server = protocol_server(Tools(runs))
    async with message_streams(wire, on_end=runs.close) as (incoming, outgoing):
        try:
            await server.run(incoming, outgoing, server.create_initialization_options())
        except* (anyio.BrokenResourceError, anyio.ClosedResourceError):
            log.debug("client_gone")


async def _park(runs: BackgroundRuns) -> None:
    try:
        parked = await runs.engine.adrain(DRAIN_SECONDS)
        log.info("drained", parked=parked)
    except Exception as error:
        log.error("drain_failed", error=describe_error(error))
    await runs.wait_for_all(DRAIN_SECONDS)


def _end_on_signals(serving: asyncio.Task[None], close: Callable[[], None]) -> None:
    loop, ending = asyncio.get_running_loop(), False

    def end(number: int) -> None:
        nonlocal ending
        if ending:
            os._exit(128 + number)
        ending = True
        close()
        serving.cancel()

    for number in _SIGNALS:
        loop.add_signal_handler(number, end, number)
