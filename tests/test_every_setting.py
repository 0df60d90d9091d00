"""Every setting changes what the engine does: one test a setting, and none may be missing."""

import asyncio
import importlib.machinery
import logging
import sys
import threading
import time
import types
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta

import pytest

from deep_research import DeepResearch, RunStatus, SearchProvider, SearchResult, SupervisorHooks
from deep_research.budget.archive import Archive
from deep_research.errors import ConfigurationError, InvalidQuestionError, UnknownNameError
from deep_research.models import Message, ModelCall, ModelProvider
from deep_research.models.failures import Verdict, failure
from deep_research.models.retry import Persistence
from deep_research.settings import Settings
from deep_research.state.journal import utc_now
from deep_research.store import MemoryStore, SQLiteStore
from deep_research.testing import ScriptedAgent, ScriptedSearch, scripted_agents
from deep_research.testing.prompt_reading import ReadingModel, reading
from deep_research.testing.servers import ModelServer, SearchServer, WebSite, hits, web_reply

pytestmark = pytest.mark.timed

QUESTION = "What is known of towers?"
SHOWN = {}


def shows(setting):
    def register(function):
        SHOWN[setting] = function
        return function

    return register


def run(tmp_path, agents=None, question=QUESTION, **fields):
    made = {"search": [ScriptedSearch()], "data_dir": tmp_path, **fields}
    cast = agents or scripted_agents(without=["gatherer"])
    with DeepResearch(agents=cast, **made) as research:
        return research.run(question)


@shows("max_iterations")
def further_rounds(tmp_path):
    for rounds in (1, 2):
        cast = scripted_agents(iterations=5, without=["gatherer"])
        assert run(tmp_path, cast, max_iterations=rounds).iterations == rounds


@shows("max_sub_queries")
def sub_queries_of_a_plan(tmp_path):
    result = run(tmp_path, scripted_agents(sub_queries=9, without=["gatherer"]), max_sub_queries=4)
    assert len(result.state.sub_queries) == 4


@shows("max_sources_per_query")
def sources_of_a_search(tmp_path):
    assert all(len(s.source_ids) == 1 for s in run(tmp_path, max_sources_per_query=1).state.sub_queries)


@shows("max_concurrent")
def searches_at_a_time(tmp_path):
    class Counting(SearchProvider):
        running = most = 0

        async def search(self, request):
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0)
            self.running -= 1
            return [SearchResult(address=request.query, title="t", text="A text.")]

    for allowed in (1, 3):
        counting = Counting()
        cast = scripted_agents(sub_queries=5, without=["gatherer"])
        run(tmp_path, cast, search=[counting], max_concurrent=allowed)
        assert counting.most == allowed


@shows("gate_retries")
def attempts_at_a_blocked_gate(tmp_path):
    for retries, status in ((0, "aborted"), (1, "completed")):
        cast = scripted_agents(retries={"planner": 1}, without=["gatherer"])
        assert run(tmp_path, cast, gate_retries=retries).status == status


@shows("max_supervisor_retries")
def retries_that_a_hook_may_ask_for(tmp_path):
    from deep_research import SupervisorAction, Verdict

    again = Verdict(action=SupervisorAction.RETRY)
    for allowed in (0, 2):
        cast = scripted_agents(without=["gatherer"])
        hooks = SupervisorHooks(gate=lambda s, p, v: again if p == "synthesis" else None)
        run(tmp_path, cast, hooks=hooks, max_supervisor_retries=allowed)
        assert len(cast["synthesizer"].handoffs) == allowed + 1


@shows("report_words")
def length_of_the_report(tmp_path):
    def found(request):
        return [
            SearchResult(
                address=f"{n}.md",
                title=f"Towers {n}",
                text="\n\n".join(
                    f"On reef {n}{m} the known towers number {n * m}, {'as the keepers wrote ' * 8}down."
                    for m in range(40)
                ),
            )
            for n in range(5)
        ]

    search = ScriptedSearch(found)
    with DeepResearch(search=[search], data_dir=tmp_path) as research:
        short = research.run("What is known of towers on reefs?", report_words=100)
        full = research.run("What is known of towers on reefs?", report_words=5000)
    assert short.report_metadata.word_count < full.report_metadata.word_count


@shows("system_prompt")
def instructions_to_agents(tmp_path):
    cast = scripted_agents(without=["gatherer"])
    run(tmp_path, cast, system_prompt="Be brief.")
    for role in ("planner", "analyzer", "synthesizer"):
        assert cast[role].handoffs[0].system_prompt == "Be brief."


@shows("source_types")
def kinds_of_sources_asked_for(tmp_path):
    class Papers(ScriptedSearch):
        types = frozenset({"academic"})

    search = Papers()
    run(tmp_path, search=[search], source_types=("academic",))
    assert search.requests[0].source_types == ("academic",)


def filters_of(tmp_path, **fields):
    search = ScriptedSearch()
    run(tmp_path, search=[search], **fields)
    return search.requests[0].filters


@shows("since")
def first_day_of_publication(tmp_path):
    assert filters_of(tmp_path, since="2024-05-01").since == date(2024, 5, 1)


@shows("until")
def last_day_of_publication(tmp_path):
    assert filters_of(tmp_path, until=date(2024, 5, 1)).until == date(2024, 5, 1)


@shows("as_of")
def day_whose_knowledge_counts(tmp_path):
    found = [
        SearchResult(address=f"https://example.org/{n}", title=QUESTION, text=QUESTION, published=day)
        for n, day in enumerate((date(2024, 1, 1), date(2025, 1, 1), None))
    ]
    result = run(tmp_path, search=[ScriptedSearch(lambda request: found)], as_of="2024-05-01")
    assert [source.url for source in result.sources] == ["https://example.org/0"]


def from_two_sites(tmp_path, **fields):
    found = [SearchResult(address=f"https://{h}.org/", title=QUESTION, text=QUESTION) for h in ("one", "two")]
    result = run(tmp_path, search=[ScriptedSearch(lambda request: found)], **fields)
    return [source.url for source in result.sources]


@shows("domains")
def only_sites(tmp_path):
    assert from_two_sites(tmp_path, domains="two.org") == ["https://two.org/"]


@shows("not_domains")
def unwanted_sites(tmp_path):
    assert from_two_sites(tmp_path, not_domains="two.org") == ["https://one.org/"]


@shows("source_language")
def language_of_the_search(tmp_path):
    assert filters_of(tmp_path, source_language="de").language == "de"


@shows("max_searches")
def cap_on_searches(tmp_path):
    search = ScriptedSearch()
    run(tmp_path, search=[search], max_searches=2)
    assert len(search.requests) == 2


@shows("max_seconds")
def cap_on_seconds(tmp_path, stretch):
    class Slow(SearchProvider):
        async def search(self, request):
            if request.query.endswith("part 1"):
                return [SearchResult(address="a.md", title="t", text="A text about it.")]
            await asyncio.Event().wait()
            return None

    def capped(seconds):
        result = run(tmp_path, search=[Slow()], max_seconds=seconds)
        assert result.status == "completed"
        assert "max_seconds" in [limit.name for limit in result.limits]

    stretch(1.0, capped)


@shows("max_question_chars")
def longest_question(tmp_path):
    with pytest.raises(InvalidQuestionError, match="10 are allowed"):
        run(tmp_path, max_question_chars=10)


@shows("max_source_bytes")
def longest_text_of_a_source(tmp_path):
    search = ScriptedSearch(lambda r: [SearchResult(address=r.query, title="t", text="x" * 3_000)])
    assert run(tmp_path, search=[search], max_source_bytes=2_000).sources == ()


@shows("operation_timeout")
def seconds_of_one_call(tmp_path):
    cast = scripted_agents(without=["gatherer", "planner"])
    cast["planner"] = hanging
    result = run(tmp_path, cast, operation_timeout=0.05)
    assert (result.reason, "longer than 0.05 s" in result.message) == ("error", True)


async def hanging(*_):
    await asyncio.Event().wait()


@shows("unit_timeout")
def seconds_of_all_requests_for_an_answer(tmp_path):
    class Hanging(ModelProvider):
        service, probed, asked = "hanging", False, 0

        async def send(self, call, on_text=None):
            self.asked += 1
            await asyncio.Event().wait()

    for seconds, requests in ((0.02, 1), (1_000, 4)):
        provider = Hanging("m")
        made = {
            "model": provider,
            "search": [ScriptedSearch()],
            "data_dir": tmp_path,
            "operation_timeout": 0.02,
        }
        with DeepResearch(**made, unit_timeout=seconds) as research:
            research._parts.models.pool.persistence = Persistence(sleep=at_once)
            assert research.run(QUESTION).status is RunStatus.PARKED
        assert provider.asked == requests


async def at_once(_seconds):
    await asyncio.sleep(0)


@shows("task_timeout")
def seconds_of_a_run(tmp_path):
    cast = scripted_agents(without=["gatherer", "planner"])
    cast["planner"] = hanging
    assert run(tmp_path, cast, task_timeout=0.05).reason == "timeout"


@shows("hook_timeout")
def seconds_of_a_hook(tmp_path):
    result = run(tmp_path, hooks=SupervisorHooks(think_pause=hanging), hook_timeout=0.02)
    assert result.status == "completed"
    assert any("no answer within 0.02 s" in limit.message for limit in result.limits)


@shows("corpus")
def documents_to_search(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tower.md").write_text(
        "# Towers\n\nThe tower of Mole was built in 1811 by Ann Mole."
    )
    with DeepResearch(corpus=tmp_path / "docs", data_dir=tmp_path / "data") as research:
        assert research.run("Who built the tower of Mole?").sources[0].url == "tower.md"


@shows("search")
def providers_by_name(tmp_path):
    with pytest.raises(UnknownNameError):
        run(tmp_path, search=["nobody"])


@shows("local_only")
def nothing_beyond_this_machine(tmp_path):
    with pytest.raises(ConfigurationError, match="local_only is set"):
        run(tmp_path, local_only=True)


@shows("search_urls")
def where_services_are(tmp_path):
    with SearchServer(hits(1)) as server:
        run(tmp_path, search=["searxng"], search_urls={"searxng": server.base_url}, fetch_pages=False)
        assert {asked.path for asked in server.log} == {"/search"}


@shows("search_fanout")
def services_that_each_search_asks(tmp_path):
    for fanout in (1, 2):
        searches = [ScriptedSearch(name=name) for name in ("one", "two")]
        run(tmp_path, search=searches, search_fanout=fanout)
        assert [bool(search.requests) for search in searches] == [True, fanout == 2]


@shows("search_requests_per_minute")
def requests_to_one_service_in_a_minute(tmp_path):
    with DeepResearch(search=[ScriptedSearch()], data_dir=tmp_path, search_requests_per_minute=7) as research:
        assert research._parts.sources.services[0].gate.per_minute == 7


@shows("max_rewordings")
def other_wordings_of_a_search(tmp_path):
    for most in (0, 1):
        search = ScriptedSearch(lambda request: [])
        result = run(tmp_path, search=[search], max_rewordings=most, gate_retries=0)
        assert all(len(sub_query.wordings) <= most for sub_query in result.state.sub_queries)
        assert any(len(sub_query.wordings) == most for sub_query in result.state.sub_queries)


@pytest.fixture
def site(monkeypatch):
    """A site on loopback that answers at any public address."""
    text = (
        b"<html><body><main><p>"
        + b"What is known of towers is that they stand on reefs. " * 20
        + b"</p></main>"
    )
    with WebSite({f"/{n}": web_reply(text.replace(b"reefs", b"reef %d" % n)) for n in range(9)}) as running:
        monkeypatch.setattr("deep_research.sources.fetch.client.Guard", running.guard)
        yield running


def read_from(site, tmp_path, **fields):
    """A run over pages of the site, and the lines that tell what could not be read."""
    pages = [SearchResult(address=f"http://example.org/{n}", title=QUESTION) for n in range(3)]
    result = run(tmp_path, search=[ScriptedSearch(lambda request: pages)], **fields)
    return result, [limit.line for limit in result.limits if limit.name == "pages"]


@shows("fetch_pages")
def pages_that_searches_find_are_read(tmp_path, site):
    for read in (False, True):
        read_from(site, tmp_path, fetch_pages=read)
        assert ("/1" in site.paths) is read


@shows("max_fetches")
def cap_on_pages(tmp_path, site):
    def found(request):
        first = 3 * (int(request.query[-1]) - 1)
        return [SearchResult(address=f"http://example.org/{first + n}", title=QUESTION) for n in range(3)]

    for cap in (0, 2):
        site.asked.clear()
        result = run(tmp_path / str(cap), search=[ScriptedSearch(found)], max_fetches=cap, gate_retries=0)
        assert len([path for path in site.paths if path != "/robots.txt"]) == cap == result.usage.fetches
        assert [limit.cap for limit in result.limits if limit.name == "max_fetches"] == [cap]


@shows("fetch_timeout")
def seconds_of_one_page(tmp_path, site, stretch):
    site.pages["/1"] = hang

    def left(seconds):
        _, unread = read_from(site, tmp_path, fetch_timeout=seconds)
        assert f"found but not read: no whole answer within {seconds:g} s." in unread[0]

    stretch(0.2, left)


async def hang(writer):
    await asyncio.Event().wait()


@shows("fetch_concurrency")
def pages_read_at_a_time(tmp_path, site):
    site.seconds = 0.01
    for most in (1, 3):
        site.most_at_once = 0
        read_from(site, tmp_path / str(most), fetch_concurrency=most)
        assert site.most_at_once <= most


@shows("fetch_per_host")
def pages_read_from_one_site_at_a_time(tmp_path, site):
    site.seconds = 0.01
    for most in (1, 3):
        site.most_at_once = 0
        read_from(site, tmp_path / str(most), fetch_per_host=most)
        assert site.most_at_once <= most


@shows("max_page_bytes")
def largest_page(tmp_path, site):
    site.pages["/1"] = web_reply(b"x" * 10_001)
    _, unread = read_from(site, tmp_path, max_page_bytes=10_000)
    assert "longer than 10,000 bytes" in unread[0]


@shows("respect_robots")
def what_a_site_asks_of_programs(tmp_path, site):
    site.pages["/robots.txt"] = web_reply(b"User-agent: *\nDisallow: /1", Content_Type="text/plain")
    for respected in (True, False):
        site.asked.clear()
        read_from(site, tmp_path / str(respected), respect_robots=respected)
        assert ("/1" in site.paths) is not respected


@shows("contact")
def who_asks(tmp_path, site):
    read_from(site, tmp_path, contact="mailto:ann@example.org")
    assert all("(mailto:ann@example.org)" in head for head in site.asked)


@shows("max_file_bytes")
def the_largest_local_file(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Of towers.")
    (tmp_path / "docs" / "long.md").write_text("Of towers. " * 2_000)
    for most, skipped in ((10_000, ["long.md"]), (30_000, [])):
        with DeepResearch(corpus=tmp_path / "docs", data_dir=tmp_path, max_file_bytes=most) as research:
            assert [file.path for file in research.skipped()] == skipped


@shows("extraction_workers")
def processes_that_read(tmp_path):
    with DeepResearch(search=[ScriptedSearch()], data_dir=tmp_path, extraction_workers=3) as research:
        assert research._parts.sources.extractor.workers == 3


@shows("extraction_timeout")
def seconds_of_making_a_text(tmp_path, site):
    site.pages["/1"] = web_reply(b"<p>x " * 300_000)
    _, unread = read_from(site, tmp_path, extraction_timeout=0.01)
    assert any("time" in line or "long" in line or "0.01" in line for line in unread)


def quality_of_a_page(tmp_path, **lists):
    found = [SearchResult(address="https://example.org/a", title=QUESTION, text=QUESTION)]
    return run(tmp_path, search=[ScriptedSearch(lambda request: found)], **lists).sources[0].quality


@shows("high_quality")
def what_the_user_trusts(tmp_path):
    assert quality_of_a_page(tmp_path, high_quality="example.org") == "high"


@shows("medium_quality")
def what_the_user_trusts_somewhat(tmp_path):
    assert quality_of_a_page(tmp_path, medium_quality="example.org") == "medium"


@shows("low_quality")
def what_the_user_does_not_trust(tmp_path):
    assert quality_of_a_page(tmp_path, low_quality="example.org/a") == "low"


class ModelPlanner:
    """Asks its model once for each of the ``calls`` and plans as it always does."""

    uses_model = True
    deterministic = False

    def __init__(self, calls=1):
        self.calls = calls
        self.plan = scripted_agents()["planner"]

    async def __call__(self, handoff, model):
        self.model = model
        for _ in range(self.calls):
            await model.text(ModelCall(messages=(Message(content="What is a tower?"),), max_output=100))
        return await self.plan(handoff)


@contextmanager
def model_server():
    with ModelServer(lambda served: f"An answer of {served.model}.") as server:
        yield server, f"openai-compatible:{{}}@{server.base_url}/v1"


def with_model(tmp_path, planner=None, **fields):
    return run(
        tmp_path, scripted_agents(without=["gatherer"]) | {"planner": planner or ModelPlanner()}, **fields
    )


@shows("model")
def models_that_are_asked_in_turn(tmp_path):
    with model_server() as (server, name):
        result = with_model(tmp_path, model=[name.format("one"), name.format("two")])
    assert [served.model for served in server.log] == ["one"]
    assert result.usage.model_calls == 1


@shows("models")
def models_by_role(tmp_path):
    with model_server() as (server, name):
        with_model(tmp_path, model=name.format("one"), models={"planner": name.format("two")})
    assert [served.model for served in server.log] == ["two"]


@shows("model_file")
def what_is_known_of_models(tmp_path):
    path = tmp_path / "models.toml"
    path.write_text('["openai-compatible:one"]\nprice = { input = 1000000.0, output = 0.0 }\n')
    with model_server() as (_, name):
        result = with_model(tmp_path, model=name.format("one"), model_file=path)
    assert result.usage.cost_usd == result.usage.input_tokens > 0


@shows("record_models")
def a_record_of_answers(tmp_path):
    path = tmp_path / "record.jsonl"
    with model_server() as (_, name):
        first = with_model(tmp_path, model=name.format("one"), record_models=path)
    again = with_model(tmp_path, model=f"replay:{path}")
    assert (again.usage.input_tokens, again.usage.cost_usd) == (first.usage.input_tokens, 0.0)


@shows("max_model_calls")
def requests_to_models(tmp_path):
    for cap, status in ((1, "aborted"), (2, "completed")):
        with model_server() as (server, name):
            result = with_model(tmp_path, ModelPlanner(2), model=name.format("one"), max_model_calls=cap)
        assert (result.status, len(server.log)) == (status, cap)


@shows("max_tokens")
def tokens_of_a_run(tmp_path):
    for cap, status in ((150, "aborted"), (1_000, "completed")):
        with model_server() as (_, name):
            assert with_model(tmp_path, model=name.format("one"), max_tokens=cap).status == status


@shows("max_usd")
def dollars_of_a_run(tmp_path):
    path = tmp_path / "models.toml"
    path.write_text('["openai-compatible:one"]\nprice = { input = 100.0, output = 100.0 }\n')
    for cap, status in ((0.001, "aborted"), (1.0, "completed")):
        with model_server() as (_, name):
            result = with_model(tmp_path, model=name.format("one"), model_file=path, max_usd=cap)
        assert result.status == status
        assert result.usage.cost_usd <= cap
    with model_server() as (_, name), pytest.raises(ConfigurationError, match="price of"):
        with_model(tmp_path, model=name.format("one"), max_usd=1.0)


@shows("service_concurrency")
def requests_to_a_service_at_a_time(tmp_path):
    class Many(ModelPlanner):
        async def __call__(self, handoff, model):
            call = ModelCall(messages=(Message(content="What is a tower?"),), max_output=100)
            await asyncio.gather(*(model.text(call) for _ in range(6)))
            return await self.plan(handoff)

    for allowed in (1, 3):
        running, most = 0, 0

        async def answer(served, allowed=allowed):
            nonlocal running, most
            running += 1
            most = max(most, running)
            for _ in range(6_000):
                if most == allowed:
                    break
                await asyncio.sleep(0.01)
            running -= 1
            return "An answer."

        with ModelServer(answer) as server:
            name = f"openai-compatible:m@{server.base_url}/v1"
            with_model(tmp_path, Many(), model=name, service_concurrency=allowed)
        assert most == allowed


@shows("service_requests_per_minute")
def requests_to_a_service_in_a_minute(tmp_path):
    with model_server() as (_, name):
        began = time.monotonic()
        with_model(tmp_path, ModelPlanner(3), model=name.format("m"), service_requests_per_minute=600.0)
    assert time.monotonic() - began >= 0.2  # two waits of a tenth of a second


@shows("token_safety_margin")
def what_is_left_free_of_a_window(tmp_path):
    rooms = []
    for margin in (0.0, 0.5):
        planner = ModelPlanner()
        with model_server() as (_, name):
            with_model(tmp_path, planner, model=name.format("m"), token_safety_margin=margin)
        rooms.append(planner.model.room(100))
    assert rooms[1] == rooms[0] // 2


def researched(tmp_path, **fields):
    """A run of the agents that think with a model, over one document; and what the model was asked."""
    (tmp_path / "corpus").mkdir(exist_ok=True)
    (tmp_path / "corpus" / "towers.md").write_text(
        "# Towers\n\nThe old tower of the town was built of grey stone in the year 1312.\n"
    )
    model = fields.pop("reading", None) or ReadingModel()
    with DeepResearch(
        model=[model], corpus=tmp_path / "corpus", data_dir=tmp_path / "data", store="memory", **fields
    ) as research:
        return research.run("When was the old tower of the town built?"), model


def asked_of(model, start):
    return [call.messages[-1].content for call in model.calls if call.system.startswith(start)]


@shows("language")
def language_of_a_report(tmp_path):
    _, model = researched(tmp_path, language="Portuguese")
    assert "Write in Portuguese." in asked_of(model, "You write the report")[0]


@shows("audience")
def audience_of_a_report(tmp_path):
    _, model = researched(tmp_path, audience="children")
    assert "Write for children." in asked_of(model, "You write the report")[0]


@shows("reflection")
def when_the_supervisor_thinks(tmp_path):
    for when, thinks in (("never", False), ("on_failure", False), ("always", True)):
        _, model = researched(tmp_path, reflection=when)
        assert bool(asked_of(model, "You supervise")) == thinks


class Gone(ReadingModel):
    """Cannot be reached."""

    async def send(self, call, on_text=None):
        raise failure(Verdict.PARK, "come back later", model=self.name, retry_after=3_600.0)


@shows("on_outage")
def what_is_done_without_a_model(tmp_path):
    for choice, status in (("park", "parked"), ("extractive", "completed")):
        result, _ = researched(tmp_path, reading=Gone(), on_outage=choice)
        assert result.status == status
    assert "extractive" in result.report_metadata.writer


@shows("economy")
def the_cheaper_model_where_it_is_enough(tmp_path):
    profiles = tmp_path / "models.toml"
    for economy, asked in ((False, {"big"}), (True, {"big", "small"})):
        with ModelServer(lambda served: reading(served.text, served.schema)) as server:
            name = f"openai-compatible:{{}}@{server.base_url}/v1"
            profiles.write_text(f'["openai-compatible:big"]\ncheaper = "{name.format("small")}"\n')
            researched(tmp_path, reading=name.format("big"), model_file=profiles, economy=economy)
            assert {served.model for served in server.log} == asked


@shows("runtime")
def where_the_engine_runs(tmp_path):
    profile = '["openai-compatible:m"]\ncontext = 60000\n'
    (tmp_path / "models.toml").write_text(profile)
    for runtime, status in (("direct-api", "completed"), ("claude-code", "aborted")):
        with model_server() as (_, name):
            result = with_model(
                tmp_path, model=name.format("m"), model_file=tmp_path / "models.toml", runtime=runtime
            )
        assert result.status == status


@shows("runtime_overhead")
def what_is_left_free_for_the_surroundings(tmp_path):
    rooms = []
    for overhead in (0, 30_000):
        planner = ModelPlanner()
        with model_server() as (_, name):
            with_model(
                tmp_path,
                planner,
                model=name.format("m"),
                model_context_overrides={"openai-compatible:m": 100_000},
                runtime_overhead=overhead,
                token_safety_margin=0.0,
            )
        rooms.append(planner.model.room(100))
    assert rooms == [99_900, 69_900]


@shows("model_context_overrides")
def windows_of_models(tmp_path):
    for window in (50_000, "openai-compatible:m=80000"):
        planner = ModelPlanner()
        given = {"openai-compatible:m": window} if isinstance(window, int) else window
        with model_server() as (_, name):
            with_model(tmp_path, planner, model=name.format("m"), model_context_overrides=given)
        assert planner.model.profile.context == (window if isinstance(window, int) else 80_000)


def long_documents(tmp_path, count=4):
    """A corpus of documents that tell of towers at length, no two sentences alike."""
    folder = tmp_path / "corpus"
    folder.mkdir(exist_ok=True)
    for n in range(count):
        lines = [f"The old tower of town {n} had {k} windows on floor {k * 7 % 31}." for k in range(120)]
        lines.insert(60, f"The old tower of town {n} was built of grey stone in the year {1300 + n}.")
        (folder / f"towers{n}.md").write_text(f"# Towers of town {n}\n\n" + " ".join(lines))


def read_in_part(tmp_path, **fields):
    """The result of a run whose model reads less than there is, and the model."""
    long_documents(tmp_path, fields.pop("documents", 4))
    wide = {"reading_tokens": 2_000, "model_context_overrides": {"reading:m": 100_000}}
    return researched(tmp_path, **wide | fields)


@shows("reading_tokens")
def how_much_a_model_reads(tmp_path):
    used = []
    for tokens in (2_000, 100_000):
        result, _ = read_in_part(tmp_path, reading_tokens=tokens)
        used.append(result.fidelity.phases["analysis"].content_allocation_metadata)
    assert used[0].tokens_used <= 2_000 < used[1].tokens_used
    assert used[0].fidelity < used[1].fidelity == 1.0


@shows("token_management_enabled")
def whether_content_is_made_to_fit(tmp_path):
    shares = []
    for enabled in (True, False):
        result, _ = read_in_part(tmp_path, token_management_enabled=enabled)
        shares.append(result.fidelity.phases["analysis"].content_allocation_metadata.fidelity)
    assert shares[0] < shares[1] == 1.0


@shows("allow_content_dropping")
def whether_anything_is_left_out(tmp_path):
    for allowed in (False, True):
        result, _ = read_in_part(
            tmp_path,
            documents=8,
            max_sources_per_query=20,
            reading_tokens=4_000,
            allow_content_dropping=allowed,
        )
        assert bool(result.fidelity.dropped_content_ids) is allowed


@shows("protected")
def what_is_never_left_out(tmp_path):
    kept = []
    for protected in ((), ("towers3.md",)):
        result, _ = read_in_part(tmp_path, allow_content_dropping=True, protected=protected)
        (source,) = [s for s in result.sources if s.url.endswith("towers3.md")]
        kept.append(result.fidelity.phases["analysis"].content_fidelity[source.id].current_tokens)
    assert kept[1] > 0
    assert kept[1] != kept[0]


@contextmanager
def choosing_server():
    """A server whose models answer as they should, and its log of those that were to choose."""
    with ModelServer(lambda served: reading(served.text, served.schema)) as server:
        yield server, f"openai-compatible:{{}}@{server.base_url}/v1"


def choosers(server):
    return [served.model for served in server.log if "Keep about" in served.text]


@shows("summarization_provider")
def who_chooses_what_is_kept(tmp_path):
    with choosing_server() as (server, name):
        read_in_part(tmp_path, summarization_provider=name.format("chooser"))
        assert set(choosers(server)) == {"chooser"}
    with choosing_server() as (server, _):
        read_in_part(tmp_path)
        assert choosers(server) == []


@shows("summarization_providers")
def who_chooses_when_the_first_cannot(tmp_path):
    def answer(served):
        return "" if served.model == "first" else reading(served.text, served.schema)

    with ModelServer(answer) as server:
        name = f"openai-compatible:{{}}@{server.base_url}/v1"
        result, _ = read_in_part(
            tmp_path,
            summarization_provider=name.format("first"),
            summarization_providers=[name.format("second")],
        )
        assert {"first", "second"} == set(choosers(server))
    assert not [limit for limit in result.limits if limit.name == "summarizer"]


@shows("summarization_timeout")
def how_long_choosing_may_take(tmp_path):
    async def never(_served):
        await asyncio.Event().wait()

    with ModelServer(never) as server:
        name = f"openai-compatible:slow@{server.base_url}/v1"
        result, _ = read_in_part(tmp_path, summarization_provider=name, summarization_timeout=0.1)
    assert any("0.1 s" in limit.message for limit in result.limits if limit.name == "summarizer")


@shows("summarization_cache_enabled")
def whether_choices_are_remembered(tmp_path):
    long_documents(tmp_path)
    for remembered in (True, False):
        with choosing_server() as (server, name):
            fields = {
                "model": [ReadingModel()],
                "corpus": tmp_path / "corpus",
                "data_dir": tmp_path / "data",
                "store": "memory",
                "reading_tokens": 2_000,
                "summarization_provider": name.format("chooser"),
                "summarization_cache_enabled": remembered,
            }
            with DeepResearch(**fields) as research:
                research.run("When was the old tower of the town built?")
                first = len(choosers(server))
                research.run("When was the old tower of the town built?")
            again = len(choosers(server)) - first
        assert first > 0
        assert (again == 0) is remembered


@shows("store")
def where_runs_are_kept(tmp_path):
    for name, kind in (("memory", MemoryStore), ("sqlite", SQLiteStore)):
        with DeepResearch(store=name, data_dir=tmp_path) as research:
            assert isinstance(research._parts.store, kind)


@shows("data_dir")
def folder_of_the_database(tmp_path):
    run(tmp_path / "here")
    assert (tmp_path / "here" / "runs.db").exists()


@shows("preset")
def values_to_start_from(tmp_path):
    with DeepResearch(preset="fast", data_dir=tmp_path) as fast, DeepResearch(data_dir=tmp_path) as plain:
        assert fast.settings.settings.max_iterations < plain.settings.settings.max_iterations


@shows("log_level")
def lines_that_are_printed(tmp_path):
    from deep_research.logs import configure

    def broken(event):
        raise ZeroDivisionError

    try:
        run(tmp_path, hooks=SupervisorHooks(event=broken), log_level="warning")
        assert logging.getLogger("deep_research").isEnabledFor(logging.WARNING)
        assert not logging.getLogger("deep_research").isEnabledFor(logging.INFO)
    finally:
        configure(None)


@shows("log_format")
def form_of_the_lines(tmp_path, capsys):
    import json

    from deep_research.logs import configure

    def broken(event):
        raise ZeroDivisionError

    try:
        run(tmp_path, hooks=SupervisorHooks(event=broken), log_level="warning", log_format="json")
        line = capsys.readouterr().err.splitlines()[0]
        assert json.loads(line)["event"] == "observer_failed"
    finally:
        configure(None)


@shows("lease_ttl")
def time_after_which_a_silent_owner_is_replaced(tmp_path):
    cast = scripted_agents(without=["gatherer", "planner"])
    cast["planner"] = hanging
    with DeepResearch(
        agents=cast, search=[ScriptedSearch()], data_dir=tmp_path, lease_ttl=77, heartbeat=30
    ) as research:
        handle = research.start(QUESTION)
        assert 60 < research._parts.store.run(handle.research_id).lease_until - time.time() <= 77


@shows("heartbeat")
def time_between_renewals(tmp_path):
    renewed = threading.Event()
    agent = ScriptedAgent([ZeroDivisionError()])

    class Waits:
        deterministic = True

        async def __call__(self, handoff):
            await asyncio.to_thread(renewed.wait, 300)
            return await agent(handoff)

    cast = {**scripted_agents(without=["gatherer"]), "synthesizer": Waits()}
    with DeepResearch(
        agents=cast, search=[ScriptedSearch()], data_dir=tmp_path, heartbeat=0.05, lease_ttl=60
    ) as research:
        handle = research.start(QUESTION)
        store = research._parts.store
        first = store.run(handle.research_id).lease_until
        for _ in range(15_000):
            if store.run(handle.research_id).lease_until > first:
                break
            renewed.wait(0.02)
        assert store.run(handle.research_id).lease_until > first
        renewed.set()
        handle.result(300)


@shows("control_interval")
def time_between_looks_for_wishes(tmp_path):
    cast = scripted_agents(without=["gatherer", "planner"])
    cast["planner"] = hanging
    made = {"agents": cast, "search": [ScriptedSearch()], "data_dir": tmp_path}
    with DeepResearch(**made, control_interval=10) as rarely, DeepResearch(**made) as other:
        handle = rarely.start(QUESTION)
        other.events(handle.research_id)
        other._parts.store.post(handle.research_id, "cancel")
        with pytest.raises(TimeoutError):
            handle.result(timeout=0.5)
    with DeepResearch(**made, control_interval=0.02) as often, DeepResearch(**made) as other:
        handle = often.start(QUESTION)
        other._parts.store.post(handle.research_id, "cancel")
        assert handle.result(timeout=300).reason == "cancelled"


@shows("dense_model")
def an_order_by_meaning(tmp_path, monkeypatch):
    """A model of that name is loaded from the package, which a stand-in takes the place of."""
    asked = []

    class SentenceTransformer:
        def __init__(self, name):
            asked.append(name)

        def encode(self, texts, show_progress_bar):
            return [[1.0, 0.0] if "bell" in text.lower() else [0.0, 1.0] for text in texts]

    module = types.ModuleType("sentence_transformers")
    module.__spec__ = importlib.machinery.ModuleSpec("sentence_transformers", None)
    module.SentenceTransformer = SentenceTransformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)
    for name in ("a", "b", "c"):
        text = f"# Tower {name}\n\nWhat is known of towers: tower {name} has a {'bell' if name == 'c' else 'door'}."
        (tmp_path / f"{name}.md").write_text(text, "utf-8")
    found = {
        model: run(
            tmp_path / "data",
            scripted_agents(without=["gatherer"]),
            "bell of towers",
            search=(),
            corpus=tmp_path,
            dense_model=model,
        ).status
        for model in (None, "small-model")
    }
    assert found == {None: "completed", "small-model": "completed"}
    assert asked == ["small-model"]


def archived(folder):
    """A text that an earlier run left out, ten hours ago."""
    then = datetime.now(UTC) - timedelta(hours=10)
    archive = Archive(folder, 168, lambda: then)
    archive.save("A text.", item_id="s", item_type="source", reason="dropped", original_tokens=2)
    return archive


@shows("content_archive_enabled")
def whether_originals_are_kept(tmp_path):
    for enabled in (False, True):
        result, _ = read_in_part(tmp_path, reading_tokens=1_200, content_archive_enabled=enabled)
        kept = Archive(tmp_path / "data" / "archive", 168, utc_now)
        hashes = result.fidelity.content_archive_hashes
        assert bool(hashes) is enabled
        assert sorted(hashes.values()) == sorted(entry.content_hash for entry in kept.list())


@shows("content_archive_ttl_hours")
def age_at_which_archived_texts_go(tmp_path):
    archive = archived(tmp_path / "archive")
    for hours, left in ((11.0, 1), (9.0, 0)):
        run(tmp_path, content_archive_enabled=True, content_archive_ttl_hours=hours)
        assert len(archive.list()) == left


@shows("research_archive_dir")
def folder_of_archived_texts(tmp_path):
    for place in ("kept", None):
        archive = archived(tmp_path / (place or "archive"))
        given = tmp_path / place if place else None
        run(tmp_path, content_archive_enabled=True, content_archive_ttl_hours=1.0, research_archive_dir=given)
        assert archive.list() == []


@shows("max_active_runs")
def runs_at_a_time(tmp_path):
    active, most = 0, 0

    async def count(handoff):
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0)
        active -= 1
        return await scripted_agents()["planner"](handoff)

    async def journey(allowed):
        nonlocal most
        most = 0
        cast = {**scripted_agents(without=["gatherer"]), "planner": count}
        async with DeepResearch(
            agents=cast, search=[ScriptedSearch()], data_dir=tmp_path, max_active_runs=allowed
        ) as research:
            await asyncio.gather(*(research.arun(f"What of tower {n}?") for n in range(6)))
        return most

    assert asyncio.run(journey(1)) == 1
    assert asyncio.run(journey(6)) > 1


@pytest.mark.parametrize("setting", Settings.model_fields)
def test_a_setting_changes_what_the_engine_does(setting, tmp_path, request):
    function = SHOWN[setting]
    wanted = function.__code__.co_varnames[: function.__code__.co_argcount]
    given = {"tmp_path": tmp_path}
    function(**{name: given.get(name) or request.getfixturevalue(name) for name in wanted})
