"""OpenAlex: an open catalogue of scholarly works, with citations, retractions and open copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, ClassVar

from deep_research.sources.search.base import (
    Scholarly,
    SearchFilters,
    SearchRequest,
    SearchResult,
    SourceType,
    Trouble,
)
from deep_research.sources.search.fields import (
    MAX_NAME_CHARS,
    MAX_TITLE_CHARS,
    address,
    count,
    day,
    language,
    line,
    names,
    only,
    record,
    records,
    text,
    whole,
)
from deep_research.sources.search.identifiers import arxiv_of, at_arxiv, at_doi, doi
from deep_research.sources.search.keys import OPENALEX
from deep_research.sources.search.service_failures import message
from deep_research.sources.search.web_service import HttpSearch, MalformedError

KEY_VARIABLE = OPENALEX.optional[0]

_FIELDS = (
    "id,doi,display_name,publication_date,publication_year,language,type,primary_location,best_oa_location,"
    "authorships,cited_by_count,is_retracted,abstract_inverted_index"
)
_MAX_RESULTS = 100
_MAX_PLACES_WORDS = 20_000  # words of an abstract
_PATTERNS = str.maketrans(dict.fromkeys("?*~|!", " "))  # what would make a question a pattern


class OpenAlex(HttpSearch):
    """OPENALEX_API_KEY is optional; without it a day has about a hundred searches. Queries are cut at 400 characters,
    100 results are the most. ``text`` of a result is the abstract; ``text_at`` a copy that is open. A work that the
    catalogue dates to the first of January has no day: that is how it writes a year."""

    name = "openalex"
    types = frozenset({SourceType.ACADEMIC})
    at_once = 4
    per_minute = 6_000.0
    keeps_language = True
    needs = OPENALEX
    url: ClassVar[str] = "https://api.openalex.org"
    key_variable = KEY_VARIABLE
    longest_query = 400
    says_who = True

    async def _find(self, request: SearchRequest) -> Sequence[SearchResult]:
        params: dict[str, str | int] = {
            "search": " ".join(self._query(request).translate(_PATTERNS).split()),
            "per_page": min(request.limit + len(request.exclude), _MAX_RESULTS),
            "select": _FIELDS,
        }
        if conditions := _conditions(request.filters):
            params["filter"] = ",".join(conditions)
        answer = record(await self._get("/works", params))
        if not isinstance(answer.get("results"), list):
            raise MalformedError
        return [result for item in records(answer["results"]) if (result := _result(item))]

    def _trouble(self, status: int, body: Any) -> Trouble | None:
        error_text = message(body).lower()
        if status == 429 and ("budget" in error_text or "daily" in error_text or "credits" in error_text):
            return Trouble.QUOTA
        return Trouble.TRANSIENT if status == 403 and "rate limit" in error_text else None


def _conditions(filters: SearchFilters) -> list[str]:
    conditions = []
    if filters.since:
        conditions.append(f"from_publication_date:{filters.since.isoformat()}")
    if filters.latest:
        conditions.append(f"to_publication_date:{filters.latest.isoformat()}")
    if code := language(filters.language):
        conditions.append(f"language:{code}")
    return conditions


def _result(item: Mapping[str, Any]) -> SearchResult | None:
    primary, free = record(item.get("primary_location")), record(item.get("best_oa_location"))
    its_doi = doi(item.get("doi"))
    its_arxiv = arxiv_of(its_doi, primary.get("landing_page_url"), free.get("landing_page_url"))
    where = at_doi(its_doi) or address(primary.get("landing_page_url")) or address(item.get("id"))
    title = line(item.get("display_name"), MAX_TITLE_CHARS)
    if where is None or not title:
        return None
    source = record(primary.get("source"))
    abstract = whole(rebuilt(item.get("abstract_inverted_index")))
    retracted = item.get("is_retracted")
    return SearchResult(
        address=where,
        title=title,
        snippet=line(abstract),
        text=abstract or None,
        text_at=address(free.get("pdf_url")) or address(primary.get("pdf_url")) or at_arxiv(its_arxiv),
        published=_published(item.get("publication_date")),
        authors=names(
            record(each.get("author")).get("display_name") for each in records(item.get("authorships"))
        ),
        language=language(text(item.get("language"))),
        scholarly=Scholarly(
            doi=its_doi,
            arxiv=its_arxiv,
            venue=line(source.get("display_name"), MAX_NAME_CHARS) or None,
            reviewed=_reviewed(text(item.get("type")), text(source.get("type"))),
            citations=count(item.get("cited_by_count")),
            retracted=retracted if isinstance(retracted, bool) else None,
        ),
        metadata=only(
            {"type": item.get("type"), "year": count(item.get("publication_year")), "work": item.get("id")}
        ),
    )


def rebuilt(index: Any) -> str:
    """The text of an inverted index, which says of each word at which places it stands."""
    places = [
        (place, word)
        for word, positions in record(index).items()
        if isinstance(positions, list) and isinstance(word, str)
        for place in positions[:_MAX_PLACES_WORDS]
        if isinstance(place, int) and not isinstance(place, bool)
    ]
    return " ".join(word for _, word in sorted(places)[:_MAX_PLACES_WORDS])


def _published(value: Any) -> date | None:
    published = day(value)
    return None if published is None or (published.month, published.day) == (1, 1) else published


def _reviewed(kind: str, venue: str) -> bool | None:
    if kind == "preprint" or venue == "repository":
        return False
    return True if kind in ("article", "review", "letter") and venue in ("journal", "conference") else None
