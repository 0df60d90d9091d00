"""The conformance suite of memories: one item a promise, for any implementation.

::

    @pytest.mark.parametrize("check", checks_for(lacks=()), ids=str)
    def test_my_memory(check: Check, tmp_path: Path) -> None:
        with MemoryBench(lambda: MyMemory(tmp_path)) as bench:
            check(bench)

What a memory cannot do for what it is, it names: ``checks_for(lacks=[Ability.REOPENING])``. That nothing is left of a
text that was forgotten no suite can see from outside: look into your own files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from enum import StrEnum

from deep_research.testing import memory_checks
from deep_research.testing.memory_bench import MemoryBench
from deep_research.testing.promises import Check as Promise
from deep_research.testing.promises import promises

__all__ = ["MEMORY_CHECKS", "Ability", "Check", "MemoryBench", "checks_for"]
Check = Promise[MemoryBench]


class Ability(StrEnum):
    """What not every memory has."""

    REOPENING = "a new memory over the same place has what the old one kept"
    SHARING = "several memories work over one place at the same time"


_NEEDS: dict[Callable[[MemoryBench], None], frozenset[Ability]] = {
    memory_checks.a_new_memory_over_the_same_place_has_everything: frozenset({Ability.REOPENING}),
    memory_checks.two_memories_over_one_place_see_each_other: frozenset({Ability.SHARING}),
}


MEMORY_CHECKS: tuple[Check, ...] = tuple(
    Check(name, function, _NEEDS.get(function, frozenset())) for name, function in promises(memory_checks)
)
"""What every memory has to pass, one item a promise."""


def checks_for(*, lacks: Collection[Ability] = ()) -> list[Check]:
    """The checks that a memory without these abilities has to pass."""
    return [check for check in MEMORY_CHECKS if not check.needs & frozenset(lacks)]
