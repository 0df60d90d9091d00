"""Checks of error statuses, in whatever words they come, and of waiting times."""

from __future__ import annotations

from deep_research.errors import ModelError
from deep_research.models.failures import Verdict, is_too_long
from deep_research.testing.model_bench import WAYS, Bench

_STATUSES = {
    "400": Verdict.FATAL,
    "401": Verdict.FATAL,
    "402": Verdict.FATAL,
    "413": Verdict.FATAL,
    "408": Verdict.TRANSIENT,
    "429": Verdict.TRANSIENT,
    "500": Verdict.TRANSIENT,
    "503": Verdict.TRANSIENT,
    "529": Verdict.TRANSIENT,
}
_NEVER_CHARGED = ("400", "401", "402", "413", "429", "529")
_WAITS: dict[str, tuple[float, float] | None] = {
    "429": None,
    "429-after-0": (0, 0),
    "429-after-7": (7, 7),
    "429-after-nan": None,
    "429-after-minus-5": None,
    "429-after-date": (4, 7),
    "429-after-ms": (0.25, 0.25),
}
_TOO_LONG = (
    "prompt is too long: 210000 tokens > 200000 maximum",
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "the input length exceeds the context length",
)
_ODD_BODIES = (
    b"",
    b"null",
    b"[1]",
    b'"no"',
    b"{}",
    b'{"error": 5}',
    b'{"error": {"message": 7, "type": [], "code": {}}}',
    b'{"error": null, "message": ["no"]}',
    b'{"error": {"details": "no", "message": "\\ud800"}}',
    b"\xff\xfe{",
    b"<html><body>no</body></html>",
    b"[" * 100_000,
)


async def every_status_has_its_verdict(bench: Bench) -> None:
    for kind, verdict in _STATUSES.items():
        for streamed in WAYS:
            bench.server.fail(kind)
            outcome = await bench.send(streamed=streamed)
            error = outcome.failure
            assert error.verdict == verdict, kind
            assert error.data["status"] == int(kind)
            assert len(outcome.served) == 1
            if kind in _NEVER_CHARGED:
                assert not error.data["maybe_billed"]
                assert outcome.usage.is_known


async def a_status_tells_whatever_comes_with_it(bench: Bench) -> None:
    """Pages, nonsense, nothing at all."""
    statuses = {
        400: Verdict.FATAL,
        403: Verdict.FATAL,
        422: Verdict.FATAL,
        500: Verdict.TRANSIENT,
        502: Verdict.TRANSIENT,
    }
    for status, verdict in statuses.items():
        for body in _ODD_BODIES:
            for media in ("application/json", "text/html", "text/event-stream"):
                bench.server.send(status, (body,), media)
                outcome = await bench.send(streamed=media != "text/html")
                assert outcome.failure.verdict == verdict, (status, body[:40])
                assert len(outcome.served) == 1
                str(outcome.failure).encode()


async def an_address_where_nothing_is_is_fatal(bench: Bench) -> None:
    provider = bench.provider(url=f"{bench.server.base_url}/nowhere")
    for streamed in WAYS:
        outcome = await bench.send(provider=provider, streamed=streamed)
        assert outcome.failure.verdict == Verdict.FATAL
        assert outcome.failure.data["status"] == 404
        assert outcome.failure.hint


async def the_services_words_are_in_the_error(bench: Bench) -> None:
    """On one line, and not at any length."""
    bench.server.fail("400", message="The third\nship\nis too much.\n" + "far " * 999)
    error = (await bench.send()).failure
    assert "The third ship is too much." in str(error)
    assert "\n" not in str(error)
    assert len(str(error)) < 1_000


async def the_wait_that_is_asked_for_is_told(bench: Bench) -> None:
    for kind, expected in _WAITS.items():
        for streamed in WAYS:
            bench.server.fail(kind)
            error = (await bench.send(streamed=streamed)).failure
            wait = error.data["retry_after"]
            assert error.verdict == Verdict.TRANSIENT
            if expected is None:
                assert wait is None, kind
            else:
                assert expected[0] <= wait <= expected[1], kind


async def odd_waits_are_no_waits(bench: Bench) -> None:
    for wait in ("soon", "inf", "-inf", "1e999", "", "Mon, 99 Foo 2026 99:99:99 GMT", "7 s", "٧x"):
        bench.server.fail("503", retry_after=wait)
        error = (await bench.send()).failure
        assert (error.verdict, error.data["retry_after"]) == (Verdict.TRANSIENT, None), wait


async def a_long_wait_parks(bench: Bench) -> None:
    for kind, wait in (("429-after-3600", None), ("503", "61"), ("529", "86400")):
        for streamed in WAYS:
            bench.server.fail(kind, retry_after=wait)
            error = (await bench.send(streamed=streamed)).failure
            assert error.verdict == Verdict.PARK
            assert error.data["retry_after"] > 60
    bench.server.fail("429", retry_after="60")
    assert (await bench.send()).failure.verdict == Verdict.TRANSIENT


async def a_limit_that_no_waiting_lifts_is_fatal(bench: Bench) -> None:
    for code in ("insufficient_quota", "contract_spend_limit_reached", "enforced_spend_limit_reached"):
        for streamed in WAYS:
            bench.server.fail("429", code=code, retry_after="7")
            error = (await bench.send(streamed=streamed)).failure
            assert (error.verdict, error.data["reason"]) == (Verdict.FATAL, code)


async def a_prompt_that_is_too_long_is_known(bench: Bench) -> None:
    for words in _TOO_LONG:
        bench.server.fail("400", message=words)
        error = (await bench.send()).failure
        assert error.verdict == Verdict.FATAL
        assert is_too_long(error), words
    bench.server.fail("400")
    assert not is_too_long((await bench.send()).failure)


async def the_code_of_a_prompt_that_is_too_long_is_known(bench: Bench) -> None:
    bench.server.fail("400", message="Too much.", code="context_length_exceeded")
    assert is_too_long((await bench.send()).failure)


async def an_error_can_be_sent_to_another_process(bench: Bench) -> None:
    bench.server.fail("429-after-7")
    error = (await bench.send()).failure
    rebuild, arguments = error.__reduce__()[:2]
    again = rebuild(*arguments)
    assert isinstance(again, ModelError)
    assert (str(again), again.data) == (str(error), error.data)
