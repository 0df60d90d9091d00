"""Every search provider keeps every promise of the suite."""

from __future__ import annotations

import pytest
from servers import SearchServer, search_hostile_text

from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
from deep_research.sources.search.google import Google
from deep_research.sources.search.openalex import OpenAlex
from deep_research.sources.search.searxng import SearXNG
from deep_research.sources.search.semantic_scholar import SemanticScholar
from deep_research.sources.search.tavily import Tavily
from deep_research.sources.search.wikipedia import Wikipedia
from deep_research.testing.promises import promises
from deep_research.testing.search_suite import SEARCH_CHECKS, Ability, Bench, Check, Subject, checks_for

pytestmark = pytest.mark.timed

OPEN = frozenset({Ability.KEY})


class Memory(SearchProvider):
    """Finds what it was given."""

    name = "memory"
    local = True

    def __init__(self, hits):
        self._hits = hits

    async def search(self, request: SearchRequest) -> list[SearchResult]:
        wanted = [hit for hit in self._hits if hit.url not in request.exclude]
        return [
            SearchResult(address=hit.url, title="A page", snippet="Ships.") for hit in wanted[: request.limit]
        ]


SUBJECTS = {
    "tavily": Subject(
        service=SearchServer,
        make=lambda url, key, seconds: Tavily(api_key=key, base_url=url, timeout=seconds),
        variables=("TAVILY_API_KEY",),
    ),
    "google": Subject(
        service=SearchServer,
        make=lambda url, key, seconds: Google(
            api_key=key, engine_id="engine-1", base_url=url, timeout=seconds
        ),
        variables=("GOOGLE_API_KEY", "GOOGLE_CSE_ID"),
    ),
    "semantic_scholar": Subject(
        service=SearchServer,
        make=lambda url, key, seconds: SemanticScholar(api_key=key, base_url=url, timeout=seconds),
        lacks=OPEN,
    ),
    "openalex": Subject(
        service=SearchServer,
        make=lambda url, key, seconds: OpenAlex(api_key=key, base_url=url, timeout=seconds),
        lacks=OPEN,
    ),
    "wikipedia": Subject(
        service=SearchServer,
        make=lambda url, key, seconds: Wikipedia(base_url=url, timeout=seconds),
        lacks=OPEN | {Ability.KEYED},
    ),
    "searxng": Subject(
        service=SearchServer,
        make=lambda url, key, seconds: SearXNG(api_key=key, base_url=url, timeout=seconds),
        lacks=OPEN,
    ),
    "memory": Subject(holding=Memory, lacks=frozenset(Ability)),
}
HOSTILE = [Check(name, function) for name, function in promises(search_hostile_text)]
ITEMS = [
    pytest.param(subject, check, id=f"{name}-{check}")
    for name, subject in SUBJECTS.items()
    for check in (*checks_for(subject), *(HOSTILE if subject.service else ()))
]


@pytest.mark.parametrize(("subject", "check"), ITEMS)
def test_the_provider_keeps_the_promise(subject: Subject, check: Check) -> None:
    with Bench(subject) as bench:
        check(bench)


def test_the_suite_is_as_large_as_it_says() -> None:
    assert len(SEARCH_CHECKS) >= 55
    assert len({check.name for check in SEARCH_CHECKS}) == len(SEARCH_CHECKS)


@pytest.mark.parametrize("name", SUBJECTS)
def test_what_a_provider_lacks_is_all_it_is_spared(name: str) -> None:
    spared = set(SEARCH_CHECKS) - set(checks_for(SUBJECTS[name]))
    assert all(check.needs & SUBJECTS[name].lacks for check in spared)
    assert len(checks_for(SUBJECTS[name])) >= (12 if name == "memory" else 50)
