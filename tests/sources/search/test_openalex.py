"""OpenAlex: what is asked, and where the fields of its answers land."""

import json
from datetime import date

import pytest

from deep_research.sources.search.openalex import OpenAlex, rebuilt

WORK = {
    "id": "https://openalex.org/W2741809807",
    "doi": "https://doi.org/10.7717/peerj.4375",
    "display_name": "The state of OA: a large-scale analysis",
    "publication_date": "2018-02-13",
    "publication_year": 2018,
    "language": "en",
    "type": "article",
    "primary_location": {
        "landing_page_url": "https://doi.org/10.7717/peerj.4375",
        "pdf_url": None,
        "source": {"display_name": "PeerJ", "type": "journal"},
    },
    "best_oa_location": {"pdf_url": "https://peerj.example/4375.pdf"},
    "authorships": [
        {"author_position": "first", "author": {"display_name": "Heather Piwowar"}},
        {"author_position": "last", "author": {"display_name": "Stefanie Haustein"}},
    ],
    "cited_by_count": 1120,
    "is_retracted": False,
    "abstract_inverted_index": {"Despite": [0], "growing": [1], "interest": [2, 5], "in": [3], "open": [4]},
}
PREPRINT = {
    "id": "https://openalex.org/W1",
    "doi": "https://doi.org/10.48550/arxiv.2401.00001",
    "display_name": "A preprint",
    "publication_date": "2024-01-01",
    "publication_year": 2024,
    "language": None,
    "type": "preprint",
    "primary_location": {
        "landing_page_url": "https://arxiv.org/abs/2401.00001",
        "source": {"type": "repository"},
    },
    "best_oa_location": None,
    "authorships": [],
    "cited_by_count": 0,
    "is_retracted": True,
    "abstract_inverted_index": None,
}
BARE = {"id": "https://openalex.org/W2", "display_name": "Nothing else", "primary_location": None}


@pytest.fixture
def openalex(server):
    return OpenAlex(base_url=server.base_url)


def test_fields_land_where_they_should(openalex, answering, search):
    answering(json.dumps({"meta": {"count": 3}, "results": [WORK, PREPRINT, BARE]}))
    work, preprint, bare = search(openalex)
    assert work.address == "https://doi.org/10.7717/peerj.4375"
    assert work.title == "The state of OA: a large-scale analysis"
    assert work.text == work.snippet == "Despite growing interest in open interest"
    assert work.text_at == "https://peerj.example/4375.pdf"
    assert (work.published, work.language) == (date(2018, 2, 13), "en")
    assert work.authors == ("Heather Piwowar", "Stefanie Haustein")
    assert (work.scholarly.doi, work.scholarly.venue) == ("10.7717/peerj.4375", "PeerJ")
    assert (work.scholarly.reviewed, work.scholarly.citations, work.scholarly.retracted) == (
        True,
        1120,
        False,
    )

    assert preprint.scholarly.arxiv == "2401.00001"
    assert preprint.text_at == "https://arxiv.org/pdf/2401.00001"
    assert preprint.published is None, "the first of January stands for the year"
    assert preprint.metadata["year"] == "2024"
    assert (preprint.scholarly.reviewed, preprint.scholarly.retracted) == (False, True)
    assert bare.address == "https://openalex.org/W2"
    assert (bare.scholarly.reviewed, bare.scholarly.citations, bare.scholarly.retracted) == (None, None, None)


def test_the_query_and_the_filters_are_all_that_is_sent(openalex, server, search):
    search(openalex, "why ships?", since=date(2020, 1, 2), until=date(2021, 3, 4), language="de-CH")
    params = dict(server.log[0].params)
    del params["select"]
    assert params == {
        "search": "why ships",  # a question mark would be a pattern
        "per_page": "5",
        "filter": "from_publication_date:2020-01-02,to_publication_date:2021-03-04,language:de",
    }
    assert "authorization" not in server.log[0].headers


def test_a_key_goes_in_a_header(server, search):
    search(OpenAlex(api_key="oa-0123456789", base_url=server.base_url))
    assert server.log[0].headers["authorization"] == "Bearer oa-0123456789"
    assert "oa-0123456789" not in server.log[0].query


@pytest.mark.parametrize(
    ("status", "message", "trouble"),
    [
        (429, "Insufficient budget. Resets at midnight UTC.", "quota"),
        (429, "Too many requests per second.", "transient"),
        (403, "Rate limit exceeded; slow down", "transient"),
        (403, "author is not a valid field.", "refused"),
    ],
)
def test_a_day_that_is_used_up_is_told_from_a_busy_second(
    openalex, answering, search, status, message, trouble
):
    answering(json.dumps({"error": "Error", "message": message}), status)
    assert search(openalex).data["trouble"] == trouble


@pytest.mark.parametrize(
    ("index", "text"),
    [
        ({"b": [1], "a": [0, 2]}, "a b a"),
        ({"far": [10**12], "near": [-5]}, "near far"),
        ({"x": ["1", None, True, 1.5]}, ""),
        ({"x": 7, "y": {}}, ""),
        (None, ""),
        ("text", ""),
        ({"x": list(range(100_000))}, " ".join("x" * 20_000)),
    ],
)
def test_an_abstract_is_rebuilt_from_its_index(index, text):
    assert rebuilt(index) == text


def test_a_contact_is_told_where_it_is_asked_for(server, search, monkeypatch):
    monkeypatch.setenv("DEEP_RESEARCH_FETCH_CONTACT", "ada@example.org")
    search(OpenAlex(base_url=server.base_url))
    assert server.log[0].headers["user-agent"].endswith(" (ada@example.org)")
    for unusable in ("a\nb: c (", "ключ", " "):
        monkeypatch.setenv("DEEP_RESEARCH_FETCH_CONTACT", unusable)
        search(OpenAlex(base_url=server.base_url))
        assert "(" not in server.log[-1].headers["user-agent"]
