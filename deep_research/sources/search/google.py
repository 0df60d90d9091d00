"""Google Programmable Search: the web as Google ranks it, ten results a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any, ClassVar

from pydantic import SecretStr

from deep_research.sources.search.base import SearchFilters, SearchRequest, SearchResult, SourceType, Trouble
from deep_research.sources.search.fields import (
    MAX_TITLE_CHARS,
    address,
    day,
    domains,
    language,
    line,
    record,
    records,
    text,
)
from deep_research.sources.search.keys import GOOGLE
from deep_research.sources.search.web_service import SECONDS, HttpSearch, MalformedError, missing, setting

KEY_VARIABLE = GOOGLE.required[0]
ENGINE_VARIABLE = GOOGLE.required[1]

_MAX_PAGE_RESULTS = 10
_MAX_RESULTS = 100
_MAX_WORDS = 32  # Google ignores those that come after
_MAX_SITES = 8
_FIRST_DAY = date(1900, 1, 1)
_SPENT = ("dailylimitexceeded", "quotaexceeded", "per day")
_DAYS = ("article:published_time", "og:published_time", "datepublished", "citation_publication_date", "date")
# Those that ``lr`` takes; where Google calls a language otherwise, its name.
_SAME = "ar bg ca cs da de el en es et fi fr hr hu id is it ja ko lt lv nl no pl pt ro ru sk sl sr sv tr"
_LANGUAGES = {code: code for code in _SAME.split(" ")} | {"he": "iw", "nb": "no", "nn": "no", "zh": "zh-CN"}


class Google(HttpSearch):
    """Needs GOOGLE_API_KEY and GOOGLE_CSE_ID, the engine (``engine_id``). Of queries, 32 words count; the rest is cut.

    Each ten results are a request, 100 the most. The free plan has 100 requests a day.
    """

    name = "google"
    types = frozenset({SourceType.WEB})
    at_once = 4
    per_minute = 60.0
    keeps_language = True
    needs = GOOGLE
    url: ClassVar[str] = "https://www.googleapis.com"
    key_variable = KEY_VARIABLE
    key_header = ("x-goog-api-key", "")
    longest_query = 1_000

    def __init__(
        self,
        *,
        api_key: SecretStr | str | None = None,
        engine_id: str | None = None,
        base_url: str | None = None,
        timeout: float = SECONDS,
    ) -> None:
        super().__init__(api_key=api_key, base_url=base_url, timeout=timeout)
        self.engine_id = setting(engine_id, ENGINE_VARIABLE)
        if not self.engine_id:
            raise missing(self.name, self.needs.required)

    async def _find(self, request: SearchRequest) -> Sequence[SearchResult]:
        params = self._params(request)
        results: dict[str, SearchResult] = {}
        start = 1
        while start <= _MAX_RESULTS:
            number = (
                _MAX_PAGE_RESULTS if request.exclude else min(_MAX_PAGE_RESULTS, request.limit - len(results))
            )
            number = min(number, _MAX_RESULTS - start + 1)
            page = await self._get("/customsearch/v1", {**params, "num": number, "start": start})
            items = _items(page)
            for result in filter(None, map(_result, items)):
                if result.address not in request.exclude:
                    results.setdefault(result.address, result)
            if len(results) >= request.limit or not items or not _has_more(page):
                break
            start += number
        return list(results.values())

    def _params(self, request: SearchRequest) -> dict[str, str | int]:
        filters = request.filters
        operators, params = _sites(filters)
        words = self._query(request).split()[: max(1, _MAX_WORDS - len(operators))]
        params |= {"cx": self.engine_id, "q": " ".join([*words, *operators])}
        if filters.since or filters.latest:
            # Ranges of days have both ends.
            first = max(filters.since or _FIRST_DAY, _FIRST_DAY)
            last = filters.latest or datetime.now(UTC).date()
            params["sort"] = f"date:r:{_digits(first)}:{_digits(last)}"
        if code := _LANGUAGES.get(language(filters.language) or ""):
            params["lr"] = f"lang_{code}"
        return params

    def _trouble(self, status: int, body: Any) -> Trouble | None:
        error = record(record(body).get("error"))
        reasons = [text(item.get("reason")) for item in records(error.get("errors"))]
        error_text = " ".join([text(error.get("message")), *reasons]).lower()
        if status in (403, 429) and any(word in error_text for word in _SPENT):
            return Trouble.QUOTA
        if status == 403 and "ratelimitexceeded" in error_text:
            return Trouble.TRANSIENT
        return None


def _digits(of: date) -> str:
    return of.isoformat().replace("-", "")


def _sites(filters: SearchFilters) -> tuple[list[str], dict[str, str | int]]:
    """The domains as operators of the query and as parameters. More than the query has room for are left to the code that
    filters the results."""
    included_sites, excluded_sites = domains(filters.domains), domains(filters.not_domains)
    params: dict[str, str | int] = {}
    operators: list[str] = []
    if len(included_sites) == 1:
        params = {"siteSearch": included_sites[0], "siteSearchFilter": "i"}
    elif 1 < len(included_sites) <= _MAX_SITES:
        operators = " OR ".join(f"site:{name}" for name in included_sites).split()
    operators += [f"-site:{name}" for name in excluded_sites[:_MAX_SITES]]
    return operators, params


def _items(page: Any) -> list[Mapping[str, Any]]:
    answer = record(page)
    # Where nothing was found there are no items, and still the rest of an answer.
    if "searchInformation" not in answer and answer.get("kind") != "customsearch#search":
        raise MalformedError
    if not isinstance(answer.get("items", []), list):
        raise MalformedError
    return records(answer.get("items"))


def _has_more(page: Any) -> bool:
    return bool(records(record(record(page).get("queries")).get("nextPage")))


def _result(item: Mapping[str, Any]) -> SearchResult | None:
    where = address(item.get("link"))
    if where is None:
        return None
    return SearchResult(
        address=where,
        title=line(item.get("title"), MAX_TITLE_CHARS) or where,
        snippet=line(item.get("snippet")),
        published=_published(records(record(item.get("pagemap")).get("metatags"))),
    )


def _published(tags: Iterable[Mapping[str, Any]]) -> date | None:
    """The day that the page itself says, in its head."""
    for page in list(tags)[:3]:
        for name in _DAYS:
            if published := day(page.get(name)):
                return published
    return None
