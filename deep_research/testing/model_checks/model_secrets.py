"""Keys: which one is used, and that none is shown. And what a provider cannot be made of."""

from __future__ import annotations

import asyncio
import io
import logging
import os
import pickle
import traceback
from collections.abc import Callable
from unittest.mock import patch

from deep_research.errors import ConfigurationError, ModelError
from deep_research.testing.model_bench import CALL, KEY, WAYS, Bench
from deep_research.testing.servers import Fault
from deep_research.testing.store_bench import expect

_STRANGER = "sk-stranger-0123456789"
# What SDKs would take a key from, beside the one they were given.
_ENVIRONMENT = {
    "ANTHROPIC_API_KEY": _STRANGER,
    "ANTHROPIC_AUTH_TOKEN": _STRANGER,
    "ANTHROPIC_PROFILE": "stranger",
    "ANTHROPIC_CUSTOM_HEADERS": f"Authorization: Bearer {_STRANGER}\nX-Api-Key: {_STRANGER}",
    "OPENAI_API_KEY": _STRANGER,
    "OPENAI_ADMIN_KEY": _STRANGER,
    "OPENAI_CUSTOM_HEADERS": f"authorization: Bearer {_STRANGER}\nx-api-key: {_STRANGER}",
    "OLLAMA_API_KEY": _STRANGER,
}
_NO_ADDRESSES = (
    "ftp://127.0.0.1",
    "nonsense",
    "http://",
    "http://[::1",
    "http://127.0.0.1:many",
    "//127.0.0.1",
    "\x00",
)
_FAILURES = ("401", "429", "500", "close", "html-200", "bad-json", "sse-error", "sse-reset")


async def the_key_that_was_given_is_the_one_that_is_used(bench: Bench) -> None:
    with patch.dict(os.environ, _ENVIRONMENT):
        provider = bench.provider()
        served = (await bench.send(provider=provider)).served[0]
    assert _STRANGER not in str(served.headers)
    assert KEY in str(served.headers)


async def a_proxy_of_the_environment_is_not_asked_for_this_machine(bench: Bench) -> None:
    nowhere = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"), "http://127.0.0.1:9")
    with patch.dict(os.environ, nowhere):
        assert (await bench.send()).answer.text


async def no_error_shows_the_key(bench: Bench) -> None:
    """Not even where the service quotes it."""
    for kind in _FAILURES:
        for streamed in WAYS:
            bench.server.faults = [Fault(kind, message=f"Incorrect API key provided: {KEY}.")]
            error = (await bench.send(streamed=streamed)).failure
            assert KEY not in f"{error} {error!r} {vars(error)}", kind
            assert KEY.encode() not in pickle.dumps(error)


async def no_traceback_shows_the_key(bench: Bench) -> None:
    """With all that was in scope, as crash reports print it."""
    provider = bench.provider()
    for kind in _FAILURES:
        for streamed in WAYS:
            bench.server.faults = [kind]
            sent = provider.send(CALL, (lambda _: None) if streamed else None)
            (error,) = await asyncio.gather(sent, return_exceptions=True)
            assert isinstance(error, ModelError)
            trace = traceback.TracebackException.from_exception(error, capture_locals=True)
            assert KEY not in "".join(trace.format()), kind


async def no_log_shows_the_key(bench: Bench) -> None:
    """At the level of SDKs where everything is logged."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    try:
        for streamed in WAYS:
            await bench.send(streamed=streamed)
            bench.server.faults = ["401"]
            await bench.send(streamed=streamed)
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
    assert KEY not in written.getvalue()


async def the_provider_does_not_show_the_key(bench: Bench) -> None:
    provider = bench.provider()
    await bench.send()
    assert KEY not in f"{provider} {provider!r} {vars(provider)}"
    try:
        shown = pickle.dumps(provider)
    except Exception as error:  # that it cannot be pickled is as well
        shown = f"{error} {error!r}".encode()
    assert KEY.encode() not in shown


def without_a_key_nothing_is_made(bench: Bench) -> None:
    with patch.dict(os.environ, clear=True):
        for key in (None, "", "  \n"):
            error = _unusable(lambda key=key: bench.provider(key=key))  # type: ignore[misc]
            assert "API_KEY" in str(error)


def a_key_that_is_none_is_refused_and_not_shown(bench: Bench) -> None:
    for key in ("sk-ключ-0123456789", "sk-one\nsk-two-0123456789", "sk-\x00-0123456789"):
        error = _unusable(lambda key=key: bench.provider(key=key))  # type: ignore[misc]
        assert "0123456789" not in f"{error!r} {error.data}"


async def white_space_around_a_key_is_left_out(bench: Bench) -> None:
    provider = bench.provider(key=f"  {KEY}\n")
    served = (await bench.send(provider=provider)).served[0]
    assert served.headers.get("authorization", f"Bearer {KEY}") == f"Bearer {KEY}"
    assert served.headers.get("x-api-key", KEY) == KEY


def what_is_no_address_is_refused(bench: Bench) -> None:
    for url in _NO_ADDRESSES:
        _unusable(lambda url=url: bench.provider(url=url))  # type: ignore[misc]


def _unusable(make: Callable[[], object]) -> ConfigurationError:
    error = expect(ConfigurationError, make)
    assert "\n" not in str(error)
    return error
