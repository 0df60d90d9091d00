"""Keys: which one is used, and that none is shown."""

from __future__ import annotations

import asyncio
import os
import pickle
import traceback
from unittest.mock import patch

from deep_research.errors import ConfigurationError, ModelError
from deep_research.testing.model_bench import CALL, KEY, WAYS, Bench
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
_FAILURES = ("401", "429", "500", "close", "html-200", "bad-json", "sse-error", "sse-reset")


async def the_key_that_was_given_is_the_one_that_is_used(bench: Bench) -> None:
    with patch.dict(os.environ, _ENVIRONMENT):
        provider = bench.provider()
        served = (await bench.send(provider=provider)).served[0]
    assert _STRANGER not in str(served.headers)
    assert KEY in str(served.headers)


async def no_error_shows_the_key(bench: Bench) -> None:
    """Not even where the service quotes it."""
    for kind in _FAILURES:
        for streamed in WAYS:
            bench.server.fail(kind, message=f"Incorrect API key provided: {KEY}.")
            error = (await bench.send(streamed=streamed)).failure
            assert KEY not in f"{error} {error!r} {vars(error)}", kind
            assert KEY.encode() not in pickle.dumps(error)


async def no_traceback_shows_the_key(bench: Bench) -> None:
    """With all that was in scope, as crash reports print it."""
    provider = bench.provider()
    for kind in _FAILURES:
        for streamed in WAYS:
            bench.server.fail(kind)
            request = provider.send(CALL, (lambda _: None) if streamed else None)
            (error,) = await asyncio.gather(request, return_exceptions=True)
            assert isinstance(error, ModelError)
            trace = traceback.TracebackException.from_exception(error, capture_locals=True)
            assert KEY not in "".join(trace.format()), kind


def without_a_key_nothing_is_made(bench: Bench) -> None:
    with patch.dict(os.environ, clear=True):
        for key in (None, "", "  \n"):
            error = expect(ConfigurationError, lambda key=key: bench.provider(key=key))  # type: ignore[misc]
            assert "API_KEY" in str(error)
