"""The format of SearXNG's search with ``format=json``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deep_research.testing.search_bench import Hit
from servers.search_wire import (
    Asked,
    RefusedError,
    SearchWire,
    bearer,
    whole_number,
)

_PAGE = 10
_CATEGORIES = frozenset(("general", "news", "science", "it", "images", "videos", "map", "music", "files"))


class SearXNGSearch(SearchWire):
    """Ten results a page, however many are wanted."""

    path = "/search"
    params = frozenset(
        ("q", "format", "categories", "engines", "language", "pageno", "time_range", "safesearch", "theme")
    )

    def key(self, asked: Asked) -> str | None:
        return bearer(asked)

    def answer(self, asked: Asked, hits: Sequence[Hit]) -> Any:
        params = asked.params
        if not params.get("q", "").strip():
            raise RefusedError(400, "No query")
        if params.get("format") != "json":
            raise RefusedError(403, "Forbidden")
        if not set(params.get("categories", "general").split(",")) <= _CATEGORIES:
            raise RefusedError(400, "Invalid categories")
        if params.get("time_range", "day") not in ("day", "week", "month", "year"):
            raise RefusedError(400, "Invalid time range")
        page = whole_number(params.get("pageno", 1), 1, 100, "pageno")
        found = hits[(page - 1) * _PAGE : page * _PAGE]
        return {
            "query": params["q"],
            "number_of_results": 0,
            "results": [_item(hit, number) for number, hit in enumerate(found, 1)],
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": [],
        }

    def error(self, status: int, message: str | None = None, code: str | None = None) -> Any:
        return {"error": message or "The request cannot be answered."}


def _item(hit: Hit, number: int) -> Any:
    if hit.spoiled is not None:
        return hit.spoiled
    return {
        "url": hit.url,
        "title": hit.title,
        "content": hit.text,
        "publishedDate": f"{hit.published}T00:00:00" if isinstance(hit.published, str) else hit.published,
        "thumbnail": "",
        "engine": "mojeek",
        "engines": ["mojeek", "wikipedia"],
        "positions": [number],
        "score": 1 / number,
        "category": "general",
        "template": "default.html",
        "parsed_url": ["https", "example.org", "/", "", "", ""],
    }
