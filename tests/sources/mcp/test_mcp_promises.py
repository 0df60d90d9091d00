"""The search and the tools of a server keep the promises of all searches and tools."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from mcp_runs import connection, lines, odd

from deep_research.errors import ConfigurationError, SearchError
from deep_research.phases.gathering.tasks.mcp_tools import ToolServer, offer_of
from deep_research.sources.mcp import McpConnection
from deep_research.sources.search import SearchRequest
from deep_research.sources.search.mcp_search import McpSearch
from deep_research.testing.search_suite import Ability, Bench, Check, Hit, Subject, checks_for
from deep_research.testing.tool_suite import TOOL_CHECKS, ToolSubject
from deep_research.testing.tool_suite import Check as ToolCheck

pytestmark = pytest.mark.timed


def holding(hits: Sequence[Hit]) -> McpSearch:
    items = [{"url": hit.url, "title": hit.title, "snippet": hit.text} for hit in hits]
    folder = Path(tempfile.mkdtemp())
    return McpSearch(
        connection(odd(folder, results=[{"content": [], "structuredContent": {"results": items}}]))
    )


SUBJECT = Subject(holding=holding, lacks=frozenset(Ability))


@pytest.mark.parametrize("check", checks_for(SUBJECT), ids=str)
def test_the_search_of_a_server_keeps_the_promises_of_a_provider(check: Check) -> None:
    with Bench(SUBJECT) as bench:
        check(bench)


class OneLoop(McpConnection):
    """A connection that ends with each call, for checks that have a loop of their own each."""

    async def call(self, *args: Any, **more: Any) -> Any:
        try:
            return await super().call(*args, **more)
        finally:
            await self.aclose()


def offered(table: dict[str, Any]) -> Any:
    async def journey() -> Any:
        server = OneLoop("notes", connection(table).server)
        tools = {"notes_search": "search"}
        offer = await offer_of([ToolServer(name="notes", tools=tools, connect=lambda: server)], tools, {})
        await server.aclose()
        assert not offer.notes
        return offer.tools["notes_search"]

    return asyncio.run(journey())


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ToolSubject]:
    folder = tmp_path_factory.mktemp("odd")
    item = {"url": "https://notes.example/orm", "title": "Orm", "snippet": "It is 90 feet tall."}
    listed = odd(folder, results=[{"content": [], "structuredContent": {"results": [item]}}])
    given = {"arguments": {"query": "Orm"}, "says": ("90 feet tall",)}
    return {
        "texts": ToolSubject(tool=offered(odd(folder)), **given),
        "results": ToolSubject(tool=offered(listed), **given),
    }


@pytest.mark.parametrize("check", TOOL_CHECKS, ids=str)
@pytest.mark.parametrize("name", ["texts", "results"])
def test_a_tool_of_a_server_keeps_the_promises_of_a_tool(
    name: str, check: ToolCheck, subjects: dict[str, ToolSubject]
) -> None:
    check(subjects[name])


def found(folder: Path, *, query: str = "orm", **more: Any) -> Any:
    async def journey() -> Any:
        provider = McpSearch(connection(odd(folder, **more)))
        try:
            return await provider.search(SearchRequest(query=query, limit=5))
        finally:
            await provider.aclose()

    return asyncio.run(journey())


def test_a_text_without_an_address_has_one_that_nothing_is_fetched_from(tmp_path: Path) -> None:
    (result,) = found(tmp_path)
    assert result.address.startswith("mcp:odd/")
    assert result.text == "The tower is 90 feet tall."
    assert result.title == "The tower is 90 feet tall."
    assert result.text_at is None


def test_a_text_of_a_page_stands_in_for_it(tmp_path: Path) -> None:
    item = {"url": "https://notes.example/1", "content": "The tower is 90 feet tall."}
    (result,) = found(tmp_path, results=[{"content": [], "structuredContent": {"results": [item]}}])
    assert (result.address, result.text, result.text_at) == (item["url"], item["content"], item["url"])


def test_a_long_question_is_cut_and_a_strange_one_is_sent_as_text(tmp_path: Path) -> None:
    for query in ("word " * 1_000, "\ud800\x00 {}", "\n"):
        assert found(tmp_path, query=query)
    assert all(len(line) < 600 for line in lines(tmp_path))


def test_an_error_of_the_tool_is_one_of_the_search(tmp_path: Path) -> None:
    failed = {"isError": True, "content": [{"type": "text", "text": "No\x1b[31m budget\nleft. " * 100}]}
    with pytest.raises(SearchError, match=r"^mcp:odd: search failed: No.*budget left") as error:
        found(tmp_path, results=[failed])
    assert str(error.value).isprintable()
    assert len(str(error.value)) < 500


AMBIGUOUS = (
    '[{"name": "search", "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}, '
    '"b": {"type": "string"}}}, "annotations": {"readOnlyHint": true}}]'
)


def test_where_it_is_not_clear_which_argument_takes_the_words_it_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(SearchError, match="query_argument"):
        found(tmp_path, env={"ODD_TOOLS": AMBIGUOUS})
    assert found(tmp_path, env={"ODD_TOOLS": AMBIGUOUS}, query_argument="b")
    assert any('"arguments": {"b": "orm"}' in line for line in lines(tmp_path))


def test_a_pinned_search_tool_that_is_another_one_is_not_asked(tmp_path: Path) -> None:
    with pytest.raises(SearchError, match="it is not what was pinned"):
        found(tmp_path, pins={"search": "0" * 64})
    assert not any(line.startswith("call") for line in lines(tmp_path))


def test_a_server_without_a_search_tool_is_no_service(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="search_tool in mcp_servers"):
        McpSearch(connection(odd(tmp_path, search_tool=None)))
