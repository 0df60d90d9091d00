"""Gathering over the web: pages are read, those that cannot be are told and replaced, and each source is judged."""

import asyncio
import hashlib
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from deep_research import SharedBudget
from deep_research.budget.metered import ModelRoles
from deep_research.errors import ExtractionError, FetchError, SearchError
from deep_research.logs import register_secret
from deep_research.models.model_pool import ModelPool
from deep_research.phases.base import WorkLimits
from deep_research.phases.gathering import GathererOutput, GatheringPhase, SearchGatherer
from deep_research.phases.gathering.caps import Fetching
from deep_research.phases.gathering.source_reading import KEYED, SourceReader
from deep_research.phases.synthesis.phase import synthesizer_input
from deep_research.provenance.near_duplicates import fingerprint
from deep_research.provenance.quality import QualityLists
from deep_research.sources.extract import Document
from deep_research.sources.fetch.pages import WebPage
from deep_research.sources.search import Scholarly, SearchFilters, SearchProvider, SearchResult
from deep_research.state import (
    Budget,
    DeepResearchPhase,
    DeepResearchState,
    Notice,
    RunOptions,
    SourceKind,
    SourceQuality,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.events import Progress, Started
from deep_research.testing import MemoryJournal

MORNING = datetime(2026, 1, 2, 8, tzinfo=UTC)
QUERY = SubQuery(id="subq-a", query="Bell Rock lighthouse height")
TEXT = (
    "The Bell Rock lighthouse has a height of 35 metres.\n\n"
    + "It stands on a reef off the coast of Angus. " * 12
)


class Found(SearchProvider):
    name = "found"

    def __init__(self, *results, by_query=None):
        self.results, self.by_query, self.requests = results, by_query, []

    async def search(self, request):
        self.requests.append(request)
        if self.by_query is not None:
            answer = self.by_query.get(request.query, [])
            if isinstance(answer, Exception):
                raise answer
            return answer
        return list(self.results)[: request.limit]


class Site:
    """Pages by address: a text, a document, or what is raised. ``most`` is how many were read at once."""

    def __init__(self, pages):
        self.pages, self.read_at, self.inside, self.most = pages, [], 0, 0

    async def read(self, url):
        self.read_at.append(url)
        self.inside += 1
        self.most = max(self.most, self.inside)
        await asyncio.sleep(0)
        self.inside -= 1
        answer = self.pages[url]
        if isinstance(answer, Exception):
            raise answer
        document = answer if isinstance(answer, Document) else Document(title="", text=answer)
        body = document.text.encode()
        return WebPage(
            url=url,
            final_url=url,
            fetched_at=MORNING,
            headers={"content-type": "text/html; charset=utf-8", "etag": '"1"'},
            body=body,
            snapshot_hash=hashlib.sha256(body).hexdigest(),
            document=document,
        )


def at(number):
    return f"https://example.org/{number}"


def page(number, **more):
    return SearchResult(address=at(number), title=f"Bell Rock lighthouse height {number}", **more)


def gathered(provider, site, *, options=None, sub_queries=(QUERY,), lists=None, **more):
    reading = SourceReader(pages=site, lists=lists or QualityLists(), clock=lambda: MORNING)
    state = DeepResearchState(
        query="q",
        phase=DeepResearchPhase.GATHERING,
        sub_queries=sub_queries,
        options=RunOptions(**(options or {})),
    )
    journal = MemoryJournal(state)
    phase = GatheringPhase(
        SearchGatherer([provider], reading=reading, **more), limits=WorkLimits(max_source_bytes=100_000)
    )
    asyncio.run(phase.run(journal.state, journal))
    return journal


def one(journal):
    (source,) = journal.state.sources
    return source


class Watched(MemoryJournal):
    recorded = ()

    async def record(self, *events, contents=()):
        self.recorded += events
        await super().record(*events, contents=contents)


def test_what_is_to_be_known_of_a_provider_is_said_once_for_all_searches():
    provider = Found(page(1))
    provider.notes = ("2 files were not read: a.pdf (a damaged PDF) and b.txt (no readable text in it).",)
    sub_queries = tuple(SubQuery(id=f"subq-{n}", query=f"Bell Rock {n}") for n in range(3))
    journal = Watched(
        DeepResearchState(query="q", phase=DeepResearchPhase.GATHERING, sub_queries=sub_queries)
    )
    asyncio.run(GatheringPhase(SearchGatherer([provider])).run(journal.state, journal))
    notices = [event.notice for event in journal.recorded if event.name == "notice.added"]
    assert notices == [Notice(name="sources", message=provider.notes[0])]


def test_a_page_whose_address_holds_a_registered_key_is_not_asked_for():
    key = "sk-0123456789-in-address"
    register_secret(key)
    site = Site({at(1): TEXT})
    journal = gathered(Found(page(key), page(1)), site)
    assert site.read_at == [at(1)]
    (notice,) = journal.state.notices
    assert (notice.message, notice.skipped) == (f"Found but not read: {KEYED}.", (at("***"),))


def test_a_page_that_holds_a_registered_key_is_kept_without_it_and_its_places_stay():
    key = "sk-0123456789-in-page"
    register_secret(key)
    text = f"{TEXT} The key is {key}. {TEXT}"
    journal = Watched(DeepResearchState(query="q", phase=DeepResearchPhase.GATHERING, sub_queries=(QUERY,)))
    reading = SourceReader(pages=Site({at(1): text}), clock=lambda: MORNING)
    asyncio.run(GatheringPhase(SearchGatherer([Found(page(1))], reading=reading)).run(journal.state, journal))
    source = one(journal)
    kept, body = asyncio.run(journal.texts([source.content_hash, source.snapshot_hash]))
    assert kept == text.replace(key, "*" * len(key)) == body
    assert source.content_hash == hashlib.sha256(kept.encode()).hexdigest() == source.snapshot_hash
    assert source.passages


def test_a_page_that_was_found_is_read_and_kept_with_its_snapshot():
    journal = gathered(Found(page(1, snippet="A tower.")), Site({at(1): TEXT}))
    source = one(journal)
    text = asyncio.run(journal.texts([source.content_hash]))[0]
    assert text == TEXT
    assert (source.url, source.snippet, source.kind) == (at(1), "A tower.", SourceKind.WEB)
    assert source.snapshot_hash == hashlib.sha256(TEXT.encode()).hexdigest()
    assert source.metadata["fetched_at"] == "2026-01-02T08:00:00+00:00"
    assert source.metadata["provider"] == "found"


def test_what_matched_in_the_page_and_how_much_of_the_query_it_has_is_told():
    source = one(gathered(Found(page(1)), Site({at(1): TEXT})))
    assert TEXT[source.passages[0].start : source.passages[0].end].startswith("The Bell Rock lighthouse")
    assert source.relevance == 1.0
    assert source.fingerprint == fingerprint(TEXT)


def test_the_page_says_more_of_itself_than_the_service_did():
    document = Document(
        title="The Bell Rock",
        text=TEXT,
        published=date(2020, 3, 4),
        author="Ann Mole",
        language="en",
        pages=(0, 50),
    )
    source = one(gathered(Found(page(1, published=date(2019, 1, 1))), Site({at(1): document})))
    assert (source.title, source.published, source.pages) == ("The Bell Rock", date(2020, 3, 4), (0, 50))
    assert (source.metadata["author"], source.metadata["language"]) == ("Ann Mole", "en")


def test_a_page_that_cannot_be_read_is_told_and_the_next_one_takes_its_place():
    site = Site(
        {
            at(0): FetchError("The site's robots.txt asks programs not to read this page.", url=at(0)),
            at(1): TEXT,
            at(2): ExtractionError("no readable text in it"),
            at(3): TEXT + "Third.",
            at(4): TEXT + "Fourth.",
        }
    )
    journal = gathered(Found(*map(page, range(5))), site, options={"max_sources_per_query": 2})
    assert [s.url for s in journal.state.sources] == [at(1), at(3)]
    assert site.read_at == [at(0), at(1), at(2), at(3)]
    lines = [notice.line for notice in journal.state.notices]
    assert lines == [
        "1 page of example.org was found but not read: no readable text in it.",
        "1 page of example.org was found but not read: the site's robots.txt asks programs not to read this page.",
    ]


def test_pages_that_cannot_be_read_for_one_reason_are_told_in_one_line_over_all_searches():
    gone = FetchError("The page is gone (404)")
    other = QUERY.model_copy(update={"id": "subq-b", "query": "Bell Rock height", "index": 1})
    provider = Found(by_query={QUERY.query: [page(0), page(1)], other.query: [page(1), page(2)]})
    journal = gathered(provider, Site({at(n): gone for n in range(3)}), sub_queries=(QUERY, other))
    (notice,) = journal.state.notices
    assert notice.line == "3 pages of example.org were found but not read: the page is gone (404)."
    assert notice.skipped == (at(0), at(1), at(2))


def test_more_results_are_asked_for_than_are_wanted_where_pages_have_to_be_read():
    provider = Found(*map(page, range(9)))
    gathered(provider, Site({at(n): TEXT for n in range(9)}), options={"max_sources_per_query": 3})
    assert provider.requests[0].limit == 6
    provider = Found(*map(page, range(9)))
    gathered(provider, None, options={"max_sources_per_query": 3})
    assert provider.requests[0].limit == 3


def test_the_pages_of_a_search_are_read_side_by_side_and_keep_their_order():
    site = Site({at(n): TEXT + str(n) for n in range(4)})
    journal = gathered(Found(*map(page, range(4))), site)
    assert site.most == 4
    assert [s.url for s in journal.state.sources] == [at(n) for n in range(4)]


def test_a_text_that_the_service_gave_is_not_fetched():
    site = Site({})
    assert one(gathered(Found(page(1, text=TEXT)), site)).length == len(TEXT)
    assert site.read_at == []


def test_an_abstract_stands_in_for_a_paper_that_cannot_be_had():
    record = Scholarly(doi="10.1000/x", venue="Journal of Towers", reviewed=True)
    paper = page(
        1, text="An abstract on Bell Rock lighthouse height.", text_at=at("paper.pdf"), scholarly=record
    )
    source = one(gathered(Found(paper), Site({at("paper.pdf"): FetchError("no")})))
    assert (source.url, source.snapshot_hash) == ("https://doi.org/10.1000/x", None)
    assert "-1 only its abstract could be read" in source.metadata["quality"]
    source = one(gathered(Found(paper), Site({at("paper.pdf"): TEXT})))
    assert source.snapshot_hash is not None
    assert source.metadata["doi"] == "10.1000/x"
    assert "abstract" not in source.metadata["quality"]


@pytest.mark.parametrize(
    ("lists", "quality"),
    [
        (None, SourceQuality.UNKNOWN),
        (QualityLists(low=("example.org",)), SourceQuality.LOW),
        (QualityLists(high=("example.org",)), SourceQuality.HIGH),
    ],
)
def test_a_source_is_judged_and_the_users_lists_override(lists, quality):
    source = one(gathered(Found(page(1)), Site({at(1): TEXT}), lists=lists))
    assert source.quality is quality


def test_what_a_provider_vouches_for_stands_unless_a_list_says_otherwise():
    vouched = page(1, text=TEXT, quality=SourceQuality.HIGH)
    assert one(gathered(Found(vouched), None)).quality is SourceQuality.HIGH
    lists = QualityLists(low=("example.org",))
    assert one(gathered(Found(vouched), None, lists=lists)).quality is SourceQuality.LOW


def test_a_page_of_another_day_than_the_service_said_is_left_out():
    late = Document(title="", text=TEXT, published=date(2025, 1, 1))
    options = {"until": date(2024, 12, 31)}
    journal = gathered(Found(page(1, published=date(2024, 1, 1))), Site({at(1): late}), options=options)
    assert journal.state.sources == ()
    assert (
        journal.state.notices[0].line
        == "1 page of example.org was found but not used: published outside of the days that were asked for."
    )


def test_as_of_a_day_nothing_without_a_date_is_used():
    options = {"as_of": date(2024, 12, 31)}
    dated = Document(title="", text=TEXT, published=date(2024, 1, 1))
    results = page(1, published=date(2024, 1, 1)), page(2, published=date(2024, 1, 1))
    journal = gathered(Found(*results), Site({at(1): dated, at(2): TEXT}), options=options)
    assert [s.url for s in journal.state.sources] == [at(1), at(2)]
    journal = gathered(Found(page(3)), Site({at(3): TEXT}), options=options)
    assert journal.state.sources == ()
    assert [notice.line for notice in journal.state.notices] == [
        "1 page of example.org was found but not used: no day of publication."
    ]


def test_as_of_a_day_a_page_may_say_its_date_itself_where_the_service_tells_none():
    options = {"as_of": date(2024, 12, 31)}
    dated = Document(title="", text=TEXT, published=date(2024, 1, 1))
    late = Document(title="", text=TEXT, published=date(2025, 1, 1))
    journal = gathered(Found(page(3), page(4)), Site({at(3): dated, at(4): late}), options=options)
    assert [s.url for s in journal.state.sources] == [at(3)]
    unread = gathered(Found(page(3, snippet="Bell Rock lighthouse height")), None, options=options)
    assert unread.state.sources == ()


def test_a_page_that_an_earlier_iteration_read_is_not_fetched_again():
    site = Site({at(1): TEXT, at(2): TEXT + "Two."})
    known = gathered(Found(page(1)), site).state
    again = QUERY.model_copy(
        update={"id": "subq-b", "query": "Bell Rock lighthouse reef", "index": 1, "iteration": 2}
    )
    state = known.model_copy(
        update={
            "iteration": 2,
            "sub_queries": (
                known.sub_queries[0].model_copy(update={"status": SubQueryStatus.COMPLETED}),
                again,
            ),
        }
    )
    provider = Found(page(1, snippet="again"), page(2))
    journal = MemoryJournal(state)
    phase = GatheringPhase(SearchGatherer([provider], reading=SourceReader(pages=site)))
    asyncio.run(phase.run(journal.state, journal))
    assert site.read_at == [at(1), at(2)]
    assert {s.url: s.snapshot_hash is not None for s in journal.state.sources} == {at(1): True, at(2): True}
    assert len(journal.state.sub_queries[1].source_ids) == 2


# Caps on pages


def fetched(cap, sub_queries=(QUERY,), *, pages=None, provider=None, **more):
    """What comes of a run that may ask for so many pages; each search finds four of its own."""
    found = {s.query: [page(4 * s.index + n) for n in range(4)] for s in sub_queries}
    site = Site(pages or {at(n): f"{TEXT} Page {n}." for n in range(4 * len(sub_queries))})
    options = {"budget": Budget(max_fetches=cap), "max_sources_per_query": 3}
    journal = gathered(
        provider or Found(by_query=found), site, sub_queries=sub_queries, options=options, **more
    )
    return journal.state, site


def three():
    return tuple(
        SubQuery(id=f"subq-{n}", query=f"Bell Rock lighthouse height {n}", index=n) for n in range(3)
    )


def test_no_more_pages_are_asked_for_than_the_cap_allows_and_the_others_are_told():
    state, site = fetched(2)
    assert site.read_at == [at(0), at(1)]
    assert state.usage.fetches == 2
    (limit,) = state.limits
    assert (limit.name, limit.cap, limit.usage, limit.skipped) == ("max_fetches", 2, 2, (at(2), at(3)))
    assert limit.line == (
        "2 pages of example.org were left unread: max_fetches leaves no more pages to this search."
    )


@pytest.mark.parametrize("cap", range(8))
def test_searches_side_by_side_share_the_cap_evenly_whoever_comes_first(cap):
    state, site = fetched(cap, three())
    assert len(site.read_at) == cap == state.usage.fetches
    each = [sum(int(url.rpartition("/")[2]) // 4 == n for url in site.read_at) for n in range(3)]
    assert each == [cap // 3 + (n < cap % 3) for n in range(3)]
    (limit,) = state.limits  # of all searches one
    assert (limit.cap, limit.usage) == (cap, cap)


def test_without_a_cap_pages_are_counted_all_the_same():
    state, site = fetched(None)
    assert state.usage.fetches == len(site.read_at) == 3
    assert state.notices == ()


def test_what_earlier_rounds_asked_for_is_taken_from_the_cap():
    state, _ = fetched(4)
    again = SubQuery(id="subq-b", query="Bell Rock lighthouse tower", index=1, iteration=2)
    state = state.model_copy(update={"iteration": 2, "sub_queries": (*state.sub_queries, again)})
    handoff = GatheringPhase(SearchGatherer([Found()])).handoff(again, state, frozenset())
    assert (state.usage.fetches, handoff.fetches) == (3, 1)


def test_a_page_that_cannot_be_read_was_asked_for_and_one_that_is_refused_was_not():
    pages = {
        at(0): FetchError("Not fetched: a private address.", refused=True, asked=False),
        at(1): FetchError("The page is gone (404)."),
        at(2): TEXT,
        at(3): TEXT + "Three.",
    }
    state, site = fetched(2, pages=pages)
    assert site.read_at == [at(0), at(1), at(2)]  # what was refused is given back
    assert state.usage.fetches == 2


def test_a_page_that_was_saved_and_is_fresh_is_none_that_is_asked_for():
    class Saved(Site):
        async def read(self, url):
            return replace(await super().read(url), was_requested=False)

    site = Saved({at(n): f"{TEXT} Page {n}." for n in range(4)})
    state = DeepResearchState(
        query="q",
        phase=DeepResearchPhase.GATHERING,
        sub_queries=(QUERY,),
        options=RunOptions(budget=Budget(max_fetches=3)),
    )
    journal = MemoryJournal(state)
    gatherer = SearchGatherer([Found(*map(page, range(3)))], reading=SourceReader(pages=site))
    asyncio.run(GatheringPhase(gatherer).run(state, journal))
    assert (journal.state.usage.fetches, len(journal.state.sources)) == (0, 3)


def test_a_text_that_a_service_gave_stands_in_where_no_page_may_be_asked_for():
    abstract = page(0, text="An abstract on Bell Rock lighthouse height.", text_at=at("paper.pdf"))
    state, site = fetched(0, provider=Found(abstract, page(1)))
    assert site.read_at == []
    assert [source.url for source in state.sources] == [at(0)]


def test_a_search_that_breaks_off_is_charged_with_all_the_pages_it_might_ask_for():
    class Broken:
        deterministic = False

        async def __call__(self, handoff):
            raise RuntimeError("oops")

    sub_queries = three()
    options = RunOptions(budget=Budget(max_fetches=7))
    journal = MemoryJournal(
        DeepResearchState(
            query="q", phase=DeepResearchPhase.GATHERING, sub_queries=sub_queries, options=options
        )
    )
    asyncio.run(GatheringPhase(Broken()).run(journal.state, journal))
    assert journal.state.usage.fetches == 7
    provider = Found(by_query={QUERY.query: SearchError("no answer")})
    assert fetched(7, provider=provider)[0].usage.fetches == 0


def test_how_many_pages_were_read_is_told_while_they_are():
    journal = gathered(Found(*map(page, range(3))), Site({at(n): f"{TEXT} Page {n}." for n in (0, 2)}))
    told = [(note.message, note.done, note.total) for note in journal.notes if type(note) is Progress]
    started = [(note.tool, note.input) for note in journal.notes if isinstance(note, Started)]
    assert started[0] == ("search", QUERY.query)
    assert [tool for tool, _ in started[1:]] == ["fetch"] * 3
    assert told == [(QUERY.query, read, 3) for read in range(4)]


# Budgets that are shared with other runs


def with_shared(shared, agent, sub_queries):
    """What a run gathers that draws on shared budgets."""
    journal = MemoryJournal(
        DeepResearchState(query="q", phase=DeepResearchPhase.GATHERING, sub_queries=sub_queries)
    )
    models = ModelRoles(pool=ModelPool()).of_run(journal, shared=[shared])
    asyncio.run(GatheringPhase(agent).run(journal.state, journal, models))
    return journal.state


def test_searches_and_pages_are_taken_from_a_shared_budget_before_they_are_made():
    shared = SharedBudget(max_searches=2, max_fetches=3)
    sub_queries = three()
    site = Site({at(n): f"{TEXT} Page {n}." for n in range(12)})
    found = {s.query: [page(4 * s.index + n) for n in range(4)] for s in sub_queries}
    provider = Found(by_query=found)
    state = with_shared(shared, SearchGatherer([provider], reading=SourceReader(pages=site)), sub_queries)
    assert (len(provider.requests), len(site.read_at)) == (2, 3)
    assert (shared.spent.searches, shared.spent.fetches) == (2, 3) == (state.usage.searches, 3)
    assert (shared.left.max_searches, shared.left.max_fetches) == (0, 0)
    by_name = {limit.name: limit for limit in state.limits}
    assert by_name["shared:max_searches"].skipped == (sub_queries[2].query,)
    assert "The shared cap of 2 searches is reached" in by_name["shared:max_searches"].line
    assert (
        "a budget that is shared with other runs leaves no more pages" in by_name["shared:max_fetches"].line
    )


def test_other_wordings_are_taken_from_a_shared_budget_too():
    shared = SharedBudget(max_searches=2)
    question = "How long did Robert Stevenson take to build the Bell Rock lighthouse?"
    provider = Found()
    with_shared(
        shared, SearchGatherer([provider], rewordings=3), (QUERY.model_copy(update={"query": question}),)
    )
    assert len(provider.requests) == 2 == shared.spent.searches


def test_a_gatherer_of_ones_own_is_charged_with_what_it_says():
    class Own:
        deterministic = False

        async def __call__(self, handoff):
            return GathererOutput(sources=(), wordings=("other words",), fetches=4)

    shared = SharedBudget(max_searches=9)
    state = with_shared(shared, Own(), (QUERY,))
    assert (shared.spent.searches, shared.spent.fetches) == (2, 4)
    assert (state.usage.searches, state.usage.fetches) == (2, 4)


# The verifier


def test_a_search_that_finds_nothing_is_made_again_in_other_words_within_a_bound():
    provider = Found(by_query={"Bell Rock lighthouse": [page(1, text=TEXT)]})
    sub_query = QUERY.model_copy(update={"query": "What is it with the Bell Rock lighthouse?"})
    journal = gathered(provider, None, sub_queries=(sub_query,))
    assert [r.query for r in provider.requests] == [
        "What is it with the Bell Rock lighthouse?",
        "Bell Rock lighthouse",
    ]
    assert journal.state.sub_queries[0].wordings == ("Bell Rock lighthouse",)
    assert one(journal).url == at(1)
    assert journal.state.usage.searches == 2


@pytest.mark.parametrize("most", [0, 1, 2])
def test_so_many_other_wordings_are_tried_and_no_more(most):
    provider = Found()
    long = QUERY.model_copy(
        update={"query": "How long did Robert Stevenson take to build the Bell Rock lighthouse?"}
    )
    gathered(provider, None, sub_queries=(long,), rewordings=most)
    assert len(provider.requests) == 1 + most


@pytest.mark.parametrize(("cap", "asked"), [(1, 1), (2, 2), (3, 3), (9, 3)])
def test_no_other_wording_is_tried_that_the_cap_has_no_room_for(cap, asked):
    provider = Found()
    long = QUERY.model_copy(
        update={"query": "How long did Robert Stevenson take to build the Bell Rock lighthouse?"}
    )
    options = {"budget": Budget(max_searches=cap)}
    journal = gathered(provider, None, sub_queries=(long,), rewordings=2, options=options)
    assert len(provider.requests) == asked == journal.state.usage.searches


def test_results_without_one_word_of_the_query_are_not_asked_for_again():
    foreign = SearchResult(address=at("x"), title="Xyzzy", text="Plugh.")
    provider = Found(foreign)
    gathered(provider, None, sub_queries=(QUERY,))
    assert len(provider.requests) == 1


def test_results_off_topic_give_way_to_those_of_another_wording():
    bread = SearchResult(
        address=at("bread"), title="Bread", text="How to bake bread with long proving times."
    )
    question = "How long did it take to build the Bell Rock lighthouse?"
    provider = Found(
        by_query={question: [bread], "long take build Bell Rock lighthouse": [page(1, text=TEXT)]}
    )
    journal = gathered(provider, None, sub_queries=(QUERY.model_copy(update={"query": question}),))
    assert [s.url for s in journal.state.sources] == [at(1)]


def test_when_no_wording_finds_better_what_was_found_first_stays():
    bread = SearchResult(
        address=at("bread"), title="Bread", text="How to bake bread with long proving times."
    )
    question = "How long did it take to build the Bell Rock lighthouse?"
    provider = Found(by_query={question: [bread]})
    journal = gathered(provider, None, sub_queries=(QUERY.model_copy(update={"query": question}),))
    assert [s.url for s in journal.state.sources] == [at("bread")]


def test_a_failure_of_another_wording_loses_nothing():
    bread = SearchResult(
        address=at("bread"), title="Bread", text="How to bake bread with long proving times."
    )
    question = "How long did it take to build the Bell Rock lighthouse?"
    provider = Found(
        by_query={question: [bread], "long take build Bell Rock lighthouse": SearchError("It went away.")}
    )
    journal = gathered(provider, None, sub_queries=(QUERY.model_copy(update={"query": question}),))
    assert [s.url for s in journal.state.sources] == [at("bread")]
    assert journal.state.notices[0].message == "It went away."


def test_after_the_gate_words_are_tried_that_were_not_tried_yet():
    long = QUERY.model_copy(
        update={"query": "How long did Robert Stevenson take to build the Bell Rock lighthouse?"}
    )
    journal = gathered(Found(), None, sub_queries=(long,), rewordings=1)
    retry = GatheringPhase(SearchGatherer([])).retried(journal.state, advised=False)
    (fresh,) = retry.sub_queries
    assert fresh.query not in (long.query, *journal.state.sub_queries[0].wordings)


def test_a_copy_of_a_page_takes_no_other_page_s_place():
    prose = " ".join(f"The keeper of tower number {n} wrote the height of the light down." for n in range(20))

    def document(text):
        return Document(title="", text=text, fingerprint=fingerprint(text))

    pages = {at(1): document(prose), at(2): document(f"{prose} More news."), at(3): document(TEXT)}
    journal = gathered(Found(page(1), page(2), page(3)), Site(pages), options={"max_sources_per_query": 2})
    assert [s.url for s in journal.state.sources] == [at(1), at(3)]
    assert [notice.line for notice in journal.state.notices] == [
        "1 page of example.org was found but not used: the same text as another page that is used."
    ]


def test_a_page_that_another_search_used_is_not_told_as_left_out():
    left = Notice(name="pages", message="Found but not used: so.", skipped=(at(1), at(2)))
    state = gathered(Found(page(1)), Site({at(1): TEXT})).state.model_copy(update={"notices": (left,)})
    (told,) = synthesizer_input(state).notices
    assert told.line == "1 page of example.org was found but not used: so."


def test_documents_alone_are_asked_in_one_wording_since_they_are_searched_for_each_word():
    local = SearchResult(address="a.md", title="Bread", text="The bell rang.", kind=SourceKind.DOCUMENT)
    for provider in (Found(local), Found()):
        state = DeepResearchState(query="q", phase=DeepResearchPhase.GATHERING, sub_queries=(QUERY,))
        journal = MemoryJournal(state)
        asyncio.run(GatheringPhase(SearchGatherer([], corpus=provider)).run(journal.state, journal))
        assert len(provider.requests) == 1
    provider = Found()
    provider.local = True
    gathered(provider, None)
    assert len(provider.requests) == 1


def test_what_the_documents_gave_stays_beside_what_other_words_found_in_the_web():
    local = Found(
        SearchResult(address="a.md", title="Notes", text="Notes on Bell Rock.", kind=SourceKind.DOCUMENT)
    )
    web = Found(by_query={"Bell Rock lighthouse": [page(1, text=TEXT)]})
    sub_query = QUERY.model_copy(update={"query": "What is it with the Bell Rock lighthouse?"})
    journal = gathered(web, None, sub_queries=(sub_query,), corpus=local)
    assert [s.url for s in journal.state.sources] == ["a.md", at(1)]
    assert len(local.requests) == 1


def test_documents_are_asked_for_as_many_results_as_are_wanted_whatever_pages_need():
    local = Found(SearchResult(address="a.md", title="Bell Rock height", text=TEXT, kind=SourceKind.DOCUMENT))
    web = Found(page(1))
    gathered(web, Site({at(1): TEXT}), corpus=local, options={"max_sources_per_query": 3})
    assert (local.requests[0].limit, web.requests[0].limit) == (3, 6)


@pytest.mark.timed
def test_pages_that_take_too_long_are_left_and_the_others_kept(stretch):
    class Slow(Site):
        async def read(self, url):
            if url == at(1):
                await asyncio.Event().wait()
            return await super().read(url)

    def left(patience):
        site = Slow({at(0): TEXT, at(1): TEXT, at(2): TEXT + "Two."})
        journal = gathered(Found(*map(page, range(3))), site, patience=patience)
        assert [s.url for s in journal.state.sources] == [at(0), at(2)]
        assert journal.state.notices[0].line == (
            "1 page of example.org was found but not read: there was no time left to read it."
        )

    stretch(0.05, left)


@pytest.mark.timed
def test_a_stop_while_pages_are_read_leaves_no_reading_behind():
    class Hanging(Site):
        async def read(self, url):
            reading.append(url)
            await asyncio.Event().wait()

    reading = []

    async def stopped():
        gatherer = SearchGatherer([Found(*map(page, range(3)))], reading=SourceReader(pages=Hanging({})))
        state = DeepResearchState(query="q", phase=DeepResearchPhase.GATHERING, sub_queries=(QUERY,))
        journal = MemoryJournal(state)
        task = asyncio.create_task(GatheringPhase(gatherer).run(journal.state, journal))
        while len(reading) < 3:
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(0)
        return len(asyncio.all_tasks())

    assert asyncio.run(stopped()) == 1


def test_when_reading_fails_as_nobody_foresaw_no_page_is_read_on_alone():
    ended = []

    class Broken(Site):
        async def read(self, url):
            if url == at(0):
                await asyncio.sleep(0)
                raise RuntimeError("oops")
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(url)

    async def journey():
        reading = SourceReader(pages=Broken({}), clock=lambda: MORNING)
        results = [(page(number), at(number)) for number in range(3)]
        with pytest.raises(RuntimeError, match="oops"):
            await reading._pages(results, SearchFilters(), None, Fetching())
        await asyncio.sleep(0)
        assert sorted(ended) == [at(1), at(2)]
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(journey())
