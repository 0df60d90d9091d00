"""The child process: gives away what it could do harm with, then reads documents until its pipe is closed.

What it gives up for good: memory, files to write, core dumps (limits of the system that it cannot raise again),
computing and time (a signal ends it), the network (a namespace without one, where the kernel lets it have that).
Besides, a hook of the interpreter refuses sockets, processes and files to write. The hook stops Python code that was
led astray by a document; it does not stop native code that a flaw in a parser lets run. That has what is left: the
rights of the user to read files, and a pipe on which only a bounded answer is believed.
"""

from __future__ import annotations

import gc
import math
import os
import resource
import signal
import sys
from contextlib import suppress
from typing import Any, NoReturn

from deep_research.sources.extract.messages import receive, send

_MAX_RAW = 64_000_000
_MAX_DESCRIPTORS = 32
_PROCESSES = ("subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "os.kill", "pty.")
_CHANGES = ("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink",
            "os.truncate", "os.utime")  # fmt: skip
_WRITE = "write or change files"
_REFUSED = {
    "use the network": ("socket.",),
    "start or end processes": _PROCESSES,
    "load native code by ctypes": ("ctypes.",),
    _WRITE: _CHANGES,
}
_refused: list[str] = []  # to the job under way: a reader may make another error of it
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_MIN_NEW_OBJECTS = (
    20_000  # new ones between two searches for rings of them; a page alone has thousands, and no rings
)
_MAY_LEAVE_SECONDS = 1.0  # seconds after the parent's deadline


def main(memory: int, cpu_seconds: int, seconds: float, parent: int) -> None:
    questions, answers = _pipes()
    _bind_to(parent)
    _limit(memory)
    _load_native_code()
    gc.set_threshold(_MIN_NEW_OBJECTS)
    sys.addaudithook(_refuse)
    import json

    from deep_research.sources.extract.formats import suffix_of
    from deep_research.sources.extract.messages import document_fields
    from deep_research.sources.extract.plaintext import UnreadableError
    from deep_research.sources.extract.readers import brought_for, read

    while (piece := receive(questions, 100_000)) is not None and (
        raw := receive(questions, _MAX_RAW)
    ) is not None:
        job = json.loads(piece)
        number = job.pop("job")
        _allow(cpu_seconds, seconds)
        _refused.clear()
        answer: dict[str, Any]
        try:
            answer = document_fields(read(raw, **job))
        except UnreadableError as error:
            answer = {"why": str(error), "limit": error.limit, "passing": error.passing}
        except MemoryError:
            why = f"reading it took too much memory (more than {memory >> 20:,} MB)"
            answer = {"why": why, "limit": "memory", "passing": True, "leaving": True}
        except RecursionError:
            answer = {"why": "nested too deeply to be read", "limit": "size", "leaving": True}
        except BaseException as error:
            reader = brought_for(suffix_of(job["name"]), job["media_type"])
            answer = _failure(error, reader.point.name if reader else "")
        del raw, piece
        signal.setitimer(signal.ITIMER_REAL, 0)
        send(answers, {**answer, "job": number})


def _failure(error: BaseException, reader: str) -> dict[str, Any]:
    """Whose fault it is that a file was not read: that of the ``reader`` of another package, ours, or its own."""
    if reader and _refused:
        return {"why": f"the reader '{reader}' may not {_refused[0]}", "passing": True, "leaving": True}
    if isinstance(error, ImportError):
        package = f"the package of the reader '{reader}'" if reader else "deep-research"
        why = f"a library that reads it is missing ({error.name}); reinstall {package}"
        return {"why": why, "passing": True}
    if reader and not isinstance(error, Exception):  # it would have ended the process, whatever the file is
        return {
            "why": f"the reader '{reader}' raised {type(error).__name__}",
            "passing": True,
            "leaving": True,
        }
    return {"why": f"a damaged file ({type(error).__name__})", "leaving": True}


def _pipes() -> tuple[int, int]:
    """Our two ends, out of the way of whatever prints."""
    questions, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    os.close(nothing)
    return questions, answers


def _bind_to(parent: int) -> None:
    """Leaves the network, and has the kernel end this process when its parent is gone, however that ended. A new user
    namespace forgets the latter, so it is asked for afterwards."""
    import ctypes

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).unshare(0x10000000 | 0x40000000)  # a user and a network namespace of its own
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        os._exit(0)


def _load_native_code() -> None:
    """LiteParse, which nothing can load from here on. Where it is missing, PDFs alone cannot be read."""
    with suppress(ImportError, OSError):
        from liteparse import LiteParse

        LiteParse(ocr_enabled=False, num_workers=1, quiet=True)


def _limit(memory: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_MAX_DESCRIPTORS, _MAX_DESCRIPTORS))


def _allow(cpu_seconds: int, seconds: float) -> None:
    """Computing and time for one more job. The parent keeps the deadline; the alarm is for when it is gone."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(usage.ru_utime + usage.ru_stime) + cpu_seconds
    resource.setrlimit(resource.RLIMIT_CPU, (soft, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    signal.setitimer(signal.ITIMER_REAL, seconds + _MAY_LEAVE_SECONDS)


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open":
        _, mode, flags = arguments
        writes = flags & _WRITING if isinstance(flags, int) else set(str(mode)) & set("wax+")
        if writes and arguments[0] != os.devnull:
            _stop(_WRITE)
        return
    for what, events in _REFUSED.items():
        if event.startswith(events):
            _stop(what)


def _stop(what: str) -> NoReturn:
    _refused.append(what)
    raise PermissionError(f"a reader may not {what}")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
