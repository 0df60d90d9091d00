"""The conformance suite of stores: one item a promise, for any implementation.

::

    @pytest.mark.parametrize("check", checks_for(lacks=()), ids=str)
    def test_my_store(check: Check, tmp_path: Path) -> None:
        with Bench(lambda now: MyStore(tmp_path / "runs", now=now)) as bench:
            check(bench)

What a store cannot do for what it is, it names: ``checks_for(lacks=[Ability.REOPENING])``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from enum import StrEnum
from types import ModuleType

from deep_research.testing import (
    journal_checks,
    listing_checks,
    ownership_checks,
    page_checks,
    queue_checks,
    store_checks,
)
from deep_research.testing.promises import Check as Promise
from deep_research.testing.promises import promises
from deep_research.testing.store_bench import Bench

__all__ = ["STORE_CHECKS", "Ability", "Bench", "Check", "checks_for"]
Check = Promise[Bench]


class Ability(StrEnum):
    """What not every store has."""

    REOPENING = "a new store over the same place has what the old one stored"
    SHARING = "several stores work over one place at the same time"
    PAGES = "the last page that was fetched of an address is found again"
    TURNS = "workers serve the users of a store in turn"
    EXPIRY = "a lease that is not renewed runs out"


_NEEDS: dict[Callable[[Bench], None], frozenset[Ability]] = {
    ownership_checks.a_new_store_over_the_same_place_has_everything: frozenset({Ability.REOPENING}),
    ownership_checks.two_stores_over_one_place_see_each_other: frozenset({Ability.SHARING}),
    ownership_checks.a_command_left_through_another_store_arrives: frozenset({Ability.SHARING}),
    ownership_checks.the_loser_is_told_of_a_taking_through_another_store: frozenset({Ability.SHARING}),
    ownership_checks.a_lease_that_ran_out_is_taken_over: frozenset({Ability.EXPIRY}),
    listing_checks.a_run_whose_lease_ran_out_is_found_as_interrupted: frozenset({Ability.EXPIRY}),
    ownership_checks.a_heartbeat_keeps_the_lease: frozenset({Ability.EXPIRY, Ability.SHARING}),
    ownership_checks.without_a_watch_the_lease_runs_out: frozenset({Ability.EXPIRY, Ability.SHARING}),
    queue_checks.runs_are_claimed_by_priority_then_user_by_user_then_by_age: frozenset({Ability.TURNS}),
    page_checks.a_page_comes_back_as_it_was_fetched: frozenset({Ability.PAGES}),
    page_checks.the_last_page_of_an_address_counts_whatever_comes_later: frozenset({Ability.PAGES}),
    page_checks.deleting_the_only_run_of_a_page_forgets_it: frozenset({Ability.PAGES}),
}


def _of(module: ModuleType) -> Iterator[Check]:
    for name, function in promises(module):
        yield Check(name, function, _NEEDS.get(function, frozenset()))
    for name, function in promises(module, of="desk"):
        yield Check(name, journal_checks.on_a_loop(function))


STORE_CHECKS: tuple[Check, ...] = tuple(
    check
    for module in (store_checks, ownership_checks, listing_checks, queue_checks, page_checks, journal_checks)
    for check in _of(module)
)


def checks_for(*, lacks: Collection[Ability] = ()) -> list[Check]:
    """The checks that a store without these abilities has to pass."""
    return [check for check in STORE_CHECKS if not check.needs & frozenset(lacks)]
