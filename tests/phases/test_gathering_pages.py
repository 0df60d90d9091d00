"""Gathering over the web: pages are read, those that cannot be are told and replaced, and each source is judged."""

import asyncio
import hashlib
from dataclasses import replace
from datetime import date

import pytest
from phases.builders import Found
from phases.web_pages import MORNING, QUERY, TEXT, Site, at, gathered, lines, numbered, one, page, urls

from deep_research.errors import ExtractionError, FetchError
from deep_research.logs import register_secret
from deep_research.phases.gathering.caps import Fetching
from deep_research.phases.gathering.source_reading import KEYED, SourceReader
from deep_research.provenance.near_duplicates import fingerprint
from deep_research.provenance.quality import QualityLists
from deep_research.sources.extract import Document
from deep_research.sources.search import Scholarly, SearchFilters, SearchResult
from deep_research.state import (
    Notice,
    SourceKind,
    SourceQuality,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.events import Progress, Started


def test_what_is_to_be_known_of_a_provider_is_said_once_for_all_searches():
    provider = Found(page(1))
    provider.notes = ("2 files were not read: a.pdf (a damaged PDF) and b.txt (no readable text in it).",)
    sub_queries = tuple(SubQuery(id=f"subq-{n}", query=f"Bell Rock {n}") for n in range(3))
    journal = gathered(provider, None, sub_queries=sub_queries)
    notices = [event.notice for event in journal.events if event.name == "notice.added"]
    assert notices == [Notice(name="sources", message=provider.notes[0])]


def test_a_registered_key_is_asked_for_in_no_address_and_kept_in_no_page():
    key = "sk-0123456789-in-address"
    register_secret(key)
    text = f"{TEXT} The key is {key}. {TEXT}"
    site = Site({at(1): text})
    journal = gathered(Found(page(key), page(1)), site)
    assert site.read_at == [at(1)]
    (notice,) = journal.state.notices
    assert (notice.message, notice.skipped) == (f"Found but not read: {KEYED}.", (at("***"),))
    source = one(journal)
    kept, body = asyncio.run(journal.texts([source.content_hash, source.snapshot_hash]))
    assert kept == text.replace(key, "*" * len(key)) == body  # and its places stay
    assert source.content_hash == hashlib.sha256(kept.encode()).hexdigest() == source.snapshot_hash
    assert source.passages


def test_a_page_that_was_found_is_read_and_kept_with_its_snapshot_and_what_matched_in_it():
    journal = gathered(Found(page(1, snippet="A tower.")), Site({at(1): TEXT}))
    source = one(journal)
    assert asyncio.run(journal.texts([source.content_hash])) == [TEXT]
    assert (source.url, source.snippet, source.kind) == (at(1), "A tower.", SourceKind.WEB)
    assert source.snapshot_hash == hashlib.sha256(TEXT.encode()).hexdigest()
    assert source.metadata["fetched_at"] == "2026-01-02T08:00:00+00:00"
    assert source.metadata["provider"] == "found"
    assert TEXT[source.passages[0].start : source.passages[0].end].startswith("The Bell Rock lighthouse")
    assert (source.relevance, source.fingerprint) == (1.0, fingerprint(TEXT))


def test_the_page_says_more_of_itself_than_the_service_did():
    said = {"title": "The Bell Rock", "published": date(2020, 3, 4), "pages": (0, 50)}
    document = Document(text=TEXT, author="Ann Mole", language="en", **said)
    source = one(gathered(Found(page(1, published=date(2019, 1, 1))), Site({at(1): document})))
    assert {name: getattr(source, name) for name in said} == said
    assert (source.metadata["author"], source.metadata["language"]) == ("Ann Mole", "en")


def test_a_page_that_cannot_be_read_is_told_and_the_next_one_takes_its_place():
    refused = "The site's robots.txt asks programs not to read this page."
    pages = [
        FetchError(refused, url=at(0)),
        TEXT,
        ExtractionError("no readable text in it"),
        TEXT + "3.",
        TEXT + "4.",
    ]
    site = Site({at(n): page for n, page in enumerate(pages)})
    journal = gathered(Found(*map(page, range(5))), site, options={"max_sources_per_query": 2})
    assert urls(journal) == [at(1), at(3)]
    assert site.read_at == [at(0), at(1), at(2), at(3)]
    assert lines(journal) == [
        "1 page of example.org was found but not read: no readable text in it.",
        "1 page of example.org was found but not read: the site's robots.txt asks programs not to read this page.",
    ]


def test_pages_that_cannot_be_read_for_one_reason_are_told_in_one_line_over_all_searches():
    gone = FetchError("The page is gone (404)")
    other = QUERY.model_copy(update={"id": "subq-b", "query": "Bell Rock height", "index": 1})
    provider = Found(by_query={QUERY.query: [page(0), page(1)], other.query: [page(1), page(2)]})
    journal = gathered(provider, Site({at(n): gone for n in range(3)}), sub_queries=(QUERY, other))
    assert lines(journal) == ["3 pages of example.org were found but not read: the page is gone (404)."]
    assert journal.state.notices[0].skipped == (at(0), at(1), at(2))


def test_more_results_are_asked_for_than_are_wanted_where_pages_have_to_be_read_but_of_documents_as_many():
    local = Found(SearchResult(address="a.md", title="Bell Rock height", text=TEXT, kind=SourceKind.DOCUMENT))
    for site, limit in ((numbered(9), 6), (None, 3)):
        provider = Found(*map(page, range(9)))
        gathered(provider, site, corpus=local, options={"max_sources_per_query": 3})
        assert (provider.requests[0].limit, local.requests[-1].limit) == (limit, 3)


def test_pages_are_read_side_by_side_in_their_order_and_no_text_that_is_there_is_fetched():
    site = numbered(4)
    journal = gathered(Found(*map(page, range(4))), site)
    assert site.most == 4
    assert urls(journal) == [at(n) for n in range(4)]
    site = Site({})
    assert one(gathered(Found(page(1, text=TEXT)), site)).length == len(TEXT)
    assert site.read_at == []


def test_an_abstract_stands_in_for_a_paper_that_cannot_be_had():
    record = Scholarly(doi="10.1000/x", venue="Journal of Towers", reviewed=True)
    abstract = "An abstract on Bell Rock lighthouse height."
    paper = page(1, text=abstract, text_at=at("paper.pdf"), scholarly=record)
    source = one(gathered(Found(paper), Site({at("paper.pdf"): FetchError("no")})))
    assert (source.url, source.snapshot_hash) == ("https://doi.org/10.1000/x", None)
    assert "-1 only its abstract could be read" in source.metadata["quality"]
    source = one(gathered(Found(paper), Site({at("paper.pdf"): TEXT})))
    assert source.snapshot_hash is not None
    assert source.metadata["doi"] == "10.1000/x"
    assert "abstract" not in source.metadata["quality"]


LOW, HIGH, UNKNOWN = SourceQuality.LOW, SourceQuality.HIGH, SourceQuality.UNKNOWN
LISTED_LOW, LISTED_HIGH = QualityLists(low=("example.org",)), QualityLists(high=("example.org",))


@pytest.mark.parametrize(
    ("vouched", "lists", "quality"),
    [
        (None, None, UNKNOWN),
        (None, LISTED_LOW, LOW),
        (None, LISTED_HIGH, HIGH),
        (HIGH, None, HIGH),
        (HIGH, LISTED_LOW, LOW),
    ],
)
def test_a_source_is_judged_and_the_users_lists_override(vouched, lists, quality):
    more = {} if vouched is None else {"quality": vouched}
    assert one(gathered(Found(page(1, text=TEXT, **more)), None, lists=lists)).quality is quality


OLD, LATE = date(2024, 1, 1), date(2025, 1, 1)
AS_OF, UNTIL = {"as_of": date(2024, 12, 31)}, {"until": date(2024, 12, 31)}
DATED = {
    "of another day than the service said": (UNTIL, OLD, LATE, "published outside of the days that were asked for"),
    "of a day, where the service said it": (AS_OF, OLD, OLD, ""),
    "of a day that the service alone said": (AS_OF, OLD, None, ""),
    "of a day that the page alone says": (AS_OF, None, OLD, ""),
    "of a later day that the page alone says": (AS_OF, None, LATE, "published outside of the days that were asked for"),
    "of a day that nobody says": (AS_OF, None, None, "no day of publication"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "told", "published", "why"), DATED.values(), ids=DATED)
def test_what_is_of_another_day_or_of_none_is_left_out_where_a_day_counts(options, told, published, why):
    site = Site({at(1): Document(title="", text=TEXT, published=published)})
    journal = gathered(Found(page(1, published=told)), site, options=options)
    assert len(journal.state.sources) == (not why)
    assert lines(journal) == [f"1 page of example.org was found but not used: {why}."] * bool(why)
    unread = gathered(Found(page(3, snippet="Bell Rock lighthouse height")), None, options=AS_OF)
    assert unread.state.sources == ()


def test_a_page_that_an_earlier_iteration_read_is_not_fetched_again():
    site = Site({at(1): TEXT, at(2): TEXT + "Two."})
    known = gathered(Found(page(1)), site).state
    changes = {"id": "subq-b", "query": "Bell Rock lighthouse reef", "index": 1, "iteration": 2}
    done = known.sub_queries[0].model_copy(update={"status": SubQueryStatus.COMPLETED})
    sub_queries = (done, QUERY.model_copy(update=changes))
    state = known.model_copy(update={"iteration": 2, "sub_queries": sub_queries})
    journal = gathered(Found(page(1, snippet="again"), page(2)), site, state=state)
    assert site.read_at == [at(1), at(2)]
    assert {s.url: s.snapshot_hash is not None for s in journal.state.sources} == {at(1): True, at(2): True}
    assert len(journal.state.sub_queries[1].source_ids) == 2


def test_a_copy_of_a_page_takes_no_other_page_s_place():
    prose = " ".join(f"The keeper of tower number {n} wrote the height of the light down." for n in range(20))
    texts = enumerate((prose, f"{prose} More news.", TEXT), 1)
    pages = {at(n): Document(title="", text=text, fingerprint=fingerprint(text)) for n, text in texts}
    journal = gathered(Found(page(1), page(2), page(3)), Site(pages), options={"max_sources_per_query": 2})
    assert urls(journal) == [at(1), at(3)]
    why = "the same text as another page that is used"
    assert lines(journal) == [f"1 page of example.org was found but not used: {why}."]


def test_how_many_pages_were_read_is_told_while_they_are():
    journal = gathered(Found(*map(page, range(3))), Site({at(n): f"{TEXT} Page {n}." for n in (0, 2)}))
    told = [(note.message, note.done, note.total) for note in journal.notes if type(note) is Progress]
    started = [(note.tool, note.input) for note in journal.notes if isinstance(note, Started)]
    assert started[0] == ("search", QUERY.query)
    assert [tool for tool, _ in started[1:]] == ["fetch"] * 3
    assert told == [(QUERY.query, read, 3) for read in range(4)]


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
        assert urls(journal) == [at(0), at(2)]
        why = "there was no time left to read it"
        assert lines(journal) == [f"1 page of example.org was found but not read: {why}."]

    stretch(0.05, left)


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


def test_a_page_that_was_saved_and_is_fresh_is_none_that_is_asked_for():
    class Saved(Site):
        async def read(self, url):
            return replace(await super().read(url), was_requested=False)

    journal = gathered(
        Found(*map(page, range(3))), Saved(numbered(3).pages), options={"budget": {"max_fetches": 3}}
    )
    assert (journal.state.usage.fetches, len(journal.state.sources)) == (0, 3)
