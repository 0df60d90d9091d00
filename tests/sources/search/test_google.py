"""Google: what is asked, page by page, and where the fields of its answers land."""

import json
from datetime import date

import pytest
from servers import hits

from deep_research.errors import MissingKeyError
from deep_research.sources.search.google import Google

ANSWER = {
    "kind": "customsearch#search",
    "queries": {"request": [{"totalResults": "2", "count": 2, "startIndex": 1}]},
    "searchInformation": {"searchTime": 0.31, "totalResults": "2"},
    "items": [
        {
            "kind": "customsearch#result",
            "title": "Eddystone lighthouse - history",
            "htmlTitle": "<b>Eddystone</b> lighthouse - history",
            "link": "https://lights.example/eddystone",
            "displayLink": "lights.example",
            "snippet": "Smeaton's tower was\nfirst lit in 1759 ...",
            "pagemap": {
                "metatags": [{"og:type": "article", "article:published_time": "2019-10-16T08:00:00+00:00"}]
            },
        },
        {"title": "By year", "link": "https://lights.example/2", "pagemap": {"metatags": [{"date": "2019"}]}},
    ],
}


@pytest.fixture
def google(server):
    return Google(api_key="AIza-test-0123456789", engine_id="0123:abc", base_url=server.base_url)


def test_fields_land_where_they_should(google, answering, search):
    answering(json.dumps(ANSWER))
    first, second = search(google)
    assert (first.address, first.title) == (
        "https://lights.example/eddystone",
        "Eddystone lighthouse - history",
    )
    assert first.snippet == "Smeaton's tower was first lit in 1759 ..."
    assert first.published == date(2019, 10, 16)
    assert second.published is None, "a year alone is no day"


def test_pages_are_asked_for_until_there_are_enough(google, server, search):
    server.hits = hits(40)
    assert len(search(google, limit=25)) == 25
    assert [(a.params["start"], a.params["num"]) for a in server.log] == [
        ("1", "10"),
        ("11", "10"),
        ("21", "5"),
    ]


def test_no_page_is_asked_for_after_the_last(google, server, search):
    server.hits = hits(12)
    assert len(search(google, limit=30)) == 12
    assert len(server.log) == 2


def test_a_hundred_are_the_most(google, server, search):
    server.hits = hits(200)
    assert len(search(google, limit=200)) == 100
    assert len(server.log) == 10


@pytest.mark.parametrize(
    ("filters", "sent"),
    [
        (
            {"domains": ("example.org",)},
            {"siteSearch": "example.org", "siteSearchFilter": "i", "q": "ships at night"},
        ),
        (
            {"domains": ("a.example", "b.example"), "not_domains": ("c.a.example",)},
            {"q": "ships at night site:a.example OR site:b.example -site:c.a.example"},
        ),
        ({"since": date(2020, 1, 2), "until": date(2020, 3, 4)}, {"sort": "date:r:20200102:20200304"}),
        ({"as_of": date(2020, 3, 4)}, {"sort": "date:r:19000101:20200304"}),
        ({"language": "de-AT"}, {"lr": "lang_de"}),
        ({"language": "he"}, {"lr": "lang_iw"}),
        ({"language": "tlh"}, {}),
    ],
)
def test_filters_are_passed_on(google, server, search, filters, sent):
    search(google, **filters)
    params = {
        name: value for name, value in server.log[0].params.items() if name not in ("cx", "num", "start")
    }
    assert params == {"q": "ships at night"} | sent


def test_an_open_range_ends_today(google, server, search):
    search(google, since=date(2020, 1, 2))
    assert server.log[0].params["sort"] > f"date:r:20200102:{date(2026, 1, 1):%Y%m%d}"


def test_words_that_google_would_not_read_are_cut(google, server, search):
    search(google, "word " * 100, not_domains=("a.example", "b.example"))
    assert len(server.log[0].params["q"].split()) == 32


def test_the_key_goes_in_its_header(google, server, search):
    search(google)
    assert server.log[0].headers["x-goog-api-key"] == "AIza-test-0123456789"
    assert "AIza" not in server.log[0].query


@pytest.mark.parametrize(
    ("status", "reason", "message", "trouble"),
    [
        (
            429,
            "rateLimitExceeded",
            "Quota exceeded for metric 'Queries' and limit 'Queries per day'",
            "quota",
        ),
        (429, "rateLimitExceeded", "Quota exceeded for limit 'Queries per minute'", "transient"),
        (403, "dailyLimitExceeded", "Daily Limit Exceeded", "quota"),
        (403, "userRateLimitExceeded", "User Rate Limit Exceeded", "transient"),
        (403, "forbidden", "The API is not enabled", "refused"),
        (400, "API_KEY_INVALID", "API key not valid", "refused"),
    ],
)
def test_what_an_error_means_is_in_its_reason(google, answering, search, status, reason, message, trouble):
    error = {"code": status, "message": message, "errors": [{"message": message, "reason": reason}]}
    answering(json.dumps({"error": error}), status)
    assert search(google).data["trouble"] == trouble


@pytest.mark.parametrize("given", ["GOOGLE_API_KEY", "GOOGLE_CSE_ID"])
def test_both_variables_are_needed(monkeypatch, given):
    for name in ("GOOGLE_API_KEY", "GOOGLE_CSE_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(given, "0123456789")
    with pytest.raises(MissingKeyError, match="GOOGLE_API_KEY and GOOGLE_CSE_ID"):
        Google()
