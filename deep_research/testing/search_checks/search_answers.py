"""Checks of search answers: count, order, form."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from deep_research.sources.search.base import SearchFilters, SearchResult, SourceType
from deep_research.testing.search_bench import QUERY, Bench, Hit, hits

_FILTERS = (
    SearchFilters(since=date(2020, 2, 29)),
    SearchFilters(until=date(2024, 6, 30)),
    SearchFilters(as_of=date(2024, 6, 30)),
    SearchFilters(since=date(2024, 5, 17), until=date(2024, 5, 17)),
    SearchFilters(since=date.min, until=date.max),
    SearchFilters(domains=("example.org",)),
    SearchFilters(domains=("example.org", "example.com"), not_domains=("example.net",)),
    SearchFilters(domains=tuple(f"{n}.example.org" for n in range(400))),
    SearchFilters(not_domains=tuple(f"{n}.example.net" for n in range(400))),
    SearchFilters(domains=("münchen.example", "a b", "x OR y", "-", "", "x" * 300)),
    SearchFilters(language="de"),
    SearchFilters(language="pt-BR"),
    SearchFilters(language="../en"),
    SearchFilters(language=""),
)
_QUERIES = (
    "x",
    "Wer hütete das Licht? 灯台は誰が守ったか — (“quoted”) & more",
    "  spaces \t and\nlines  ",
    "seven\x00 ships \u202e\ud800",
    '"exact" -minus +plus site:x OR a|b * ~1 ? [1 TO 2] {!}',
    "word " * 1_000,
    "y" * 5_000,
    "&key=1&q=2#part?x=%00",
)


async def no_more_come_than_were_asked_for(bench: Bench) -> None:
    bench.holds(hits(30))
    for limit in (1, 3, 10, 12):
        assert len((await bench.search(limit=limit)).answer) == limit


async def one_connection_serves_many_searches(bench: Bench) -> None:
    for _ in range(3):
        assert (await bench.search(limit=1)).answer
    assert bench.server.accepted == 1


async def all_come_when_there_are_fewer(bench: Bench) -> None:
    bench.holds(hits(3))
    assert len((await bench.search(limit=12)).answer) == 3


async def a_limit_that_no_service_reaches_is_no_harm(bench: Bench) -> None:
    bench.holds(hits(30))
    assert 10 <= len((await bench.search(limit=500)).answer) <= 30


async def the_order_is_that_of_the_service(bench: Bench) -> None:
    there = hits(15)[::-1]
    bench.holds(there)
    assert (await bench.search(limit=12)).addresses == [hit.url for hit in there[:12]]


async def nothing_found_is_an_empty_list(bench: Bench) -> None:
    bench.holds([])
    assert (await bench.search()).answer == []


async def what_is_excluded_does_not_come(bench: Bench) -> None:
    there = hits(12)
    bench.holds(there)
    unwanted = frozenset(hit.url for hit in there[:2])
    outcome = await bench.search(limit=5, exclude=unwanted)
    assert outcome.addresses == [hit.url for hit in there[2:7]]


async def what_is_known_may_come_again(bench: Bench) -> None:
    there = hits(3)
    bench.holds(there)
    assert len((await bench.search(known_addresses=frozenset(hit.url for hit in there))).answer) == 3


async def every_result_is_well_formed(bench: Bench) -> None:
    bench.holds(
        [*hits(2), Hit(url="https://example.org/é", title="Cafe\u0301 & Ba\u0308r", text="Cafe\u0301")]
    )
    outcome = await bench.search()
    assert outcome.answer
    for result in outcome.answer:
        well_formed(result)


async def filters_are_passed_on_or_left(bench: Bench) -> None:
    """A service that is strict about its parameters refuses none of them."""
    for filters in _FILTERS:
        outcome = await bench.search(filters=filters)
        assert len(outcome.answer) == 3, filters
        assert all(request.status == 200 for request in outcome.requests)


async def a_language_is_asked_for_where_the_provider_says_so(bench: Bench) -> None:
    """What ``keeps_language`` says is so."""
    provider = bench.provider()
    outcomes = [
        await bench.search(provider=provider, filters=SearchFilters(language=code)) for code in (None, "de")
    ]
    plain, german = ([(request.path, request.params) for request in outcome.requests] for outcome in outcomes)
    assert (plain != german) == provider.keeps_language


async def any_kind_of_source_may_be_requested(bench: Bench) -> None:
    for kinds in ((), *((kind.value,) for kind in SourceType), tuple(SourceType), ("something else",)):
        assert len((await bench.search(source_types=kinds)).answer) == 3, kinds


async def any_question_can_be_asked(bench: Bench) -> None:
    """One that is longer than the service takes is shortened."""
    for query in _QUERIES:
        assert len((await bench.search(query)).answer) == 3, query[:40]


async def many_at_once_each_get_their_own_results(bench: Bench) -> None:
    def echo(request: Any) -> Sequence[Hit]:
        parameter = next(
            name for name in ("q", "query", "search", "gsrsearch", "pageids") if name in request.params
        )
        number = str(request.params[parameter]).rpartition(" ")[2]
        return [Hit(url=f"https://example.org/{number}")]

    bench.server.hits = echo
    provider = bench.provider()
    outcomes = await asyncio.gather(
        *(bench.search(f"ship number {n}", provider=provider) for n in range(1, 13))
    )
    assert [outcome.addresses for outcome in outcomes] == [[f"https://example.org/{n}"] for n in range(1, 13)]


async def nothing_but_the_search_is_asked_for(bench: Bench) -> None:
    """Neither answers nor pictures; by GET, but for services that are asked by POST at their own search."""
    outcome = await bench.search()
    assert outcome.answer
    for request in outcome.requests:
        assert request.method == "GET" or (request.method, request.path) == ("POST", "/search")
        assert not request.params.get("include_answer")
        assert not request.params.get("include_images")
        assert "cookie" not in request.headers
    first = outcome.requests[0]
    assert QUERY in [str(value) for value in first.params.values()]


async def who_asks_says_so(bench: Bench) -> None:
    for request in (await bench.search()).requests:
        assert request.headers["user-agent"].startswith("deep-research")


def well_formed(result: SearchResult) -> None:
    """Whether a result can be shown and stored as it is."""
    assert result.address.startswith(("http://", "https://")), result.address
    assert result.title
    assert result.provider == ""
    assert len(result.title) <= 300
    assert len(result.snippet) <= 1_000
    for words in (result.title, result.snippet, result.text or "", *result.authors):
        assert unicodedata.is_normalized("NFC", words)
        assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs") for c in words if c not in "\n\t"), words
        words.encode()
    assert result.published is None or type(result.published) is date
    assert not isinstance(result.published, datetime)
    assert result.text_at is None or result.text_at.startswith(("http://", "https://"))
    assert all(isinstance(value, str) for value in result.metadata.values())
