"""The search services on loopback are as strict as their documentation."""

import httpx
import pytest

from servers import Fault, Hit, SearchServer, hits

pytestmark = pytest.mark.timed

GOOD = {
    "tavily": ("POST", "/search", {"query": "x"}),
    "google": ("GET", "/customsearch/v1", {"q": "x", "cx": "e"}),
    "semantic_scholar": ("GET", "/graph/v1/paper/search", {"query": "x", "fields": "title,url"}),
    "openalex": ("GET", "/works", {"search": "x", "select": "id,doi"}),
    "wikipedia": (
        "GET",
        "/w/api.php",
        {"action": "query", "format": "json", "formatversion": "2", "generator": "search", "gsrsearch": "x"},
    ),
    "searxng": ("GET", "/search", {"q": "x", "format": "json"}),
}
KEYED = {
    "tavily": {"authorization": "Bearer k1"},
    "google": {"x-goog-api-key": "k1"},
    "semantic_scholar": {"x-api-key": "k1"},
    "openalex": {"authorization": "Bearer k1"},
    "wikipedia": {},
    "searxng": {"authorization": "Bearer k1"},
}


@pytest.fixture
def server():
    with SearchServer(hits(3)) as running:
        yield running


@pytest.fixture
def ask(server):
    def asked(service, *, headers=None, method=None, **more):
        usual, path, params = GOOD[service]
        sent = {"json": params | more} if usual == "POST" else {"params": params | more}
        return httpx.request(
            method or usual,
            server.base_url + path,
            headers={"user-agent": "deep-research-tests"} | (headers or {}),
            trust_env=False,
            **sent,
        )

    return asked


@pytest.mark.parametrize("service", GOOD)
def test_a_good_request_is_answered_and_logged(server, ask, service):
    reply = ask(service)
    assert reply.status_code == 200
    assert "error" not in reply.json()
    (asked,) = server.log
    assert (asked.method, asked.path, asked.status) == (*GOOD[service][:2], 200)
    assert asked.headers["user-agent"] == "deep-research-tests"


@pytest.mark.parametrize("service", GOOD)
def test_unknown_parameters_are_refused(ask, service):
    reply = ask(service, colour="blue")
    assert reply.status_code == 400
    assert "colour" in reply.text


@pytest.mark.parametrize("service", GOOD)
def test_another_method_is_refused(ask, service):
    assert ask(service, method="PUT").status_code == 405


@pytest.mark.parametrize("service", GOOD)
def test_a_wrong_key_is_refused_where_there_are_keys(server, ask, service):
    server.key = "k1"
    assert ask(service, headers=KEYED[service]).status_code == 200
    if KEYED[service]:
        assert ask(service).status_code in (400, 401, 403)


@pytest.mark.parametrize(
    ("service", "wrong"),
    [
        ("tavily", {"query": "x" * 401}),
        ("tavily", {"max_results": 21}),
        ("tavily", {"start_date": "2020-01-01", "end_date": "2020-01-01"}),
        ("tavily", {"include_domains": "example.org"}),
        ("google", {"num": 11}),
        ("google", {"num": 10, "start": 92}),
        ("google", {"sort": "date:r:2020-01-01:2020-02-02"}),
        ("google", {"cx": ""}),
        ("semantic_scholar", {"fields": "title,colour"}),
        ("semantic_scholar", {"limit": 101}),
        ("openalex", {"select": "colour"}),
        ("openalex", {"filter": "colour:blue"}),
        ("openalex", {"filter": "from_publication_date:2020"}),
        ("openalex", {"search": "why?"}),
        ("searxng", {"format": "html"}),
        ("searxng", {"categories": "colours"}),
    ],
)
def test_what_the_documentation_does_not_allow_is_refused(ask, service, wrong):
    assert ask(service, **wrong).status_code in (400, 403)


def test_wikipedia_says_its_errors_with_a_success(ask):
    reply = ask("wikipedia", gsrsearch="x" * 301)
    assert reply.status_code == 200
    assert reply.json()["error"]["code"] == "cirrussearch-query-too-long"


def test_wikipedia_wants_to_know_who_asks(ask):
    assert ask("wikipedia", headers={"user-agent": "python-httpx/0.28"}).status_code == 403


@pytest.mark.parametrize("service", GOOD)
def test_faults_speak_the_services_words(server, ask, service):
    server.faults = [Fault("429-after-7", message="Slow down."), "html-200"]
    refused = ask(service)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
    assert "Slow down." in refused.text
    assert ask(service).headers["content-type"] == "text/html"
    assert ask(service).status_code == 200
    assert [asked.fault for asked in server.log] == ["429-after-7", "html-200", None]


def test_what_is_found_may_depend_on_what_is_asked(server, ask):
    server.hits = lambda asked: [Hit(url=f"https://example.org/{asked.params['q']}")]
    assert ask("searxng", q="ships").json()["results"][0]["url"] == "https://example.org/ships"


def test_other_paths_are_not_there(server):
    assert httpx.get(f"{server.base_url}/elsewhere", trust_env=False).status_code == 404
