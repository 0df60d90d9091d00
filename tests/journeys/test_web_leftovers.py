"""A run that is ended while pages come and are being read: at once, and nothing of it is left."""

import asyncio
import contextlib
import os
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest
from servers import Hit, SearchServer, WebSite, web_reply

from deep_research import DeepResearch
from deep_research.testing.pace import Pace

pytestmark = pytest.mark.timed

QUESTION = "How tall is the lighthouse of Mole Reef?"
# A page that takes its reader seconds.
LONG = web_reply(f"<main>{'<div><p>word <a href=x>link</a></p></div>' * 13_000}</main>".encode())


async def drips(writer):
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n")
    while True:
        writer.write(b"a")
        await writer.drain()
        await asyncio.sleep(0.02)


@pytest.fixture
def research(tmp_path, monkeypatch):
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-0123456789abcdef")
    pages = {f"/{n}": drips if n % 2 else LONG for n in range(16)}
    found = [
        Hit(url=f"http://h{n}.example.com/{n}", title=f"Lighthouse of Mole Reef {n}", text="How tall it is.")
        for n in pages_of(pages)
    ]
    with (
        WebSite(pages | {"/robots.txt": web_reply(status="404 None")}) as site,
        SearchServer(found) as server,
    ):
        monkeypatch.setattr("deep_research.sources.fetch.client.Guard", site.guard)
        yield DeepResearch(
            search=["tavily"],
            search_urls={"tavily": server.base_url},
            data_dir=tmp_path,
            max_sources_per_query=16,
            max_iterations=1,
        )


def pages_of(pages):
    return [int(path[1:]) for path in pages]


def children(parent=None):
    """The processes that read pages for another."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            above = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            if above == (parent or os.getpid()) and b"extract.worker" in (process / "cmdline").read_bytes():
                found.append(int(process.name))
    return found


async def until_pages_are_read():
    for _ in range(15_000):
        if children():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("nothing was read")


@pytest.mark.parametrize("way", ["cancel", "close"])
def test_nothing_is_left_of_a_run_that_is_ended_while_it_reads(research, way):
    async def main():
        run = await research.astart(QUESTION)
        await until_pages_are_read()
        assert len(asyncio.all_tasks()) > 10
        async with Pace() as pace:
            if way == "cancel":
                summary = await research.acancel(run.research_id)
                assert summary.status == "aborted"
                assert pace.seconds < 5  # .05 on an idle machine
        if way == "cancel":
            for _ in range(3_000):
                if len(asyncio.all_tasks()) == 1:
                    break
                await asyncio.sleep(0.1)
            assert asyncio.all_tasks() == {asyncio.current_task()}
        async with Pace() as pace:
            await research.aclose()
        assert pace.seconds < 10
        assert asyncio.all_tasks() == {asyncio.current_task()}

    before = {thread.name for thread in threading.enumerate()}, len(os.listdir("/proc/self/fd"))
    asyncio.run(main())
    assert children() == []
    assert {thread.name for thread in threading.enumerate()} <= before[0]
    until = (
        time.monotonic() + 300
    )  # the site, which is of this process too, has to notice that nobody listens
    while len(os.listdir("/proc/self/fd")) > before[1] + 1 and time.monotonic() < until:
        time.sleep(0.05)
    assert len(os.listdir("/proc/self/fd")) <= before[1] + 1


def test_a_process_that_does_not_close_ends_and_leaves_no_other_behind(tmp_path):
    program = """
        import asyncio
        import sys
        from deep_research.sources.extract import Extractor

        async def main():
            extractor = Extractor()
            page = ("<main>" + "<div><p>word <a href=x>link</a></p></div>" * 13_000 + "</main>").encode()
            reading = [asyncio.create_task(extractor.extract(page, media_type="text/html")) for _ in range(4)]
            await asyncio.to_thread(sys.stdin.readline)

        asyncio.run(main())
    """
    running = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
    )
    seen = []
    while running.poll() is None and len(seen) < 2:
        seen = children(running.pid)
        time.sleep(0.02)
    assert seen
    _, said = running.communicate(timeout=300)
    assert (running.returncode, said) == (0, b"")
    assert not [pid for pid in seen if Path(f"/proc/{pid}").exists()]
