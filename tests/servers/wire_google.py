"""The format of Google's Custom Search JSON API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from deep_research.testing.search_bench import Hit
from servers.search_wire import Asked, RefusedError, SearchWire, whole_number

_STATES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_REASONS = {400: "badRequest", 403: "forbidden", 404: "notFound", 429: "rateLimitExceeded"}


class GoogleSearch(SearchWire):
    path = "/customsearch/v1"
    params = frozenset(
        (
            "c2coff",
            "cr",
            "cx",
            "dateRestrict",
            "exactTerms",
            "excludeTerms",
            "fields",
            "fileType",
            "filter",
            "gl",
            "highRange",
            "hl",
            "hq",
            "key",
            "linkSite",
            "lowRange",
            "lr",
            "num",
            "orTerms",
            "q",
            "rights",
            "safe",
            "siteSearch",
            "siteSearchFilter",
            "sort",
            "start",
        )
    )

    def key(self, asked: Asked) -> str | None:
        return asked.headers.get("x-goog-api-key") or asked.params.get("key")

    def no_key(self) -> RefusedError:
        return RefusedError(400, "API key not valid. Please pass a valid API key.", "API_KEY_INVALID")

    def answer(self, asked: Asked, hits: Sequence[Hit]) -> Any:
        params = asked.params
        if not params.get("cx") or not params.get("q"):
            raise RefusedError(400, "Request contains an invalid argument.")
        number = whole_number(params.get("num", 10), 1, 10, "num")
        start = whole_number(params.get("start", 1), 1, 100, "start")
        if start + number > 101:
            raise RefusedError(400, "Request contains an invalid argument.")
        if not re.fullmatch(r"date:r:\d{8}:\d{8}", params.get("sort", "date:r:20000101:20000101")):
            raise RefusedError(400, "Invalid sort.")
        if not re.fullmatch(r"lang_[a-z]{2}(-[A-Z]{2})?", params.get("lr", "lang_en")):
            raise RefusedError(400, "Invalid lr.")
        if params.get("siteSearchFilter", "i") not in ("i", "e"):
            raise RefusedError(400, "Invalid siteSearchFilter.")
        found = hits[start - 1 : start - 1 + number]
        request = {"title": "Google Custom Search", "count": len(found), "startIndex": start}
        answer: dict[str, Any] = {
            "kind": "customsearch#search",
            "url": {"type": "application/json", "template": "https://www.googleapis.com/customsearch/v1?q="},
            "queries": {"request": [request]},
            "searchInformation": {"searchTime": 0.25, "totalResults": str(len(hits))},
        }
        if start - 1 + number < len(hits):
            answer["queries"]["nextPage"] = [request | {"startIndex": start + number}]
        return answer | {"items": [_item(hit) for hit in found]} if found else answer

    def error(self, status: int, message: str | None = None, code: str | None = None) -> Any:
        words = message or "The request cannot be answered."
        reason = code or _REASONS.get(status, "backendError")
        return {
            "error": {
                "code": status,
                "message": words,
                "errors": [{"message": words, "domain": "global", "reason": reason}],
                "status": _STATES.get(status, "UNKNOWN"),
            }
        }


def _item(hit: Hit) -> Any:
    if hit.spoiled is not None:
        return hit.spoiled
    tags = {"og:title": hit.title} | ({"article:published_time": hit.published} if hit.published else {})
    return {
        "kind": "customsearch#result",
        "title": hit.title,
        "link": hit.url,
        "displayLink": "example.org",
        "snippet": hit.text,
        "htmlSnippet": hit.text,
        "pagemap": {"metatags": [tags]},
    }
