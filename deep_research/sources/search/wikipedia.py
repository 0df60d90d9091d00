"""Wikipedia: articles of an edition as plain text, so that nothing has to be fetched."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import httpx

from deep_research.errors import SearchError
from deep_research.models.clients import checked_url
from deep_research.sources.search.base import SearchRequest, SearchResult, SourceType, Trouble, search_failure
from deep_research.sources.search.fields import (
    MAX_TITLE_CHARS,
    address,
    count,
    language,
    line,
    only,
    record,
    records,
    text,
    whole,
)
from deep_research.sources.search.keys import WIKIPEDIA
from deep_research.sources.search.web_service import HttpSearch, MalformedError, Params
from deep_research.unpacking import BodyError

LICENSE = "CC BY-SA 4.0"

_EDITION = "{language}"
_DEFAULT_EDITION = "en"
_MAX_RESULTS = 50
_MAX_TEXTS_AT_ONCE = 3  # the most that its rules allow
_COMMON: Params = {"action": "query", "format": "json", "formatversion": 2}
_PASSING = (
    "ratelimited",
    "maxlag",
    "readonly",
    "internal_api_error",
    "cirrussearch",
    "search-error",
    "too-many",
)


class Wikipedia(HttpSearch):
    """The edition is that of ``filters.language``, else English; ``base_url`` may have ``{language}`` in it. Queries are
    cut at 300 characters, 50 results are the most. A search is a request, and another for each text. Texts that cannot
    be had are left to be fetched. DEEP_RESEARCH_FETCH_CONTACT says whom to write to, as the service asks.
    """

    name = "wikipedia"
    types = frozenset({SourceType.WEB})
    at_once = 1
    per_minute = 30.0  # searches; its rules count requests
    needs = WIKIPEDIA
    url: ClassVar[str] = "https://{language}.wikipedia.org"
    longest_query = 300
    says_who = True

    def _set_up(self) -> None:
        self.keeps_language = _EDITION in self.base_url

    def _check_url(self, url: str) -> str:
        checked_url(url.replace(_EDITION, _DEFAULT_EDITION), of=self.name)
        return url.strip().rstrip("/")

    async def _find(self, request: SearchRequest) -> Sequence[SearchResult]:
        edition = language(request.filters.language) or _DEFAULT_EDITION
        base_url = self.base_url.replace(_EDITION, edition)
        pages = await self._pages(request, base_url)
        gate = asyncio.Semaphore(_MAX_TEXTS_AT_ONCE)
        willing = True  # a service that refused one text is not asked for the others

        async def text_of(page: Mapping[str, Any]) -> str | None:
            nonlocal willing
            async with gate:
                if not willing:
                    return None
                try:
                    return await self._text(page["pageid"], base_url)
                except (SearchError, MalformedError, BodyError, httpx.HTTPError):
                    willing = False
                    return None

        async with asyncio.TaskGroup() as group:
            texts = [group.create_task(text_of(page)) for page in pages]
        return [_result(page, task.result(), edition) for page, task in zip(pages, texts, strict=True)]

    async def _pages(self, request: SearchRequest, base_url: str) -> list[Mapping[str, Any]]:
        """The pages that were found, best first."""
        answer = await self._ask_api(
            {
                **_COMMON,
                "generator": "search",
                "gsrsearch": self._query(request),
                "gsrlimit": min(request.limit + len(request.exclude) + 2, _MAX_RESULTS),
                "gsrnamespace": 0,
                "prop": "info|pageprops",
                "inprop": "url",
                "ppprop": "disambiguation",
            },
            base_url,
        )
        if "query" not in answer and "batchcomplete" in answer:
            return []
        pages = record(answer.get("query")).get("pages")
        if not isinstance(pages, list):
            raise MalformedError
        usable = [page for page in records(pages) if _is_article(page)]
        usable.sort(key=lambda page: count(page.get("index")) or 0)
        new_pages = [page for page in usable if page["fullurl"] not in request.exclude]
        return new_pages[: request.limit]

    async def _text(self, page: int, base_url: str) -> str | None:
        """The text of a page; None where it has none. Whole texts are given one a request."""
        answer = await self._ask_api(
            {**_COMMON, "pageids": page, "prop": "extracts", "explaintext": 1, "exsectionformat": "plain"},
            base_url,
        )
        pages = records(record(answer.get("query")).get("pages"))
        return whole(pages[0].get("extract")) or None if pages else None

    async def _ask_api(self, params: Params, base_url: str) -> Mapping[str, Any]:
        answer = record(await self._get("/w/api.php", params, base_url=base_url))
        if error := record(answer.get("error")):
            # Errors come with status 200.
            code = text(error.get("code"))
            passing = code.startswith(_PASSING)
            problem = f"{self.name}: {line(code, 60) or 'an error without a code'}."
            raise search_failure(Trouble.TRANSIENT if passing else Trouble.REFUSED, problem, status=200)
        return answer


def _is_article(page: Mapping[str, Any]) -> bool:
    return (
        count(page.get("pageid")) is not None
        and address(page.get("fullurl")) is not None
        and bool(line(page.get("title")))
        and "disambiguation" not in record(page.get("pageprops"))
    )


def _result(page: Mapping[str, Any], article: str | None, edition: str) -> SearchResult:
    return SearchResult(
        address=page["fullurl"],
        title=line(page["title"], MAX_TITLE_CHARS),
        snippet=line((article or "").partition("\n")[0]),
        text=article,
        language=language(text(page.get("pagelanguage"))) or edition,
        metadata=only({"license": LICENSE, "revision": count(page.get("lastrevid")), "page": page["pageid"]}),
    )
