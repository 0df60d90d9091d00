"""Checks of connections and keys, for providers of models and of searches."""

from __future__ import annotations

import asyncio
import gc
import io
import logging
import os
import pickle
import socket
import threading
import warnings
from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from deep_research.errors import ConfigurationError
from deep_research.testing.patience import PATIENCE_SECONDS, until
from deep_research.testing.service_bench import ServiceBench, assert_no_key_in
from deep_research.testing.store_bench import expect

_THREAD_COUNT = 4
_FAILURES = ("401", "400", "429", "500", "close", "reset", "short-body", "html-200", "bad-json", "null")
_NO_ADDRESSES = (
    "ftp://127.0.0.1",
    "nonsense",
    "http://",
    "http://[::1",
    "http://127.0.0.1:many",
    "//127.0.0.1",
    "\x00",
)

Bench = ServiceBench[Any, Any]


async def closing_twice_is_no_harm(bench: Bench) -> None:
    provider = bench.provider()
    await provider.aclose()  # of what was never used
    assert await bench.ask() == []
    await provider.aclose()
    await provider.aclose()


async def closing_closes_the_connections(bench: Bench) -> None:
    provider = bench.provider()
    assert await bench.ask() == []
    assert bench.server.connections >= 1
    await provider.aclose()
    await until(lambda: bench.server.connections == 0)


async def what_was_closed_can_be_used_again(bench: Bench) -> None:
    provider = bench.provider()
    for _ in range(3):
        assert await bench.ask() == []
        await provider.aclose()


def one_loop_after_another_may_use_it(bench: Bench) -> None:
    provider = bench.provider()
    for _ in range(3):
        asyncio.run(_use(bench, provider))


def a_loop_that_was_closed_without_a_word_is_no_harm(bench: Bench) -> None:
    """Its connections are dropped at the next use."""
    provider = bench.provider()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # that nobody closed them is the point
        for _ in range(3):
            assert asyncio.run(bench.ask(provider)) == []
        once = len(bench.server.log) // 3
        asyncio.run(_use(bench, provider))
        gc.collect()
        asyncio.run(until(lambda: bench.server.connections == 0))
    assert len(bench.server.log) == once * 4


def several_threads_may_use_it_at_once(bench: Bench) -> None:
    provider = bench.provider()
    together = threading.Barrier(_THREAD_COUNT)
    failures: list[BaseException] = []

    def work() -> None:
        try:
            together.wait(PATIENCE_SECONDS)
            asyncio.run(_use(bench, provider, times=3))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(_THREAD_COUNT)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if failures:
        raise failures[0]


async def a_deadline_of_the_caller_is_the_callers(bench: Bench) -> None:
    """It is no error of a service, but the `TimeoutError` that the caller waits for."""
    provider = bench.provider()
    assert (
        await bench.ask() == []
    )  # a connection is there: one that is cut short while it is made may stay open
    bench.server.fail("hang", times=None)
    for call in bench.calls(provider):
        try:
            async with asyncio.timeout(0.1):
                await call
        except TimeoutError:
            continue
        raise AssertionError("the caller's deadline was not heard")


async def where_nobody_listens_it_is_transient_and_free(bench: Bench) -> None:
    with socket.socket() as bound_socket:  # bound and not listening, so that no one else can
        bound_socket.bind(("127.0.0.1", 0))
        errors = await bench.ask(bench.provider(url=f"http://127.0.0.1:{bound_socket.getsockname()[1]}"))
    assert errors
    for error in errors:
        assert "transient" in (error.data.get("verdict"), error.data.get("trouble"))
        assert not error.data.get("maybe_billed")
        assert error.hint


async def a_redirect_is_not_followed(bench: Bench) -> None:
    for status in (301, 302, 303, 307, 308):
        bench.server.send(status, (b"",), headers={"location": f"{bench.server.base_url}/elsewhere"})
        errors = await bench.ask()
        assert errors
        assert all({"fatal", "refused"} & {e.data.get("verdict"), e.data.get("trouble")} for e in errors)
    assert not any(request.path.endswith("/elsewhere") for request in bench.server.log)


async def white_space_around_a_key_is_left_out(bench: Bench) -> None:
    assert await bench.ask(bench.provider(key=f"  {bench.key}\n")) == []
    for value in bench.server.log[-1].headers.values():
        assert bench.key not in value or value.removeprefix("Bearer ") == bench.key


async def a_proxy_of_the_environment_is_not_asked_for_this_machine(bench: Bench) -> None:
    nowhere = dict.fromkeys(("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"), "http://127.0.0.1:9")
    with patch.dict(os.environ, nowhere):
        assert await bench.ask() == []


async def no_log_shows_the_key(bench: Bench) -> None:
    """At the level where everything is logged, also by SDKs."""
    log_output = io.StringIO()
    handler = logging.StreamHandler(log_output)
    loggers = [logging.getLogger(name) for name in ("", "httpx", "httpcore", "asyncio", "deep_research")]
    levels = [logger.level for logger in loggers]
    loggers[0].addHandler(handler)
    for logger in loggers:
        logger.setLevel(logging.DEBUG)
    try:
        assert await bench.ask() == []
        for kind in _FAILURES:
            bench.server.fail(kind, times=None)
            assert await bench.ask()
    finally:
        loggers[0].removeHandler(handler)
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
    assert log_output.getvalue(), "nothing was logged at all"
    assert_no_key_in(log_output.getvalue(), bench.key)


async def the_provider_does_not_show_the_key(bench: Bench) -> None:
    provider = bench.provider()
    assert await bench.ask() == []
    assert_no_key_in(f"{provider} {provider!r} {vars(provider)}", bench.key)
    try:
        text = pickle.dumps(provider).decode("latin-1")
    except Exception as error:  # that it cannot be pickled is as well
        text = f"{error} {error!r}"
    assert_no_key_in(text, bench.key)


def a_key_that_is_none_is_refused_and_not_shown(bench: Bench) -> None:
    for key in ("sk-ключ-0123456789", "sk-one\nsk-two-0123456789", "sk-\x00-0123456789"):
        error = _unusable(lambda key=key: bench.provider(key=key))  # type: ignore[misc]
        assert "0123456789" not in f"{error!r} {error.data}"


def what_is_no_address_is_refused(bench: Bench) -> None:
    for url in _NO_ADDRESSES:
        _unusable(lambda url=url: bench.provider(url=url))  # type: ignore[misc]


def _unusable(make: Callable[[], object]) -> ConfigurationError:
    error = expect(ConfigurationError, make)
    assert "\n" not in str(error)
    return error


async def _use(bench: Bench, provider: Any, *, times: int = 1) -> None:
    for _ in range(times):
        assert await bench.ask(provider) == []
    await provider.aclose()


# The checks that need no service.
OF_ANY = (
    closing_twice_is_no_harm,
    what_was_closed_can_be_used_again,
    one_loop_after_another_may_use_it,
    several_threads_may_use_it_at_once,
)
