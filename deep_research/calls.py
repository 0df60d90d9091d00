"""Calling what others wrote: agents, hooks and providers, coroutine or plain, each under a deadline.

A coroutine function runs on the caller's loop. A plain one runs in a bounded thread pool, so that it can take
its time without holding up the loop; when its deadline passes its result is dropped, since a thread cannot be
stopped from outside.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import os
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from deep_research.errors import ReentrantCallError, StopResearch

_T = TypeVar("_T")

MAX_THREADS = 16
MAX_SMALL_ITEMS = 40  # items that take well under a millisecond: a thread would cost more than the work
TEXT_UNIT_CHARS = 500  # characters that are parsed in the time of one small item


async def off_loop(size: int, work: Callable[..., _T], *args: Any, **kwargs: Any) -> _T:
    """Text work of ``size`` items, in a thread unless it is small."""
    if size <= MAX_SMALL_ITEMS:
        return work(*args, **kwargs)
    return await asyncio.to_thread(work, *args, **kwargs)


def run_here(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of work, on a loop that lives as long as it. Raises `ReentrantCallError` where a loop runs already."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    work.close()
    raise ReentrantCallError(
        "You made a plain call inside a running event loop.",
        hint="Await the verb with the prefix a, such as arun.",
    )


class Calls:
    """A pool for plain callables. Threads are started when first needed; safe to use from several loops."""

    def __init__(self, threads: int = MAX_THREADS) -> None:
        self._threads = threads
        self._gate = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._pid = 0

    async def __call__(self, function: Callable[..., Any], *args: Any, timeout: float | None = None) -> Any:
        """Raises `TimeoutError` after ``timeout`` seconds, and whatever the function raises; what would end the
        loop, or pass for a cancellation that nobody asked for, as `RuntimeError`. A plain callable may wait that
        long for a thread and then work that long."""
        async with asyncio.timeout(timeout) as deadline:
            try:
                with contained():
                    return await self._answer(function, *args, began=lambda: _restart(deadline, timeout))
            except asyncio.CancelledError as error:
                task = asyncio.current_task()
                if task is None or task.cancelling():
                    raise
                raise _contained(error) from error
            except ExceptionGroup as failures:
                # A task group of theirs wraps the one exception that means something to us.
                raise first(failures.subgroup(StopResearch) or failures) from None

    async def _answer(self, function: Callable[..., Any], *args: Any, began: Callable[[], None]) -> Any:
        if is_coroutine_function(function):
            return await function(*args)
        loop = asyncio.get_running_loop()
        work = functools.partial(_in_thread, loop, began, function, *args)
        answer = await loop.run_in_executor(
            self._executor(), functools.partial(contextvars.copy_context().run, work)
        )
        # A plain callable may still hand back an awaitable (a lambda around a coroutine function).
        return await answer if inspect.isawaitable(answer) else answer

    def _executor(self) -> ThreadPoolExecutor:
        with self._gate:
            if self._pool is None or self._pid != os.getpid():
                self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="deep-research-call")
                self._pid = os.getpid()
            return self._pool

    def close(self) -> None:
        """Let the threads go; a call that is still running is not waited for."""
        with self._gate:
            if self._pool is not None and self._pid == os.getpid():
                self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None


@contextmanager
def contained() -> Iterator[None]:
    """Raises `RuntimeError` in place of what would end the loop. An interrupt in the main thread passes: it may come
    from the keyboard, and what others raise there ends their loop as an interrupt does."""
    try:
        yield
    except SystemExit as error:
        raise _contained(error) from error
    except KeyboardInterrupt as error:
        if threading.current_thread() is threading.main_thread():
            raise
        raise _contained(error) from error


def first(failure: BaseException) -> BaseException:
    """The first exception of a group, however deep, or the exception itself."""
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    return failure


def _restart(deadline: asyncio.Timeout, timeout: float | None) -> None:
    if timeout is not None and not deadline.expired():
        with suppress(RuntimeError):  # the call is over already
            deadline.reschedule(asyncio.get_running_loop().time() + timeout)


def _in_thread(
    loop: asyncio.AbstractEventLoop, began: Callable[[], None], function: Callable[..., Any], *args: Any
) -> Any:
    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        loop.call_soon_threadsafe(began)
    try:
        return function(*args)
    except StopIteration as error:  # a future cannot hold it: the caller would wait for ever
        raise _contained(error) from error
    except Exception:
        raise
    except BaseException as error:
        raise _contained(error) from error


def _contained(error: BaseException) -> RuntimeError:
    return RuntimeError(f"it raised {type(error).__name__} {error}".rstrip())


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Also sees through ``functools.partial`` and objects with an ``async def __call__``."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - the method itself is wanted
    )
