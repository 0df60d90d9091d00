"""An event loop in a background thread. The engine and the HTTP client run coroutines on it for blocking calls."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from typing import Any, TypeVar

from deep_research.errors import ReentrantCallError
from deep_research.logs import describe_error, get_log

log = get_log("loops")
_T = TypeVar("_T")
_GRACE_SECONDS = 10.0


class BackgroundLoop:
    """An event loop that starts with the first call, and again after a fork. Awaits ``farewell`` before it closes."""

    def __init__(self, farewell: Callable[[], Coroutine[Any, Any, None]] | None = None) -> None:
        self._farewell = farewell
        self._gate = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Future[None] | None = None
        self._thread: threading.Thread | None = None
        self._pid = 0

    def submit(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        """Start the work on the loop, and return at once."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def call(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Wait for the work. On Ctrl-C it cancels the work, waits at most 10 seconds until the work is told so, and
        raises `KeyboardInterrupt`. The work may still clean up after that.

        Raises `ReentrantCallError` on this loop's own thread, where waiting would never end.
        """
        try:
            self.refuse_reentrance()
        except ReentrantCallError:
            work.close()
            raise
        future = self.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            self._settle()
            raise

    def close(self) -> None:
        """End the loop and its thread; a later call starts them again."""
        with self._gate:
            loop, thread, over = self._loop, self._thread, self._over
            self._loop = self._thread = self._over = None
        if loop is None or thread is None or over is None or self._pid != os.getpid():
            return
        loop.call_soon_threadsafe(over.set_result, None)
        if thread is not threading.current_thread():  # the garbage collector may close us on our own loop
            thread.join(timeout=_GRACE_SECONDS)

    def refuse_reentrance(self) -> None:
        """Raises `ReentrantCallError` on this loop's own thread."""
        if self.is_current():
            raise ReentrantCallError(
                "You made a blocking call on the loop that runs blocking calls; it would wait forever.",
                hint="Use the async verbs: `await engine.arun(…)` in hooks and agents, or those of `AsyncClient`.",
            )

    def is_current(self) -> bool:
        """Whether this is the loop's own thread."""
        return threading.current_thread() is self._thread and self._pid == os.getpid()

    def _settle(self) -> None:
        """Wait at most 10 seconds until cancelled work is told so, which a loop that is busy does late."""
        # `cancel` ends the future at once, and leaves the cancellation of the task to the loop. The loop does that
        # before it runs this `sleep`.
        with suppress(CancelledError, TimeoutError, KeyboardInterrupt):
            self.submit(asyncio.sleep(0)).result(timeout=_GRACE_SECONDS)

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._gate:
            if self._loop is None or self._pid != os.getpid():
                self._loop = asyncio.new_event_loop()
                self._over = self._loop.create_future()
                self._pid = os.getpid()
                self._thread = threading.Thread(
                    target=_serve,
                    args=(self._loop, self._over, self._farewell),
                    name="deep-research-loop",
                    daemon=True,
                )
                self._thread.start()
            return self._loop


def _serve(
    loop: asyncio.AbstractEventLoop,
    over: asyncio.Future[None],
    farewell: Callable[[], Coroutine[Any, Any, None]] | None,
) -> None:
    """Run the loop until ``over`` is done, then cancel the remaining tasks and close it. This thread does it because the
    caller may have a running loop."""
    _until(loop, over)
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        _until(loop, loop.create_task(asyncio.wait(left)))
    if farewell is not None:
        parting = loop.create_task(asyncio.wait_for(farewell(), _GRACE_SECONDS))
        _until(loop, parting)
        if (
            not parting.cancelled() and (error := parting.exception()) is not None
        ):  # the thread ends in any case
            log.warning("farewell_failed", error=describe_error(error))
    _until(loop, loop.create_task(loop.shutdown_asyncgens()))
    _until(loop, loop.create_task(loop.shutdown_default_executor()))
    loop.close()


def _until(loop: asyncio.AbstractEventLoop, over: asyncio.Future[Any]) -> None:
    """Run the loop until the future is done. An interrupt or exit that somebody's code raised in a task ends that task
    and what waits for it; the loop goes on, or all others would wait for ever."""
    over.add_done_callback(lambda _: loop.stop())
    while not over.done():
        try:
            loop.run_forever()
        except (KeyboardInterrupt, SystemExit) as error:
            log.warning("loop_interrupted", error=describe_error(error))
