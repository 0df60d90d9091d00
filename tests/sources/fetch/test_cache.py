"""Saved pages are used again as their servers allow."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.sources.fetch.cache import SavedPage, conditions, freshness, lifetime, renewed, reusable

THEN = datetime(2026, 1, 10, 12, tzinfo=UTC)


def day(days=0, seconds=0):
    return format_datetime(THEN + timedelta(days=days, seconds=seconds), usegmt=True)


def page(**headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return SavedPage(
        url="http://a.org/", final_url="http://a.org/", fetched_at=THEN, headers=named, body=b"x"
    )


def after(seconds, **headers):
    return freshness(page(**headers), THEN + timedelta(seconds=seconds)).value


@pytest.mark.parametrize(
    ("headers", "seconds", "expected"),
    [
        ({"cache_control": "max-age=60"}, 59, "fresh"),
        ({"cache_control": "max-age=60"}, 61, "stale"),
        ({"cache_control": "private, MAX-AGE=60"}, 59, "fresh"),
        ({"cache_control": 'max-age="60"'}, 59, "fresh"),
        ({"cache_control": "max-age=60", "age": "30"}, 31, "stale"),
        ({"cache_control": "max-age=60", "date": day(seconds=-50)}, 11, "stale"),
        ({"cache_control": "max-age=-1"}, 0, "stale"),
        ({"cache_control": "max-age=60, no-cache"}, 0, "stale"),
        ({"cache_control": "max-age=60", "vary": "*"}, 0, "stale"),
        ({"cache_control": "no-store, max-age=60"}, 0, "never"),
        ({"cache_control": "max-age=60"}, -10, "stale"),
        ({"expires": day(seconds=60), "date": day()}, 59, "fresh"),
        ({"expires": day(seconds=60), "date": day()}, 61, "stale"),
        ({"expires": "0"}, 0, "stale"),
        ({"cache_control": "max-age=60", "expires": "0"}, 59, "fresh"),
        ({}, 299, "fresh"),
        ({}, 301, "stale"),
        ({"last_modified": day(-1), "date": day()}, 8_639, "fresh"),
        ({"last_modified": day(-1), "date": day()}, 8_641, "stale"),
        ({"last_modified": day(-3_000), "date": day()}, 86_399, "fresh"),
        ({"last_modified": day(-3_000), "date": day()}, 86_401, "stale"),
        ({"last_modified": day(1), "date": day()}, 301, "stale"),
    ],
)
def test_freshness_follows_from_what_the_server_said(headers, seconds, expected):
    assert after(seconds, **headers) == expected


def test_a_page_is_asked_for_on_the_condition_that_it_changed():
    assert conditions(page(etag='"1"', last_modified=day())) == {
        "if-none-match": '"1"',
        "if-modified-since": day(),
    }
    assert conditions(page()) == {}
    assert conditions(page(etag='"1"', cache_control="no-store")) == {}
    assert conditions(page(etag='"1"\r\nX: y')) == {}


def test_an_unchanged_page_has_its_body_and_the_new_headers():
    old = page(etag='"1"', age="9", content_type="text/html", cache_control="max-age=1")
    new = renewed(
        old, {"etag": '"1"', "cache-control": "max-age=60", "content-type": "x/y"}, THEN + timedelta(5)
    )
    assert (new.body, new.fetched_at) == (old.body, THEN + timedelta(5))
    assert new.headers == {"etag": '"1"', "content-type": "text/html", "cache-control": "max-age=60"}
    assert freshness(new, THEN + timedelta(5, 59)) == "fresh"


NAMES = st.sampled_from(["cache-control", "age", "expires", "date", "etag", "last-modified", "vary"])
VALUES = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["no-store", "max-age=", "max-age=99999999999999999999999", "²", "0", day(), "31 Foo 2026 99:99"]
    ),
    st.datetimes().map(format_datetime),
)


@given(st.dictionaries(NAMES, VALUES), st.integers(-(10**9), 10**9))
def test_no_header_makes_it_raise_or_reuse_what_may_not_be_stored(headers, seconds):
    saved = page(**headers)
    told = freshness(saved, THEN + timedelta(seconds=seconds))
    assert lifetime(saved.headers) >= 0
    assert reusable(saved.headers) is (told != "never")
    conditions(saved)
