"""Semantic Scholar: papers of all fields, ranked by relevance, with abstracts, citations and open copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from deep_research.sources.search.base import (
    Scholarly,
    SearchFilters,
    SearchRequest,
    SearchResult,
    SourceType,
)
from deep_research.sources.search.fields import (
    MAX_NAME_CHARS,
    MAX_TITLE_CHARS,
    address,
    count,
    day,
    line,
    names,
    only,
    record,
    records,
    whole,
)
from deep_research.sources.search.identifiers import arxiv_id, at_arxiv, at_doi, doi
from deep_research.sources.search.keys import SEMANTIC_SCHOLAR
from deep_research.sources.search.web_service import HttpSearch, MalformedError

KEY_VARIABLE = SEMANTIC_SCHOLAR.optional[0]

_FIELDS = (
    "title,abstract,tldr,url,venue,year,publicationDate,publicationTypes,citationCount,externalIds,"
    "openAccessPdf,authors"
)
_MAX_RESULTS = 100
_PEERS = frozenset(("JournalArticle", "Conference", "Review", "ClinicalTrial", "MetaAnalysis"))
_PREPRINTS = ("arxiv", "biorxiv", "medrxiv", "ssrn", "research square", "preprints.org", "chemrxiv", "corr")
_KEYLESS_REQUESTS_PER_MINUTE = 20.0  # requests a minute of a pool that everyone without a key shares


class SemanticScholar(HttpSearch):
    """SEMANTIC_SCHOLAR_API_KEY is optional; with one, a request a second. Queries are cut at 300 characters, 100 results
    are the most. ``text`` of a result is the abstract; ``text_at`` a copy that is open."""

    name = "semantic_scholar"
    types = frozenset({SourceType.ACADEMIC})
    at_once = 1
    needs = SEMANTIC_SCHOLAR
    url: ClassVar[str] = "https://api.semanticscholar.org"
    key_variable = KEY_VARIABLE
    key_header = ("x-api-key", "")
    longest_query = 300

    def _set_up(self) -> None:
        self.per_minute = 60.0 if self._key else _KEYLESS_REQUESTS_PER_MINUTE

    async def _find(self, request: SearchRequest) -> Sequence[SearchResult]:
        # Words with a hyphen find nothing there.
        params: dict[str, str | int] = {
            "query": " ".join(self._query(request).replace("-", " ").split()),
            "limit": min(request.limit + len(request.exclude), _MAX_RESULTS),
            "fields": _FIELDS,
        }
        if days := _days(request.filters):
            params["publicationDateOrYear"] = days
        answer = record(await self._get("/graph/v1/paper/search", params))
        if "data" not in answer and answer.get("total") == 0:
            return []
        if not isinstance(answer.get("data"), list):
            raise MalformedError
        return [result for item in records(answer["data"]) if (result := _result(item))]


def _days(filters: SearchFilters) -> str:
    """A range of days, both included, either of which may be left out."""
    first = filters.since.isoformat() if filters.since else ""
    last = filters.latest.isoformat() if filters.latest else ""
    return f"{first}:{last}" if first or last else ""


def _result(item: Mapping[str, Any]) -> SearchResult | None:
    ids = record(item.get("externalIds"))
    its_doi, its_arxiv = doi(ids.get("DOI")), arxiv_id(ids.get("ArXiv"))
    where = at_doi(its_doi) or address(item.get("url"))
    title = line(item.get("title"), MAX_TITLE_CHARS)
    if where is None or not title:
        return None
    abstract = whole(item.get("abstract"))
    venue = line(item.get("venue"), MAX_NAME_CHARS) or None
    year = count(item.get("year"))
    return SearchResult(
        address=where,
        title=title,
        snippet=line(record(item.get("tldr")).get("text")) or line(abstract),
        text=abstract or None,
        text_at=address(record(item.get("openAccessPdf")).get("url")) or at_arxiv(its_arxiv),
        published=day(item.get("publicationDate")),
        authors=names(author.get("name") for author in records(item.get("authors"))),
        scholarly=Scholarly(
            doi=its_doi,
            arxiv=its_arxiv,
            venue=venue,
            reviewed=_reviewed(item.get("publicationTypes"), venue),
            citations=count(item.get("citationCount")),
        ),
        metadata=only({"year": year, "paper": item.get("paperId")}),
    )


def _reviewed(types: Any, venue: str | None) -> bool | None:
    """Preprints are called articles of journals as well, so that the venue goes before the type."""
    if venue and venue.lower().startswith(_PREPRINTS):
        return False
    kinds = {kind for kind in types if isinstance(kind, str)} if isinstance(types, list) else set()
    return True if venue and kinds & _PEERS else None
