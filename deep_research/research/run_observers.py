"""Telling hooks of the durable events of runs, at their pace."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import Any

from deep_research.assembly import Parts
from deep_research.logs import describe_error, get_log
from deep_research.research.active_run import ActiveRun
from deep_research.state import events as ev
from deep_research.store import Feed
from deep_research.supervisor.hooks import overridden

log = get_log("runner")


class RunObservers:
    """The observers of one engine's runs. A run waits for its observer in no case but strict hooks."""

    def __init__(self, parts: Parts, feed: Feed, hook_timeout: float) -> None:
        self._parts = parts
        self._feed = feed
        self._hook_timeout = hook_timeout
        self._gate = threading.Lock()
        self._observers: set[Future[None]] = set()

    def under_way(self) -> list[Future[None]]:
        with self._gate:
            return list(self._observers)

    def observe(self, active: ActiveRun, last_seq: int) -> None:
        """Start telling the observer. Nobody waits for it but `interrupt`, for a while."""
        if not overridden(self._parts.hooks, "event"):
            return
        observer = active.observer = Future()
        with self._gate:
            self._observers.add(observer)
        task = active.loop.create_task(self._tell(active, last_seq))
        task.add_done_callback(lambda task: self._end_observer(task, observer))

    def _end_observer(self, task: asyncio.Task[None], observer: Future[None]) -> None:
        with self._gate:
            self._observers.discard(observer)
        observer.set_result(None)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("observer_lost", error=describe_error(error))

    async def _tell(self, active: ActiveRun, last_seq: int) -> None:
        """Give every durable event to the observer, at its pace, until the run is over."""
        run_id = active.journal.lane.run_id
        watcher = self._feed.join(run_id)
        try:
            while True:
                over = active.over  # asked before reading: what was committed until then is read
                rows = await asyncio.to_thread(self._parts.store.read, run_id, after=last_seq, limit=500)
                for event in ev.decode_log(rows):
                    last_seq = event.seq
                    await self._call_observer(active, event)
                if not rows and over:
                    return
                if not rows:
                    await watcher.wait(1.0)
        finally:
            self._feed.leave(run_id, watcher)

    async def _call_observer(self, active: ActiveRun, event: Any) -> None:
        try:
            await self._parts.calls(self._parts.hooks.event, event, timeout=self._hook_timeout)
        except Exception as error:
            active.failure = active.failure or error
            log.warning("observer_failed", event_type=event.name, error=describe_error(error))
