"""Answers that are small on the wire and huge in memory, and whoever reads answers, each reading one of them.

Run as a program it is the reader: ``bombs.py PORT CASE ...`` prints a line of JSON for each case, with what was raised
and by how many bytes the process grew at most.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from servers.http import Ending, Reply, Request

MEBIBYTE = 2**20
MOST_GROWTH = 64 * MEBIBYTE
# What a bomb becomes, in bytes; those below the largest stay under some bound, and may be answers.
SIZES = (100 * MEBIBYTE, 31 * MEBIBYTE, 4_900_000, 4_000_000, 250_000)
WIRES = ("anthropic", "responses", "chat", "ollama")
SEARCHES = ("tavily", "google", "semantic_scholar", "openalex", "wikipedia", "searxng")
TARGETS = (
    *(f"{wire} {way}" for wire in WIRES for way in ("whole", "streamed")),
    *("anthropic count", "responses count", "ollama show"),
    *(f"search {name}" for name in SEARCHES),
    *("page", "robots"),
)
CODINGS = {
    # The header, and how often the body is packed.
    "identity": 0,
    "gzip": 1,
    "x-gzip": 1,
    "deflate": 1,
    "br": 1,
    "zstd": 1,
    "nonsense": 1,
    "gzip, gzip": 2,
    "deflate, gzip": 2,
    "gzip, gzip, gzip": 3,
    "GZIP": 1,
    "gzip, identity": 1,
    "": 0,
}
STATUSES = (200, 200, 200, 401, 404, 429, 500)
FRAMES = ("length", "chunked", "too long a length", "in pieces")
MEDIA = ("application/json", "text/event-stream", "application/x-ndjson", "text/html", "text/plain")
_PARTS: dict[str, tuple[bytes, bytes]] = {
    # How it begins, and what it goes on with for ever.
    "nothing": (b"", b"\0"),
    "blanks": (b"", b" "),
    "lists": (b"[", b"[],"),
    "objects": (b"[", b'{"a":{},"b":[]},'),
    "depth": (b"", b"["),
    "lines": (b"", b"{}\n"),
    "numbers": (b"[", b"1.5,"),
    "events": (b"", b"data: {}\n\n"),
    "comments": (b"", b": still here\n\n"),
    "a line": (b"data: ", b"x"),
    "a chat answer": (b'{"choices":[{"message":{"content":"', b"word, "),
    "an answer beyond ASCII": (b'{"message":{"content":"\xf0\x9f\x9a\xa2', b"word "),
    "an anthropic answer": (b'{"type":"message","content":[{"type":"text","text":"', b"word "),
    "a response": (b'{"output":[{"type":"message","content":[{"type":"output_text","text":"', b"word "),
    "results": (b'{"results":[', b'{"url":"https://example.org/","title":"x"},'),
    "chunks": (b"", b'data: {"choices":[{"delta":{"content":"ab"}}]}\n\n'),
    "deltas": (b"", b'data: {"type":"response.output_text.delta","delta":"ab"}\n\n'),
    "pieces of lines": (b"", b'{"message":{"content":"ab"}}\n'),
    "blocks": (
        b'data: {"type":"message_start","message":{"usage":{"input_tokens":1}}}\n\n',
        b'data: {"type":"content_block_delta","index":0,"delta":{"text":"ab"}}\n\n',
    ),
    "tags": (b"<html><body>", b"<table><tr><td>"),
    "rules": (b"User-agent: *\n", b"Disallow: /a\n"),
}
PAYLOADS = tuple(_PARTS)


@dataclass(frozen=True, slots=True)
class Bomb:
    number: int
    target: str
    coding: str
    status: int
    frame: str
    media: str
    payload: str
    size: int

    @property
    def name(self) -> str:
        sent = f"{self.size} of {self.payload} in {self.coding!r}, {self.status}, {self.frame}, {self.media}"
        return f"{self.number} {self.target}: {sent}"


def cases(count: int, seed: int = 24) -> list[Bomb]:
    """As many, each reader and each coding in turn, the rest by chance."""
    chance = random.Random(seed)
    codings = list(CODINGS)
    return [
        Bomb(
            number,
            TARGETS[number % len(TARGETS)],
            codings[(number // len(TARGETS) * 5 + number) % len(codings)],
            chance.choice(STATUSES),
            chance.choice(FRAMES),
            chance.choice(MEDIA),
            PAYLOADS[number % len(PAYLOADS)] if number % 2 else chance.choice(PAYLOADS),
            chance.choice((SIZES[0], SIZES[0], *SIZES)),
        )
        for number in range(count)
    ]


@cache
def _packed(payload: str, how: tuple[str, ...], size: int) -> bytes:
    """The bomb in all its wrappings, the innermost first."""
    if not how:
        begin, more = _PARTS[payload]
        return begin + more * (min(size, 40 * MEBIBYTE) // len(more))
    *inner, last = how
    pack = zlib.compressobj(5, wbits=zlib.MAX_WBITS + (0 if last == "deflate" else 16))
    if inner:
        return pack.compress(_packed(payload, tuple(inner), size)) + pack.flush()
    begin, more = _PARTS[payload]
    block = more * (50_000 // len(more))
    blocks = (pack.compress(block) for _ in range(size // len(block)))
    return b"".join([pack.compress(begin), *blocks, pack.flush()])


def reply_to(bomb: Bomb) -> Reply:
    depth = CODINGS[bomb.coding]
    how = ("deflate",) * bomb.coding.startswith("deflate") + ("gzip",) * 3
    body = _packed(bomb.payload, how[:depth], bomb.size)
    size = 7_001 if bomb.frame == "in pieces" else MEBIBYTE
    return Reply(
        bomb.status,
        tuple(body[at : at + size] for at in range(0, len(body), size)),
        bomb.media,
        {"content-encoding": bomb.coding} if bomb.coding else {},
        chunked=bomb.frame == "chunked",
        length=len(body) + 1_000 if bomb.frame == "too long a length" else None,
        ending=Ending.CLOSED if bomb.frame == "too long a length" else Ending.KEPT,
    )


def case_of(request: Request) -> int:
    """Which case a request is of: its number stands in the path, of a page in the host."""
    found = re.search(r"case-(\d+)", request.path + " " + request.headers.get("host", ""))
    assert found
    return int(found[1])


# The reader


async def read(target: str, url: str, host: str, port: int) -> Any:
    """Has a bomb read at the base URL, or of a page at the host. Whatever it gives or raises is the outcome."""
    kind, _, how = target.partition(" ")
    if kind in WIRES:
        return await _of_model(kind, how, url)
    if kind == "search":
        return await _of_search(how, url)
    return await _of_site(kind, host, port)


async def _of_model(wire: str, how: str, url: str) -> Any:
    from deep_research.models.anthropic import AnthropicMessages
    from deep_research.models.base import Message, ModelCall
    from deep_research.models.ollama import Ollama
    from deep_research.models.openai import OpenAIResponses
    from deep_research.models.openai_chat import OpenAIChat

    call = ModelCall(messages=(Message(content="How many ships?"),), timeout=60.0)
    made = {
        "anthropic": lambda: AnthropicMessages("m", api_key="sk-1", base_url=url),
        "responses": lambda: OpenAIResponses("m", api_key="sk-1", base_url=f"{url}/v1"),
        "chat": lambda: OpenAIChat("m", api_key="sk-1", base_url=f"{url}/v1"),
        "ollama": lambda: Ollama("m", base_url=url),
    }
    provider: Any = made[wire]()
    try:
        if how == "count":
            return await provider.count(call)
        if how == "show":
            return await provider.ask_window()
        pieces: list[str] = []
        return await provider.send(call, pieces.append if how == "streamed" else None)
    finally:
        await provider.aclose()


async def _of_search(name: str, url: str) -> Any:
    from deep_research.sources.search.base import SearchRequest
    from deep_research.sources.search.google import Google
    from deep_research.sources.search.openalex import OpenAlex
    from deep_research.sources.search.searxng import SearXNG
    from deep_research.sources.search.semantic_scholar import SemanticScholar
    from deep_research.sources.search.tavily import Tavily
    from deep_research.sources.search.wikipedia import Wikipedia

    made = {
        "tavily": lambda: Tavily(api_key="k", base_url=url),
        "google": lambda: Google(api_key="k", engine_id="e", base_url=url),
        "semantic_scholar": lambda: SemanticScholar(base_url=url),
        "openalex": lambda: OpenAlex(base_url=url),
        "wikipedia": lambda: Wikipedia(base_url=url),
        "searxng": lambda: SearXNG(base_url=url),
    }
    provider: Any = made[name]()
    try:
        return await provider.search(SearchRequest(query="which ships passed", limit=5))
    finally:
        await provider.aclose()


async def _of_site(kind: str, host: str, port: int) -> Any:
    from deep_research.sources.fetch import Fetcher, Robots
    from deep_research.sources.fetch.guard import Guard, opened

    async def public(_host: str, _port: int) -> list[str]:
        return ["93.184.216.34"]

    async def here(*_: Any) -> Any:
        return await opened("127.0.0.1", port, None, "")

    fetcher = Fetcher(guard=Guard(public, opener=here))
    if kind == "robots":
        return await Robots(fetcher).refusal(f"http://{host}/page")
    return await fetcher.fetch(f"http://{host}/page")


def _memory(name: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(name))


def _measured(target: str, number: int, port: int) -> dict[str, Any]:
    from deep_research.errors import DeepResearchError

    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the highest figure begins anew
    before = _memory("VmRSS")
    told: dict[str, Any] = {"number": number, "raised": None, "error": ""}
    try:
        url = f"http://127.0.0.1:{port}/case-{number}"
        given = asyncio.run(read(target, url, f"case-{number}.org", port))
        told["given"] = repr(given)[:200]
    except Exception as error:
        told |= {
            "raised": type(error).__name__,
            "error": str(error),
            "ours": isinstance(error, DeepResearchError),
        }
        told["hint"] = getattr(error, "hint", "")
    return told | {"growth": max(0, _memory("VmHWM") - before)}


def _lines(port: int, wanted: list[str]) -> Iterator[dict[str, Any]]:
    known = {bomb.number: bomb for bomb in cases(1 + max(map(int, wanted)))}
    for target in TARGETS:  # what is imported and made once is nobody's growth
        _measured(target, 10**9, port)
    for number in map(int, wanted):
        yield _measured(known[number].target, number, port)


if __name__ == "__main__":
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
        os.environ.pop(variable, None)
    for line in _lines(int(sys.argv[1]), sys.argv[2:]):
        print(json.dumps(line), flush=True)
