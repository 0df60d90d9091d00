"""Requests that are too large, too many or too slow have the right status, and cost the server no memory."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from typing import Any

import pytest
from server_process import ServerProcess, server

from deep_research import DeepResearch
from deep_research.server.app import create_app

pytestmark = pytest.mark.timed

MB = 1 << 20
HEAD = b"POST /v1/runs HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
GROWTH_BYTES = 24 * MB  # of the process, whatever is sent


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    limits = {"body_seconds": 2.0, "head_seconds": 2.0}
    with server(tmp_path_factory.mktemp("bodies"), limits=limits) as made:
        yield made


def sized(length: int, body: Iterator[bytes]) -> Iterator[bytes]:
    return chain([HEAD + b"content-length: %d\r\n\r\n" % length], body)


def chunked(body: Iterator[bytes], end: bytes = b"0\r\n\r\n") -> Iterator[bytes]:
    framed = (b"%x\r\n%s\r\n" % (len(each), each) for each in body)
    return chain([HEAD + b"transfer-encoding: chunked\r\n\r\n"], framed, [end])


def times(count: int, piece: bytes) -> Iterator[bytes]:
    return repeat(piece, count)


def bomb() -> bytes:
    return gzip.compress(b" " * (100 * MB))


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join((f"GET {path} HTTP/1.1", "host: 127.0.0.1", *headers, "", "")).encode()


CASES: dict[str, tuple[Callable[[], Iterator[bytes]], tuple[int, ...]]] = {
    "a body of 100 MB": (lambda: sized(100 * MB, times(100, b" " * MB)), (413,)),
    "a body that is said to have 100 TB": (lambda: sized(100_000_000 * MB, times(1, b" ")), (413,)),
    "a body of 100 MB in chunks": (lambda: chunked(times(1_600, b" " * 65_536)), (413,)),
    "a body one byte too large": (lambda: sized(MB + 1, times(1, b" " * (MB + 1))), (413,)),
    "a body as large as may be": (lambda: sized(MB, times(1, b" " * MB)), (422,)),
    "10,000 headers": (lambda: times(1, get("/v1/runs", *(f"x-{n}: {n}" for n in range(10_000)))), (431,)),
    "101 headers": (lambda: times(1, get("/v1/runs", *(f"x-{n}: {n}" for n in range(100)))), (431,)),
    "99 headers": (lambda: times(1, get("/v1/runs", *(f"x-{n}: {n}" for n in range(98)))), (200,)),
    "a header of 1 MB": (lambda: times(1, get("/v1/runs", "x: " + "a" * MB)), (431,)),
    "a header without an end": (lambda: chain([HEAD + b"x: "], times(1_600, b"a" * 65_536)), (431,)),
    "trailers without an end": (
        lambda: chunked(times(1, b"{}"), b"0\r\nx: " + b"a" * (50 * MB)),
        (408, 413, 422, 0),
    ),
    "headers that do not come": (lambda: times(1, HEAD), (408,)),
    "no request at all": (lambda: times(0, b""), (408,)),
    "a body that does not come": (lambda: sized(10, times(1, b"{")), (408,)),
    "chunks that do not come": (lambda: chunked(times(1, b"{"), b""), (408,)),
    "a compressed body": (
        lambda: chain(
            [HEAD + b"content-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(bomb())], [bomb()]
        ),
        (415,),
    ),
    "a body of another kind": (
        lambda: times(1, HEAD.replace(b"application/json", b"text/plain") + b"content-length: 2\r\n\r\n{}"),
        (415,),
    ),
    "a body where none is taken": (lambda: times(1, get("/healthz", "content-length: 100000000")), (200,)),
    "a path of 10,000 characters": (lambda: times(1, get("/v1/" + "a" * 10_000)), (414,)),
    "a query of 20,000 bytes": (lambda: times(1, get("/v1/runs?text=" + "a" * 20_000)), (414,)),
    "what is no HTTP": (lambda: times(1, b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n"), (400,)),
    "two lengths": (
        lambda: times(1, HEAD + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}"),
        (400,),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_request_beyond_its_bounds_is_refused_within_the_servers_memory(
    process: ServerProcess, case: str
) -> None:
    make, statuses = CASES[case]
    pieces = make()
    before = process.peak_bytes()
    assert process.status_of(pieces) in statuses
    with process.client() as client:
        assert client.get("/readyz").status_code == 200
    assert process.peak_bytes() - before < GROWTH_BYTES


@pytest.mark.parametrize(("pieces", "taken"), [(1, 1), (3, 3), (10_000, 16)])
def test_a_body_is_taken_within_bounds_before_its_request_is_refused(
    engine: DeepResearch, pieces: int, taken: int
) -> None:
    """A client that still sends when the connection closes loses the answer."""
    order: list[str] = []

    async def receive() -> Any:
        order.append("body")
        return {"type": "http.request", "body": b"x" * (64 << 10), "more_body": len(order) < pieces}

    async def send(message: Any) -> None:
        order.append(str(message.get("status", "")))

    headers = {"host": "127.0.0.1", "content-type": "text/plain", "content-length": str(pieces * (64 << 10))}
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/runs",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    asyncio.run(create_app(engine)(scope, receive, send))
    assert order == ["body"] * taken + ["415", ""]
