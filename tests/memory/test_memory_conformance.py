"""Both memories keep every promise of the suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from deep_research.memory import SQLiteMemory, VolatileMemory
from deep_research.testing.memory_suite import MEMORY_CHECKS, Ability, Check, MemoryBench, checks_for

pytestmark = pytest.mark.timed


@pytest.mark.parametrize("check", checks_for(), ids=str)
def test_the_sqlite_memory_keeps_the_promise(check: Check, tmp_path: Path) -> None:
    with MemoryBench(lambda: SQLiteMemory(tmp_path / "memory.sqlite3", lock_seconds=300.0)) as bench:
        check(bench)


@pytest.mark.parametrize("check", checks_for(lacks=Ability), ids=str)
def test_the_volatile_memory_keeps_the_promise(check: Check) -> None:
    with MemoryBench(VolatileMemory) as bench:
        check(bench)


def test_the_suite_is_as_large_as_it_says() -> None:
    assert len(MEMORY_CHECKS) >= 25
    assert len({check.name for check in MEMORY_CHECKS}) == len(MEMORY_CHECKS)
    assert len(checks_for()) == len(MEMORY_CHECKS)
