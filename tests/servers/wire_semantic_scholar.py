"""The format of the relevance search of Semantic Scholar's graph of papers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from deep_research.testing.search_bench import Hit
from servers.search_wire import Asked, RefusedError, SearchWire, whole_number

_FIELDS = frozenset(
    (
        "paperId",
        "corpusId",
        "externalIds",
        "url",
        "title",
        "abstract",
        "venue",
        "publicationVenue",
        "year",
        "referenceCount",
        "citationCount",
        "influentialCitationCount",
        "isOpenAccess",
        "openAccessPdf",
        "fieldsOfStudy",
        "publicationTypes",
        "publicationDate",
        "journal",
        "authors",
        "tldr",
    )
)
_DAY = r"(\d{4}(-\d{2}(-\d{2})?)?)?"


class SemanticScholarSearch(SearchWire):
    path = "/graph/v1/paper/search"
    params = frozenset(
        (
            "query",
            "fields",
            "publicationTypes",
            "openAccessPdf",
            "minCitationCount",
            "publicationDateOrYear",
            "year",
            "venue",
            "fieldsOfStudy",
            "offset",
            "limit",
        )
    )

    def key(self, asked: Asked) -> str | None:
        return asked.headers.get("x-api-key")

    def no_key(self) -> RefusedError:
        return RefusedError(403, "Forbidden")

    def answer(self, asked: Asked, hits: Sequence[Hit]) -> Any:
        params = asked.params
        if not params.get("query", "").strip():
            raise RefusedError(400, "Missing required parameter: 'query'")
        fields = params.get("fields", "paperId,title").split(",")
        if unknown := set(fields) - _FIELDS:
            raise RefusedError(400, f"Unrecognized or unsupported fields: {sorted(unknown)}")
        if not re.fullmatch(f"{_DAY}(:{_DAY})?", params.get("publicationDateOrYear", "2020")):
            raise RefusedError(400, "Invalid publicationDateOrYear")
        limit = whole_number(params.get("limit", 10), 1, 100, "limit")
        offset = whole_number(params.get("offset", 0), 0, 999, "offset")
        if not hits:
            return {"total": 0, "offset": 0}
        found = [_item(hit, number, fields) for number, hit in enumerate(hits)]
        return {"total": len(hits), "offset": offset, "data": found[offset : offset + limit]}

    def error(self, status: int, message: str | None = None, code: str | None = None) -> Any:
        if status in (403, 429):
            return {"message": message or "Too Many Requests", "code": str(status)}
        return {"error": message or "Internal Server Error"}


def _item(hit: Hit, number: int, fields: Sequence[str]) -> Any:
    if hit.spoiled is not None:
        return hit.spoiled
    ids = (
        {"CorpusId": number}
        | ({"DOI": hit.doi} if hit.doi else {})
        | ({"ArXiv": hit.arxiv} if hit.arxiv else {})
    )
    whole = {
        "externalIds": ids,
        "url": hit.url,
        "title": hit.title,
        "abstract": hit.text,
        "venue": hit.venue or "",
        "year": int(hit.published[:4])
        if isinstance(hit.published, str) and hit.published[:4].isdigit()
        else None,
        "publicationDate": hit.published,
        "publicationTypes": ["JournalArticle"],
        "citationCount": hit.citations if hit.citations is not None else number,
        "openAccessPdf": {"url": hit.pdf or "", "status": "GREEN" if hit.pdf else None},
        "authors": [{"authorId": "1", "name": name} for name in hit.authors],
        "tldr": None,
    }
    return {"paperId": f"{number:040x}"} | {name: whole[name] for name in fields if name in whole}
