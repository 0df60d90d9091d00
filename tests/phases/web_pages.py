"""What the tests of gathering share: a site of pages, results that lead to them, and what is gathered from both."""

import asyncio
import hashlib
from datetime import UTC, datetime

from deep_research.phases.base import WorkLimits
from deep_research.phases.gathering import GatheringPhase, SearchGatherer
from deep_research.phases.gathering.source_reading import SourceReader
from deep_research.provenance.quality import QualityLists
from deep_research.sources.extract import Document
from deep_research.sources.fetch.pages import WebPage
from deep_research.sources.search import SearchResult
from deep_research.state import DeepResearchPhase, DeepResearchState, RunOptions, SubQuery
from deep_research.testing import MemoryJournal

MORNING = datetime(2026, 1, 2, 8, tzinfo=UTC)
QUERY = SubQuery(id="subq-a", query="Bell Rock lighthouse height")
TEXT = (
    "The Bell Rock lighthouse has a height of 35 metres.\n\n"
    + "It stands on a reef off the coast of Angus. " * 12
)


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
        headers = {"content-type": "text/html; charset=utf-8", "etag": '"1"'}
        return WebPage(
            url=url,
            final_url=url,
            fetched_at=MORNING,
            headers=headers,
            document=document,
            body=body,
            snapshot_hash=hashlib.sha256(body).hexdigest(),
        )


def at(number):
    return f"https://example.org/{number}"


def page(number, **more):
    return SearchResult(address=at(number), title=f"Bell Rock lighthouse height {number}", **more)


def numbered(count):
    """A site of so many pages."""
    return Site({at(n): f"{TEXT} Page {n}." for n in range(count)})


def at_gathering(sub_queries=(QUERY,), **options):
    phase = DeepResearchPhase.GATHERING
    return DeepResearchState(query="q", phase=phase, sub_queries=sub_queries, options=RunOptions(**options))


def gathered(provider, site, *, options=None, sub_queries=(QUERY,), lists=None, state=None, **more):
    reading = SourceReader(pages=site, lists=lists or QualityLists(), clock=lambda: MORNING)
    journal = MemoryJournal(state or at_gathering(sub_queries, **(options or {})))
    gatherer = SearchGatherer([provider], reading=reading, **more)
    asyncio.run(
        GatheringPhase(gatherer, limits=WorkLimits(max_source_bytes=100_000)).run(journal.state, journal)
    )
    return journal


def one(journal):
    (source,) = journal.state.sources
    return source


def urls(journal):
    return [source.url for source in journal.state.sources]


def lines(journal):
    return [notice.line for notice in journal.state.notices]
