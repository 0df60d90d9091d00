"""A search service on loopback, and one search of it."""

import asyncio

import pytest
from servers import SearchServer, hits
from servers.http import Reply

from deep_research.errors import SearchError
from deep_research.sources.search import SearchFilters, SearchRequest

FILTERS = ("since", "until", "as_of", "domains", "not_domains", "language")


@pytest.fixture
def server():
    with SearchServer(hits(3)) as running:
        yield running


@pytest.fixture
def search():
    """One search, closed behind it; the results, or the error."""

    def searched(provider, query="ships at night", *, limit=5, **more):
        filters = SearchFilters(**{name: more.pop(name) for name in FILTERS if name in more})

        async def once():
            try:
                return await provider.search(SearchRequest(query=query, limit=limit, filters=filters, **more))
            except SearchError as error:
                return error
            finally:
                await provider.aclose()

        return asyncio.run(once())

    return searched


@pytest.fixture
def answering(server):
    """Let the server answer with a body, whatever it is asked."""

    def canned(body, status=200, **headers):
        data = body if isinstance(body, bytes) else body.encode()
        server.canned = Reply(status, (data,), headers={k.replace("_", "-"): v for k, v in headers.items()})

    return canned
