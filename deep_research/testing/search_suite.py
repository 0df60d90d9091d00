"""The conformance suite of search providers: one item a promise.

For a provider of a service, over a server on loopback that speaks its format (see `SearchService`)::

    def made(url: str, key: str | None, seconds: float) -> MyProvider:
        return MyProvider(base_url=url, api_key=key, timeout=seconds)

    SUBJECT = Subject(service=MyServer, make=made)

    @pytest.mark.parametrize("check", checks_for(SUBJECT), ids=str)
    def test_my_provider(check: Check) -> None:
        with Bench(SUBJECT) as bench:
            check(bench)

One that asks no service is given what there is to find::

    SUBJECT = Subject(holding=MyProvider, lacks=frozenset(Ability))

What does not apply to a provider, the subject names in ``lacks``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType

from deep_research.testing import service_checks
from deep_research.testing.promises import Check as Promise
from deep_research.testing.promises import promises
from deep_research.testing.search_bench import (
    KEY,
    QUERY,
    Ability,
    Bench,
    Hit,
    Outcome,
    SearchService,
    Subject,
)
from deep_research.testing.search_checks import (
    search_answers,
    search_deadlines,
    search_failures,
    search_refusals,
    search_secrets,
)

__all__ = [
    "KEY",
    "QUERY",
    "SEARCH_CHECKS",
    "Ability",
    "Bench",
    "Check",
    "Hit",
    "Outcome",
    "SearchService",
    "Subject",
    "checks_for",
]

# Every check of these modules needs a service, and so do those that are named here; the others apply to any provider.
_OVER_HTTP = (search_failures, search_refusals, search_deadlines, search_secrets)
_NEEDS: dict[Callable[[Bench], object], frozenset[Ability]] = {
    search_secrets.without_a_key_nothing_is_made: frozenset({Ability.KEY}),
    search_secrets.a_wrong_key_is_refused: frozenset({Ability.KEYED}),
    service_checks.a_key_that_is_none_is_refused_and_not_shown: frozenset({Ability.KEYED}),
    service_checks.white_space_around_a_key_is_left_out: frozenset({Ability.KEYED}),
    search_secrets.no_error_shows_the_key: frozenset({Ability.KEYED}),
    search_secrets.the_key_goes_in_a_header_alone: frozenset({Ability.KEYED}),
    search_answers.one_connection_serves_many_searches: frozenset({Ability.SERVICE}),
    search_answers.filters_are_passed_on_or_left: frozenset({Ability.SERVICE}),
    search_answers.a_language_is_asked_for_where_the_provider_says_so: frozenset({Ability.SERVICE}),
    search_answers.many_at_once_each_get_their_own_results: frozenset({Ability.SERVICE}),
    search_answers.nothing_but_the_search_is_asked_for: frozenset({Ability.SERVICE}),
    search_answers.who_asks_says_so: frozenset({Ability.SERVICE}),
}


Check = Promise[Bench]


def _of(module: ModuleType) -> Iterator[Check]:
    for name, function in promises(module):
        needs = _NEEDS.get(function, frozenset())
        is_over_http = module in _OVER_HTTP or (
            module is service_checks and function not in service_checks.OF_ANY
        )
        yield Check(name, function, needs | {Ability.SERVICE} if is_over_http else needs)


SEARCH_CHECKS: tuple[Check, ...] = tuple(
    check
    for module in (
        search_answers,
        search_refusals,
        search_failures,
        search_deadlines,
        search_secrets,
        service_checks,
    )
    for check in _of(module)
)


def checks_for(subject: Subject) -> list[Check]:
    """The checks that a provider has to pass."""
    return [check for check in SEARCH_CHECKS if not check.needs & subject.lacks]
