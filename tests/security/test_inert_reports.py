"""Whole runs over hostile folders and search results, without a model and with one that writes what must not act: what
six renderers make of their reports."""

from __future__ import annotations

import json
import random
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from attacks import CONTEXTS, SAID, payload
from prompt_reading import ReadingModel
from renderers import alive
from servers import Hit, SearchServer, WebSite, web_reply

from deep_research import DeepResearch, ResearchResult
from deep_research.models.base import ModelCall

QUESTION = "How tall are the lighthouse towers of the northern coast?"
FACT = "The lighthouse towers of the {} coast were built in 18{} and stand 31 metres tall."
COASTS = ("northern", "eastern", "southern", "western")
WAYS = ("folder", "folder and a model", "search", "search and a model")
FORM = """---
title: {title}
author: {author}
---

# {heading}

{fact}

{said}

How they were built, of which the lighthouse towers are known:

{shown}
"""


class HostileModel(ReadingModel):
    """Writes an honest answer with payloads in all of its texts."""

    def __init__(self, rng: random.Random) -> None:
        super().__init__("m")
        self.rng = rng

    def answer(self, call: ModelCall) -> str:
        honest = super().answer(call)
        if call.form is not None:
            return json.dumps(self.spoiled(json.loads(honest)))
        parts = honest.split("\n\n")
        for _ in range(6):
            parts.insert(
                self.rng.randint(2, len(parts)),
                self.rng.choice([*CONTEXTS.values()]).format(p=payload(self.rng)),
            )
        return "\n\n".join(parts)

    def spoiled(self, data: Any) -> Any:
        if isinstance(data, list):
            return [self.spoiled(each) for each in data]
        if not isinstance(data, dict):
            return data
        told = ("content", "category", "description", "title", "heading", "research_brief", "rationale")
        return {
            name: f"{value} {payload(self.rng)}"
            if name in told and isinstance(value, str)
            else self.spoiled(value)
            for name, value in data.items()
        }


def said(rng: random.Random) -> str:
    return rng.choice([*SAID.values()]).format(p=payload(rng))


def facts(rng: random.Random) -> list[str]:
    """Sentences that answer the question, and such with something else in them."""
    true = [FACT.format(coast, year) for year, coast in enumerate(COASTS, 70)]
    return [f"{fact} The lighthouse towers {payload(rng)} were lit by {payload(rng)}." for fact in true]


def folder(rng: random.Random, at: Path) -> Path:
    at.mkdir()
    for fact in facts(rng):
        shown = f"```html\n{payload(rng)}\n```"
        text = FORM.format(
            title=json.dumps(said(rng)),
            author=json.dumps(said(rng)),
            heading=said(rng),
            fact=fact,
            said=said(rng),
            shown=shown,
        )
        name = "".join(" " if c in "/\0\n\r" else c for c in payload(rng))[:40]
        (at / f"{name or 'x'}{rng.randrange(10**6)}{rng.choice(['.md', '.txt', '.rst'])}").write_text(
            text, errors="replace"
        )
    (at / "north.md").write_text(f"# {said(rng)}\n\n{FACT.format(COASTS[0], 70)}\n", errors="replace")
    (at / "spoiled\u2028<img src=x>.md").write_bytes(b"\xff\xfe\x00bad")
    return at


def over_folder(rng: random.Random, at: Path, **settings: Any) -> ResearchResult:
    with DeepResearch(
        corpus=folder(rng, at / "corpus"), data_dir=at / "data", store="memory", **settings
    ) as research:
        return research.run(QUESTION)


def over_search(rng: random.Random, at: Path, **settings: Any) -> ResearchResult:
    hosts = [f"{coast}.example.com" for coast in COASTS]
    robots = web_reply(b"User-agent: *\nDisallow:\n", Content_Type="text/plain")
    pages, found = {"/robots.txt": robots}, []
    for host, fact in zip(hosts, facts(rng), strict=True):
        path = f"/{quote(payload(rng)[:30], safe='()[]@!$&*,;=~')}"
        head = f'<title>{escape(said(rng))}</title><meta name="author" content="{escape(said(rng))}">'
        body = (
            f"<main><h1>{escape(said(rng))}</h1><p>{escape(fact)}</p><pre>{escape(payload(rng))}</pre></main>"
        )
        pages[f"{host}{path}"] = web_reply(
            f"<html><head>{head}</head><body>{body}</body></html>".encode(errors="replace")
        )
        found.append(Hit(url=f"http://{host}{path}", title=said(rng), text=f"{fact} {said(rng)}"))
    found.append(Hit(url=f"http://gone.example.com/{payload(rng)}", title=said(rng), text=facts(rng)[0]))
    with WebSite(pages) as site, SearchServer(found) as services, pytest.MonkeyPatch.context() as patch:
        patch.setattr("deep_research.sources.fetch.client.Guard", site.guard)
        with DeepResearch(
            search=["searxng"],
            search_urls={"searxng": services.base_url},
            data_dir=at / "data",
            store="memory",
            fetch={"workers": 1},
            **settings,
        ) as research:
            return research.run(QUESTION)


@pytest.mark.parametrize(
    "seed", [0, 1, 2, *(pytest.param(seed, marks=pytest.mark.sweep) for seed in range(3, 60))]
)
def test_the_report_of_a_run_is_inert_in_every_renderer(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    way = WAYS[(seed + seed // 4) % len(WAYS)]
    models = {"model": HostileModel(rng)} if "model" in way else {}
    run = over_folder if "folder" in way else over_search
    result = run(rng, tmp_path, max_iterations=2, max_sub_queries=2, **models)
    assert result.report, result.message
    assert result.citations
    assert list(alive(result.report, [s.url for s in result.sources if s.url])) == []
