"""A thousand pages of one site on loopback: how near to what its latency allows, and what a page costs.

The site is a process of its own: its work does not count, though it takes of the machine's time. What latency and
concurrency allow is reckoned from the latencies alone, and measured too, by a client that only opens a connection, asks
and reads, and so meets what the machine adds to them.
"""

from __future__ import annotations

import asyncio
import gc
import heapq
import random
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from deep_research.errors import ExtractionError, FetchError
from deep_research.sources.fetch import Fetcher, FetchLimits, Hosts, Robots, WebPages
from deep_research.sources.fetch.guard import Guard, Streams, opened

PAGES = 1_000
LATENCY, SLOW = 0.05, 1.0  # seconds
PUBLIC = "93.184.216.34"
WORDS = ("tower", "keeper", "lamp", "storm", "wind", "harbour", "stone", "light", "record", "night", "vessel")


def schedule() -> list[tuple[int, float]]:
    """(status, latency in seconds) of each page: 5 % errors, two of five asked for twice; 2 % slow."""
    dice = random.Random(7)
    statuses = [404] * 30 + [500] * 20 + [200] * (PAGES - 50)
    latencies = [SLOW] * 20 + [LATENCY] * (PAGES - 20)
    dice.shuffle(statuses)
    dice.shuffle(latencies)
    return list(zip(statuses, latencies, strict=True))


def body(number: int) -> bytes:
    """An article of about 20 KB."""
    dice = random.Random(number)
    parts = (f"<p>{' '.join(dice.choices(WORDS, k=60)).capitalize()}.</p>" for _ in range(50))
    return f"<!doctype html><title>Page {number}</title><article>{''.join(parts)}</article>".encode()


def ideal(at_once: int) -> float:
    """Seconds that the site's latencies take, that many at a time."""
    busy = [LATENCY] * at_once  # its robots.txt first
    for status, latency in schedule():
        start = heapq.heappop(busy)
        heapq.heappush(busy, start + latency * (2 if status == 500 else 1))
    return max(busy)


class Answers(asyncio.Protocol):
    """One connection of the site: one request, answered after its latency. As light as can be: what the site takes of the
    machine is no part of its latency."""

    def __init__(self, pages: list[tuple[float, bytes]], none: bytes) -> None:
        self._pages, self._none, self._asked = pages, none, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._asked += data
        if b"\r\n\r\n" not in self._asked:
            return
        number = self._asked.split(b" ", 2)[1].strip(b"/")
        known = number.isdigit() and int(number) < len(self._pages)
        latency, answer = self._pages[int(number)] if known else (LATENCY, self._none)
        asyncio.get_running_loop().call_later(latency, self._answer, answer)

    def _answer(self, answer: bytes) -> None:
        self._transport.write(answer)
        self._transport.close()


def serve() -> None:
    """The site; prints its port. Ends with its standard input."""

    def whole(status: int, page: bytes) -> bytes:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n\r\n"
        return head.encode() + page

    pages = [
        (latency, whole(status, body(number) if status == 200 else b"none"))
        for number, (status, latency) in enumerate(schedule())
    ]

    async def main() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: Answers(pages, whole(404, b"none")), "127.0.0.1", 0, backlog=256
        )
        print(server.sockets[0].getsockname()[1], flush=True)
        await asyncio.to_thread(sys.stdin.read)
        server.close()

    asyncio.run(main())


async def barely(port: int, at_once: int) -> float:
    """Seconds that a client takes which does nothing but ask."""
    left = iter(enumerate(schedule()))

    async def ask(number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET /{number} HTTP/1.1\r\nHost: site.org\r\n\r\n".encode())
        while await reader.read(1 << 16):
            pass
        writer.close()

    async def lane() -> None:
        for number, (status, _) in left:
            for _ in range(2 if status == 500 else 1):
                await ask(number)

    began = time.perf_counter()
    await ask(PAGES)  # the robots.txt
    await asyncio.gather(*(lane() for _ in range(at_once)))
    return time.perf_counter() - began


class Plain:
    async def extract(self, raw: bytes, *, media_type: str = "", name: str = "") -> str:
        return raw.decode()


def resident() -> float:
    """Megabytes of this process."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6
    except OSError:
        return 0.0


async def once(
    port: int, at_once: int, extractor: Any, pages: int = PAGES
) -> tuple[float, float, float, int]:
    """Seconds, CPU seconds, megabytes grown at the most, and pages read."""

    async def public(host: str, port: int) -> list[str]:
        return [PUBLIC]

    async def here(address: str, *_: object) -> Streams:
        """Connects to the site, whatever public address is meant."""
        assert address == PUBLIC
        return await opened("127.0.0.1", port, None, "")

    fetcher = Fetcher(limits=FetchLimits(), guard=Guard(public, opener=here))
    reader: WebPages[Any] = WebPages(
        fetcher, Robots(fetcher), Hosts(at_once=at_once), extractor, seconds=600.0
    )
    most = 0.0

    async def read(number: int) -> int:
        nonlocal most
        try:
            page = await reader.read(f"http://site.org/{number}")
        except (FetchError, ExtractionError):
            return 0
        if number % 50 == 0:
            most = max(most, resident())
        return bool(page.body)

    gc.collect()
    before, cpu, began = resident(), time.process_time(), time.perf_counter()
    read_pages = sum(await asyncio.gather(*map(read, range(pages))))
    return time.perf_counter() - began, time.process_time() - cpu, max(0.0, most - before), read_pages


def measure(show: Callable[[str, str, str], None]) -> None:
    extractors: list[tuple[str, Any]] = [("", Plain())]
    if find_spec("deep_research.sources.extract"):
        from deep_research.sources.extract import Extractor

        extractors.append((", read in child processes", Extractor()))
    with subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as site:
        assert site.stdout
        assert site.stdin
        port = int(site.stdout.readline())
        for said, extractor in extractors:
            asyncio.run(once(port, 16, extractor, 50))  # warms up
            for at_once in (4, 16):
                wall, cpu, grown, read = asyncio.run(once(port, at_once, extractor))
                best, bare = ideal(at_once), asyncio.run(barely(port, at_once))
                show(
                    f"{PAGES:,} pages, {at_once} at a time{said}",
                    f"{PAGES / wall:.0f} pages/s of {PAGES / best:.0f}: {best / wall:.2f};"
                    f" of a bare client's {PAGES / bare:.0f}: {bare / wall:.2f}",
                    "0.90",
                )
                show(
                    "  a page, and memory",
                    f"{cpu / PAGES * 1e3:.2f} ms CPU, {grown:.1f} MB grown, {read} read",
                    "3 ms",
                )
        site.stdin.close()


if __name__ == "__main__":
    sys.exit(serve())
