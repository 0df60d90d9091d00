"""Searching with the search tool of an MCP server that the user configured: the service ``mcp:NAME``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from deep_research.calls import TEXT_UNIT_CHARS, off_loop
from deep_research.errors import ConfigurationError, RemoteError, SearchError, bounded_line
from deep_research.logs import masked
from deep_research.models.characters import whole_characters
from deep_research.sources.search.base import (
    SearchProvider,
    SearchRequest,
    SearchResult,
    SourceType,
    Trouble,
    search_failure,
)
from deep_research.sources.search.fields import shortened
from deep_research.sources.search.mcp_results import ResultItem, items_of
from deep_research.sources.search.service_failures import refusal
from deep_research.state.identity import sha256_hex

if TYPE_CHECKING:
    from mcp_types import CallToolResult

    from deep_research.sources.mcp import McpConnection

MAX_QUERY_CHARS = 400
MAX_TITLE_CHARS = 80  # of a title that is made of a text
MAX_ADDRESS_DIGITS = 16
MAX_ERROR_CHARS = 200  # that are told of what a tool says of its failure
BAD_REQUEST = 400


class McpSearch(SearchProvider):
    """Asks the ``search_tool`` of a server. A result without an address has one that is made of its text, such as
    ``mcp:notes/3f2a…``, which nothing can be fetched from.

    Raises `ConfigurationError` where the server has no ``search_tool``.
    """

    types: ClassVar[frozenset[str]] = frozenset({SourceType.WEB})
    at_once = 4

    def __init__(self, connection: McpConnection) -> None:
        if connection.server.search_tool is None:
            raise ConfigurationError(
                f"The MCP server '{connection.name}' has no search tool.",
                hint=f"Name one of its tools: search_tool in mcp_servers.{connection.name}.",
            )
        self.name = f"mcp:{connection.name}"
        self.url = self.base_url = connection.server.url or ""
        self.sent_key = connection.server.token_variable or ""
        self._connection = connection
        self._tool = connection.server.search_tool

    @property
    def account(self) -> str:
        """Where it asks, for what engines of one process share."""
        return self.base_url or " ".join(
            (self._connection.server.command or "", *self._connection.server.args)
        )

    async def search(self, request: SearchRequest) -> Sequence[SearchResult]:
        try:
            answer = await self._answer(request)
        except RemoteError as error:
            raise _search_error(self.name, error) from None
        size = sum(len(getattr(block, "text", "")) for block in answer.content) // TEXT_UNIT_CHARS
        items = await off_loop(size, items_of, answer.structured_content, answer.content)
        if answer.is_error:
            words = bounded_line(
                next((item.text for item in items), "it says nothing of it"), MAX_ERROR_CHARS
            )
            raise search_failure(Trouble.TRANSIENT, f"{self.name}: {self._tool} failed: {words}")
        results: dict[str, SearchResult] = {}
        for result in map(self._result, items):
            results.setdefault(result.address, result)
        return [results[where] for where in results if where not in request.exclude][: request.limit]

    async def aclose(self) -> None:
        await self._connection.aclose()

    async def _answer(self, request: SearchRequest) -> CallToolResult:
        """Raises `RemoteError`, and `SearchError` where it is not known which argument takes the words."""
        connection = self._connection
        listed = (await connection.tools()).get(self._tool)
        argument = connection.server.query_argument or (listed.query_argument() if listed else None)
        if listed is not None and argument is None:
            raise search_failure(
                Trouble.REFUSED,
                f"{self.name}: it is not clear which argument of {self._tool} takes the words.",
                hint=f"Name it: query_argument in mcp_servers.{connection.name}.",
            )
        query = shortened(" ".join(whole_characters(masked(request.query)).split()), MAX_QUERY_CHARS)
        return await connection.call(self._tool, {argument or "": query}, connection.server.timeout)

    def _result(self, item: ResultItem) -> SearchResult:
        return SearchResult(
            address=address_of(item, self.name),
            title=item.title or titled(item.text) or item.url or self.name,
            snippet=item.snippet,
            text=item.text or None,
            text_at=item.url if item.text else None,  # the page may have more of it
            published=item.published,
        )


def address_of(item: ResultItem, service: str) -> str:
    """Where an item is: its own address, else one that is made of what it says."""
    digest = sha256_hex(f"{item.title}\n{item.text}".encode())[:MAX_ADDRESS_DIGITS]
    return item.url or f"{service}/{digest}"


def titled(text: str) -> str:
    """A title for a text that has none: its first line."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return shortened(" ".join(first.strip("#*_= ").split()), MAX_TITLE_CHARS, "…")


def _search_error(name: str, error: RemoteError) -> SearchError:
    """The same as the failure of a search."""
    trouble, status = error.data.get("trouble"), error.data.get("status")
    if status is not None:
        headers = {"retry-after": error.data.get("retry_after") or ""}
        failure = refusal(name, status, None, headers=headers, hint=error.hint)
        return SearchError(error.problem, hint=failure.hint, **failure.data)
    if trouble == "request":  # it says nothing of the next one
        return search_failure(Trouble.REFUSED, error.problem, hint=error.hint, status=BAD_REQUEST)
    return search_failure(
        Trouble.REFUSED if trouble == "refused" else Trouble.TRANSIENT,
        error.problem,
        hint=error.hint,
        unreached=bool(error.data.get("unreached")),
    )
