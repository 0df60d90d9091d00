"""A server of the protocol in a process of its own; clients of the package ``mcp`` over stdio and HTTP; bare lines."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

SCRIPT = Path(__file__).with_name("scripted_mcp_server.py")
CORPUS = Path(__file__).parents[2] / "docs" / "examples" / "corpus"
PATIENCE = 120.0  # seconds for what takes one, on a machine that stands still
TOWER = "How tall is the Cape Hatteras lighthouse?"
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "lines", "version": "1"},
}


def environment() -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)}


def scripted(home: Path, given: dict[str, Any]) -> list[str]:
    return [str(SCRIPT), str(home), json.dumps(given)]


def keyless(home: Path, *options: str) -> list[str]:
    """Over the documents of the examples."""
    command = ["-m", "deep_research", "mcp", "--corpus", str(CORPUS), "--local-only"]
    return [*command, "--data-dir", str(home), *options]


@asynccontextmanager
async def connected(arguments: list[str], mode: str = "auto") -> AsyncIterator[Client]:
    """A client of a server; both end with the block."""
    server = StdioServerParameters(command=sys.executable, args=arguments, env=environment())
    async with Client(server, mode=mode, read_timeout_seconds=PATIENCE) as client:
        yield client


@asynccontextmanager
async def connected_to(address: str, token: str = "", mode: str = "auto") -> AsyncIterator[Client]:
    """A client of a server that listens at an address."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as http:
        transport = streamable_http_client(f"{address}/mcp", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE) as client:
            yield client


async def data(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a call gives, which is no error."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    found: dict[str, Any] = result.structured_content
    return found


async def refusal(client: Client, tool: str, **arguments: Any) -> str:
    """The line of a call that is refused."""
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert result.is_error, result.structured_content
    assert "\n" not in content.text
    return str(content.text)


async def until_reached(home: Path) -> None:
    """Until the writing of a report has begun."""
    deadline = time.monotonic() + PATIENCE
    while not (home / "reached").exists():
        assert time.monotonic() < deadline, "no report was begun"
        await asyncio.sleep(0.01)


class Lines:
    """A client that sends and reads lines. ``received`` has all that came on stdout so far."""

    def __init__(self, arguments: list[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **environment()},
            start_new_session=True,
        )
        self.received: list[bytes] = []

    def send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + b"\n")
        self._process.stdin.flush()

    def notify(self, method: str, **params: Any) -> None:
        self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def request(self, number: int, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.send(json.dumps(message).encode())

    def answer(self, number: int | None) -> dict[str, Any]:
        """The answer to a request, None to what has no number; what comes before it is kept too."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.received.append(line)
            message: dict[str, Any] = json.loads(line)
            if message.get("id", "") == number:
                return message
        raise AssertionError("the server ended")

    def begin(self) -> None:
        self.request(0, "initialize", **INITIALIZE)
        self.answer(0)
        self.notify("notifications/initialized")

    def call(self, number: int, tool: str, **arguments: Any) -> None:
        self.request(number, "tools/call", name=tool, arguments=arguments)

    def leave(self) -> None:
        """Close the server's stdin."""
        assert self._process.stdin is not None
        self._process.stdin.close()

    def stop_reading(self) -> None:
        """Close the server's stdout."""
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.stdout = None

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self) -> tuple[int, str]:
        """The exit code, and what the process wrote on stderr; the rest of stdout is received."""
        if self._process.stdin is not None and self._process.stdin.closed:
            self._process.stdin = None  # `communicate` would flush it
        out, err = self._process.communicate(timeout=PATIENCE)
        self.received += (out or b"").splitlines(keepends=True)
        return self._process.returncode, err.decode()

    def has_orphans(self) -> bool:
        """Whether anything of the process's group lives on."""
        try:
            os.killpg(self._process.pid, 0)
        except ProcessLookupError:
            return False
        return True

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(PATIENCE)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()


@contextmanager
def lines(arguments: list[str]) -> Iterator[Lines]:
    client = Lines(arguments)
    try:
        yield client
    finally:
        client.close()
