"""A warm process to fork from: everything is imported, nothing is opened, no thread runs.

Forking it takes a few milliseconds, so a test can afford hundreds of processes that are killed.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

PATIENCE = 300.0  # seconds until a child that does not end is killed


@dataclass(frozen=True, slots=True)
class Exit:
    """How a child ended: by a signal, with an error (its traceback), or with an answer."""

    pid: int
    killed_by: int | None
    error: str | None
    answer: Any

    def ok(self) -> Any:
        """The answer of a child that was not killed."""
        assert self.killed_by is None, f"killed by signal {self.killed_by}"
        assert self.error is None, self.error
        return self.answer


class WarmParent:
    """``with WarmParent("package.module") as parent: parent.run("package.module:function", argument=1)``.

    A module's ``warm_up()`` is called once. Functions are named, and their arguments and answers are JSON; each runs
    in a forked child.
    """

    def __init__(self, *modules: str) -> None:
        self._modules = modules

    def __enter__(self) -> WarmParent:
        code = f"from {__name__} import serve; serve({list(self._modules)!r})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._to, self._from = self._process.stdin, self._process.stdout
        return self

    def __exit__(self, *_: object) -> None:
        self._to.close()
        self._process.wait(PATIENCE)
        self._from.close()

    def start(self, target: str, **arguments: Any) -> int:
        """Fork a child that calls the function; its pid."""
        pid = self._ask({"target": target, "arguments": arguments}, PATIENCE)["pid"]
        assert isinstance(pid, int)
        return pid

    def wait(self, pid: int, timeout: float = PATIENCE) -> Exit:
        """Wait for a child; one that takes too long is killed."""
        return Exit(pid=pid, **self._ask({"wait": pid}, timeout, pid))

    def run(self, target: str, **arguments: Any) -> Exit:
        return self.wait(self.start(target, **arguments))

    def _ask(self, request: dict[str, Any], timeout: float, pid: int | None = None) -> dict[str, Any]:
        self._to.write(json.dumps(request, default=_plain).encode() + b"\n")
        self._to.flush()
        if not select.select([self._from], [], [], timeout)[0] and pid is not None:
            os.kill(pid, signal.SIGKILL)
        line = self._from.readline()
        assert line, "the warm process has died"
        answer: dict[str, Any] = json.loads(line)
        return answer


def _plain(value: Any) -> str:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{value!r} cannot be handed to another process")


def serve(modules: list[str]) -> None:
    """The warm process: reads requests from stdin, one a line, until it ends."""
    for module in map(importlib.import_module, modules):
        getattr(module, "warm_up", lambda: None)()
    gc.collect()
    gc.freeze()
    answers: dict[int, int] = {}
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "wait" in request:
            reply = _reaped(request["wait"], answers.pop(request["wait"]))
        else:
            pid, answer = _forked(request["target"], request["arguments"])
            answers[pid] = answer
            reply = {"pid": pid}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def _forked(target: str, arguments: dict[str, Any]) -> tuple[int, int]:
    """A child's pid, and the file descriptor on which its answer comes."""
    module, _, name = target.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    incoming, outgoing = os.pipe()
    pid = os.fork()
    if pid == 0:
        _child(function, arguments, outgoing)
    os.close(outgoing)
    return pid, incoming


def _child(function: Callable[..., Any], arguments: dict[str, Any], outgoing: int) -> NoReturn:
    try:
        reply = {"error": None, "answer": function(**arguments)}
    except BaseException:
        reply = {"error": traceback.format_exc(), "answer": None}
    try:
        with os.fdopen(outgoing, "w") as pipe:
            json.dump(reply, pipe)
    finally:
        os._exit(0)


def _reaped(pid: int, incoming: int) -> dict[str, Any]:
    with os.fdopen(incoming) as pipe:
        said = pipe.read()
    _, status = os.waitpid(pid, 0)
    killed_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    reply = json.loads(said) if said and killed_by is None else {"error": None, "answer": None}
    return {"killed_by": killed_by, **reply}
