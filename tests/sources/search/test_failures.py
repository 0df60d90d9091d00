"""One meaning for every refusal, whichever service it comes from."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as some

from deep_research.sources.search.base import Trouble
from deep_research.sources.search.service_failures import message, of_status, refusal, retry_after

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("7", 7.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (str(10**9), 30 * 24 * 3600.0),
        (format_datetime(NOW + timedelta(seconds=90), usegmt=True), 90.0),
        (format_datetime(NOW - timedelta(seconds=1), usegmt=True), None),
        ("Mon, 04 May 2026 12:01:30 -0000", 90.0),
        ("nan", None),
        ("inf", None),
        ("-1", None),
        ("", None),
        (None, None),
        ("tomorrow", None),
    ],
)
def test_a_wait_is_seconds_or_a_moment_ahead(told, seconds):
    assert retry_after(told, NOW) == seconds


@given(some.text(max_size=40))
def test_any_header_is_a_wait_or_none(told):
    seconds = retry_after(told, NOW)
    assert seconds is None or 0 <= seconds <= 30 * 24 * 3600


@given(some.integers(300, 999))
def test_every_status_means_something(status):
    assert of_status(status) in Trouble


def test_a_long_wait_turns_what_may_pass_into_quota_and_nothing_else():
    def trouble(status, wait):
        return refusal("x", status, None, headers={"retry-after": wait}, now=NOW).data["trouble"]

    assert [trouble(429, wait) for wait in ("60", "61")] == ["transient", "quota"]
    assert [trouble(503, wait) for wait in ("60", "61")] == ["transient", "quota"]
    assert trouble(401, "3600") == "refused"


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"detail": {"error": "a"}}, "a"),
        ({"error": {"code": 400, "message": "b"}}, "b"),
        ({"error": {"code": "maxlag", "info": "c"}}, "c"),
        ({"message": "d", "code": "429"}, "d"),
        ({"error": "Invalid", "message": "e"}, "e"),
        ({"error": "f"}, "f"),
        ({"detail": "g"}, "g"),
        ({"error": {"message": 7}}, ""),
        ({"error": [{"message": "x"}]}, ""),
        ([], ""),
        (None, ""),
    ],
)
def test_the_words_of_each_service_are_found(body, words):
    assert message(body) == words


def test_what_was_sent_is_not_repeated():
    body = {"message": "No results for SECRET question"}
    assert "SECRET" in str(refusal("x", 400, body, headers={}))
    assert "SECRET" not in str(refusal("x", 400, body, headers={}, unsaid=("secret question",)))
