"""Both stores keep every promise of the suite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from deep_research.store import MemoryStore, RunRow, SQLiteStore, Store
from deep_research.testing import listing_checks, queue_checks
from deep_research.testing.promises import promises
from deep_research.testing.store_suite import STORE_CHECKS, Ability, Bench, Check, checks_for

pytestmark = pytest.mark.timed

MEMORY_LACKS = frozenset(Ability) - {Ability.TURNS}


def on_disk(folder: Path) -> Callable[[Callable[[], float]], Store]:
    return lambda now: SQLiteStore(
        folder / "runs.db", now=now, heartbeat=0.01, control_interval=0.005, lock_timeout=300.0
    )


@pytest.mark.parametrize("check", checks_for(), ids=str)
def test_the_sqlite_store_keeps_the_promise(check: Check, tmp_path: Path) -> None:
    with Bench(on_disk(tmp_path)) as bench:
        check(bench)


@pytest.mark.parametrize("check", checks_for(lacks=MEMORY_LACKS), ids=str)
def test_the_memory_store_keeps_the_promise(check: Check) -> None:
    with Bench(lambda now: MemoryStore(now=now)) as bench:
        check(bench)


class OlderStore(MemoryStore):
    """A store that was written when there were no filters and pages, and no claims."""

    claim = Store.claim

    def runs(self, *, limit: int | None = None) -> list[RunRow]:  # type: ignore[override]
        return super().runs(limit=limit)


class InheritingStore(OlderStore):
    """Whatever is built on it."""


BY_DEFAULT = {name for module in (listing_checks, queue_checks) for name, _ in promises(module)}


@pytest.mark.parametrize("kind", [OlderStore, InheritingStore])
@pytest.mark.parametrize("check", [c for c in checks_for(lacks=Ability) if c.name in BY_DEFAULT], ids=str)
def test_a_store_of_the_older_contract_finds_runs_as_well(check: Check, kind: type[MemoryStore]) -> None:
    with Bench(lambda now: kind(now=now)) as bench:
        check(bench)


def test_the_suite_is_as_large_as_it_says() -> None:
    assert len(STORE_CHECKS) >= 60
    assert len({check.name for check in STORE_CHECKS}) == len(STORE_CHECKS)
    assert len(checks_for()) == len(STORE_CHECKS)


def test_what_the_memory_store_lacks_is_all_it_is_spared() -> None:
    spared = {str(check) for check in STORE_CHECKS} - {str(c) for c in checks_for(lacks=MEMORY_LACKS)}
    assert spared == {str(check) for check in STORE_CHECKS if check.needs & MEMORY_LACKS}
