"""SearXNG: your own instance asks many web engines and shows none of them who asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import SecretStr

from deep_research.sources.search.base import SearchRequest, SearchResult, SourceType
from deep_research.sources.search.fields import (
    MAX_TITLE_CHARS,
    address,
    day,
    domains,
    language,
    line,
    only,
    record,
    records,
    shortened,
)
from deep_research.sources.search.keys import SEARXNG
from deep_research.sources.search.web_service import SECONDS, HttpSearch, MalformedError, missing, setting

URL_VARIABLE = SEARXNG.required[0]

_CATEGORIES = {
    SourceType.WEB.value: "general",
    SourceType.NEWS.value: "news",
    SourceType.ACADEMIC.value: "science",
}
_MAX_PAGES = 5


class SearXNG(HttpSearch):
    """Needs SEARXNG_URL or ``base_url``. The instance must allow the format `json`. Sends ``api_key`` as a bearer token,
    for instances behind a login.

    It ignores the date filters; the engine filters the results. A query has at most 500 characters; a search sends one
    to five requests.
    """

    name = "searxng"
    types = frozenset({SourceType.WEB, SourceType.ACADEMIC, SourceType.NEWS})
    at_once = 4
    keeps_language = True
    needs = SEARXNG
    longest_query = 500

    def __init__(
        self,
        *,
        api_key: SecretStr | str | None = None,
        base_url: str | None = None,
        timeout: float = SECONDS,
    ) -> None:
        where = setting(base_url, URL_VARIABLE)
        if not where:
            raise missing(self.name, self.needs.required)
        super().__init__(api_key=api_key, base_url=where, timeout=timeout)

    async def _find(self, request: SearchRequest) -> Sequence[SearchResult]:
        params = self._params(request)
        results: dict[str, SearchResult] = {}
        for page in range(1, _MAX_PAGES + 1):
            items = self._items(await self._get("/search", {**params, "pageno": page}), first=page == 1)
            before = len(results)
            for result in filter(None, map(_result, items)):
                if result.address not in request.exclude:
                    results.setdefault(result.address, result)
            if len(results) >= request.limit or len(results) == before:
                break
        return list(results.values())

    def _params(self, request: SearchRequest) -> dict[str, str | int]:
        query = self._query(request)
        sites = domains(request.filters.domains)
        if len(sites) == 1:  # what all engines know; of several each has its own idea
            query = f"{shortened(query, self.longest_query - len(sites[0]) - 6)} site:{sites[0]}"
        categories = [_CATEGORIES[kind] for kind in request.source_types if kind in _CATEGORIES]
        params: dict[str, str | int] = {
            "q": query,
            "format": "json",
            "categories": ",".join(dict.fromkeys(categories)) or "general",
        }
        if code := language(request.filters.language):
            params["language"] = code
        return params

    def _items(self, page: Any, *, first: bool) -> list[Mapping[str, Any]]:
        answer = record(page)
        items = answer.get("results")
        if not isinstance(items, list):
            raise MalformedError
        if first and not items and answer.get("unresponsive_engines"):
            # No engine answered, so zero results mean nothing.
            raise MalformedError("none of the engines answered")
        return records(items)

    def _hint(self, status: int) -> str:
        return "Allow the format `json` in the instance's settings (search.formats)." if status == 403 else ""


def _result(item: Mapping[str, Any]) -> SearchResult | None:
    where = address(item.get("url"))
    if where is None:
        return None
    engines = item.get("engines")
    engine_names = (
        ", ".join(name for name in engines if isinstance(name, str)) if isinstance(engines, list) else ""
    )
    return SearchResult(
        address=where,
        title=line(item.get("title"), MAX_TITLE_CHARS) or where,
        snippet=line(item.get("content")),
        published=day(item.get("publishedDate")),
        metadata=only({"engines": engine_names, "score": _score(item.get("score"))}),
    )


def _score(value: Any) -> str | None:
    try:
        return f"{value:g}" if isinstance(value, int | float) else None
    except OverflowError:  # JSON knows no largest number
        return None
