"""Checks as data: each one promise, found by name in its module."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Generic, TypeVar

B = TypeVar("B")


@dataclass(frozen=True)
class Check(Generic[B]):
    """One promise. Call it with a bench; it raises `AssertionError`, or what should not be raised, if it is not kept.
    ``needs`` are abilities that not every subject has."""

    name: str
    run: Callable[[B], Any]
    needs: frozenset[Any] = frozenset()

    def __call__(self, bench: B) -> None:
        if inspect.iscoroutinefunction(self.run):
            bench.on_a_loop(self.run)  # type: ignore[attr-defined]  # of benches that have coroutines for checks
        else:
            self.run(bench)

    def __str__(self) -> str:
        return self.name


def promises(module: ModuleType, *, of: str = "bench") -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of a module that take a bench and nothing else, by name, in their order."""
    for name, function in vars(module).items():
        if name.startswith("_") or getattr(function, "__module__", "") != module.__name__:
            continue
        if list(getattr(function, "__annotations__", {})) == [of, "return"]:
            yield name, function
