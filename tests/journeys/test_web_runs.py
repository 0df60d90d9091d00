"""Research over the web: services and sites on loopback in their real formats, nothing of ours replaced but the way to
the site."""

import base64
import sqlite3
from urllib.parse import quote

import pytest
from servers import Fault, Hit, SearchServer, WebSite, web_reply

from deep_research import DeepResearch
from deep_research.logs import configure

pytestmark = pytest.mark.usefixtures("kept_readers")

QUESTION = "How tall is the lighthouse of Mole Reef, and who built it?"
NAVIGATION = (
    '<nav><a href="/">Home</a> <a href="/shop">Shop</a></nav><div class="cookie">We use cookies.</div>'
)


def article(title, *paragraphs, day="2024-03-05"):
    body = "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
    return f"""<!doctype html><html lang="en"><head><title>{title}</title>
    <meta property="article:published_time" content="{day}T08:00:00Z"><meta name="author" content="Ann Keeper"></head>
    <body>{NAVIGATION}<main><article><h1>{title}</h1>{body}</article></main>
    <footer>© Mole Press</footer></body></html>""".encode()


PAGES = {
    "/height": article(
        "The lighthouse of Mole Reef",
        "The lighthouse of Mole Reef is 41 metres tall, measured from its base on the rock to the top of the lantern.",
        "It has stood on the reef, four miles off the coast, since 1887, and its light is seen for eighteen miles.",
        "The stones were cut on land, fitted together in a yard, and carried to the reef by boat at low water.",
    ),
    "/builder": article(
        "Who built Mole Reef",
        "The lighthouse of Mole Reef was built by the engineer Martha Lund between 1881 and 1887.",
        "Lund had learned her trade in the yards of the north, and this was the first tower that she designed alone.",
        "Forty men worked on the reef each summer, for as many hours a day as the tide left the rock dry.",
    ),
}
HITS = [
    Hit(url="http://mole.example.com/height", title="The lighthouse of Mole Reef", text="A tower on a reef."),
    Hit(
        url="http://mole.example.com/gone",
        title="Mole Reef lighthouse visits",
        text="How to visit the lighthouse.",
    ),
    Hit(
        url="http://mole.example.com/private/x",
        title="Mole Reef lighthouse logs",
        text="Logs of the lighthouse.",
    ),
    Hit(
        url="http://mole.example.com/builder?utm_source=x",
        title="Who built Mole Reef",
        text="Martha Lund built it.",
    ),
]
KEYS = {
    "TAVILY_API_KEY": "tvly-canary-5f1d0c77a9e34b62",
    "GOOGLE_API_KEY": "AIzaCanary-77d1c0f5e9a34b62a",
    "SEMANTIC_SCHOLAR_API_KEY": "s2-canary-9e34b6277d1c0f5a",
    "OPENALEX_API_KEY": "oa-canary-34b6277d1c0f5a9e",
}


@pytest.fixture
def site(monkeypatch):
    pages = {path: web_reply(body, ETag='"1"', Cache_Control="max-age=0") for path, body in PAGES.items()}
    pages["/robots.txt"] = web_reply(b"User-agent: *\nDisallow: /private/\n", Content_Type="text/plain")
    pages |= {f"{path}?utm_source=x": answer for path, answer in pages.items()}
    with WebSite(pages) as running:
        monkeypatch.setattr("deep_research.sources.fetch.client.Guard", running.guard)
        yield running


@pytest.fixture
def services(monkeypatch):
    for variable, value in KEYS.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("GOOGLE_CSE_ID", "engine-1")
    with SearchServer(HITS) as server:
        yield server


SERVICES = ("tavily", "google", "semantic_scholar", "wikipedia", "openalex", "searxng")
KEYED = ("tavily", "google", "semantic_scholar", "openalex")


def engine(services, tmp_path, *names, **more):
    made = DeepResearch(
        search=list(names), search_urls=dict.fromkeys(SERVICES, services.base_url), data_dir=tmp_path, **more
    )
    for service in made._parts.sources.services:  # nobody waits in a test
        service.gate.per_minute = None
        object.__setattr__(service.persistence, "sleep", at_once)
    return made


async def at_once(seconds):
    """Sleeps for no time."""


def test_a_question_is_answered_from_pages_that_were_read_and_kept(services, site, tmp_path):
    with engine(services, tmp_path, "tavily") as research:
        result = research.run(QUESTION)
        assert result.status == "completed"
        assert "41 metres tall" in result.report
        assert "Martha Lund" in result.report
        for citation in result.citations:
            assert research.text(citation)[citation.start : citation.end] == citation.quote
        by_url = {source.url: source for source in result.sources}
        assert set(by_url) == {
            "http://mole.example.com/height",
            "http://mole.example.com/builder?utm_source=x",
            "http://mole.example.com/private/x",
        }
        assert by_url["http://mole.example.com/private/x"].metadata["read"] == "extract"
        page = by_url["http://mole.example.com/height"]
        assert research._parts.store.contents([page.snapshot_hash]) == [PAGES["/height"]]
    assert (page.title, page.published.isoformat()) == ("The lighthouse of Mole Reef", "2024-03-05")
    assert page.metadata["author"] == "Ann Keeper"
    assert "cookies" not in result.report
    assert [notice.line for notice in result.notices if notice.name == "pages"] == [
        "1 page of mole.example.com was found but not read: the page is gone (404 Not Found).",
        "1 page of mole.example.com was found but not read: the site's robots.txt asks programs not to read this page. "
        "The text that the search service gives of it is used instead.",
    ]
    assert "/private/x" not in site.paths


def test_nothing_is_written_anywhere(services, site, tmp_path):
    for name in KEYED:
        with engine(services, tmp_path, name) as research:
            research.run(QUESTION)
    asked = {(request.method, request.path) for request in services.log}
    assert {method for method, _ in asked} == {"GET", "POST"}
    assert {path for method, path in asked if method == "POST"} == {"/search"}
    assert {head.partition(" ")[0] for head in site.asked} == {"GET"}


def test_a_second_run_asks_only_whether_pages_have_changed(services, site, tmp_path):
    with engine(services, tmp_path, "tavily") as research:
        first = research.run(QUESTION)
        site.asked.clear()
        site.pages["/height"] = web_reply(status="304 Not Modified", ETag='"1"')
        second = research.run(QUESTION)
    told = [head for head in site.asked if " /height " in head]
    assert told
    assert all('if-none-match: "1"' in head.lower() for head in told)
    assert second.report == first.report
    assert {s.id: s.snapshot_hash for s in second.sources} == {s.id: s.snapshot_hash for s in first.sources}


def test_when_one_service_is_down_the_next_one_answers_and_the_report_says_so(services, site, tmp_path):
    services.faults = [Fault("401", path="/search", times=None)]
    with engine(services, tmp_path, "tavily", "google") as research:
        result = research.run(QUESTION)
    assert result.status == "completed"
    assert {source.metadata["provider"] for source in result.sources} == {"google"}
    assert any(notice.message.startswith("tavily: ") for notice in result.notices)
    # A wrong key is not tried again and again.
    assert len([request for request in services.log if request.path == "/search"]) <= 8


def test_a_service_without_its_key_is_passed_over_and_named(services, site, tmp_path, monkeypatch):
    monkeypatch.delenv("TAVILY_API_KEY")
    with engine(services, tmp_path, "tavily", "google") as research:
        result = research.run(QUESTION)
    assert result.status == "completed"
    assert any("'tavily' needs TAVILY_API_KEY" in notice.message for notice in result.notices)
    assert "TAVILY\\_API\\_KEY" in result.report or "TAVILY_API_KEY" in result.report


def test_documents_and_the_web_answer_together(services, site, tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "mole.md").write_text("# Mole Reef\n\nThe lighthouse of Mole Reef was lit with oil until 1926.")
    with engine(services, tmp_path, "corpus", "tavily", corpus=str(folder)) as research:
        result = research.run("How tall is the lighthouse of Mole Reef, and what was it lit with until 1926?")
    assert {source.kind for source in result.sources} == {"document", "web"}
    assert "oil until 1926" in result.report
    assert "41 metres" in result.report


def test_works_of_catalogues_are_read_where_they_are_open_and_judged_by_their_record(
    services, site, tmp_path
):
    abstract = "The lighthouse of Mole Reef is 41 metres tall and was built by Martha Lund."
    services.hits = [
        Hit(
            url="https://catalogue.example.com/1",
            title="Towers on reefs",
            text=abstract,
            doi="10.1000/tower",
            venue="Journal of Towers",
            citations=40,
            published="2021-05-06",
        )
    ]
    with engine(services, tmp_path, "openalex") as research:
        result = research.run(QUESTION)
    (source,) = result.sources
    assert source.url == "https://doi.org/10.1000/tower"
    assert source.metadata["venue"] == "Journal of Towers"
    assert "only its abstract could be read" in source.metadata["quality"]


@pytest.mark.parametrize(
    "fault", ["", "401", "402", "500", "429-after-7", "bad-json", "html-200", "reset", "close"]
)
def test_no_key_reaches_the_database_the_record_the_log_or_the_report(services, site, tmp_path, capfd, fault):
    configure("debug", "text")
    services.faults = [Fault(fault, times=None)] if fault else []
    try:
        records = []
        for name in KEYED:
            with engine(services, tmp_path, name, log_level="debug") as research:
                result = research.run(QUESTION)
                records += [result.model_dump_json(), repr(result)]
                records += [event.model_dump_json() for event in research.events(result.research_id)]
    finally:
        configure("error", "text")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    written = b"".join(path.read_bytes() for path in files)
    told = "\n".join([*records, *capfd.readouterr(), *site.asked])
    for key in KEYS.values():
        for form in (key, quote(key), base64.b64encode(key.encode()).decode()):
            assert form not in told
            assert form.encode() not in written


def test_keys_in_addresses_and_cookies_of_sites_reach_nothing_that_is_kept_or_told(
    services, site, tmp_path, capfd
):
    """The site is asked with them: they may be what lets us read."""
    key, signature, cookie = (
        "canary0f3a9b1c5d2e486077",
        "canary9d8c7b6a5f4e3d2c1b0a",
        "canary-cookie-1234567890",
    )
    signed = f"/height?X-Amz-Signature={signature}&X-Amz-Date=1"
    site.pages[f"/builder?api_key={key}"] = web_reply(PAGES["/builder"], Set_Cookie=f"s={cookie}")
    site.pages["/moved"] = web_reply(status="302 Found", Location=signed, Set_Cookie=f"s={cookie}")
    site.pages[signed] = web_reply(PAGES["/height"], Set_Cookie=f"s={cookie}")
    addresses = (f"builder?api_key={key}", "moved", f"gone?token={key}")
    services.hits = [
        Hit(
            url=f"http://mole.example.com/{address}",
            title="The lighthouse of Mole Reef",
            text="A tower on a reef.",
        )
        for address in addresses
    ]
    configure("debug", "text")
    try:
        with engine(services, tmp_path, "tavily", log_level="debug") as research:
            result = research.run(QUESTION)
            events = [event.model_dump_json() for event in research.events(result.research_id)]
    finally:
        configure("error", "text")
    assert {f"/builder?api_key={key}", signed, f"/gone?token={key}"} <= set(site.paths)
    assert {source.url for source in result.sources} == {
        "http://mole.example.com/builder",
        "http://mole.example.com/moved",
    }
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    told = "\n".join([result.model_dump_json(), repr(result), *events, *capfd.readouterr()])
    for secret in (key, signature, cookie):
        assert secret not in told
        assert secret.encode() not in written


def test_a_run_that_was_killed_after_gathering_reads_nothing_again(services, site, tmp_path):
    with engine(services, tmp_path, "tavily", max_iterations=1) as research:
        result = research.run(QUESTION)
        read = len(site.asked), len(services.log)
        with sqlite3.connect(tmp_path / "runs.db") as db:
            (last,) = db.execute(
                "SELECT seq FROM events WHERE run_id = ? AND type = 'sub_query.completed' ORDER BY seq DESC",
                (result.research_id,),
            ).fetchone()
            db.execute("DELETE FROM events WHERE run_id = ? AND seq > ?", (result.research_id, last))
            db.execute(
                "UPDATE runs SET status = 'running', reason = NULL, phase = 'gathering', last_seq = ? WHERE run_id = ?",
                (last, result.research_id),
            )
        again = research.resume(result.research_id)
    assert again.status == "completed"
    assert (len(site.asked), len(services.log)) == read
    assert again.report == result.report
