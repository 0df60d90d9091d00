"""Tavily: what is asked, and where the fields of its answers land."""

import json
from datetime import date

import pytest

from deep_research.errors import MissingKeyError
from deep_research.sources.search.tavily import Tavily

KEY = "tvly-dev-0123456789abcdef"
NEWS = {
    "query": "canal blocked",
    "follow_up_questions": None,
    "answer": None,
    "images": [],
    "results": [
        {
            "url": "https://news.example/canal",
            "title": "Canal reopens after six days &amp; nights",
            "score": 0.8731,
            "published_date": "Mon, 29 Mar 2021 16:12:00 GMT",
            "content": "The <b>ship</b> was refloated on Monday.",
            "raw_content": None,
        },
        {"url": "https://blog.example/canal", "title": "", "content": None, "score": "high"},
    ],
    "response_time": 1.09,
}


@pytest.fixture
def tavily(server):
    return Tavily(api_key=KEY, base_url=server.base_url)


def test_fields_land_where_they_should(tavily, answering, search):
    answering(json.dumps(NEWS))
    first, second = search(tavily)
    assert (first.address, first.title) == (
        "https://news.example/canal",
        "Canal reopens after six days & nights",
    )
    assert first.snippet == "The ship was refloated on Monday."
    assert first.published == date(2021, 3, 29)
    assert first.metadata == {"score": "0.8731"}
    assert first.text is None
    assert (second.title, second.snippet, second.metadata) == ("https://blog.example/canal", "", {})


def test_the_query_and_the_filters_are_all_that_is_sent(tavily, server, search):
    search(
        tavily,
        since=date(2021, 3, 23),
        until=date(2021, 3, 29),
        domains=("example.org", "München.example"),
        not_domains=("example.com",),
        language="de",
    )
    (asked,) = server.log
    assert dict(asked.params) == {
        "query": "ships at night",
        "search_depth": "basic",
        "topic": "general",
        "max_results": 5,
        "start_date": "2021-03-23",
        "end_date": "2021-03-30",  # up to which, so that the last day is in it
        "include_domains": ["example.org", "xn--mnchen-3ya.example"],
        "exclude_domains": ["example.com"],
        "include_answer": False,
        "include_raw_content": "text",
        "include_images": False,
    }
    assert asked.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("kinds", "topic"), [((), "general"), (("news",), "news"), (("web", "news"), "general")]
)
def test_news_alone_are_searched_as_news(tavily, server, search, kinds, topic):
    search(tavily, source_types=kinds)
    assert server.log[0].params["topic"] == topic


def test_a_long_query_is_cut_at_a_word(tavily, server, search):
    search(tavily, "lighthouse " * 60)
    sent = server.log[0].params["query"]
    assert len(sent) <= 400
    assert set(sent.split()) == {"lighthouse"}


@pytest.mark.parametrize("status", [432, 433])
def test_a_plan_that_is_used_up_is_quota(tavily, answering, search, status):
    answering('{"detail": {"error": "This request exceeds your plan\'s set usage limit."}}', status)
    error = search(tavily)
    assert (error.data["trouble"], error.data["retry_after"], error.data["status"]) == ("quota", None, status)
    assert "set usage limit" in str(error)


def test_a_wait_that_the_sdk_loses_is_kept(tavily, answering, search):
    answering('{"detail": {"error": "excessive requests"}}', 429, retry_after="17")
    assert search(tavily).data["retry_after"] == 17.0


def test_no_results_at_all_are_told_from_an_answer_without_them(tavily, answering, search):
    answering('{"query": "x", "results": []}')
    assert search(tavily) == []
    answering('{"query": "x"}')
    assert search(tavily).data["trouble"] == "transient"


def test_without_a_key_nothing_is_made(monkeypatch):
    monkeypatch.delenv("TAVILY_API_KEY", raising=False)
    with pytest.raises(MissingKeyError) as raised:
        Tavily()
    assert raised.value.data == {"name": "tavily", "needs": ("TAVILY_API_KEY",)}


def test_the_key_of_the_environment_is_used(monkeypatch, server, search):
    monkeypatch.setenv("TAVILY_API_KEY", KEY)
    search(Tavily(base_url=server.base_url))
    assert server.log[0].headers["authorization"] == f"Bearer {KEY}"
