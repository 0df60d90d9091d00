"""Answers that no service should give: all are failures that may pass, nothing foreign is raised, nothing asked twice."""

from __future__ import annotations

import functools
import gzip
import zlib
from typing import Any

from deep_research.testing.search_bench import Bench, Outcome

_SLOW = ("hang", "drip-body", "drip-headers", "sse-hang")
_MEBIBYTE = 2**20
_NONSENSE = (
    b"",
    b"null",
    b"{}",
    b"[]",
    b"[null]",
    b"7",
    b'"Seven ships."',
    b'{"results": null, "data": null, "items": null, "query": null}',
    b'{"results": {}, "data": {}, "items": {}, "query": [], "searchInformation": {}}',
    b'{"results": "x", "data": "x", "items": "x", "query": {"pages": "x"}, "searchInformation": {}}',
    b'{"results": 7, "data": 7, "items": 7, "query": {"pages": {}}, "kind": 7}',
    b'{"error": {}, "detail": []}',
    b"\xff\xfe\x00{",
    b"\xef\xbb\xbf{",
    b"<!DOCTYPE html><html><body>Sign in</body></html>",
)


async def what_is_no_answer_is_transient(bench: Bench) -> None:
    for body in _NONSENSE:
        for media in ("application/json", "text/html"):
            bench.server.send(200, (body,), media)
            _transient(await bench.search())


async def another_success_than_the_usual_is_no_answer(bench: Bench) -> None:
    for status in (201, 202, 203, 206, 299):
        bench.server.send(status, (b'{"results": [], "data": []}',))
        data = (await bench.search()).failure.data
        assert (data["trouble"], data["status"]) == ("transient", status)


async def a_gateways_page_is_transient(bench: Bench) -> None:
    for kind in ("html-200", "null", "empty-object", "bad-json"):
        bench.server.fail(kind)
        _transient(await bench.search())


async def a_connection_that_breaks_is_transient(bench: Bench) -> None:
    for kind in ("reset", "close", "short-body"):
        bench.server.fail(kind)
        _transient(await bench.search())


async def every_fault_is_one_request(bench: Bench) -> None:
    """And after it, the next search works."""
    for kind in sorted(set(bench.server.fault_kinds) - set(_SLOW)):
        bench.server.fail(kind, interval=0.001)
        outcome = await bench.search()
        if outcome.error is not None:
            assert len(outcome.requests) == 1, kind
        assert len((await bench.search()).answer) == 3, kind


async def a_body_without_an_end_is_left(bench: Bench) -> None:
    """At 5 MB or before."""
    bodies: tuple[tuple[int, int, dict[str, Any]], ...] = (
        (200, 8, {"chunked": True}),
        (200, 8, {}),
        (200, 6, {"chunked": True, "hangs": True}),
        (500, 8, {}),
    )
    for status, size, details in bodies:
        bench.server.send(status, (b" " * _MEBIBYTE,) * size, **details)
        assert (await bench.search()).failure.data["trouble"] == "transient"


async def a_bomb_is_not_unpacked(bench: Bench) -> None:
    packed = _bomb()
    # A good answer, but for how long it is.
    long = await _good(bench) + b" " * 6 * _MEBIBYTE
    for coding, body in (
        ("gzip", packed),
        ("gzip", gzip.compress(packed)),
        ("gzip", gzip.compress(long)),
        ("deflate", zlib.compress(long)),
        ("identity", long),
        ("deflate", _deflated()),
    ):
        for status in (200, 500):
            bench.server.send(status, (body,), headers={"content-encoding": coding})
            assert (await bench.search()).failure.data["trouble"] == "transient"


async def packed_answers_are_read(bench: Bench) -> None:
    plain = await _good(bench)
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    half = len(plain) // 2
    for coding, body in (
        ("gzip", gzip.compress(plain)),
        ("gzip", gzip.compress(plain[:half]) + gzip.compress(plain[half:])),
        ("deflate", zlib.compress(plain)),
        ("deflate", raw.compress(plain) + raw.flush()),
        ("identity", plain),
    ):
        bytewise = tuple(body[at : at + 7] for at in range(0, len(body), 7))
        bench.server.send(200, bytewise, headers={"content-encoding": coding})
        assert (await bench.search()).answer, coding


async def what_cannot_be_unpacked_is_transient(bench: Bench) -> None:
    plain = await _good(bench)
    packed = gzip.compress(plain)
    for coding, body in (
        ("gzip", plain),
        ("gzip", packed[:-12]),
        ("gzip", packed[:20] + b"xx" + packed[22:]),
        ("br", plain),
        ("zstd", plain),
        ("gzip, gzip", gzip.compress(packed)),
        ("nonsense", plain),
    ):
        bench.server.send(200, (body,), headers={"content-encoding": coding})
        _transient(await bench.search())


async def only_what_can_be_unpacked_is_accepted(bench: Bench) -> None:
    for request in (await bench.search()).requests:
        accepted = {coding.strip() for coding in request.headers["accept-encoding"].split(",")}
        assert accepted <= {"gzip", "deflate", "identity"}


@functools.cache
def _bomb() -> bytes:
    """200 MiB in less than one."""
    pack = zlib.compressobj(9, wbits=16 + zlib.MAX_WBITS)
    packed = b"".join([*(pack.compress(b" " * _MEBIBYTE) for _ in range(200)), pack.flush()])
    assert len(packed) < _MEBIBYTE
    return packed


@functools.cache
def _deflated() -> bytes:
    return zlib.compress(b" " * 50 * _MEBIBYTE)


async def _good(bench: Bench) -> bytes:
    """The body of a good answer."""
    assert (await bench.search()).answer
    first = bench.server.log[0]
    return b"".join(bench.server.reply_to(first).pieces)


def _transient(outcome: Outcome) -> None:
    assert outcome.failure.data["trouble"] == "transient"
    assert outcome.failure.data["retry_after"] is None
    assert len(outcome.requests) == 1
