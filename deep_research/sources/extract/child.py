"""One child process of an extractor: started, given jobs one after the other, ended. For one thread at a time, but
`kill` is for any.

The pipes do not block: a child may stop reading, or write without an end, and the deadline holds all the same.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deep_research.errors import ExtractionError
from deep_research.sources.extract.messages import LENGTH, header

_WORKER = "deep_research.sources.extract.worker"
_CHUNK_BYTES = 1 << 16
_LEAVING_SECONDS = 1.0  # seconds a child has to leave by itself
_ENVIRONMENT = {"LC_ALL": "C.UTF-8", "PATH": os.defpath, "HOME": "/"}


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may use: ``memory`` in bytes of address space, ``cpu_seconds`` and ``seconds`` for each job."""

    memory: int
    cpu_seconds: int
    seconds: float


class Child:
    def __init__(self, limits: Limits) -> None:
        """Raises `ExtractionError` when no process can be started."""
        self._limits = limits
        self.jobs = 0
        self._killed = False
        try:
            self._process = subprocess.Popen(  # noqa: S603 - our own interpreter and module
                [
                    *(sys.executable, "-P", "-B", "-s", "-X", "utf8", "-m", _WORKER),
                    *(str(limits.memory), str(limits.cpu_seconds), str(limits.seconds), str(os.getpid())),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={**_ENVIRONMENT, "PYTHONPATH": _path()},
                close_fds=True,
                start_new_session=True,
                bufsize=0,
            )
        except OSError as error:
            raise ExtractionError(
                f"no process can be started to read it: {error.strerror}",
                hint="Check the limits of processes and memory.",
                passing=True,
            ) from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        os.set_blocking(self._stdin.fileno(), False)
        os.set_blocking(self._stdout.fileno(), False)
        self._reaping = threading.Lock()

    @property
    def pid(self) -> int:
        return self._process.pid

    def work(
        self, job: dict[str, Any], raw: bytes, max_answer_bytes: int, was_cancelled: Callable[[], bool]
    ) -> dict[str, Any]:
        """Send a job with the bytes of a document and return the answer. Raises `ExtractionError` if the child fails,
        exceeds its time or answers with more than ``max_answer_bytes``; end the child then. ``was_cancelled`` only
        chooses the error message."""
        self.jobs += 1
        deadline = time.monotonic() + self._limits.seconds
        numbered_job = {**job, "job": self.jobs}
        answer = self._exchange([header(numbered_job, raw), raw], max_answer_bytes, deadline, was_cancelled)
        try:
            reply = json.loads(answer)
        except ValueError:
            raise self._crashed() from None
        if not isinstance(reply, dict) or reply.get("job") != self.jobs:
            raise self._crashed()
        return reply

    def _exchange(
        self, pieces: list[bytes], max_answer_bytes: int, deadline: float, was_cancelled: Callable[[], bool]
    ) -> bytearray:
        """Write the pieces and read the answer, both at once."""
        views = [memoryview(piece) for piece in pieces if piece]
        buffer, total_bytes = bytearray(), 0
        poll = select.poll()
        poll.register(self._stdout, select.POLLIN)
        if views:
            poll.register(self._stdin, select.POLLOUT)
        while not total_bytes or len(buffer) < total_bytes:
            left = deadline - time.monotonic()
            if left <= 0:
                raise _too_slow(self._limits.seconds)
            for descriptor, _ in poll.poll(left * 1000):
                if descriptor == self._stdin.fileno():
                    self._write(views)
                    if not views:
                        poll.unregister(self._stdin)
                    continue
                piece = self._read()
                if piece is None:
                    continue
                if not piece:
                    raise self._closing_error(was_cancelled)
                buffer += piece
            if not total_bytes and len(buffer) >= LENGTH.size:
                (size,) = LENGTH.unpack_from(buffer)
                if size > max_answer_bytes or views:  # nobody answers before the question is asked
                    raise self._crashed()
                total_bytes = LENGTH.size + size
        if len(buffer) > total_bytes:  # nor more than was asked
            raise self._crashed()
        del buffer[: LENGTH.size]
        return buffer

    def _write(self, views: list[memoryview]) -> None:
        try:
            views[0] = views[0][os.write(self._stdin.fileno(), views[0][:_CHUNK_BYTES]) :]
        except BlockingIOError:
            return
        except OSError:
            views.clear()  # the child is gone; its end of the other pipe says so
            return
        if not views[0]:
            del views[0]

    def _read(self) -> bytes | None:
        """What is there, empty at the end; None when there is nothing yet."""
        try:
            return os.read(self._stdout.fileno(), _CHUNK_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def _closing_error(self, was_cancelled: Callable[[], bool]) -> ExtractionError:
        """Why the child closed its pipe."""
        self.end(at_once=False)
        code = self._process.returncode
        if was_cancelled():
            return ExtractionError("the extraction was cancelled", passing=True)
        if code == -signal.SIGXCPU:
            return _too_slow(self._limits.cpu_seconds, " of computing")
        if code == -signal.SIGALRM:
            return _too_slow(self._limits.seconds)
        return self._crashed(code)

    def _crashed(self, code: int | None = None) -> ExtractionError:
        if code == -signal.SIGKILL and not self._killed:
            return ExtractionError("another process ended the reading", crashed=True, passing=True)
        if code == -signal.SIGABRT:  # as native code does that gets no more memory
            return ExtractionError(
                f"reading it took too much memory (more than {self._limits.memory >> 20:,} MB), or stopped",
                limit="memory",
                passing=True,
            )
        if code is not None and code < 0:
            with suppress(ValueError):
                return ExtractionError(f"reading it crashed ({signal.Signals(-code).name})", crashed=True)
        return ExtractionError("reading it crashed", crashed=True)

    def kill(self) -> None:
        with self._reaping:
            if self._process.returncode is None:
                self._killed = True
                with suppress(ProcessLookupError):
                    self._process.kill()

    def is_alive(self) -> bool:
        with self._reaping:
            return self._process.poll() is None

    def end(self, *, at_once: bool = True) -> None:
        """Ends the process, waits for it and closes the pipes. May be called again."""
        if at_once:
            self.kill()
        with suppress(OSError):
            self._stdin.close()  # a child that waits for a job leaves when there will be none
        try:
            self._wait(_LEAVING_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._stdout.close()

    def _wait(self, seconds: float) -> None:
        """As `Popen.wait`, which would be called without the lock that keeps `kill` from a process of another time."""
        end = time.monotonic() + seconds
        pause = 0.0005
        while True:
            with self._reaping:
                if self._process.poll() is not None:
                    return
            if time.monotonic() > end:
                raise subprocess.TimeoutExpired(_WORKER, seconds)
            time.sleep(pause)
            pause = min(pause * 2, 0.02)

    def forget(self) -> None:
        """In the copy of this process that a fork made: the child is not ours there."""
        self._process.returncode = 0
        for pipe in (self._stdin, self._stdout):
            with suppress(OSError):
                pipe.close()


def _path() -> str:
    """Where modules are found here, so that the child finds the same. Never the folder we happen to be in."""
    package = str(Path(__file__).resolve().parents[3])
    return os.pathsep.join(dict.fromkeys([package, *(place for place in sys.path if os.path.isabs(place))]))


def _too_slow(seconds: float, kind: str = "") -> ExtractionError:
    return ExtractionError(
        f"reading it took longer than {seconds:g} s{kind}; raise fetch.cpu_seconds",
        limit="time",
        passing=True,
    )
