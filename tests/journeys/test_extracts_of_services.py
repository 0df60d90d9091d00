"""A page that cannot be had is replaced by what the search service gives of it, and the report says so."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers.search_server import SearchServer
from servers.website import WebSite, web_reply

from deep_research import AbortReason, DeepResearch, RunStatus, SourceQuality
from deep_research.sources.fetch.guard import Guard
from deep_research.testing.search_bench import Hit

QUESTION = "How tall is the lighthouse of Mole Reef?"
SAID = "The lighthouse of Mole Reef is 41 metres tall, measured from its base on the rock."
WALL = b"<html><body><p>Subscribe to read on.</p></body></html>"


def found(**texts: Any) -> list[Hit]:
    return [Hit(url=f"http://mole{n}.example.com/height", title="Mole Reef", **texts) for n in range(5)]


async def refused(_host: str, _port: int) -> list[str]:
    raise OSError("no name server")


def _cut(writer: asyncio.StreamWriter) -> Any:
    async def abort() -> None:
        writer.transport.abort()

    return abort()


SITES: dict[str, dict[str, Any]] = {
    "a refused connection": {"/height": _cut, "/robots.txt": web_reply(b"")},
    "403": {"/height": web_reply(b"no", "403 Forbidden"), "/robots.txt": web_reply(b"")},
    "robots.txt with a fault": {"/robots.txt": web_reply(b"", "500 Internal Server Error")},
    "robots.txt that forbids": {
        "/robots.txt": web_reply(b"User-agent: *\nDisallow: /\n", Content_Type="text/plain")
    },
    "an empty page": {"/height": web_reply(b""), "/robots.txt": web_reply(b"")},
    "names that nobody resolves": {},
}


@pytest.fixture(params=SITES)
def site(request: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-0123456789")
    with WebSite(SITES[request.param]) as running:
        guard = running.guard if SITES[request.param] else lambda: Guard(refused)
        monkeypatch.setattr("deep_research.sources.fetch.client.Guard", guard)
        yield


def run(hits: list[Hit], folder: Path) -> Any:
    with (
        SearchServer(hits) as server,
        DeepResearch(search=["tavily"], search_urls={"tavily": server.base_url}, data_dir=folder) as research,
    ):
        result = research.run(QUESTION)
        texts = {citation.source_id: research.text(citation) for citation in result.citations}
        assert all(texts[c.source_id][c.start : c.end] == c.quote for c in result.citations)
        return result


@pytest.mark.parametrize(
    "texts", [{"text": SAID}, {"text": "A tower on a reef.", "page": f"Mole Reef.\n\n{SAID}"}]
)
def test_the_text_of_the_service_is_a_source_of_lower_quality_and_is_quoted(
    site: None, texts: dict[str, str], tmp_path: Path
) -> None:
    result = run(found(**texts), tmp_path)
    assert result.status is RunStatus.COMPLETED
    assert "41 metres" in result.report
    assert "as its search service gives it" in result.report
    assert {source.metadata["read"] for source in result.sources} == {"extract"}
    assert {source.quality for source in result.sources} <= {SourceQuality.LOW, SourceQuality.UNKNOWN}
    told = [notice.line for notice in result.notices if notice.name == "pages"]
    assert told
    assert all("is used instead" in line for line in told)


def test_where_a_service_gives_no_text_the_run_says_how_many_results_it_found_and_why_none_was_read(
    site: None, tmp_path: Path
) -> None:
    result = run(found(text=""), tmp_path)
    assert result.reason is AbortReason.NO_EVIDENCE
    assert "5 results were found, none could be read. Found but not read: " in (result.message or "")
