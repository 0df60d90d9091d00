"""The format of OpenAlex's list of works."""

from __future__ import annotations

from collections.abc import Sequence
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

_SELECTED = frozenset(
    (
        "id",
        "doi",
        "title",
        "display_name",
        "publication_date",
        "publication_year",
        "language",
        "type",
        "primary_location",
        "best_oa_location",
        "open_access",
        "authorships",
        "cited_by_count",
        "is_retracted",
        "abstract_inverted_index",
        "ids",
        "relevance_score",
    )
)
_FILTERS = frozenset(("from_publication_date", "to_publication_date", "language", "type", "is_oa"))


class OpenAlexWorks(SearchWire):
    path = "/works"
    params = frozenset(
        ("search", "filter", "select", "sort", "page", "per_page", "per-page", "cursor", "api_key", "mailto")
    )

    def key(self, asked: Asked) -> str | None:
        return bearer(asked) or asked.params.get("api_key")

    def no_key(self) -> RefusedError:
        return RefusedError(401, "Invalid API key.")

    def answer(self, asked: Asked, hits: Sequence[Hit]) -> Any:
        params = asked.params
        selected = params.get("select", "id").split(",")
        if unknown := set(selected) - _SELECTED:
            raise RefusedError(403, f"{sorted(unknown)[0]} is not a valid select field.")
        if set("*?~") & set(params.get("search", "")):
            raise RefusedError(400, "Wildcards and fuzzy searches need search.exact.")
        for condition in filter(None, params.get("filter", "").split(",")):
            name, _, value = condition.partition(":")
            if name not in _FILTERS or not value:
                raise RefusedError(403, f"{name} is not a valid field.")
            if name.endswith("_date") and not is_day(value):
                raise RefusedError(400, f"Value for param {name} must be a date.")
        number = whole_number(params.get("per_page", 25), 1, 100, "per-page")
        items = [_item(hit, index, selected) for index, hit in enumerate(hits[:number], 1)]
        return {
            "meta": {"count": len(hits), "db_response_time_ms": 40, "page": 1, "per_page": number},
            "results": items,
            "group_by": [],
        }

    def error(self, status: int, message: str | None = None, code: str | None = None) -> Any:
        kinds = {400: "Invalid query parameters error.", 429: "Rate limit exceeded", 404: "Not Found"}
        return {
            "error": code or kinds.get(status, "Error"),
            "message": message or "The request cannot be answered.",
        }


def _item(hit: Hit, number: int, selected: Sequence[str]) -> Any:
    if hit.spoiled is not None:
        return hit.spoiled
    source = (
        {"display_name": hit.venue, "type": "repository" if hit.arxiv else "journal"} if hit.venue else None
    )
    whole = {
        "id": f"https://openalex.org/W{number}",
        "doi": f"https://doi.org/{hit.doi}" if isinstance(hit.doi, str) else hit.doi,
        "display_name": hit.title,
        "title": hit.title,
        "publication_date": hit.published,
        "publication_year": 2024,
        "language": "en",
        "type": "preprint" if hit.arxiv else "article",
        "primary_location": {"landing_page_url": hit.url, "pdf_url": None, "source": source},
        "best_oa_location": {"landing_page_url": hit.url, "pdf_url": hit.pdf} if hit.pdf else None,
        "authorships": [{"author": {"display_name": name}} for name in hit.authors],
        "cited_by_count": hit.citations if hit.citations is not None else number,
        "is_retracted": hit.retracted if hit.retracted is not None else False,
        "abstract_inverted_index": inverted(hit.text),
    }
    return {name: whole[name] for name in selected if name in whole}


def inverted(text: Any) -> Any:
    """Each word with its places; what is no text, as it is."""
    if not isinstance(text, str):
        return text
    index: dict[str, list[int]] = {}
    for place, word in enumerate(text.split()):
        index.setdefault(word, []).append(place)
    return index
