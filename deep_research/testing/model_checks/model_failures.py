"""Answers that no service should give: nothing foreign is raised, and nothing is asked twice."""

from __future__ import annotations

from deep_research.models.base import StopReason
from deep_research.models.failures import Verdict
from deep_research.testing.model_bench import WAYS, Bench
from deep_research.testing.patience import PATIENCE_SECONDS

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
    b'{"content": "x", "output": "x", "choices": "x", "message": "x"}',
    b'{"content": [], "output": [], "choices": [], "message": []}',
    b'{"content": [null], "output": [null], "choices": [null], "message": null}',
    b'{"content": [{"type": "text", "text": 7}], "output": [{"type": "message", "content": [{"text": {}}]}],'
    b' "choices": [{"message": {"content": {}}, "finish_reason": []}], "message": {"content": {}}}',
    b'{"usage": {"input_tokens": "many", "output_tokens": -5, "prompt_tokens": 1e99, "completion_tokens": null}}',
    b'{"usage": [], "model": {}, "stop_reason": {}, "status": [], "done": "yes", "done_reason": {}}',
    b'{"type": "message_start", "message": 7}',
    b'{"type": "content_block_delta", "index": {}, "delta": [], "response": 7}',
    b'{"type": "response.completed", "response": {"output": [{"type": "function_call", "arguments": {}}]}}',
    b'{"error": {"message": {}, "code": 429.5, "type": null}}',
    b'{"type": "error", "error": "no"}',
    b"[" * 100_000,
    b"\xff\xfe\x00{",
    b"<html>502</html>",
)


async def what_no_model_wrote_is_malformed(bench: Bench) -> None:
    for kind in ("html-200", "null", "empty-object"):
        for streamed in WAYS:
            bench.server.fail(kind)
            outcome = await bench.send(streamed=streamed)
            assert outcome.failure.verdict == Verdict.MALFORMED, kind
            assert outcome.failure.data["maybe_billed"]
            assert outcome.pieces == []


async def broken_json_is_malformed(bench: Bench) -> None:
    for kind, streamed in (("bad-json", False), ("bad-json", True), ("sse-bad-json", True)):
        bench.server.fail(kind)
        assert (await bench.send(streamed=streamed)).failure.verdict == Verdict.MALFORMED


async def a_connection_that_breaks_is_transient(bench: Bench) -> None:
    for kind in ("reset", "close", "short-body", "sse-reset", "sse-cut-abrupt"):
        for streamed in WAYS:
            bench.server.fail(kind)
            outcome = await bench.send(streamed=streamed)
            assert outcome.failure.verdict == Verdict.TRANSIENT, kind
            assert outcome.failure.data["maybe_billed"]


async def a_stream_that_says_it_failed_is_transient(bench: Bench) -> None:
    bench.server.fail("sse-error")
    outcome = await bench.send(streamed=True)
    assert outcome.failure.verdict == Verdict.TRANSIENT
    assert outcome.failure.data["maybe_billed"]


async def nonsense_raises_nothing_foreign(bench: Bench) -> None:
    """As a whole answer, as an event, as a line, and after a good beginning."""
    for body in _NONSENSE:
        for media, pieces in (
            ("application/json", (body,)),
            ("text/event-stream", (b"data: " + body + b"\n\n",)),
            ("text/event-stream", (b"event: error\ndata: " + body + b"\n\n", b"data: [DONE]\n\n")),
            ("application/x-ndjson", (body, b"\n", body)),
            ("application/octet-stream", (body,)),
        ):
            for streamed in WAYS:
                bench.server.send(200, pieces, media)
                outcome = await bench.send(streamed=streamed)
                assert len(outcome.served) == 1
                if outcome.reply is not None:
                    outcome.reply.model_dump_json()
                    assert not outcome.reply.text
                    assert not outcome.reply.usage.input


async def every_fault_is_one_request(bench: Bench) -> None:
    """And ends in a reply or a `ModelError`, after which the next request works."""
    for kind in sorted(set(bench.server.fault_kinds) - set(_SLOW)):
        for streamed in WAYS:
            bench.server.fail(kind, interval=0.001)
            outcome = await bench.send(streamed=streamed)
            assert len(outcome.served) == 1, kind
            assert (outcome.reply is None) is not (outcome.error is None)
            assert (await bench.send(streamed=streamed)).answer.stop is StopReason.END, kind


async def an_answer_without_an_end_is_left(bench: Bench) -> None:
    """At 32 MiB or before, and not held in memory many times over."""
    for pieces, media, streamed in (
        ((b" " * _MEBIBYTE,) * 40, "application/json", False),
        ((b"data: ", *(b"x" * _MEBIBYTE,) * 40), "text/event-stream", True),
        ((b'data: "' + b"x" * _MEBIBYTE + b'"\n\n"x"\n',) * 40, "text/event-stream", True),
    ):
        bench.server.send(200, pieces, media, patience=PATIENCE_SECONDS)
        outcome = await bench.send(streamed=streamed)
        assert outcome.failure.verdict == Verdict.MALFORMED


async def a_huge_answer_is_read(bench: Bench) -> None:
    for streamed in WAYS:
        bench.server.fail("huge")
        assert len((await bench.send(streamed=streamed)).answer.text) >= 2_000_000
