"""What models turned out to be able to do: which ways of asking for an object failed, by model. Shared by all runs of
the process, since a way that failed once is not tried again."""

from __future__ import annotations

import threading
from enum import StrEnum


class Rung(StrEnum):
    """A way to ask for an object, best first; or, as the first, for calls of tools."""

    CALLS = "calls"  # the service's own calls of tools
    SCHEMA = "schema"  # the service's own structured output
    TOOL = "tool"  # a tool that must be called
    JSON = "json"  # JSON in the text


class Abilities:
    """Thread-safe. ``failed`` rungs are skipped; the last one is always left, or nothing could be asked."""

    def __init__(self) -> None:
        self._gate = threading.Lock()
        self._failed: dict[str, set[Rung]] = {}
        self._worked: dict[str, set[Rung]] = {}

    def rungs(self, model: str, has: tuple[str, ...]) -> list[Rung]:
        """The ways worth trying, best first. ``has`` are the forms that the service knows."""
        with self._gate:
            failed = self._failed.get(model, set())
            return [rung for rung in Rung if rung is Rung.JSON or (rung not in failed and rung.value in has)]

    def may(self, model: str, rung: Rung) -> bool:
        """Whether a way is worth trying: it did not fail before."""
        with self._gate:
            return rung not in self._failed.get(model, set())

    def failed(self, model: str, rung: Rung) -> None:
        """It could not be used. One that worked before has a bad day, and is kept."""
        with self._gate:
            if rung not in self._worked.get(model, ()):
                self._failed.setdefault(model, set()).add(rung)

    def worked(self, model: str, rung: Rung) -> None:
        with self._gate:
            self._worked.setdefault(model, set()).add(rung)

    def has_worked(self, model: str, rung: Rung) -> bool:
        with self._gate:
            return rung in self._worked.get(model, ())

    def known_abilities(self) -> dict[str, dict[str, bool]]:
        """For each model the rungs that were tried, and whether they can be used."""
        with self._gate:
            models = sorted({*self._failed, *self._worked})
            return {
                model: {
                    rung.value: rung in self._worked.get(model, ())
                    for rung in Rung
                    if rung in self._worked.get(model, ()) or rung in self._failed.get(model, ())
                }
                for model in models
            }
