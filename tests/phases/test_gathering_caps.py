"""Caps on searches and pages, budgets that are shared with other runs, and the other words in which it is asked."""

import asyncio

import pytest
from phases.builders import Found
from phases.web_pages import (
    QUERY,
    TEXT,
    Site,
    at,
    at_gathering,
    gathered,
    numbered,
    one,
    page,
    urls,
)

from deep_research import SharedBudget
from deep_research.budget.metered import ModelRoles
from deep_research.errors import FetchError, SearchError
from deep_research.models.model_pool import ModelPool
from deep_research.phases.gathering import GathererOutput, GatheringPhase, SearchGatherer
from deep_research.phases.gathering.source_reading import SourceReader
from deep_research.sources.search import SearchResult
from deep_research.state import Budget, SourceKind, SubQuery
from deep_research.testing import MemoryJournal

THREE = tuple(SubQuery(id=f"subq-{n}", query=f"{QUERY.query} {n}", index=n) for n in range(3))


def four_each(sub_queries):
    """A provider by which each search finds four pages of its own."""
    return Found(by_query={s.query: [page(4 * s.index + n) for n in range(4)] for s in sub_queries})


def fetched(cap, sub_queries=(QUERY,), *, pages=None, provider=None):
    """What comes of a run that may ask for so many pages."""
    site = Site(pages) if pages else numbered(4 * len(sub_queries))
    options = {"budget": Budget(max_fetches=cap), "max_sources_per_query": 3}
    found = provider or four_each(sub_queries)
    return gathered(found, site, sub_queries=sub_queries, options=options).state, site


def test_no_more_pages_are_asked_for_than_the_cap_allows_and_the_others_are_told():
    state, site = fetched(2)
    assert site.read_at == [at(0), at(1)]
    assert state.usage.fetches == 2
    (limit,) = state.limits
    assert (limit.name, limit.cap, limit.usage, limit.skipped) == ("max_fetches", 2, 2, (at(2), at(3)))
    assert (
        limit.line
        == "2 pages of example.org were left unread: max_fetches leaves no more pages to this search."
    )
    state, site = fetched(None)
    assert state.usage.fetches == len(site.read_at) == 3
    assert state.notices == ()


@pytest.mark.parametrize("cap", range(8))
def test_searches_side_by_side_share_the_cap_evenly_whoever_comes_first(cap):
    state, site = fetched(cap, THREE)
    assert len(site.read_at) == cap == state.usage.fetches
    each = [sum(int(url.rpartition("/")[2]) // 4 == n for url in site.read_at) for n in range(3)]
    assert each == [cap // 3 + (n < cap % 3) for n in range(3)]
    (limit,) = state.limits  # of all searches one
    assert (limit.cap, limit.usage) == (cap, cap)


def test_what_earlier_rounds_asked_for_is_taken_from_the_cap():
    state, _ = fetched(4)
    again = SubQuery(id="subq-b", query="Bell Rock lighthouse tower", index=1, iteration=2)
    state = state.model_copy(update={"iteration": 2, "sub_queries": (*state.sub_queries, again)})
    handoff = GatheringPhase(SearchGatherer([Found()])).handoff(again, state, frozenset())
    assert (state.usage.fetches, handoff.fetches) == (3, 1)


def test_a_page_that_cannot_be_read_was_asked_for_and_one_that_is_refused_was_not():
    refused = FetchError("Not fetched: a private address.", refused=True, asked=False)
    pages = [refused, FetchError("The page is gone (404)."), TEXT, TEXT + "Three."]
    state, site = fetched(2, pages={at(n): page for n, page in enumerate(pages)})
    assert site.read_at == [at(0), at(1), at(2)]  # what was refused is given back
    assert state.usage.fetches == 2


def test_a_text_that_a_service_gave_stands_in_where_no_page_may_be_asked_for():
    abstract = page(0, text="An abstract on Bell Rock lighthouse height.", text_at=at("paper.pdf"))
    state, site = fetched(0, provider=Found(abstract, page(1)))
    assert site.read_at == []
    assert [source.url for source in state.sources] == [at(0)]


class Own:
    """A gatherer that gives what it is told to give, or fails."""

    deterministic = False

    def __init__(self, output):
        self.output = output

    async def __call__(self, handoff):
        if isinstance(self.output, Exception):
            raise self.output
        return self.output


def test_a_search_that_breaks_off_is_charged_with_all_the_pages_it_might_ask_for():
    journal = MemoryJournal(at_gathering(THREE, budget=Budget(max_fetches=7)))
    asyncio.run(GatheringPhase(Own(RuntimeError("oops"))).run(journal.state, journal))
    assert journal.state.usage.fetches == 7
    provider = Found(by_query={QUERY.query: SearchError("no answer")})
    assert fetched(7, provider=provider)[0].usage.fetches == 0


# Budgets that are shared with other runs


def with_shared(shared, agent, sub_queries):
    """What a run gathers that draws on shared budgets."""
    journal = MemoryJournal(at_gathering(sub_queries))
    models = ModelRoles(pool=ModelPool()).of_run(journal, shared=[shared])
    asyncio.run(GatheringPhase(agent).run(journal.state, journal, models))
    return journal.state


def test_searches_and_pages_are_taken_from_a_shared_budget_before_they_are_made():
    shared, site, provider = SharedBudget(max_searches=2, max_fetches=3), numbered(12), four_each(THREE)
    state = with_shared(shared, SearchGatherer([provider], reading=SourceReader(pages=site)), THREE)
    assert (len(provider.requests), len(site.read_at)) == (2, 3)
    assert (shared.spent.searches, shared.spent.fetches) == (2, 3) == (state.usage.searches, 3)
    assert (shared.left.max_searches, shared.left.max_fetches) == (0, 0)
    searches, pages = (
        next(x for x in state.limits if x.name == f"shared:max_{n}") for n in ("searches", "fetches")
    )
    assert searches.skipped == (THREE[2].query,)
    assert "The shared cap of 2 searches is reached" in searches.line
    assert "a budget that is shared with other runs leaves no more pages" in pages.line


def test_a_gatherer_of_ones_own_is_charged_with_what_it_says():
    shared = SharedBudget(max_searches=9)
    state = with_shared(
        shared, Own(GathererOutput(sources=(), wordings=("other words",), fetches=4)), (QUERY,)
    )
    assert (shared.spent.searches, shared.spent.fetches) == (2, 4)
    assert (state.usage.searches, state.usage.fetches) == (2, 4)


# Other words for a search

BUILT = "How long did Robert Stevenson take to build the Bell Rock lighthouse?"
LONG = QUERY.model_copy(update={"query": BUILT})
SHORT = "Bell Rock lighthouse"
WHAT = QUERY.model_copy(update={"query": "What is it with the Bell Rock lighthouse?"})


def test_a_search_that_finds_nothing_and_no_other_is_made_again_in_other_words():
    provider = Found(by_query={SHORT: [page(1, text=TEXT)]})
    journal = gathered(provider, None, sub_queries=(WHAT,))
    assert [r.query for r in provider.requests] == [WHAT.query, SHORT]
    assert journal.state.sub_queries[0].wordings == (SHORT,)
    assert one(journal).url == at(1)
    assert journal.state.usage.searches == 2
    provider = Found(SearchResult(address=at("x"), title="Xyzzy", text="Plugh."))
    gathered(provider, None)
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("cap", "rewordings", "asked"),
    [(None, 0, 1), (None, 1, 2), (None, 2, 3), (1, 2, 1), (2, 2, 2), (3, 2, 3)],
)
def test_so_many_other_wordings_are_tried_as_there_may_be_and_a_cap_has_room_for(cap, rewordings, asked):
    provider = Found()
    options = {"budget": Budget(max_searches=cap)}
    journal = gathered(provider, None, sub_queries=(LONG,), rewordings=rewordings, options=options)
    assert len(provider.requests) == asked == journal.state.usage.searches
    shared, provider = SharedBudget(max_searches=cap), Found()
    with_shared(shared, SearchGatherer([provider], rewordings=rewordings), (LONG,))
    assert len(provider.requests) == asked == shared.spent.searches


BREAD = SearchResult(address=at("bread"), title="Bread", text="How to bake bread with long proving times.")


@pytest.mark.parametrize(
    ("other", "kept", "told"),
    [
        ([page(1, text=TEXT)], at(1), []),
        ([], at("bread"), []),
        (SearchError("It went away."), at("bread"), ["It went away."]),
    ],
    ids=["better ones", "nothing", "a failure"],
)
def test_results_off_topic_give_way_to_better_ones_of_another_wording_and_else_stay(other, kept, told):
    question = "How long did it take to build the Bell Rock lighthouse?"
    provider = Found(by_query={question: [BREAD], "long take build Bell Rock lighthouse": other})
    journal = gathered(provider, None, sub_queries=(QUERY.model_copy(update={"query": question}),))
    assert urls(journal) == [kept]
    assert [notice.message for notice in journal.state.notices] == told


def test_after_the_gate_words_are_tried_that_were_not_tried_yet():
    journal = gathered(Found(), None, sub_queries=(LONG,), rewordings=1)
    (fresh,) = GatheringPhase(SearchGatherer([])).retried(journal.state, advised=False).sub_queries
    assert fresh.query not in (BUILT, *journal.state.sub_queries[0].wordings)


def of_corpus(title, text):
    return Found(SearchResult(address="a.md", title=title, text=text, kind=SourceKind.DOCUMENT))


def test_documents_are_asked_in_one_wording_and_stay_beside_what_others_found_in_the_web():
    for provider in (of_corpus("Bread", "The bell rang."), Found()):
        journal = MemoryJournal(at_gathering())
        asyncio.run(GatheringPhase(SearchGatherer([], corpus=provider)).run(journal.state, journal))
        assert len(provider.requests) == 1
    provider = Found()
    provider.local = True
    gathered(provider, None)
    assert len(provider.requests) == 1
    local, web = of_corpus("Notes", "Notes on Bell Rock."), Found(by_query={SHORT: [page(1, text=TEXT)]})
    assert urls(gathered(web, None, sub_queries=(WHAT,), corpus=local)) == ["a.md", at(1)]
    assert len(local.requests) == 1
