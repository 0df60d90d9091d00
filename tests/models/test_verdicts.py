"""What a failure means."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.errors import ModelError
from deep_research.logs import register_secret
from deep_research.models.base import TokenUsage
from deep_research.models.failures import (
    MAX_PARK_SECONDS,
    Verdict,
    failure,
    from_status,
    is_too_long,
    limits_of,
    retry_after,
    usage_of,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def verdict(status, message="", code="", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return from_status(status, message, model="m", code=code, headers=named, now=NOW).verdict


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [
        (408, "", "transient"),
        (409, "", "transient"),
        (425, "", "transient"),
        (429, "rate_limit_exceeded", "transient"),
        (429, "ramp_limit_exceeded", "transient"),
        (429, "insufficient_quota", "fatal"),
        (429, "contract_spend_limit_reached", "fatal"),
        (429, "enforced_spend_limit_reached", "fatal"),
        (498, "", "transient"),
        (400, "", "fatal"),
        (400, "rate_limit_exceeded", "transient"),
        (402, "", "fatal"),
        (406, "", "fatal"),
        (418, "", "fatal"),
        (451, "", "fatal"),
        (500, "", "transient"),
        (501, "", "fatal"),
        (520, "", "transient"),
        (529, "overloaded_error", "transient"),
        (200, "overloaded_error", "transient"),
        (200, "api_error", "transient"),
        (200, "", "transient"),
        (200, "invalid_request_error", "fatal"),
        (200, "authentication_error", "fatal"),
        (200, "billing_error", "fatal"),
    ],
)
def test_a_status_with_its_code_has_a_meaning(status, code, expected):
    assert verdict(status, code=code) == expected


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 198000 + 20000 > 200000",
        "the request exceeds the available context size, try increasing it",
        "the input length exceeds the context length",
        "Input is too long for requested model.",
        "The input token count (3) exceeds the maximum number of tokens allowed (2).",
    ],
)
@pytest.mark.parametrize("status", [400, 422, 500])
def test_services_say_in_many_words_that_a_prompt_is_too_long(message, status):
    error = from_status(status, message, model="m")
    assert (error.verdict, is_too_long(error)) == ("fatal", True)


@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_busy_service_does_not_speak_of_the_prompt(status):
    error = from_status(status, "Too many tokens, please wait before trying again.", model="m")
    assert (error.verdict, is_too_long(error)) == ("transient", False)


@pytest.mark.parametrize("status", [413, 429])
def test_a_request_that_is_more_than_a_minutes_tokens_is_too_long_and_not_waited_for(status):
    words = "Request too large for m on tokens per minute (TPM): Limit 6000, Requested 8000, "
    for told in (
        f"{words}please reduce your message size",
        f"{words}The input or output tokens must be reduced.",
    ):
        error = from_status(
            status, told, model="m", code="rate_limit_exceeded", headers={"retry-after": "90"}
        )
        assert is_too_long(error)
        assert limits_of(error) == (6_000, None)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "0"}, 0.0),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "1e300"}, MAX_PARK_SECONDS),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:07 GMT"}, 7.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, MAX_PARK_SECONDS),
        ({"retry-after": "Fri, 31 Dec 99999 23:59:59 GMT"}, None),
    ],
)
def test_the_time_to_wait_is_read_in_all_its_forms_and_is_never_one_that_no_calendar_holds(headers, seconds):
    assert retry_after(headers, NOW) == seconds


@given(st.text(max_size=40))
def test_no_header_breaks_the_reading_of_it(value):
    seconds = retry_after({"retry-after": value, "retry-after-ms": value}, NOW)
    assert seconds is None or NOW + timedelta(seconds=seconds) >= NOW


def test_over_a_minute_a_run_does_not_wait():
    assert verdict(429, retry_after="60") == "transient"
    assert verdict(429, retry_after="61") == "park"
    assert verdict(503, retry_after="3600") == "park"
    assert verdict(401, retry_after="3600") == "fatal"


@pytest.mark.parametrize(
    ("status", "doubt"),
    [(200, True), (408, True), (500, True), (502, True), (504, True), (524, True)]
    + [(status, False) for status in (400, 401, 429, 501, 503, 529)],
)
def test_a_failure_within_the_service_may_have_been_billed(status, doubt):
    error = from_status(status, "no", model="m")
    assert (error.data["maybe_billed"], usage_of(error).is_known) == (doubt, not doubt)


def test_what_a_service_says_is_shown_short_without_secrets_and_without_what_terminals_obey():
    register_secret("canary-of-verdicts")
    said = "\x1b[2Jkey canary-of-verdicts\u202e\n" + "x" * 5_000_000
    error = failure(Verdict.FATAL, said, model="m", code=said, request_id=said)
    shown = f"{error} {error.data}"
    assert "canary" not in shown
    assert shown.isprintable()
    assert len(shown) < 1_500


@pytest.mark.parametrize(
    ("data", "usage"),
    [
        ({}, TokenUsage()),
        ({"maybe_billed": True}, TokenUsage(is_known=False)),
        ({"usage": {"input": 3, "output": 4}}, TokenUsage(input=3, output=4)),
        ({"usage": {"input": 3}, "maybe_billed": True}, TokenUsage(input=3, is_known=False)),
        ({"usage": "nonsense"}, TokenUsage(is_known=False)),
    ],
)
def test_the_books_of_an_error_are_read_whoever_wrote_them(data, usage):
    assert usage_of(ModelError("bad", **data)) == usage
