"""What settings change in searching and reading, which every agent's run does alike."""

import asyncio
import sys
from datetime import date
from pathlib import Path

import pytest
from proxy_server import ProxyServer
from servers import SearchServer, hits, web_reply
from setting_runs import QUESTION, run

from deep_research import DeepResearch, SearchProvider, SearchResult
from deep_research.errors import UnknownNameError
from deep_research.testing import ScriptedSearch, scripted_agents

sys.path.insert(0, str(Path(__file__).parents[1] / "sources" / "mcp"))

from mcp_runs import lines, odd


def sources_of_a_search(tmp_path):
    assert all(len(s.source_ids) == 1 for s in run(tmp_path, max_sources_per_query=1).state.sub_queries)


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


def first_day_of_publication(tmp_path):
    assert filters_of(tmp_path, since="2024-05-01").since == date(2024, 5, 1)


def last_day_of_publication(tmp_path):
    assert filters_of(tmp_path, until=date(2024, 5, 1)).until == date(2024, 5, 1)


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


def only_sites(tmp_path):
    assert from_two_sites(tmp_path, domains="two.org") == ["https://two.org/"]


def unwanted_sites(tmp_path):
    assert from_two_sites(tmp_path, not_domains="two.org") == ["https://one.org/"]


def language_of_the_search(tmp_path):
    assert filters_of(tmp_path, source_language="de").language == "de"


def cap_on_searches(tmp_path):
    search = ScriptedSearch()
    run(tmp_path, search=[search], max_searches=2)
    assert len(search.requests) == 2


def documents_to_search(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "tower.md").write_text(
        "# Towers\n\nThe tower of Mole was built in 1811 by Ann Mole."
    )
    with DeepResearch(corpus=tmp_path / "docs", data_dir=tmp_path / "data") as research:
        assert research.run("Who built the tower of Mole?").sources[0].url == "tower.md"


def documents_by_name(tmp_path):
    for name, year in (("old", 1811), ("new", 1911)):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.md").write_text(
            f"# Towers\n\nThe tower of Mole was built in {year} by Ann Mole."
        )
    named = {name: tmp_path / name for name in ("old", "new")}
    with DeepResearch(named_corpora=named, corpus=tmp_path / "old", data_dir=tmp_path / "data") as research:
        for names, found in (("new", "new.md"), (None, "old.md")):
            assert [s.url for s in research.run("Who built the tower of Mole?", corpora=names).sources] == [
                found
            ]
        both = research.run("Who built the tower of Mole?", corpora=["new", "old"])
        assert {source.url for source in both.sources} == {"new/new.md", "old/old.md"}
        with pytest.raises(UnknownNameError, match="Did you mean 'new'"):
            research.run("Who built the tower of Mole?", corpora=["nwe"])


def providers_by_name(tmp_path):
    with pytest.raises(UnknownNameError):
        run(tmp_path, search=["nobody"])


def where_services_are(tmp_path):
    with SearchServer(hits(1)) as server:
        run(tmp_path, search=["searxng"], search_urls={"searxng": server.base_url}, fetch={"enabled": False})
        assert {asked.path for asked in server.log} == {"/search"}


def servers_to_search_with(tmp_path):
    with pytest.raises(UnknownNameError):
        run(tmp_path, search=["mcp:odd"])
    run(tmp_path, search=["mcp:odd"], mcp_servers={"odd": odd(tmp_path)})
    assert any(line.startswith("call") for line in lines(tmp_path))


def requests_to_one_service_in_a_minute(tmp_path):
    with DeepResearch(
        search=[ScriptedSearch()], data_dir=tmp_path, rate_limits={"search_requests_per_minute": 7}
    ) as research:
        assert research._parts.sources.services[0].gate.per_minute == 7


def other_wordings_of_a_search(tmp_path):
    for most in (0, 1):
        search = ScriptedSearch(lambda request: [])
        result = run(tmp_path, search=[search], max_rewordings=most, gate_retries=0)
        assert all(len(sub_query.wordings) <= most for sub_query in result.state.sub_queries)
        assert any(len(sub_query.wordings) == most for sub_query in result.state.sub_queries)


def read_from(site, tmp_path, **fields):
    """A run over pages of the site, and the lines that tell what could not be read."""
    pages = [SearchResult(address=f"http://example.org/{n}", title=QUESTION) for n in range(3)]
    result = run(tmp_path, search=[ScriptedSearch(lambda request: pages)], **fields)
    return result, [notice.line for notice in result.notices if notice.name == "pages"]


def pages_that_searches_find_are_read(tmp_path, site):
    for read in (False, True):
        read_from(site, tmp_path, fetch={"enabled": read})
        assert ("/1" in site.paths) is read


def cap_on_pages(tmp_path, site):
    def found(request):
        first = 3 * (int(request.query[-1]) - 1)
        return [SearchResult(address=f"http://example.org/{first + n}", title=QUESTION) for n in range(3)]

    for cap in (0, 2):
        site.asked.clear()
        result = run(tmp_path / str(cap), search=[ScriptedSearch(found)], max_fetches=cap, gate_retries=0)
        assert len([path for path in site.paths if path != "/robots.txt"]) == cap == result.usage.fetches
        assert [limit.cap for limit in result.limits if limit.name == "max_fetches"] == [cap]


def seconds_of_one_page(tmp_path, site, stretch):
    site.pages["/1"] = hang

    def left(seconds):
        _, unread = read_from(site, tmp_path, fetch={"timeout": seconds})
        assert f"found but not read: no whole answer within {seconds:g} s." in unread[0]

    stretch(0.2, left)


async def hang(writer):
    await asyncio.Event().wait()


def pages_read_at_a_time(tmp_path, site):
    site.seconds = 0.01
    for most in (1, 3):
        site.most_at_once = 0
        read_from(site, tmp_path / str(most), fetch={"concurrency": most})
        assert site.most_at_once <= most


def proxy_that_pages_are_read_through(tmp_path, site):
    with ProxyServer(site.port) as proxy:
        for setting in ("off", proxy.url):
            read_from(site, tmp_path / str(len(setting)), fetch={"proxy": setting})
            assert bool(proxy.heads) is (setting != "off")


def pages_read_from_one_site_at_a_time(tmp_path, site):
    site.seconds = 0.01
    for most in (1, 3):
        site.most_at_once = 0
        read_from(site, tmp_path / str(most), fetch={"per_host": most})
        assert site.most_at_once <= most


def what_is_asked_of_a_site(tmp_path, site):
    site.pages["/robots.txt"] = web_reply(b"User-agent: *\nDisallow: /1", Content_Type="text/plain")
    site.pages["/2"] = web_reply(b"x" * 10_001)
    for respected in (True, False):
        site.asked.clear()
        given = {
            "fetch": {"max_bytes": 10_000, "contact": "mailto:ann@example.org", "respect_robots": respected}
        }
        _, unread = read_from(site, tmp_path / str(respected), **given)
        assert ("/1" in site.paths) is not respected
        assert any("longer than 10,000 bytes" in line for line in unread)
        assert all("(mailto:ann@example.org)" in head for head in site.asked)


def the_largest_local_file(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("Of towers.")
    (tmp_path / "docs" / "long.md").write_text("Of towers. " * 2_000)
    for most, skipped in ((10_000, ["long.md"]), (30_000, [])):
        with DeepResearch(corpus=tmp_path / "docs", data_dir=tmp_path, max_file_bytes=most) as research:
            assert [file.path for file in research.skipped()] == skipped


def processes_that_read(tmp_path):
    with DeepResearch(search=[ScriptedSearch()], data_dir=tmp_path, fetch={"workers": 3}) as research:
        assert research._parts.sources.extractor.workers == 3


def seconds_of_making_a_text(tmp_path, site):
    site.pages["/1"] = web_reply(b"<p>x " * 300_000)
    _, unread = read_from(site, tmp_path, fetch={"cpu_seconds": 0.01})
    assert any("time" in line or "long" in line or "0.01" in line for line in unread)


def quality_of_a_page(tmp_path, **lists):
    found = [SearchResult(address="https://example.org/a", title=QUESTION, text=QUESTION)]
    return run(tmp_path, search=[ScriptedSearch(lambda request: found)], **lists).sources[0].quality


def what_the_user_trusts(tmp_path):
    assert quality_of_a_page(tmp_path, quality={"high": "example.org"}) == "high"


def what_the_user_trusts_somewhat(tmp_path):
    assert quality_of_a_page(tmp_path, quality={"medium": "example.org"}) == "medium"


def what_the_user_does_not_trust(tmp_path):
    assert quality_of_a_page(tmp_path, quality={"low": "example.org/a"}) == "low"
