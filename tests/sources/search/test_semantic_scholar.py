"""Semantic Scholar: what is asked, and where the fields of its answers land."""

import json
from datetime import date

import pytest

from deep_research.sources.search.semantic_scholar import SemanticScholar

ANSWER = {
    "total": 3,
    "offset": 0,
    "data": [
        {
            "paperId": "649def34f8be52c8b66281af98ae884c09aef38b",
            "externalIds": {"DOI": "10.18653/V1/N18-3011", "ArXiv": "1805.02262", "CorpusId": 19170988},
            "url": "https://www.semanticscholar.org/paper/649def",
            "title": "Construction of the Literature Graph",
            "abstract": "We describe a deployed system.\nIt organizes literature.",
            "venue": "North American Chapter of the ACL",
            "year": 2018,
            "publicationDate": "2018-05-06",
            "publicationTypes": ["JournalArticle", "Conference"],
            "citationCount": 365,
            "openAccessPdf": {"url": "https://aclweb.example/N18-3011.pdf", "status": "HYBRID"},
            "authors": [
                {"authorId": "1", "name": "Waleed Ammar"},
                {"authorId": "2", "name": "Dirk Groeneveld"},
            ],
            "tldr": {"model": "tldr@v2.0.0", "text": "A graph of literature."},
        },
        {
            "paperId": "0f40",
            "externalIds": {"ArXiv": "2401.00001v2"},
            "url": "https://www.semanticscholar.org/paper/0f40",
            "title": "A preprint",
            "abstract": None,
            "venue": "arXiv.org",
            "year": 2024,
            "publicationDate": None,
            "publicationTypes": ["JournalArticle"],
            "citationCount": 0,
            "openAccessPdf": {"url": "", "status": None},
            "authors": [],
            "tldr": None,
        },
        {
            "paperId": "1",
            "title": "Nothing else",
            "url": "https://www.semanticscholar.org/paper/1",
            "venue": "",
        },
    ],
}


@pytest.fixture
def scholar(server):
    return SemanticScholar(base_url=server.base_url)


def test_fields_land_where_they_should(scholar, answering, search):
    answering(json.dumps(ANSWER))
    paper, preprint, bare = search(scholar)
    assert paper.address == "https://doi.org/10.18653/v1/n18-3011"
    assert paper.title == "Construction of the Literature Graph"
    assert paper.snippet == "A graph of literature."
    assert paper.text == "We describe a deployed system.\nIt organizes literature."
    assert paper.text_at == "https://aclweb.example/N18-3011.pdf"
    assert paper.published == date(2018, 5, 6)
    assert paper.authors == ("Waleed Ammar", "Dirk Groeneveld")
    assert (paper.scholarly.doi, paper.scholarly.arxiv) == ("10.18653/v1/n18-3011", "1805.02262")
    assert paper.scholarly.venue == "North American Chapter of the ACL"
    assert (paper.scholarly.reviewed, paper.scholarly.citations, paper.scholarly.retracted) == (
        True,
        365,
        None,
    )
    assert paper.metadata["year"] == "2018"

    assert preprint.address == "https://www.semanticscholar.org/paper/0f40"
    assert (preprint.text, preprint.snippet, preprint.published) == (None, "", None)
    assert preprint.text_at == "https://arxiv.org/pdf/2401.00001"
    assert (preprint.scholarly.reviewed, preprint.scholarly.citations) == (False, 0)
    assert (bare.scholarly.reviewed, bare.scholarly.citations, bare.text_at) == (None, None, None)


@pytest.mark.parametrize(
    ("filters", "days"),
    [
        ({"since": date(2020, 1, 2)}, "2020-01-02:"),
        ({"until": date(2020, 1, 2), "as_of": date(2019, 5, 6)}, ":2019-05-06"),
        ({"since": date(2019, 1, 1), "until": date(2020, 1, 2)}, "2019-01-01:2020-01-02"),
        ({"language": "de"}, None),
    ],
)
def test_days_are_passed_on(scholar, server, search, filters, days):
    search(scholar, **filters)
    assert server.log[0].params.get("publicationDateOrYear") == days


def test_hyphens_find_nothing_there_and_are_left_out(scholar, server, search):
    search(scholar, "state-of-the-art ships")
    assert server.log[0].params["query"] == "state of the art ships"


def test_a_key_goes_in_its_header_and_raises_the_rate(scholar, server, search):
    keyed = SemanticScholar(api_key="s2-0123456789", base_url=server.base_url)
    assert keyed.per_minute > scholar.per_minute
    search(keyed)
    assert server.log[0].headers["x-api-key"] == "s2-0123456789"


def test_nothing_found_has_no_list(scholar, answering, search):
    answering('{"total": 0, "offset": 0}')
    assert search(scholar) == []
    answering('{"total": 5, "offset": 0}')
    assert search(scholar).data["trouble"] == "transient"
