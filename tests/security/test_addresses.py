"""Wherever a run may be led: search results, texts elsewhere, redirects, rules of sites. It connects to the two servers
that it was given, and to nothing else."""

import socket
import sys

import pytest
from hostile_urls import hostile
from renderers import alive
from servers import Hit, SearchServer, WebSite, web_reply
from servers.website import PUBLIC

from deep_research import DeepResearch
from deep_research.sources.fetch.guard import Guard, opened

pytestmark = pytest.mark.usefixtures("kept_readers")

QUESTION = "How tall is the lighthouse of Mole Reef?"
TEXT = "The lighthouse of Mole Reef is 41 metres tall."
PAGE = web_reply(f"<html><title>Mole Reef</title><main><p>{TEXT} {TEXT}</p></main></html>".encode())
MORE = [
    "file:///etc/passwd", "javascript:alert(1)", "data:text/html,x", "ftp://site.example.com/x", "http:/etc",
    "//127.0.0.1/", "http://user:pass@site.example.com/", "http://site.example.com\\@127.0.0.1/", "http://127.0.0.1\t/", "http://127.1/",
    "http://2130706433/", "http://0x7f.0.0.1/", "http://０１２７.0.0.1/", "http://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/", "http://127。0。0。1/",
    "http://[::1%25lo]/", "http://[fe80::1%eth0]/", "http://[::ffff:127.0.0.1]/", "http://metadata.google.internal/",
    "http://169.254.169.254/latest/meta-data/", "http://100.100.100.200/", "http://192.0.0.192/", "http://[fd00:ec2::254]/",
    "http://localhost.", "http://localtest.example.com:8080/", "http://site.example.com:22/", "gopher://127.0.0.1:6379/_x",
    "http://rebound.example.net/", "http://mixed.example.net/", "http://inside.example.net/", "http://[::]/", "http://0/",
    "unix:///run/docker.sock", "http+unix://x/", "jar:http://127.0.0.1!/", "http://127.0.0.1#@site.example.com/",
    "https://169.254.169.254/", "http://instance-data/", "http://router.local/", "http://[64:ff9b::7f00:1]/",
]  # fmt: skip
# What names lead to; all others to the site.
NAMES = {
    "inside.example.net": ["10.0.0.7"],
    "mixed.example.net": [PUBLIC, "127.0.0.1"],
    "metadata.google.internal": ["169.254.169.254"],
    "localhost": ["127.0.0.1"],
    "instance-data": ["169.254.169.254"],
    "router.local": ["192.168.0.1"],
}
HEARD = []


def _heard(event, args):
    if event == "socket.connect":
        HEARD.append(args[1])


sys.addaudithook(_heard)  # hooks cannot be taken away: it only writes down


class Through:
    """The public address is the site on loopback; all others are really connected to."""

    def __init__(self, site):
        self.site = site

    async def __call__(self, address, port, tls, name):
        if address == PUBLIC:
            return await opened("127.0.0.1", self.site.port, None, "")
        return await opened(address, port, tls, name)


@pytest.fixture
def site(monkeypatch):
    asked = {"rebound.example.net": 0}

    def resolved(host, port, *_, **__):
        name = str(host)
        if name == "rebound.example.net":
            asked[name] += 1
            addresses = [PUBLIC] if asked[name] % 2 else ["127.0.0.1"]
        else:
            addresses = NAMES.get(name, [name] if name[:1].isdigit() or ":" in name else [PUBLIC])
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    pages = {f"/?{start}": PAGE for start in range(0, 40, 8)}
    with WebSite(pages | {"/": PAGE, "/robots.txt": web_reply(status="404 Not Found")}) as running:
        made = lambda: Guard(opener=Through(running))  # noqa: E731 - a name would say no more
        monkeypatch.setattr("deep_research.sources.fetch.client.Guard", made)
        yield running


def researched(found, site, tmp_path, service="searxng", **settings):
    """A run over these results; the ports it connected to that are not those of the two servers."""
    with SearchServer(found) as server:
        HEARD.clear()
        with DeepResearch(
            search=[service],
            search_urls={service: server.base_url},
            data_dir=tmp_path,
            max_sub_queries=2,
            max_iterations=1,
            max_sources_per_query=50,
            store="memory",
            fetch={"workers": 1},  # there are few pages that can be reached
            **settings,
        ) as research:
            for each in research._parts.sources.services:  # nobody waits in a test
                each.gate.per_minute = None
            result = research.run(QUESTION)
        mine = {site.port, int(server.base_url.rpartition(":")[2])}
        strange = [where for where in HEARD if not (where[0] == "127.0.0.1" and where[1] in mine)]
    return result, strange


def hit(url, **more):
    return Hit(url=url, title=f"Lighthouse of Mole Reef {len(str(url))}", text=TEXT, **more)


GOOD = "http://site.example.com/"
EVERY = [*MORE, *hostile()]
# The service gives fifty results at most, ten at a time, and no more once none of ten can be used.
CHUNKS = [EVERY[start : start + 40] for start in range(0, len(EVERY), 40)]


def spread(urls):
    """Each ten with one that is good."""
    for start in range(0, len(urls), 8):
        yield from (hit(f"{GOOD}?{start}" if start else GOOD), *map(hit, urls[start : start + 8]))


@pytest.mark.parametrize("urls", CHUNKS, ids=range(len(CHUNKS)))
def test_results_lead_nowhere_inside(urls, site, tmp_path):
    result, strange = researched(list(spread(urls)), site, tmp_path)
    assert strange == []
    read = {source.url for source in result.sources}
    assert GOOD in read
    assert {url.partition("?")[0] for url in read} <= {GOOD, "http://rebound.example.net/"}
    assert list(alive(result.report or "", read)) == []


@pytest.mark.parametrize("service", ["tavily", "google", "semantic_scholar", "openalex", "wikipedia"])
def test_no_service_s_results_lead_inside(service, site, tmp_path, monkeypatch):
    for variable in ("TAVILY_API_KEY", "GOOGLE_API_KEY", "GOOGLE_CSE_ID"):
        monkeypatch.setenv(variable, "k-0123456789abcdef")
    found = [
        hit(url, pdf=url, doi=f"10.1000/{n}/../../{url}" if n % 2 else None) for n, url in enumerate(MORE)
    ]
    found += [Hit(url=GOOD, title="Mole Reef", text=TEXT, pdf=url) for url in MORE]
    _, strange = researched(found, site, tmp_path, service, source_language="../../127.0.0.1/#")
    assert strange == []


def test_redirects_and_rules_lead_nowhere_inside(site, tmp_path):
    targets = [url for url in MORE if url.isascii() and not set("\t\\") & set(url)]
    for n, target in enumerate(targets):
        site.pages[f"/r{n}"] = web_reply(status=f"{(301, 302, 303, 307, 308)[n % 5]} Go", Location=target)
        site.pages[f"rules{n}.example.com/robots.txt"] = site.pages[f"/r{n}"]
    found = [hit(f"{GOOD}r{n}") for n in range(len(targets))]
    found += [hit(f"http://rules{n}.example.com/") for n in range(len(targets))]
    result, strange = researched([hit(GOOD), *found[:49]], site, tmp_path)
    more, strange_too = researched([hit(GOOD), *found[49:]], site, tmp_path)
    assert strange + strange_too == []
    assert len(set(site.asked)) >= 50
    assert {source.url for source in (*result.sources, *more.sources)} >= {GOOD}


def test_the_hook_hears_what_the_site_is_asked(site, tmp_path):
    _, strange = researched([hit(GOOD)], site, tmp_path)
    assert strange == []
    assert ("127.0.0.1", site.port) in HEARD
