"""How services are asked: at their rate, again where that helps, in turn where one fails, and not while they rest."""

import asyncio
from dataclasses import replace

import pytest

from deep_research.calls import Calls
from deep_research.errors import SearchError, StopResearch
from deep_research.limits import MAX_GATES, Gate
from deep_research.sources.search import (
    SearchFilters,
    SearchProvider,
    SearchRequest,
    SearchResult,
    SourceType,
    Trouble,
    search_failure,
)
from deep_research.sources.search.breaker import MAX_FAILURES, Breaker
from deep_research.sources.search.combined_search import SearchPool
from deep_research.sources.search.policy import (
    MAX_BREAKERS,
    MAX_REQUESTS,
    PATIENCE_SECONDS,
    QUOTA_REST_SECONDS,
    REFUSED_REST_SECONDS,
    Persistence,
    Service,
    Shared,
)
from deep_research.sources.search.service_choice import choose_services
from deep_research.state import SourceKind

REQUEST = SearchRequest(query="tide mills", limit=5)
BUSY = search_failure(Trouble.TRANSIENT, "It is busy.", status=503)
LATER = search_failure(Trouble.QUOTA, "Too many requests.", status=429, retry_after=40.0)
SOON = search_failure(Trouble.QUOTA, "Too many requests.", status=429, retry_after=2.0)
SPENT = search_failure(Trouble.QUOTA, "The plan is used up.", status=432)
AWAY = search_failure(Trouble.TRANSIENT, "It cannot be reached.", unreached=True)
WRONG_KEY = search_failure(Trouble.REFUSED, "The key is not valid.", status=401)
WRONG_QUERY = search_failure(Trouble.REFUSED, "The query is too long.", status=400)


class Told(SearchProvider):
    """Answers with what it was told, one after another, the last one again and again."""

    def __init__(self, *answers, name="told", types=("web",)):
        self.name, self.types, self.answers, self.requests = name, frozenset(types), answers, []

    async def search(self, request):
        self.requests.append(request)
        answer = self.answers[min(len(self.requests), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer


def pages(*names):
    return [SearchResult(address=f"https://example.org/{name}", title=name, text=name) for name in names]


@pytest.fixture
def service(time):
    def made(provider, **more):
        gate = Gate(8, more.pop("per_minute", None), clock=time, sleep=time.sleep)
        persistence = Persistence(sleep=time.sleep, chance=lambda: 0.0)
        return Service(
            provider=provider,
            gate=gate,
            breaker=Breaker(time),
            calls=Calls(),
            persistence=persistence,
            **more,
        )

    return made


def asked(service, request=REQUEST, **more):
    return asyncio.run(service.search(request, **more))


def failure(service, **more):
    with pytest.raises(SearchError) as caught:
        asked(service, **more)
    return caught.value


def test_an_answer_carries_the_name_of_its_service(service):
    assert [result.provider for result in asked(service(Told(pages("a"), name="mine")))] == ["mine"]


def test_trouble_that_passes_is_asked_again_after_a_growing_wait(service, time):
    provider = Told(BUSY, BUSY, pages("a"))
    assert len(asked(service(provider))) == 1
    assert (len(provider.requests), time.slept) == (3, [0.5, 1.0])


def test_trouble_that_stays_is_asked_so_often_and_nobody_sleeps_after_the_last(service, time):
    provider = Told(BUSY)
    assert failure(service(provider)).problem == "It is busy."
    assert (len(provider.requests), len(time.slept)) == (MAX_REQUESTS, MAX_REQUESTS - 1)


@pytest.mark.parametrize("error", [WRONG_KEY, WRONG_QUERY, SPENT, LATER, SearchError("Who knows.")])
def test_what_asking_again_does_not_mend_is_asked_once(service, error):
    provider = Told(error)
    failure(service(provider))
    assert len(provider.requests) == 1


def test_a_service_that_asks_for_a_moment_gets_it(service, time):
    provider = Told(SOON, pages("a"))
    assert len(asked(service(provider))) == 1
    assert time.slept[0] == 2.0


@pytest.mark.parametrize(
    ("error", "rest"), [(LATER, 40.0), (SPENT, QUOTA_REST_SECONDS), (WRONG_KEY, REFUSED_REST_SECONDS)]
)
def test_a_service_that_says_so_is_left_alone(service, error, rest):
    provider = Told(error, pages("a"))
    mine = service(provider)
    failure(mine)
    assert mine.health.rest == rest
    later = failure(mine)
    assert later.problem == f"told is left alone for {rest:g} s: {error.problem}"
    assert len(provider.requests) == 1


def test_a_query_that_is_refused_says_nothing_of_the_next_one(service):
    mine = service(Told(WRONG_QUERY, pages("a")))
    failure(mine)
    assert len(asked(mine)) == 1


def test_who_is_the_last_to_ask_waits_for_a_service_within_reason(service, time):
    mine = service(Told(LATER, pages("a")))
    failure(mine)
    assert len(asked(mine, last=True)) == 1
    assert sum(time.slept) == pytest.approx(40.0)
    assert 10 * PATIENCE_SECONDS >= 40.0


def test_who_is_the_last_to_ask_does_not_wait_for_ever(service, time):
    mine = service(Told(SPENT))
    failure(mine)
    assert "left alone" in failure(mine, last=True).problem
    assert time.slept == []


def test_a_service_that_keeps_failing_is_asked_once_where_there_is_no_other(service):
    provider = Told(*[BUSY] * 20, pages("a"))
    mine = service(provider)
    for _ in range(MAX_FAILURES):
        failure(mine)
    before = len(provider.requests)
    failure(mine)
    assert len(provider.requests) == before
    failure(mine, last=True)
    assert len(provider.requests) == before + 1


def test_requests_are_spaced_as_the_service_wants(service, time):
    provider = Told(pages("a"))
    mine = service(provider, per_minute=60)
    for _ in range(3):
        asked(mine)
    assert sum(time.slept) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (ValueError("oops"), "told failed: ValueError: oops"),
        (None, "told answered with something else than SearchResult objects."),
        ([{"url": "x"}], "told answered with something else than SearchResult objects."),
        (asyncio.CancelledError(), "told failed: RuntimeError: it raised CancelledError"),
    ],
)
def test_whatever_a_provider_does_becomes_one_error(service, answer, problem):
    assert failure(service(Told(answer))).problem == problem


def test_a_hook_within_a_provider_may_stop_the_run(service):
    with pytest.raises(StopResearch):
        asked(service(Told(StopResearch("enough"))))


@pytest.mark.timed
def test_a_provider_that_hangs_is_left_after_its_time(service, stretch):
    class Hanging(SearchProvider):
        name = "hanging"

        async def search(self, request):
            await asyncio.Event().wait()

    def left(seconds):
        told = failure(service(Hanging(), timeout=seconds)).problem
        assert told == f"hanging did not answer within {seconds:g} s."

    stretch(0.01, left)


def test_filters_hold_whatever_the_service_made_of_them(service):
    request = replace(
        REQUEST, filters=SearchFilters(not_domains=("example.org",)), exclude=frozenset({"https://b.org/1"})
    )
    found = [
        *pages("a"),
        SearchResult(address="https://b.org/1", title="b"),
        SearchResult(address="https://c.org", title="c"),
    ]
    assert [r.address for r in asked(service(Told(found)), request)] == ["https://c.org"]


def test_two_engines_of_a_process_share_the_gate_and_the_breaker_of_a_service():
    common = Shared()
    one, two = (Service.of(Told(WRONG_KEY), calls=Calls(), endpoint="told", common=common) for _ in range(2))
    failure(one)
    assert two.health.is_explicit
    assert one.gate is two.gate


@pytest.mark.timed
def test_engines_with_different_keys_share_neither_gate_nor_breaker(monkeypatch):
    def with_key(key):
        monkeypatch.setenv("TAVILY_API_KEY", key)
        (service,) = choose_services(
            ["tavily"], documents=False, urls={}, calls=Calls(), timeout=1.0
        ).services
        return service

    one, same, other = (
        with_key("tvly-one-0123456789"),
        with_key("tvly-one-0123456789"),
        with_key("tvly-two-01234"),
    )
    one.breaker.rest(60.0, "The key is not valid.")
    try:
        assert (same.health.is_explicit, other.health.is_explicit) == (True, False)
        assert one.gate is same.gate
        assert one.gate is not other.gate
        assert "0123" not in one.provider.account
    finally:
        one.breaker.succeeded()


@pytest.mark.timed
def test_engines_that_ask_different_places_share_nothing(monkeypatch):
    def at(url):
        monkeypatch.setenv("SEARXNG_URL", url)
        return choose_services(["searxng"], documents=False, urls={}, calls=Calls(), timeout=1.0).services[0]

    assert at("http://127.0.0.1:1").breaker is not at("http://127.0.0.1:2").breaker


def test_what_is_known_of_services_is_bounded():
    common = Shared()
    for number in range(MAX_BREAKERS + MAX_GATES):
        Service.of(Told(), calls=Calls(), endpoint=str(number), common=common)
    assert len(common._breakers) == MAX_BREAKERS
    assert len(common.gates._gates) == MAX_GATES


# Several services


def pool_of(*services, **more):
    return SearchPool(services=services, **more)


def found(pool, **more):
    return asyncio.run(pool.search(replace(REQUEST, **more)))


def titles(outcome):
    return [result.title for result in outcome.results]


def test_the_first_service_that_answers_is_enough(service):
    one, two = Told(pages("one")), Told(pages("two"))
    assert titles(found(pool_of(service(one), service(two)))) == ["one"]
    assert two.requests == []


@pytest.mark.parametrize("error", [BUSY, LATER, SPENT, WRONG_KEY, WRONG_QUERY, ValueError("oops")])
def test_when_one_cannot_answer_the_next_is_asked_and_it_is_told(service, error):
    outcome = found(pool_of(service(Told(error, name="one")), service(Told(pages("two")))))
    assert titles(outcome) == ["two"]
    assert len(outcome.failures) == 1


def test_when_one_knows_nothing_the_next_is_asked(service):
    outcome = found(pool_of(service(Told([])), service(Told(pages("two")))))
    assert (titles(outcome), outcome.failures) == (["two"], ())


def test_what_is_to_be_known_of_a_service_comes_with_its_answers_alone(service):
    class Noted(Told):
        def __init__(self, answer, note, **more):
            super().__init__(answer, **more)
            self.notes = (note, "Both say so.")

    one, two, three = (
        Noted(BUSY, "Busy."),
        Noted(pages("two"), "Ends in 2020."),
        Noted(pages("three"), "Not asked."),
    )
    assert found(pool_of(*map(service, (one, two, three)))).notes == ("Ends in 2020.", "Both say so.")
    plain = Told(pages("two"))
    for plain.notes in ("Ends in 2020.", ["Ends in 2020."]):
        assert service(plain).notes == ("Ends in 2020.",)
    plain.notes = None
    assert service(plain).notes == ()
    documents = service(Noted([], "A file was not read."))
    outcome = found(pool_of(service(two), corpus=documents))
    assert outcome.notes == ("A file was not read.", "Both say so.", "Ends in 2020.")


def test_each_kind_of_source_is_asked_of_services_that_are_good_for_it(service):
    web, papers = Told(pages("web")), Told(pages("paper"), types=("academic",))
    outcome = found(pool_of(service(web), service(papers)), source_types=("academic", "web"))
    assert titles(outcome) == ["paper", "web"]
    assert [r.source_types for r in (*web.requests, *papers.requests)] == [("web",), ("academic",)]


def test_where_no_service_is_good_for_a_kind_the_others_are_asked(service):
    web = Told(pages("web"))
    assert titles(found(pool_of(service(web)), source_types=("news",))) == ["web"]


def test_who_wants_documents_alone_asks_no_service(service):
    web = Told(pages("web"))
    local = Told([SearchResult(address="a.md", title="local", kind=SourceKind.DOCUMENT, text="x")])
    pool = pool_of(service(web), corpus=service(local))
    assert titles(found(pool, source_types=(SourceType.DOCUMENT,))) == ["local"]
    assert web.requests == []


def test_documents_and_the_web_are_searched_together(service):
    local = Told([SearchResult(address="a.md", title="local", kind=SourceKind.DOCUMENT, text="x")])
    assert titles(found(pool_of(service(Told(pages("web"))), corpus=service(local)))) == ["local", "web"]


def test_when_every_service_is_down_the_documents_are_enough_and_it_is_told(service):
    local = Told([SearchResult(address="a.md", title="local", kind=SourceKind.DOCUMENT, text="x")])
    outcome = found(pool_of(service(Told(BUSY)), corpus=service(local)))
    assert (titles(outcome), outcome.failures) == (["local"], ("It is busy.",))


def test_when_nobody_answers_all_reasons_are_told(service):
    with pytest.raises(SearchError, match=r"It is busy. The key is not valid."):
        found(pool_of(service(Told(BUSY)), service(Told(WRONG_KEY))))


def test_who_rests_is_asked_after_the_others(service):
    resting, ready = Told(SOON, pages("late")), Told(pages("ready"))
    first, second = service(resting), service(ready)
    first.breaker.rest(30.0, "quota")
    assert titles(found(pool_of(first, second))) == ["ready"]
    assert resting.requests == []


def test_who_rests_is_waited_for_where_nobody_else_answers(service, time):
    resting = Told(pages("late"))
    only = service(resting)
    only.breaker.rest(30.0, "quota")
    assert titles(found(pool_of(only))) == ["late"]
    assert sum(time.slept) == pytest.approx(30.0)


def test_a_stop_of_the_run_within_one_of_several_goes_through(service):
    papers = service(Told(pages("two"), types=("academic",)))
    with pytest.raises(StopResearch):
        found(pool_of(service(Told(StopResearch("enough"))), papers), source_types=("web", "academic"))


def test_a_service_that_cannot_be_reached_is_not_asked_again_while_there_is_another(service, time):
    away, here = Told(AWAY, name="away"), Told(pages("a"), name="here")
    found = asyncio.run(SearchPool(services=[service(away), service(here)]).search(REQUEST))
    assert ([r.title for r in found.results], len(away.requests)) == (["a"], 1)
    assert time.slept == []


def test_when_no_service_can_be_reached_the_run_learns_it_soon(service, time):
    one, other = Told(AWAY, name="one"), Told(AWAY, name="other")
    pool = SearchPool(services=[service(one), service(other)])
    for _ in range(3):
        with pytest.raises(SearchError) as told:
            asyncio.run(pool.search(REQUEST))
    assert told.value.problem == "one and other cannot be reached: there may be no network."
    assert sum(time.slept) < 5
    assert len(one.requests) + len(other.requests) <= 8


def test_a_service_that_was_not_reached_twice_rests():
    breaker = Breaker(lambda: 0.0)
    breaker.failed("It cannot be reached.", unreached=True)
    assert breaker.admits()
    breaker.failed("It cannot be reached.", unreached=True)
    assert not breaker.admits()
    assert breaker.health().unreached
