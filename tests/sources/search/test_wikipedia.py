"""Wikipedia: what is asked of which edition, and texts that need not be fetched."""

import json

import pytest
from servers import Fault, Hit, hits

from deep_research.errors import ConfigurationError
from deep_research.sources.search.wikipedia import Wikipedia

LIGHT = Hit(
    url="https://en.wikipedia.org/wiki/Boston_Light",
    title="Boston Light",
    text="Boston Light is a lighthouse in Boston Harbor.\n\n\nHistory\nThe first keeper was George Worthylake.",
)
SEVERAL = Hit(
    url="https://en.wikipedia.org/wiki/Light_(disambiguation)", title="Light", venue="disambiguation"
)


@pytest.fixture
def wikipedia(server):
    return Wikipedia(base_url=server.base_url)


def test_an_article_comes_with_its_whole_text(wikipedia, server, search):
    server.hits = [LIGHT]
    (found,) = search(wikipedia)
    assert (found.address, found.title) == (LIGHT.url, "Boston Light")
    assert found.text == LIGHT.text
    assert found.snippet == "Boston Light is a lighthouse in Boston Harbor."
    assert found.metadata == {"license": "CC BY-SA 4.0", "revision": "1000001", "page": "1"}
    assert (found.published, found.language) == (None, "en")


def test_pages_that_only_list_meanings_are_left_out(wikipedia, server, search):
    server.hits = [SEVERAL, LIGHT, SEVERAL]
    assert [result.title for result in search(wikipedia, limit=1)] == ["Boston Light"]
    assert len(server.log) == 2, "of what is left out no text is asked for"


def test_texts_are_asked_for_one_by_one_and_three_at_a_time(wikipedia, server, search):
    server.hits = hits(9)
    assert all(result.text for result in search(wikipedia, limit=9))
    assert len(server.log) == 10
    assert server.accepted <= 3


def test_a_text_that_cannot_be_had_is_left_to_be_fetched(wikipedia, server, search):
    server.hits = hits(9)
    server.faults = [Fault("429-after-7", match="pageids", times=None)]
    found = search(wikipedia, limit=9)
    assert len(found) == 9
    assert not any(result.text for result in found)
    assert len(server.log) <= 4, "and the others are not asked for"


@pytest.mark.parametrize(
    ("language", "edition"),
    [("de", "de"), ("pt-BR", "pt"), (None, "en"), ("evil.example/", "en"), ("DE", "de"), ("x", "en")],
)
def test_the_edition_is_that_of_the_language(server, search, language, edition):
    provider = Wikipedia(base_url=server.base_url + "/{language}")
    search(provider, language=language)
    assert server.log[0].path == f"/{edition}/w/api.php"
    assert provider.keeps_language, "other than at an address that has one edition"


def test_the_usual_place_is_the_edition_of_the_language():
    assert Wikipedia().base_url == "https://{language}.wikipedia.org"
    assert Wikipedia().keeps_language
    with pytest.raises(ConfigurationError):
        Wikipedia(base_url="ftp://{language}.wikipedia.org")


@pytest.mark.parametrize(
    ("code", "trouble"),
    [
        ("ratelimited", "transient"),
        ("maxlag", "transient"),
        ("internal_api_error_DBQueryError", "transient"),
        ("badvalue", "refused"),
        ("permissiondenied", "refused"),
    ],
)
def test_errors_that_come_as_successes_are_errors(wikipedia, answering, search, code, trouble):
    answering(json.dumps({"error": {"code": code, "info": "ships at night"}, "servedby": "mw"}))
    error = search(wikipedia)
    assert error.data["trouble"] == trouble
    assert code in str(error)
    assert "ships" not in str(error)
