"""A service that fails is left alone, and tried again with one request."""

from deep_research.sources.search.breaker import FIRST_REST_SECONDS, MAX_FAILURES, MAX_REST_SECONDS, Breaker


def failed(breaker, times):
    for _ in range(times):
        breaker.failed("no answer")


def test_a_few_failures_change_nothing(time):
    breaker = Breaker(time)
    failed(breaker, MAX_FAILURES - 1)
    assert breaker.admits()
    breaker.succeeded()
    failed(breaker, MAX_FAILURES - 1)
    assert breaker.admits()


def test_after_so_many_in_a_row_nobody_asks_for_a_while(time):
    breaker = Breaker(time)
    failed(breaker, MAX_FAILURES)
    assert not breaker.admits()
    health = breaker.health()
    assert (health.rest, health.why, health.is_explicit) == (FIRST_REST_SECONDS, "no answer", False)


def test_after_the_rest_one_request_tries_and_others_wait_for_its_end(time):
    breaker = Breaker(time)
    failed(breaker, MAX_FAILURES)
    time.now += FIRST_REST_SECONDS
    assert breaker.admits()
    assert not breaker.admits()
    breaker.succeeded()
    assert breaker.admits()
    assert breaker.admits()
    assert breaker.health().why == ""


def test_a_trial_that_fails_doubles_the_rest_up_to_a_bound(time):
    breaker = Breaker(time)
    failed(breaker, MAX_FAILURES)
    rests = []
    for _ in range(8):
        time.now += breaker.health().rest
        assert breaker.admits()
        breaker.failed("still nothing")
        rests.append(breaker.health().rest)
    assert rests[:3] == [2 * FIRST_REST_SECONDS, 4 * FIRST_REST_SECONDS, 8 * FIRST_REST_SECONDS]
    assert rests[-1] == MAX_REST_SECONDS


def test_a_trial_whose_end_nobody_tells_does_not_keep_the_service_closed_for_ever(time):
    breaker = Breaker(time)
    failed(breaker, MAX_FAILURES)
    time.now += FIRST_REST_SECONDS
    assert breaker.admits()
    time.now += FIRST_REST_SECONDS
    assert breaker.admits()


def test_what_the_service_says_of_itself_holds_at_once(time):
    breaker = Breaker(time)
    breaker.rest(90.0, "quota")
    assert not breaker.admits()
    assert (breaker.health().rest, breaker.health().is_explicit) == (90.0, True)
    time.now += 90.0
    assert breaker.admits()
