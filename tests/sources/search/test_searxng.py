"""SearXNG: what is asked, page by page, and where the fields of its answers land."""

import json
from datetime import date

import pytest
from servers import hits

from deep_research.errors import MissingKeyError
from deep_research.sources.search.searxng import SearXNG

ANSWER = {
    "query": "eddystone",
    "number_of_results": 0,
    "results": [
        {
            "url": "https://lights.example/eddystone",
            "title": "Eddystone",
            "content": "Smeaton&#x27;s tower",
            "publishedDate": "2019-10-16T08:00:00",
            "engine": "mojeek",
            "engines": ["mojeek", "qwant"],
            "positions": [1, 3],
            "score": 2.6666666,
            "category": "general",
        },
        {
            "url": "https://lights.example/2",
            "title": "No day",
            "content": "",
            "publishedDate": None,
            "engines": 7,
        },
    ],
    "unresponsive_engines": [["brave", "timeout"]],
}


@pytest.fixture
def searxng(server):
    return SearXNG(base_url=server.base_url)


def test_fields_land_where_they_should(searxng, answering, search):
    answering(json.dumps(ANSWER))
    first, second = search(searxng, limit=2)
    assert (first.address, first.title, first.snippet) == (
        "https://lights.example/eddystone",
        "Eddystone",
        "Smeaton's tower",
    )
    assert first.published == date(2019, 10, 16)
    assert first.metadata == {"engines": "mojeek, qwant", "score": "2.66667"}
    assert (second.published, second.metadata) == (None, {})


@pytest.mark.parametrize(
    ("kinds", "categories"),
    [
        ((), "general"),
        (("academic",), "science"),
        (("web", "news"), "general,news"),
        (("document",), "general"),
    ],
)
def test_kinds_of_sources_are_categories(searxng, server, search, kinds, categories):
    search(searxng, source_types=kinds, limit=3)
    assert dict(server.log[0].params) == {
        "q": "ships at night",
        "format": "json",
        "categories": categories,
        "pageno": "1",
    }


def test_one_domain_and_the_language_are_passed_on_days_are_not(searxng, server, search):
    search(searxng, domains=("example.org",), language="de-DE", since=date(2020, 1, 2), limit=3)
    params = server.log[0].params
    assert (params["q"], params["language"]) == ("ships at night site:example.org", "de")
    assert "time_range" not in params


def test_pages_are_asked_for_until_there_are_enough_or_no_more(searxng, server, search):
    server.hits = hits(30)
    assert len(search(searxng, limit=25)) == 25
    assert len(server.log) == 3
    server.hits = hits(12)
    assert len(search(searxng, limit=25)) == 12
    server.hits = hits(200)
    before = len(server.log)
    assert len(search(searxng, limit=200)) == 50
    assert len(server.log) - before == 5


def test_that_no_engine_answered_is_not_that_there_is_nothing(searxng, answering, search):
    answering('{"results": [], "unresponsive_engines": [["brave", "timeout"]]}')
    error = search(searxng)
    assert error.data["trouble"] == "transient"
    assert "engines" in str(error)
    answering('{"results": [], "unresponsive_engines": []}')
    assert search(searxng) == []


def test_an_instance_that_gives_no_json_says_what_to_do(searxng, answering, search):
    answering("<h1>Forbidden</h1>", 403)
    assert "search.formats" in search(searxng).hint


def test_an_address_is_needed(monkeypatch, server):
    monkeypatch.delenv("SEARXNG_URL", raising=False)
    with pytest.raises(MissingKeyError, match="SEARXNG_URL"):
        SearXNG()
    monkeypatch.setenv("SEARXNG_URL", server.base_url + "/")
    assert SearXNG().base_url == server.base_url


def test_a_number_without_measure_costs_no_result(searxng, answering, search):
    results = ",".join(
        f'{{"url": "https://a.org/{n}", "title": "A", "score": {score}}}'
        for n, score in enumerate(("1" + "0" * 400, "Infinity", "NaN", "true", "0.5"))
    )
    answering(f'{{"results": [{results}]}}')
    assert len(search(searxng)) == 5
