"""No key is ever seen: in logs at their loudest, in errors with all variables of their tracebacks, in any object."""

import asyncio
import base64
import logging
import pickle
import traceback
from urllib.parse import quote, quote_plus

import pytest

from deep_research.errors import DeepResearchError
from deep_research.sources.search import SearchRequest
from deep_research.sources.search.providers import make_provider
from deep_research.sources.search.searxng import SearXNG
from deep_research.testing.servers import FAULT_KINDS, Fault, SearchServer, hits

VARIABLES = (
    "TAVILY_API_KEY",
    "GOOGLE_API_KEY",
    "SEMANTIC_SCHOLAR_API_KEY",
    "OPENALEX_API_KEY",
    "ANTHROPIC_API_KEY",  # of others, which have no business here
)
KEYS = {name: f"canary+{name.lower()}/Zq%9x&w=3v" for name in (*VARIABLES, "searxng")}
SENT = ("TAVILY_API_KEY", "GOOGLE_API_KEY", "SEMANTIC_SCHOLAR_API_KEY", "OPENALEX_API_KEY", "searxng")
LOGGERS = ("", "httpx", "httpcore", "tavily", "asyncio", "deep_research")
REQUEST = SearchRequest(query="ships at night", limit=3)


def forms(key):
    """A key as it is, URL-encoded, escaped, and in base64 wherever it may begin in what is encoded."""
    yield key
    yield from {quote(key), quote(key, safe=""), quote_plus(key)} - {key}
    for offset in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(b"-" * offset + key.encode())[4 if offset else 0 : -4].decode()


def leaks(text):
    return [name for name, key in KEYS.items() for form in forms(key) if form in text]


class Loudest(logging.Handler):
    """Keeps all there is in a record."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.setFormatter(logging.Formatter())
        self.kept = []

    def emit(self, record):
        self.kept.append(f"{self.format(record)} {record.__dict__!r}")


@pytest.fixture
def logs(monkeypatch):
    handler, root = Loudest(), logging.getLogger()
    for name in LOGGERS:
        monkeypatch.setattr(logging.getLogger(name), "level", logging.DEBUG)
    root.manager._clear_cache()
    root.addHandler(handler)
    yield handler.kept
    root.removeHandler(handler)
    root.manager._clear_cache()


def providers(url):
    for name in ("tavily", "google", "semantic_scholar", "openalex", "wikipedia"):
        yield make_provider(name, base_url=url)
    yield SearXNG(api_key=KEYS["searxng"], base_url=url)


def seen_in(error):
    """All that a crash report may show of an error, of what led to it, and of what that was about."""
    while error is not None:
        yield from traceback.TracebackException.from_exception(error, capture_locals=True).format()
        yield f"{error} {error!r} {vars(error)!r}"
        error = error.__cause__ or error.__context__


def seen_of(thing):
    yield f"{thing!r} {thing} {vars(thing) if hasattr(thing, '__dict__') else ''!r}"
    try:
        yield pickle.dumps(thing).decode("latin-1")
    except Exception as error:
        yield repr(error)


async def searched(provider):
    """The results or the error of a search. This frame is in its traceback, so it knows nothing."""
    try:
        return await provider.search(REQUEST)
    except DeepResearchError as error:
        return error


@pytest.mark.timed
def test_no_key_is_in_any_log_error_traceback_result_or_object_over_all_faults(logs, monkeypatch):
    for name in VARIABLES:
        monkeypatch.setenv(name, KEYS[name])
    monkeypatch.setenv("GOOGLE_CSE_ID", "engine-1")
    shown, outcomes = [], set()
    with SearchServer(hits(3)) as server, asyncio.Runner() as runner:
        for provider in list(providers(server.base_url)):  # all keys are known then
            provider.timeout = 0.1
            for kind in (None, *FAULT_KINDS):
                quoted = " ".join(f"{KEYS[name]} {quote(KEYS[name])}" for name in SENT)
                server.faults = (
                    [Fault(kind, times=None, interval=0.02, patience=1.0, message=f"Bad key: {quoted}")]
                    if kind
                    else []
                )
                outcome = runner.run(searched(provider))
                if isinstance(outcome, DeepResearchError):
                    shown += [*seen_in(outcome), *seen_of(outcome)]
                else:
                    shown.append(repr(outcome))
                outcomes.add(type(outcome).__name__)
            shown += seen_of(provider)
            runner.run(provider.aclose())
        sent = {value for asked in server.log for value in asked.headers.values()}
        lines = [f"{asked.method} {asked.path}?{asked.query} {asked.body}" for asked in server.log]
    assert outcomes == {"list", "SearchError"}
    used = {value.removeprefix("Bearer ") for value in sent}
    assert {KEYS[name] for name in SENT} <= used, "the keys were not even used"
    assert KEYS["ANTHROPIC_API_KEY"] not in used
    assert len(logs) > 1000
    assert leaks("\n".join(shown)) == []
    assert leaks("\n".join(logs)) == []
    assert leaks("\n".join(lines)) == [], "keys belong into headers"
    assert {line.partition("?")[0] for line in lines if not line.startswith("GET ")} == {"POST /search"}


def test_each_key_goes_to_its_own_service_alone(monkeypatch):
    for name in VARIABLES:
        monkeypatch.setenv(name, KEYS[name])
    monkeypatch.setenv("GOOGLE_CSE_ID", "engine-1")
    with SearchServer(hits(3)) as server, asyncio.Runner() as runner:
        for provider in providers(server.base_url):
            server.log.clear()
            assert len(runner.run(searched(provider))) == 3
            runner.run(provider.aclose())
            told = " ".join(value for asked in server.log for value in asked.headers.values())
            mine = [name for name, key in KEYS.items() if key in told]
            assert len(mine) == (0 if provider.name == "wikipedia" else 1)


def test_a_form_of_a_key_is_found_wherever_it_hides():
    key = KEYS["searxng"]
    for hidden in (key, quote(key), base64.b64encode(f"user:{key}".encode()).decode()):
        assert leaks(f"before {hidden} after")
