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


@pytest.mark.timed
@pytest.mark.parametrize(
    ("what", "why", "limit"),
    [
        ("crash", "crashed (SIGSEGV)", None),
        ("abort", "too much memory", "memory"),
        pytest.param("leave", "crashed", None, marks=pytest.mark.slow),
        ("hang", "longer than 2.5 s; raise fetch.cpu_seconds", "time"),
        ("memory", "too much memory", "memory"),
        pytest.param("garbage", "crashed", None, marks=pytest.mark.slow),
        pytest.param("wrong", "crashed", None, marks=pytest.mark.slow),
        ("flood", "crashed", None),
        ("recurse", "nested too deeply", "size"),
        ("import", "a library that reads it is missing (parsers); reinstall deep-research", None),
        ("start", "damaged", None),
        pytest.param("fork", "damaged", None, marks=pytest.mark.slow),
    ],
)
def test_a_child_that_goes_wrong_is_a_reason_and_the_next_job_is_done(
    naughty: Make, what: str, why: str, limit: str | None
) -> None:
    extractor = naughty(workers=1, seconds=2.5 if what == "hang" else 600, cpu_seconds=10)
    begun = time.monotonic()
    with pytest.raises(ExtractionError) as caught:
        extractor.submit(what.encode()).result()
    assert why in str(caught.value)
    assert caught.value.data.get("limit") == limit
    # What ran out, or is ours to mend, says nothing of the file.
    assert bool(caught.value.data.get("passing")) == (limit in ("time", "memory") or what == "import")
    assert time.monotonic() - begun < 300  # what went wrong is noticed, not waited for
    extractor._limits = replace(extractor._limits, seconds=600.0)
    assert extractor.submit(b"echo hello").result().text == "hello"


@pytest.mark.timed
def test_a_child_that_computes_for_too_long_is_ended_by_its_own_limit(naughty: Make) -> None:
    extractor = naughty(workers=1, cpu_seconds=1, seconds=600)
    with pytest.raises(ExtractionError, match="1 s of computing") as caught:
        extractor.submit(b"cpu").result()
    assert caught.value.data["limit"] == "time"
    for _ in range(3):
        assert extractor.submit(b"wait 0.1").result().text == "0.1"


def test_what_a_parser_prints_is_no_answer(naughty: Make) -> None:
    assert naughty().submit(b"print aloud").result().text == "aloud"


@pytest.mark.timed
def test_a_child_has_no_network(naughty: Make) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        server.settimeout(0.2)
        with pytest.raises(ExtractionError):
            naughty().submit(f"connect {server.getsockname()[1]}".encode()).result()
        with pytest.raises(TimeoutError):
            server.accept()


def test_a_child_writes_no_file(naughty: Make, tmp_path: Path) -> None:
    with pytest.raises(ExtractionError):
        naughty().submit(f"write {tmp_path / 'x'}".encode()).result()
    assert not (tmp_path / "x").exists()


def test_a_child_sees_no_key_and_stands_in_no_folder_of_ours(
    naughty: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "canary")
    seen = naughty().submit(b"environment").result().text
    assert "KEY" not in seen
    assert seen.endswith(" /")


def test_a_child_cannot_raise_its_limits(naughty: Make) -> None:
    memory, files, cores, descriptors = map(
        int, naughty(memory=300 << 20).submit(b"limits").result().text.split()
    )
    assert (memory, files, cores) == (300 << 20, 0, 0)
    assert descriptors <= 64


@pytest.mark.timed
def test_a_child_killed_from_outside_is_told_and_replaced(naughty: Make) -> None:
    extractor = naughty(workers=1)
    extractor.submit(b"echo").result()
    future = extractor.submit(b"hang")
    # One that is killed before it has begun is replaced in silence, and the next one has the job.
    while not future.done():
        for child in list(extractor._children):
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGKILL)
        time.sleep(0.05)
    with pytest.raises(ExtractionError, match="from outside"):
        future.result(300)
    idle = int(extractor.submit(b"echo").result().title)
    os.kill(idle, signal.SIGKILL)
    while _is_running(idle):
        time.sleep(0.01)
    assert extractor.submit(b"echo there").result().text == "there"


def test_a_child_is_used_again_and_replaced_after_many_jobs(
    naughty: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_MAX_JOBS_PER_CHILD", 3)
    extractor = naughty(workers=1)
    seen = [extractor.submit(b"echo").result().title for _ in range(7)]
    assert seen[0] == seen[1] == seen[2] != seen[3] == seen[4] == seen[5] != seen[6]


@pytest.mark.timed
def test_an_idle_child_is_ended(naughty: Make, children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_IDLE_SECONDS", 0.05)
    extractor = naughty()
    extractor.submit(b"echo").result()
    end = time.monotonic() + 300
    while children() and time.monotonic() < end:
        time.sleep(0.02)
    assert children() == []
    assert extractor.submit(b"echo again").result().text == "again"


@pytest.mark.timed
def test_no_more_children_than_workers(naughty: Make) -> None:
    extractor = naughty(workers=2)
    futures = [extractor.submit(b"wait 0.02") for _ in range(20)]
    assert len({future.result(300).title for future in futures}) <= 2


@pytest.mark.timed
def test_jobs_are_done_in_the_order_in_which_they_came(naughty: Make) -> None:
    extractor = naughty(workers=1)
    done: list[int] = []
    futures = [extractor.submit(f"echo {number}".encode()) for number in range(20)]
    for number, future in enumerate(futures):
        future.add_done_callback(lambda _, number=number: done.append(number))
    for future in futures:
        future.result(300)
    assert done == sorted(done)


async def _cancelled(task: asyncio.Task[object]) -> bool:
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


@pytest.mark.timed
def test_a_cancelled_job_that_waits_gives_up_its_place(naughty: Make) -> None:
    async def main() -> None:
        extractor = naughty(workers=1)
        await extractor.extract(b"echo")
        first = asyncio.create_task(extractor.extract(b"wait 0.3"))
        second = asyncio.create_task(extractor.extract(b"hang"))
        await asyncio.sleep(0.05)
        third = asyncio.create_task(extractor.extract(b"echo third"))
        assert await _cancelled(second)
        assert (await first).text == "0.3"
        assert (await third).text == "third"

    asyncio.run(main())


@pytest.mark.timed
def test_a_cancelled_job_that_runs_ends_its_child_only(naughty: Make) -> None:
    async def main() -> None:
        extractor = naughty(workers=1, seconds=600)
        await extractor.extract(b"echo")
        task = asyncio.create_task(extractor.extract(b"hang"))
        await asyncio.sleep(0.05)
        begun = time.monotonic()
        assert await _cancelled(task)
        assert (await extractor.extract(b"echo next")).text == "next"
        assert time.monotonic() - begun < 300  # the child would hang on

    asyncio.run(main())


@pytest.mark.timed
def test_two_hundred_jobs_over_two_loops_and_four_threads_get_each_its_own_answer(naughty: Make) -> None:
    extractor = naughty(workers=2)
    wrong: list[str] = []

    def check(number: int, text: str) -> None:
        if text != str(number):
            wrong.append(f"{number}: {text}")

    def loop(numbers: range) -> None:
        async def one(number: int) -> None:
            check(number, (await extractor.extract(f"echo {number}".encode())).text)

        async def main() -> None:
            await asyncio.gather(*map(one, numbers))

        asyncio.run(main())

    def plain(numbers: range) -> None:
        for number in numbers:
            check(number, extractor.submit(f"echo {number}".encode()).result().text)

    with ThreadPoolExecutor(6) as threads:
        work = [threads.submit(loop, range(n * 50, n * 50 + 50)) for n in range(2)]
        work += [threads.submit(plain, range(100 + n * 25, 125 + n * 25)) for n in range(4)]
        for each in work:
            each.result(300)
    assert wrong == []


@pytest.mark.timed
def test_a_copy_of_this_process_has_children_of_its_own(naughty: Make) -> None:
    extractor = naughty(workers=1)
    ours = extractor.submit(b"echo").result().title
    running = extractor.submit(b"wait 0.3")
    reading, writing = os.pipe()
    copy = os.fork()
    if not copy:
        code = 1
        try:
            theirs = extractor.submit(b"echo").result().title
            os.write(writing, theirs.encode())
            extractor.close()
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    theirs = os.read(reading, 100).decode()
    os.close(reading)
    assert os.waitpid(copy, 0)[1] == 0
    assert theirs not in ("", ours)
    assert running.result(300).title == ours
    assert extractor.submit(b"echo").result().title == ours


@pytest.mark.timed
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
            future.result(300)
        assert caught.value.data["passing"]
    assert time.monotonic() - begun < 300  # they would hang on
    assert children() == []
    assert extractor.submit(b"echo again").result().text == "again"


def test_closing_from_a_loop_does_not_block_it(naughty: Make, children: Children) -> None:
    async def main() -> None:
        extractor = naughty()
        await extractor.extract(b"echo")
        await extractor.aclose()
        assert children() == []

    asyncio.run(main())


@pytest.mark.timed
def test_everything_ends_with_the_interpreter(tmp_path: Path) -> None:
    code = (
        "from deep_research.sources.extract import Extractor\n"
        "e = Extractor(); e.submit(b'hello there', name='a.txt').result(); e.submit(b'x' * 1000, name='b.txt')\n"
        "print([c.pid for c in e._children])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )
    assert done.returncode == 0
    assert done.stderr == ""
    for pid in done.stdout.strip("[]\n").split(", "):
        assert not Path(f"/proc/{pid}").exists()


@pytest.mark.timed
def test_a_child_leaves_when_its_parent_is_killed(naughty: Make, tmp_path: Path) -> None:
    code = (
        "from deep_research.sources.extract import Extractor\n"
        "import time; e = Extractor(); e.submit(b'hello there', name='a.txt').result()\n"
        "print([c.pid for c in e._children][0], flush=True); time.sleep(600)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[3])},
    )
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    end = time.monotonic() + 300
    while _is_running(pid) and time.monotonic() < end:
        time.sleep(0.02)
    assert not _is_running(pid)


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.timed
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


def test_an_answer_that_is_longer_than_was_asked_for_is_refused(naughty: Make) -> None:
    with pytest.raises(ExtractionError, match="crashed"):
        naughty().submit(b"echo " + b"x" * 2_000_000, max_text_bytes=1000).result()


def test_threads_leave_with_their_work(naughty: Make) -> None:
    extractor = naughty()
    extractor.submit(b"echo").result()
    extractor.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "extractor"]


@pytest.mark.timed
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


ALONE = """
import sys, time
from deep_research.sources.extract import Extractor, child
sys.path.insert(0, sys.argv[1])
child._WORKER = "naughty_worker"
extractor = Extractor(seconds=600)
extractor.submit(b"echo hello").result()
extractor.submit(b"hang")
print(*(each.pid for each in extractor._children), flush=True)
time.sleep(600)
"""


@pytest.mark.timed
def test_a_child_at_work_dies_with_its_parent(naughty: Make, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", ALONE, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        parent.kill()
    assert pids
    end = time.monotonic() + 300
    while any(
        Path(f"/proc/{pid}/cmdline").exists() and Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids
    ):
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.timed
def test_of_large_documents_one_is_read_at_a_time(
    naughty: Make, children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_LARGE_BYTES", 8)
    extractor = naughty(workers=3, seconds=600)
    large = [extractor.submit(b"echo a large one") for _ in range(3)]
    small = [extractor.submit(b"echo 1") for _ in range(3)]
    most = 0
    while not all(each.done() for each in [*large, *small]):
        with extractor._lock:
            most = max(most, sum(job.is_large for job in extractor._running))
    assert most <= 1
    assert [each.result().text for each in [*large, *small]] == ["a large one"] * 3 + ["1"] * 3


@pytest.mark.timed
def test_what_came_of_a_job_is_told_before_its_child_has_ended(
    naughty: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a busy machine a process that is killed may take long to go."""
    told = threading.Event()
    end = Child.end

    def last(self: Child, *, at_once: bool = True) -> None:
        assert told.wait(300)
        end(self, at_once=at_once)

    monkeypatch.setattr(Child, "end", last)
    extractor = naughty(workers=1, seconds=0.2)
    with pytest.raises(ExtractionError, match="took longer than"):
        extractor.submit(b"wait 300").result()
    told.set()
    extractor._limits = replace(extractor._limits, seconds=600.0)
    assert extractor.submit(b"echo hello").result().text == "hello"
