"""No key is ever seen: in logs at their loudest, in errors with all variables of their tracebacks, in any object."""

import asyncio
import base64
from urllib.parse import quote

import pytest
from key_leaks import leaks, loud_logs, seen_in, seen_of
from servers import FAULT_KINDS, Fault, SearchServer, hits

from deep_research.errors import DeepResearchError
from deep_research.sources.search import SearchRequest
from deep_research.sources.search.providers import make_provider
from deep_research.sources.search.searxng import SearXNG

VARIABLES = (
    "TAVILY_API_KEY",
    "GOOGLE_API_KEY",
    "SEMANTIC_SCHOLAR_API_KEY",
    "OPENALEX_API_KEY",
    "ANTHROPIC_API_KEY",  # of others, which have no business here
)
KEYS = {name: f"canary+{name.lower()}/Zq%9x&w=3v" for name in (*VARIABLES, "searxng")}
SENT = ("TAVILY_API_KEY", "GOOGLE_API_KEY", "SEMANTIC_SCHOLAR_API_KEY", "OPENALEX_API_KEY", "searxng")
LOGGERS = ("httpx", "httpcore", "tavily", "asyncio", "deep_research")
REQUEST = SearchRequest(query="ships at night", limit=3)


logs = loud_logs(*LOGGERS)


def providers(url):
    for name in ("tavily", "google", "semantic_scholar", "openalex", "wikipedia"):
        yield make_provider(name, base_url=url)
    yield SearXNG(api_key=KEYS["searxng"], base_url=url)


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
    assert leaks("\n".join(shown), KEYS) == []
    assert leaks("\n".join(logs), KEYS) == []
    assert leaks("\n".join(lines), KEYS) == [], "keys belong into headers"
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
        assert leaks(f"before {hidden} after", KEYS)
