"""The extractor: a queue of jobs, a few threads that each own a child process, and nothing that parses.

Threads, not tasks, hold the children, so that any number of loops and threads can share one extractor. They start
when there is work and leave when there has been none for a while; jobs are done in the order in which they came.
"""

from __future__ import annotations

import asyncio
import atexit
import math
import threading
import weakref
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from deep_research.errors import ExtractionError
from deep_research.forks import guard
from deep_research.sources.extract.child import Child, Limits
from deep_research.sources.extract.document import MAX_TEXT_BYTES, Document
from deep_research.sources.extract.messages import document_of

MAX_RAW_BYTES = 60_000_000  # each format has a lower cap of its own
_MAX_JOBS_PER_CHILD = 200  # after so many a child is replaced: parsers leak
_WALL_SECONDS = 12.0  # seconds that may pass for each of computing
_LARGE_BYTES = 1_000_000  # bytes of a document that is read while no other such is
_IDLE_SECONDS = 60.0  # seconds without work after which a child is ended
_BESIDE_TEXT_BYTES = 1_000_000  # bytes of an answer that are not its text
_extractors: weakref.WeakSet[Extractor] = weakref.WeakSet()


@dataclass(slots=True, eq=False)
class _Job:
    raw: bytes
    request: dict[str, Any]
    most: int
    future: Future[Document] = field(default_factory=Future)
    child: Child | None = None
    cancelled: bool = False
    is_large: bool = False


class Extractor:
    """Reads documents in child processes. For any number of threads and event loops; usable again after `close` and
    after a fork.

    ``workers`` is how many read at once, of large documents one; ``memory`` is the address space of a child in bytes. A
    job may take ``cpu_seconds`` of computing and, from when its turn comes, ``seconds`` in all: unless given, twelve
    times as many, as a last bound on a machine that is busy with other things.
    """

    def __init__(
        self,
        *,
        workers: int = 2,
        memory: int = 512 << 20,
        cpu_seconds: float = 10.0,
        seconds: float | None = None,
    ) -> None:
        self.workers = workers
        wall = _WALL_SECONDS * cpu_seconds if seconds is None else seconds
        self._limits = Limits(memory, math.ceil(cpu_seconds), wall)
        self._renew()
        _extractors.add(self)
        guard(self)

    def _renew(self) -> None:
        self._lock = threading.Lock()
        self._work = threading.Condition(self._lock)
        self._waiting: deque[_Job] = deque()
        self._running: set[_Job] = set()
        self._children: set[Child] = set()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        self._closings = 0

    async def extract(
        self, raw: bytes, *, media_type: str = "", name: str = "", max_text_bytes: int = MAX_TEXT_BYTES
    ) -> Document:
        """The document in ``raw``; ``media_type`` is what a server said of it, ``name`` its file name or address.

        Raises `ExtractionError`, which says why there is none. Cancelled, it gives up its place, or ends the child.
        """
        job = self._submit(raw, media_type, name, max_text_bytes, False)
        try:
            return await asyncio.wrap_future(job.future)
        except asyncio.CancelledError:
            self._cancel(job)
            raise

    def submit(
        self,
        raw: bytes,
        *,
        media_type: str = "",
        name: str = "",
        max_text_bytes: int = MAX_TEXT_BYTES,
        is_file: bool = False,
    ) -> Future[Document]:
        """The same for a thread. With ``is_file`` it is a file of somebody's own, and no answer of a server."""
        return self._submit(raw, media_type, name, max_text_bytes, is_file).future

    async def aclose(self) -> None:
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """Ends all children at once and waits for them. What waits or runs gets an `ExtractionError`."""
        with self._lock:
            self._closings += 1
            waiting = list(self._waiting)
            self._waiting.clear()
            for job in self._running:
                job.cancelled = True
            children, threads = list(self._children), list(self._threads)
            self._work.notify_all()
        for child in children:
            child.kill()
        for job in waiting:
            if job.future.set_running_or_notify_cancel():
                job.future.set_exception(_closed())
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join()

    def _submit(self, raw: bytes, media_type: str, name: str, max_text_bytes: int, is_file: bool) -> _Job:
        request: dict[str, Any] = {"media_type": media_type[:200], "name": name[-500:]}
        request |= {"max_text_bytes": max_text_bytes, "is_file": is_file}
        job = _Job(raw, request, 2 * max_text_bytes + _BESIDE_TEXT_BYTES, is_large=len(raw) > _LARGE_BYTES)
        if len(raw) > MAX_RAW_BYTES:
            job.future.set_exception(ExtractionError(f"larger than {MAX_RAW_BYTES:,} bytes", limit="size"))
            return job
        with self._lock:
            self._waiting.append(job)
            if self._idle >= len(self._waiting):
                self._work.notify()
            elif len(self._threads) < self.workers:
                thread = threading.Thread(
                    target=self._serve, args=(self._closings,), name="extractor", daemon=True
                )
                self._threads.add(thread)
                self._begin(thread, job)
        return job

    def _begin(self, thread: threading.Thread, job: _Job) -> None:
        try:
            thread.start()
        except RuntimeError:  # too many, or the interpreter is going down
            self._threads.discard(thread)
            if not self._threads:
                self._waiting.remove(job)
                job.future.set_exception(ExtractionError("no thread can be started to read it", passing=True))

    def _cancel(self, job: _Job) -> None:
        with self._lock:
            job.cancelled = True
            if job in self._waiting:
                self._waiting.remove(job)
            if job.child:  # under the lock: a moment later it may be at work for another
                job.child.kill()
        job.future.cancel()

    def _serve(self, closings: int) -> None:
        """The life of a thread: one job after the other, one child at a time."""
        child: Child | None = None
        try:
            while job := self._next(closings):
                child = self._do(job, child)
        finally:
            with self._lock:
                self._threads.discard(threading.current_thread())
            if child:
                self._end(child, at_once=False)

    def _next(self, closings: int) -> _Job | None:
        """The job whose turn it is; None when there has been none for long, or the extractor was closed."""
        with self._lock:
            while self._closings == closings:
                while job := self._first():
                    self._waiting.remove(job)
                    if job.future.set_running_or_notify_cancel():
                        self._running.add(job)
                        return job
                self._idle += 1
                try:
                    is_notified = self._work.wait(_IDLE_SECONDS)
                finally:
                    self._idle -= 1
                if not is_notified and self._first() is None:
                    # Work that is submitted from now on must not count on this thread.
                    self._threads.discard(threading.current_thread())
                    return None
            self._threads.discard(threading.current_thread())
            return None

    def _first(self) -> _Job | None:
        """The job that waits longest and may be done now: of large ones one at a time, for the memory they take."""
        is_busy = any(job.is_large for job in self._running)
        return next((job for job in self._waiting if not (is_busy and job.is_large)), None)

    def _do(self, job: _Job, child: Child | None) -> Child | None:
        """Does a job. Returns the child that can do the next one."""
        error: BaseException | None = None
        document: Document | None = None
        try:
            if child and not child.is_alive():
                self._end(child)
                child = None
            child = child or self._start()
            with self._lock:
                job.child = child
                if job.cancelled:
                    raise _closed()
            answer = child.work(job.request, job.raw, job.most, lambda: job.cancelled)
            spent = bool(answer.get("leaving")) or child.jobs >= _MAX_JOBS_PER_CHILD
            document = document_of(answer)
        except ExtractionError as raised:
            error = raised.with_traceback(None)  # its frames hold the document, and this one holds it
            spent = "told" not in raised.data
            raised.data.pop("told", None)
        except BaseException as raised:
            error = ExtractionError(f"reading it failed: {type(raised).__name__}", passing=True)
            spent = True
        with self._lock:
            job.child = None
            self._running.discard(job)
            if job.is_large:
                self._work.notify()
            spent = spent or job.cancelled
        job.raw = b""
        # Told before the child is ended: on a busy machine that may take as long as the job was allowed to.
        if document:
            job.future.set_result(document)
        else:
            job.future.set_exception(error or _closed())
        if child and spent:
            self._end(child)
            child = None
        return child

    def _start(self) -> Child:
        # Under the lock, which a fork waits for: a copy of this process must know all children that it inherits.
        with self._lock:
            child = Child(self._limits)
            self._children.add(child)
            return child

    def _end(self, child: Child, *, at_once: bool = True) -> None:
        child.end(at_once=at_once)
        with self._lock:
            self._children.discard(child)

    def before_fork(self) -> None:
        self._lock.acquire()

    def after_fork(self, *, in_child: bool) -> None:
        """In the copy the threads are gone, and the children are those of the other process."""
        if not in_child:
            self._lock.release()
            return
        for child in self._children:
            child.forget()
        self._renew()


def _closed() -> ExtractionError:
    return ExtractionError("the extraction was stopped", passing=True)


@atexit.register
def _close_all() -> None:
    for extractor in list(_extractors):
        extractor.close()
