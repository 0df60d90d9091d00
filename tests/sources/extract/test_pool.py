"""The extractor whatever its children do: an answer or a reason, never a hang, never the answer to another question."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from deep_research.errors import ExtractionError
from deep_research.sources.extract import Extractor, pool
from deep_research.sources.extract.child import Child

Make = Callable[..., Extractor]
Children = Callable[[], list[int]]
HERE = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])}
IN_TIME = 300  # seconds: what goes wrong is noticed, not waited for

pytestmark = pytest.mark.timed


def text(extractor: Extractor, job: str) -> str:
    return extractor.submit(job.encode()).result().text


def refused(extractor: Extractor, job: str) -> ExtractionError:
    begun = time.monotonic()
    with pytest.raises(ExtractionError) as caught:
        extractor.submit(job.encode()).result()
    assert time.monotonic() - begun < IN_TIME
    return caught.value


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + IN_TIME
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    ("what", "why", "limit"),
    [
        ("crash", "crashed (SIGSEGV)", None),
        ("abort", "too much memory", "memory"),
        pytest.param("leave", "crashed", None, marks=SLOW),
        ("hang", "longer than 2.5 s; raise fetch.cpu_seconds", "time"),
        ("memory", "too much memory", "memory"),
        pytest.param("garbage", "crashed", None, marks=SLOW),
        pytest.param("wrong", "crashed", None, marks=SLOW),
        ("flood", "crashed", None),
        ("recurse", "nested too deeply", "size"),
        ("import", "a library that reads it is missing (parsers); reinstall deep-research", None),
        ("start", "damaged", None),
        pytest.param("fork", "damaged", None, marks=SLOW),
        ("cpu", "1 s of computing", "time"),
        ("alarm", "longer than 600 s; raise fetch.cpu_seconds", "time"),
    ],
)
def test_a_child_that_goes_wrong_is_a_reason_and_the_next_job_is_done(
    naughty: Make, what: str, why: str, limit: str | None
) -> None:
    seconds = 2.5 if what == "hang" else 600
    extractor = naughty(workers=1, seconds=seconds, cpu_seconds=1 if what == "cpu" else 10)
    error = refused(extractor, what)
    assert why in str(error)
    assert error.data.get("limit") == limit
    # What ran out, or is ours to mend, says nothing of the file.
    assert bool(error.data.get("passing")) == (limit in ("time", "memory") or what == "import")
    extractor._limits = replace(extractor._limits, seconds=600.0)
    assert text(extractor, "echo hello") == "hello"


def test_what_a_parser_prints_is_no_answer(naughty: Make) -> None:
    assert text(naughty(), "print aloud") == "aloud"


def test_a_child_has_no_network_writes_no_file_and_sees_no_key_and_no_folder_of_ours(
    naughty: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary")
    extractor = naughty()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.2)
        refused(extractor, f"connect {server.getsockname()[1]}")
        with pytest.raises(TimeoutError):
            server.accept()
    refused(extractor, f"write {tmp_path / 'x'}")
    assert not (tmp_path / "x").exists()
    seen = text(extractor, "environment")
    assert "KEY" not in seen
    assert seen.endswith(" /")


def test_a_child_cannot_raise_its_limits(naughty: Make) -> None:
    memory, files, cores, descriptors = map(int, text(naughty(memory=300 << 20), "limits").split())
    assert (memory, files, cores) == (300 << 20, 0, 0)
    assert descriptors <= 64


def test_an_answer_that_is_longer_than_was_asked_for_is_refused(naughty: Make) -> None:
    with pytest.raises(ExtractionError, match="crashed"):
        naughty().submit(b"echo " + b"x" * 2_000_000, max_text_bytes=1000).result()


def test_a_child_that_another_process_kills_is_told_and_replaced(naughty: Make) -> None:
    extractor = naughty(workers=1)
    text(extractor, "echo")
    future = extractor.submit(b"hang")
    # One that is killed before it has begun is replaced in silence, and the next one has the job.
    while not future.done():
        for child in list(extractor._children):
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGKILL)
        time.sleep(0.05)
    with pytest.raises(ExtractionError, match="another process ended the reading"):
        future.result(IN_TIME)
    idle = int(extractor.submit(b"echo").result().title)
    os.kill(idle, signal.SIGKILL)
    until(lambda: not is_running(idle))
    assert text(extractor, "echo there") == "there"


def test_a_child_is_used_again_and_replaced_after_many_jobs(
    naughty: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_MAX_JOBS_PER_CHILD", 3)
    extractor = naughty(workers=1)
    seen = [extractor.submit(b"echo").result().title for _ in range(7)]
    assert seen[0] == seen[1] == seen[2] != seen[3] == seen[4] == seen[5] != seen[6]


def test_an_idle_child_is_ended(naughty: Make, children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_IDLE_SECONDS", 0.05)
    extractor = naughty()
    text(extractor, "echo")
    until(lambda: children() == [])
    assert text(extractor, "echo again") == "again"


def test_no_more_children_than_workers_and_of_one_the_jobs_are_done_in_their_order(naughty: Make) -> None:
    extractor = naughty(workers=2)
    futures = [extractor.submit(b"wait 0.02") for _ in range(20)]
    assert len({future.result(IN_TIME).title for future in futures}) <= 2
    extractor, done = naughty(workers=1), []
    futures = [extractor.submit(f"echo {number}".encode()) for number in range(20)]
    for number, future in enumerate(futures):
        future.add_done_callback(lambda _, number=number: done.append(number))
    for future in futures:
        future.result(IN_TIME)
    assert done == sorted(done)


async def _cancelled(task: asyncio.Task[object]) -> bool:
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


def test_a_cancelled_job_gives_up_its_place_or_ends_its_child_only(naughty: Make) -> None:
    async def main() -> None:
        extractor = naughty(workers=1, seconds=600)
        await extractor.extract(b"echo")
        first = asyncio.create_task(extractor.extract(b"wait 0.3"))
        second = asyncio.create_task(extractor.extract(b"hang"))
        await asyncio.sleep(0.05)
        third = asyncio.create_task(extractor.extract(b"echo third"))
        assert await _cancelled(second)  # it waits
        assert (await first).text == "0.3"
        assert (await third).text == "third"
        runs = asyncio.create_task(extractor.extract(b"hang"))
        await asyncio.sleep(0.05)
        begun = time.monotonic()
        assert await _cancelled(runs)
        assert (await extractor.extract(b"echo next")).text == "next"
        assert time.monotonic() - begun < IN_TIME  # the child would hang on

    asyncio.run(main())


def test_cancelling_at_any_moment_disturbs_no_other_job(naughty: Make) -> None:
    async def main() -> None:
        extractor = naughty(workers=2)
        for turn in range(60):
            task = asyncio.create_task(extractor.extract(b"echo gone"))
            other = asyncio.create_task(extractor.extract(f"echo {turn}".encode()))
            await asyncio.sleep(turn * 0.00005)
            task.cancel()
            assert (await other).text == str(turn)

    asyncio.run(main())


def test_two_hundred_jobs_over_two_loops_and_four_threads_get_each_its_own_answer(naughty: Make) -> None:
    extractor = naughty(workers=2)

    def loop(numbers: range) -> list[str]:
        async def main() -> list[str]:
            jobs = (extractor.extract(f"echo {number}".encode()) for number in numbers)
            return [document.text for document in await asyncio.gather(*jobs)]

        return asyncio.run(main())

    def plain(numbers: range) -> list[str]:
        return [text(extractor, f"echo {number}") for number in numbers]

    parts = [(loop, range(n * 50, n * 50 + 50)) for n in range(2)]
    parts += [(plain, range(100 + n * 25, 125 + n * 25)) for n in range(4)]
    with ThreadPoolExecutor(6) as threads:
        work = [(threads.submit(how, numbers), numbers) for how, numbers in parts]
        for future, numbers in work:
            assert future.result(IN_TIME) == [str(number) for number in numbers]


def test_a_copy_of_this_process_has_children_of_its_own(naughty: Make) -> None:
    extractor = naughty(workers=1)
    ours = extractor.submit(b"echo").result().title
    running = extractor.submit(b"wait 0.3")
    reading, writing = os.pipe()
    copy = os.fork()
    if not copy:
        code = 1
        try:
            os.write(writing, extractor.submit(b"echo").result().title.encode())
            extractor.close()
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    theirs = os.read(reading, 100).decode()
    os.close(reading)
    assert os.waitpid(copy, 0)[1] == 0
    assert theirs not in ("", ours)
    assert running.result(IN_TIME).title == ours
    assert extractor.submit(b"echo").result().title == ours


def test_closing_ends_what_runs_and_what_waits_and_a_later_job_starts_anew(
    naughty: Make, children: Children
) -> None:
    extractor = naughty(workers=1, seconds=600)
    futures = [extractor.submit(b"hang") for _ in range(3)]
    time.sleep(0.1)
    begun = time.monotonic()
    extractor.close()
    for future in futures:
        with pytest.raises(ExtractionError) as caught:
            future.result(IN_TIME)
        assert caught.value.data["passing"]
    assert time.monotonic() - begun < IN_TIME  # they would hang on
    assert children() == []
    assert not [thread for thread in threading.enumerate() if thread.name == "extractor"]
    assert text(extractor, "echo again") == "again"

    async def closed() -> None:
        await extractor.aclose()  # which does not keep the loop waiting
        assert children() == []

    asyncio.run(closed())


ALONE = """
import sys, time
from deep_research.sources.extract import Extractor, child
sys.path.insert(0, sys.argv[1])
child._WORKER = "naughty_worker"
extractor = Extractor(seconds=600)
extractor.submit(b"echo hello").result()
if sys.argv[2] != "idle":
    extractor.submit(b"hang")
print(*(each.pid for each in extractor._children), flush=True)
if sys.argv[2] != "ends":
    time.sleep(600)
"""


@pytest.mark.parametrize("state", ["idle", "at work", "ends"])
def test_children_leave_with_their_parent_whether_it_is_killed_or_ends(
    naughty: Make, tmp_path: Path, state: str
) -> None:
    program = [sys.executable, "-W", "error", "-c", ALONE, str(tmp_path), state]
    pipe = subprocess.PIPE
    with subprocess.Popen(program, stdout=pipe, stderr=pipe, text=True, env=HERE) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        if state != "ends":
            parent.kill()
        assert parent.wait(IN_TIME) == (0 if state == "ends" else -signal.SIGKILL)
        assert parent.stderr is not None
        assert parent.stderr.read() == ""
    assert pids
    until(lambda: not any(map(is_running, pids)))


def test_a_large_document_is_sent_without_keeping_the_loop_waiting(
    naughty: Make, least: Callable[..., float]
) -> None:
    async def main() -> float:
        extractor = naughty()
        await extractor.extract(b"echo")
        worst = 0.0

        async def tick() -> None:
            nonlocal worst
            while True:
                before, computed = time.perf_counter(), time.process_time()
                await asyncio.sleep(0.002)
                # A busy machine makes a loop wait as well: what we compute meanwhile is what counts.
                worst = max(worst, min(time.perf_counter() - before, time.process_time() - computed))

        ticking = asyncio.create_task(tick())
        await extractor.extract(b"echo " + b"x" * 900_000)
        with pytest.raises(ExtractionError, match="larger than"):
            await extractor.extract(bytes(70_000_000))
        ticking.cancel()
        return worst

    assert least(0.05, lambda: asyncio.run(main())) < 0.05


def test_of_large_documents_one_is_read_at_a_time(naughty: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_LARGE_BYTES", 8)
    extractor = naughty(workers=3, seconds=600)
    jobs = [extractor.submit(job) for job in (b"echo a large one", b"echo 1") for _ in range(3)]
    most = 0
    while not all(each.done() for each in jobs):
        with extractor._lock:
            most = max(most, sum(job.is_large for job in extractor._running))
    assert most <= 1
    assert [each.result().text for each in jobs] == ["a large one"] * 3 + ["1"] * 3


def test_what_came_of_a_job_is_told_before_its_child_has_ended(
    naughty: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a process that is killed may take long to go."""
    told = threading.Event()
    end = Child.end

    def last(self: Child, *, at_once: bool = True) -> None:
        assert told.wait(IN_TIME)
        end(self, at_once=at_once)

    monkeypatch.setattr(Child, "end", last)
    extractor = naughty(workers=1, seconds=0.2)
    assert "took longer than" in str(refused(extractor, "wait 300"))
    told.set()
    extractor._limits = replace(extractor._limits, seconds=600.0)
    assert text(extractor, "echo hello") == "hello"
