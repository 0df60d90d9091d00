"""Keys: none is shown, and none goes anywhere but to its service. And what a provider cannot be made of."""

from __future__ import annotations

import asyncio
import base64
import os
import pickle
import socket
import traceback
from collections.abc import Iterator
from unittest.mock import patch
from urllib.parse import quote, quote_plus

from deep_research.errors import ConfigurationError, MissingKeyError, SearchError
from deep_research.sources.search.base import SearchRequest
from deep_research.testing.search_bench import KEY, QUERY, Bench
from deep_research.testing.service_bench import assert_no_key_in
from deep_research.testing.store_bench import expect

_FAILURES = ("401", "400", "429", "500", "close", "reset", "short-body", "html-200", "bad-json", "null")
_NO_ADDRESSES = ("http://user:password@127.0.0.1", "http://127.0.0.1/?key=1")


async def no_error_shows_the_key(bench: Bench) -> None:
    """Not even where the service quotes it, nor with all that was in scope, as crash reports print it."""
    provider = bench.provider()
    for kind in _FAILURES:
        for form in _forms_of(KEY):
            bench.server.fail(kind, message=f"Incorrect API key provided: {form}.")
            search = provider.search(SearchRequest(query=QUERY, limit=3))
            (error,) = await asyncio.gather(search, return_exceptions=True)
            assert isinstance(error, SearchError), f"{error!r} in place of a SearchError"
            trace = traceback.TracebackException.from_exception(error, capture_locals=True)
            assert_no_key_in(f"{error} {error!r} {vars(error)}" + "".join(trace.format()), KEY)
            assert_no_key_in(pickle.dumps(error).decode("latin-1"), KEY)
            assert error.__context__ is None, "what led to an error carries the request"


async def no_result_holds_the_key(bench: Bench) -> None:
    assert_no_key_in(repr((await bench.search()).answer), KEY)


async def the_key_goes_in_a_header_alone(bench: Bench) -> None:
    for request in (await bench.search()).requests:
        assert any(KEY in value for value in request.headers.values())
        assert_no_key_in(f"{request.path} {request.query} {request.body}", KEY)


async def nothing_is_sent_to_another_host(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        stranger.setblocking(False)
        where = f"http://127.0.0.1:{stranger.getsockname()[1]}/search"
        for status in (301, 302, 307, 308):
            bench.server.send(status, (b"",), headers={"location": where, "link": f"<{where}>; rel=next"})
            assert (await bench.search()).failure
        expect(BlockingIOError, stranger.accept)


async def a_wrong_key_is_refused(bench: Bench) -> None:
    outcome = await bench.search(provider=bench.provider(key="another-0123456789"))
    assert outcome.failure.data["trouble"] == "refused"
    assert "another-0123456789" not in str(outcome.failure)


def without_a_key_nothing_is_made(bench: Bench) -> None:
    with patch.dict(os.environ, clear=True):
        for key in (None, "", "  \n"):
            error = expect(MissingKeyError, lambda key=key: bench.provider(key=key))  # type: ignore[misc]
            assert error.data["name"] == bench.provider().name
            assert tuple(error.data["needs"]) == bench.subject.variables
            assert all(variable in str(error) for variable in bench.subject.variables)


def an_address_with_a_key_in_it_is_refused(bench: Bench) -> None:
    for url in _NO_ADDRESSES:
        expect(ConfigurationError, lambda url=url: bench.provider(url=url))  # type: ignore[misc]


def _forms_of(key: str) -> Iterator[str]:
    """A key as an error may quote it."""
    yield from (key, quote(key), quote_plus(key), repr(key), f"Bearer {key}")
    yield from (base64.b64encode(before + key.encode()).decode() for before in (b"", b"a:", b"ab:"))
