"""The format of MediaWiki's action API: a search whose pages are told about, and the text of a page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from deep_research.testing.search_bench import Hit
from servers.search_wire import Asked, RefusedError, SearchWire, whole_number

_WORDS = {
    429: "You have made too many requests.",
    403: "Please set a user-agent and respect our robot policy.",
}


class WikipediaQuery(SearchWire):
    """A hit is a page, numbered from 1; one whose ``venue`` is ``disambiguation`` lists what a name may mean."""

    path = "/w/api.php"
    takes_key = False
    params = frozenset(
        (
            "action",
            "format",
            "formatversion",
            "generator",
            "gsrsearch",
            "gsrlimit",
            "gsrnamespace",
            "prop",
            "inprop",
            "ppprop",
            "pageids",
            "exlimit",
            "explaintext",
            "exsectionformat",
            "maxlag",
        )
    )

    def answer(self, asked: Asked, hits: Sequence[Hit]) -> Any:
        params = asked.params
        agent = asked.headers.get("user-agent", "")
        if not agent or "python" in agent.lower():
            raise RefusedError(403, _WORDS[403])
        if (params.get("action"), params.get("format")) != ("query", "json"):
            raise RefusedError(200, "Unrecognized value for parameter.", "badvalue")
        if params.get("formatversion") != "2":
            raise RefusedError(200, "Only version 2 is spoken here.", "badvalue")
        if "pageids" in params:
            return self._text(params, hits)
        query = params.get("gsrsearch", "")
        if params.get("generator") != "search" or not query.strip():
            raise RefusedError(200, 'The "gsrsearch" parameter must be set.', "missingparam")
        if len(query) > 300:
            raise RefusedError(
                200, "Search request is longer than the maximum.", "cirrussearch-query-too-long"
            )
        limit = whole_number(params.get("gsrlimit", 10), 1, 500, "gsrlimit")
        pages = [_page(hit, number) for number, hit in enumerate(hits[:limit], 1)]
        if not pages:
            return {"batchcomplete": True}
        # Pages are ordered by their number, and say themselves which place they have.
        return {"batchcomplete": True, "query": {"pages": pages[::-1]}}

    def _text(self, params: Any, hits: Sequence[Hit]) -> Any:
        number = whole_number(params["pageids"], 1, max(1, len(hits)), "pageids")
        if params.get("prop") != "extracts" or "explaintext" not in params:
            raise RefusedError(200, "Unrecognized value for parameter.", "badvalue")
        page = {"pageid": number, "ns": 0, "title": hits[number - 1].title, "extract": hits[number - 1].text}
        return {"batchcomplete": True, "query": {"pages": [page]}}

    def error(self, status: int, message: str | None = None, code: str | None = None) -> Any:
        words = message or _WORDS.get(status, "The request cannot be answered.")
        return {"error": {"code": code or "internal_api_error", "info": words}, "servedby": "mw-api.example"}


def _page(hit: Hit, index: int) -> Any:
    if hit.spoiled is not None:
        return hit.spoiled
    page = {
        "pageid": index,
        "ns": 0,
        "title": hit.title,
        "index": index,
        "contentmodel": "wikitext",
        "pagelanguage": "en",
        "touched": "2026-05-02T10:11:12Z",
        "lastrevid": 1_000_000 + index,
        "length": 20_000,
        "fullurl": hit.url,
        "canonicalurl": hit.url,
    }
    return page | {"pageprops": {"disambiguation": ""}} if hit.venue == "disambiguation" else page
