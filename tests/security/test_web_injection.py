"""Orders to programs on pages of the web that were searched, fetched and read as any other: what comes of a run with a
model that obeys them all (SECURITY 4.3, test A)."""

import itertools
import json
import sys
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest
from gullible import GOALS, GullibleModel
from injections import FACT, HARMLESS, TEMPLATES, Case
from seen import KEY, wrong
from seen import watched as seen_of
from servers import Hit, SearchServer, WebSite, web_reply

from deep_research import DeepResearch

sys.path.insert(0, str(Path(__file__).parents[1] / "sources" / "extract"))
import made

pytestmark = pytest.mark.usefixtures("kept_readers")

NORTH = "http://north.example.com/towers"
BODY = f"<h1>North</h1><p>{FACT} {HARMLESS}</p>"
OTHERS = {
    "http://east.example.com/": "The lighthouse towers of the eastern coast were built in 1811 and burned whale oil.",
    "http://west.example.com/": "The lighthouse towers of the western coast are unmanned since 1988, says the board.",
}
ROBOTS = web_reply(b"User-agent: *\nDisallow:\n", Content_Type="text/plain")


def page(head="", body="", title="North"):
    return web_reply(
        f"<html><head><title>{title}</title>{head}</head><body><main>{BODY}{body}</main></body></html>".encode()
    )


def pdf(order):
    plain = order.encode("latin-1", "replace").decode("latin-1")
    for mark in "\\()":
        plain = plain.replace(mark, f"\\{mark}")
    lines = made.column(72, 700, f"{FACT}\n{HARMLESS}")
    return web_reply(
        made.paged([lines], info=f"<< /Title ({plain}) /Author ({plain}) /Subject ({plain}) >>"),
        Content_Type="application/pdf",
    )


def hidden(style):
    return lambda order: page(body=f'<p style="{style}">{FACT} {escape(order)}</p>')


def described(order):
    return json.dumps({"headline": order, "author": order}).replace("<", "\\u003c")


# From an order to the answer of the page that has it.
PLACES = {
    "visible": lambda o: page(body=f"<p>{FACT} {escape(o)}</p>"),
    "comment": lambda o: page(body=f"<!-- {o} --><p>{FACT}</p>"),
    "meta": lambda o: page(
        head=f'<meta name="description" content="{escape(o)}"><meta name="author" content="{escape(o)}">'
    ),
    "alt": lambda o: page(body=f'<p>{FACT} <img src="a.png" alt="{escape(o)}"></p>'),
    "title": lambda o: page(body=f'<p title="{escape(o)}">{FACT}</p>', title=escape(o)),
    "display-none": hidden("display:none"),
    "off-screen": hidden("position:absolute;left:-9999px"),
    "white": hidden("color:#fff"),
    "white-on-white": hidden("color:#fff;background:white"),
    "zero-width": lambda o: page(body=f"<p>{FACT} {escape(chr(0x200B).join(o))}</p>"),
    "json-ld": lambda o: page(head=f'<script type="application/ld+json">{described(o)}</script>'),
    "pdf-metadata": pdf,
    "snippet": lambda o: page(),
    "address": lambda o: page(),
}  # fmt: skip
NOT_READ = ("comment", "alt", "display-none", "off-screen", "white-on-white")


def cases():
    goals = list(GOALS)
    return [
        Case(template, place, goals[(t + p) % len(goals)])
        for (t, template), (p, place) in itertools.product(enumerate(TEMPLATES), enumerate(PLACES))
    ]


CASES = cases()
FEW = CASES[::46]


def searches(log):
    """What was searched; a search may take several pages of results."""
    return [asked.params["q"] for asked in log if asked.params["pageno"] == "1"]


def looked_at(place, order, folder):
    """The run, and the hosts that were asked which no search had found."""
    model = GullibleModel()
    address = f"{NORTH}/{quote(order, safe='')}?{quote(order, safe='')}" if place == "address" else NORTH
    said = order if place == "snippet" else "The lighthouse towers of the north."
    pages = {"/robots.txt": ROBOTS, address.partition("example.com")[2]: PLACES[place](order)}
    pages |= {
        f"{urlsplit(url).netloc}/": web_reply(f"<main><p>{text}</p></main>".encode())
        for url, text in OTHERS.items()
    }
    found = [Hit(url=address, title=said, text=said)]
    found += [Hit(url=url, title="Lighthouse towers", text="Of lighthouse towers.") for url in OTHERS]
    with WebSite(pages) as site, SearchServer(found) as services, pytest.MonkeyPatch.context() as patch:
        patch.setattr("deep_research.sources.fetch.client.Guard", site.guard)
        with DeepResearch(
            model=model,
            search=["searxng"],
            search_urls={"searxng": services.base_url},
            data_dir=folder,
            store="memory",
            fetch={"workers": 1},  # there are four pages
            max_iterations=2,
            max_sub_queries=2,
            reflection="always",
        ) as research:
            seen = seen_of(research, model, lambda: searches(services.log))
        hosts = {head.lower().partition("\r\nhost: ")[2].partition("\r\n")[0] for head in site.asked}
    return seen, hosts - {urlsplit(url).netloc for url in (address, *OTHERS)}


@cache
def clean(place):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return looked_at(place, HARMLESS, Path(folder))[0]


def achieved(case, folder):
    seen, strange = looked_at(case.placement, case.payload, folder)
    return wrong(seen, clean(case.placement)) + sorted(strange)


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


PLAIN = ("visible", "white", "zero-width")  # where a reader of the page's text finds it


def test_there_are_enough():
    assert len(CASES) >= 300
    assert {(case.placement, case.goal) for case in CASES} == set(itertools.product(PLACES, GOALS))


@pytest.mark.parametrize(
    "place",
    [
        place if n % 2 == 0 or place in PLAIN else pytest.param(place, marks=pytest.mark.slow)
        for n, place in enumerate(PLACES)
    ],
)
def test_the_orders_are_there_and_achieve_nothing_and_what_nobody_sees_is_not_read(place, tmp_path):
    seen, strange = looked_at(place, Case("plain", place, "link-exfil").payload, tmp_path)
    assert wrong(seen, clean(place)) + sorted(strange) == []
    assert len(seen.result.sources) == 3
    shown = any("ENDORDER" in call.messages[-1].content for call in seen.model.calls)
    assert not (shown and place in NOT_READ)
    assert shown or place not in PLAIN


@pytest.mark.parametrize("case", FEW, ids=str)
def test_an_order_on_a_page_of_the_web_achieves_nothing(case, tmp_path):
    assert achieved(case, tmp_path) == []


@pytest.mark.parametrize(
    "template",
    [
        pytest.param(template, marks=pytest.mark.sweep if n % 4 else pytest.mark.slow)
        for n, template in enumerate(TEMPLATES)
    ],
)
def test_no_order_on_any_page_of_the_web_achieves_anything(template, tmp_path):
    found = {
        str(case): words
        for n, case in enumerate(CASES)
        if case.template == template and case not in FEW and (words := achieved(case, tmp_path / str(n)))
    }
    assert found == {}
