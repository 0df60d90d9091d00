"""The format of Tavily's search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from deep_research.testing.search_bench import Hit
from servers.search_wire import (
    Asked,
    RefusedError,
    SearchWire,
    bearer,
    is_day,
    whole_number,
)

_WORDS = {
    401: "Unauthorized: missing or invalid API key.",
    429: "Your request has been blocked due to excessive requests.",
    432: "This request exceeds your plan's set usage limit.",
    433: "This request exceeds the pay-as-you-go limit.",
    500: "Internal Server Error",
}


class TavilySearch(SearchWire):
    method = "POST"
    path = "/search"
    params = frozenset(
        (
            "query",
            "auto_parameters",
            "topic",
            "search_depth",
            "chunks_per_source",
            "max_results",
            "time_range",
            "days",
            "start_date",
            "end_date",
            "include_answer",
            "include_raw_content",
            "include_images",
            "include_image_descriptions",
            "include_favicon",
            "include_domains",
            "exclude_domains",
            "country",
            "include_usage",
            "exact_match",
        )
    )

    def key(self, asked: Asked) -> str | None:
        return bearer(asked)

    def no_key(self) -> RefusedError:
        return RefusedError(401, _WORDS[401])

    def answer(self, asked: Asked, hits: Sequence[Hit]) -> Any:
        params = asked.params
        query = params.get("query")
        if not isinstance(query, str) or not query.strip():
            raise RefusedError(400, "Query is missing.")
        if len(query) > 400:
            raise RefusedError(400, "Query is too long. Max query length is 400 characters.")
        if params.get("topic", "general") not in ("general", "news", "finance"):
            raise RefusedError(422, "Invalid topic.")
        if params.get("search_depth", "basic") not in ("basic", "advanced", "fast", "ultra-fast"):
            raise RefusedError(422, "Invalid search depth.")
        for name, most in (("include_domains", 300), ("exclude_domains", 150)):
            if not isinstance(params.get(name, []), list) or len(params.get(name, [])) > most:
                raise RefusedError(400, f"Invalid {name}.")
        first, last = params.get("start_date"), params.get("end_date")
        if any(day is not None and not is_day(day) for day in (first, last)):
            raise RefusedError(400, "Dates must be written YYYY-MM-DD.")
        if first and last and first >= last:
            raise RefusedError(400, "start_date must be before end_date.")
        found = hits[: whole_number(params.get("max_results", 5), 0, 20, "max_results")]
        return {
            "query": query,
            "follow_up_questions": None,
            "answer": None,
            "images": [],
            "results": [_item(hit, number, params) for number, hit in enumerate(found)],
            "response_time": 0.71,
            "request_id": "0b4c9f42-6d0f-4c7e-9d0e-6a6d4ef1f3a7",
        }

    def error(self, status: int, message: str | None = None, code: str | None = None) -> Any:
        return {"detail": {"error": message or _WORDS.get(status, "The request cannot be answered.")}}


def _item(hit: Hit, number: int, params: Mapping[str, Any]) -> Any:
    if hit.spoiled is not None:
        return hit.spoiled
    item = {
        "url": hit.url,
        "title": hit.title,
        "content": hit.text,
        "score": max(0.0, 0.99 - number / 100),
        "raw_content": hit.page if params.get("include_raw_content") else None,
    }
    return item | {"published_date": hit.published} if params.get("topic") == "news" else item
