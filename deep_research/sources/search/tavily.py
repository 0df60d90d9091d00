"""Tavily: a search of the web and of news, made for programs. By its own SDK."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from datetime import date, timedelta
from typing import Any, ClassVar

import httpx
from tavily import AsyncTavilyClient, errors

from deep_research.models.clients import PerLoop, read_json
from deep_research.sources.search.base import SearchRequest, SearchResult, SourceType, Trouble
from deep_research.sources.search.fields import address, day, domains, line, only, record, records, whole
from deep_research.sources.search.keys import TAVILY
from deep_research.sources.search.web_service import MAX_VALUES, HttpSearch, MalformedError

KEY_VARIABLE = TAVILY.required[0]

_MAX_RESULTS = 20
_MAX_WANTED = 300  # domains
_MAX_UNWANTED = 150
_SPENT = (432, 433)  # the plan's limit, and that of paying as one goes

# The responses of the search under way. What the SDK raises has lost the headers, and what it returns no longer says
# whether there were results at all.
_responses: ContextVar[list[httpx.Response] | None] = ContextVar("tavily_responses", default=None)


class Tavily(HttpSearch):
    """Needs TAVILY_API_KEY; without a key the SDK would go on without a word and without an account.

    News alone are searched as news, anything else as the web. Queries are cut at 400 characters and 20 results are the
    most.
    """

    name = "tavily"
    types = frozenset({SourceType.WEB, SourceType.NEWS})
    at_once = 8
    per_minute = 100.0  # of a development key
    needs = TAVILY
    url: ClassVar[str] = "https://api.tavily.com"
    key_variable = KEY_VARIABLE
    longest_query = 400

    def _set_up(self) -> None:
        self._sdks = PerLoop(self._sdk, _nothing)

    async def aclose(self) -> None:
        await self._sdks.aclose()
        await super().aclose()

    async def _find(self, request: SearchRequest) -> Sequence[SearchResult]:
        responses: list[httpx.Response] = []
        token = _responses.set(responses)
        try:
            await self._ask(self._sdks.here(), request)
        except errors.TimeoutError:
            raise httpx.ReadTimeout("") from None
        except Exception:
            # The response says more than what the SDK makes of it, if it came whole.
            if not _came_whole(responses):
                raise
        finally:
            _responses.reset(token)
        if not responses:
            raise MalformedError
        if responses[0].status_code != 200:
            raise self._refusal(responses[0], (self._query(request),))
        answer = record(read_json(responses[0].content, values=MAX_VALUES))
        if not isinstance(answer.get("results"), list):
            raise MalformedError
        return [result for item in records(answer["results"]) if (result := _result(item))]

    async def _ask(self, sdk: AsyncTavilyClient, request: SearchRequest) -> None:
        filters = request.filters
        await sdk.search(
            self._query(request),
            search_depth="basic",
            topic="news" if set(request.source_types) == {SourceType.NEWS} else "general",
            max_results=min(request.limit + len(request.exclude), _MAX_RESULTS),
            include_domains=domains(filters.domains)[:_MAX_WANTED] or None,
            exclude_domains=domains(filters.not_domains)[:_MAX_UNWANTED] or None,
            start_date=filters.since.isoformat() if filters.since else None,
            end_date=_after(filters.latest).isoformat() if filters.latest else None,
            include_answer=False,
            include_raw_content="text",
            include_images=False,
            timeout=self.timeout,
        )

    def _trouble(self, status: int, body: Any) -> Trouble | None:
        return Trouble.QUOTA if status in _SPENT else None

    def _client(self) -> httpx.AsyncClient:
        client = super()._client()
        client.base_url = httpx.URL(self.base_url)
        client.event_hooks["response"].append(_keep_response)
        return client

    def _sdk(self) -> AsyncTavilyClient:
        # A client of its own: the SDK writes the key into the headers of the one that it is given.
        key = self._key.get_secret_value() if self._key else ""
        return AsyncTavilyClient(api_key=key, api_base_url=self.base_url, client=self._clients.here())


async def _keep_response(response: httpx.Response) -> None:
    responses = _responses.get()
    if responses is not None:
        responses.append(response)


def _came_whole(responses: list[httpx.Response]) -> bool:
    try:
        return bool(responses) and responses[0].content is not None
    except httpx.ResponseNotRead:
        return False


async def _nothing(_: AsyncTavilyClient) -> None:
    """The SDK does not close a client that it did not create."""


def _after(latest: date) -> date:
    """The day after: what is published on the last day is wanted too."""
    return latest + timedelta(days=1) if latest < date.max else latest


def _result(item: Any) -> SearchResult | None:
    where = address(item.get("url"))
    if where is None:
        return None
    score = item.get("score")
    return SearchResult(
        address=where,
        title=line(item.get("title"), 300) or where,
        snippet=line(item.get("content")),
        extract=whole(item.get("raw_content")) or whole(item.get("content")) or None,
        published=day(item.get("published_date")),
        metadata=only({"score": score if isinstance(score, float) else None}),
    )
