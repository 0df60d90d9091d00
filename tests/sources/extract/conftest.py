"""A worker that does what a damaged parser might: the bytes of a job say what."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deep_research.sources.extract import Extractor, child

sys.path.insert(0, str(Path(__file__).parent))  # test files are imported by path and find no neighbours

NAUGHTY = """
import ctypes, os, signal, socket, subprocess, sys, time
from deep_research.sources.extract import readers, worker
from deep_research.sources.extract.document import Document
from deep_research.sources.extract.plaintext import UnreadableError

def read(raw, **_):
    what, _, rest = raw.decode().partition(" ")
    if what == "crash":
        signal.raise_signal(signal.SIGSEGV)
    if what == "abort":
        os.abort()
    if what == "leave":
        os._exit(0)
    if what == "hang":
        time.sleep(1000)
    if what == "alarm":
        signal.raise_signal(signal.SIGALRM)
    if what == "memory":
        bytearray(1 << 40)
    if what == "cpu":
        while True:
            pass
    if what == "garbage":
        os.write(ANSWERS, b"}" * 1000)
        time.sleep(1000)
    if what == "wrong":
        worker.send(ANSWERS, {"why": "not this one", "job": 77})
        time.sleep(1000)
    if what == "flood":
        os.write(ANSWERS, (1 << 40).to_bytes(8, "big"))
        while True:
            os.write(ANSWERS, b"x" * 65536)
    if what == "print":
        print("noise", flush=True)
        os.write(1, b"noise")
        os.write(2, b"noise")
    if what == "connect":
        socket.create_connection(("127.0.0.1", int(rest)), 1)
    if what == "start":
        subprocess.run(["true"])
    if what == "fork":
        os.fork()
    if what == "write":
        open(rest, "w").write("x")
    if what == "import":
        raise ImportError("no such library", name="parsers")
    if what == "recurse":
        def deeper():
            deeper()
        deeper()
    if what == "wait":
        time.sleep(float(rest))
    if what == "environment":
        rest = ",".join(sorted(os.environ)) + " " + os.getcwd()
    if what == "limits":
        import resource
        names = ("AS", "FSIZE", "CORE", "NOFILE")
        rest = " ".join(str(resource.getrlimit(getattr(resource, "RLIMIT_" + n))[1]) for n in names)
    return Document(title=str(os.getpid()), text=rest)

readers.read = read
ANSWERS = None
found = worker._pipes
def pipes():
    global ANSWERS
    questions, ANSWERS = found()
    return questions, ANSWERS
worker._pipes = pipes
worker.main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]))
"""


@pytest.fixture
def make() -> Iterator[Callable[..., Extractor]]:
    """Extractors that are closed at the end, and leave no process and no descriptor."""
    made: list[Extractor] = []

    def one(**given: object) -> Extractor:
        made.append(Extractor(**given))  # type: ignore[arg-type]
        return made[-1]

    gc.collect()
    gc.freeze()  # what there is now is not of this test: only what comes is looked through at its end
    before = len(os.listdir("/proc/self/fd"))
    yield one
    for extractor in made:
        extractor.close()
    gc.collect()
    assert running() == []
    assert len(os.listdir("/proc/self/fd")) <= before


@pytest.fixture
def naughty(
    make: Callable[..., Extractor], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Extractor]:
    (tmp_path / "naughty_worker.py").write_text(NAUGHTY)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(child, "_WORKER", "naughty_worker")
    return make


def running() -> list[int]:
    """The children of this process that read documents, those among them that are just ending, or ended unnoticed:
    these have no command line any more."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdecimal():
            try:
                status = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
                line = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if int(status[1]) == os.getpid() and (not line or b"worker" in line):
                found.append(int(name))
    return found


@pytest.fixture
def children() -> Callable[[], list[int]]:
    return running
