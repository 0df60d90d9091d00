"""How long a run was worked on."""

from __future__ import annotations

from collections.abc import Callable


class Stopwatch:
    """The seconds of work on a run by all its owners together: those ``before``, and since `start` those of this one.
    ``clock`` gives seconds and never goes back."""

    def __init__(self, clock: Callable[[], float], before: float = 0.0) -> None:
        self._clock = clock
        self._before = before
        self._started: float | None = None

    def start(self) -> None:
        """Waiting for a turn is no work: the watch stands until this is called."""
        self._started = self._clock()

    def __call__(self) -> float:
        here = 0.0 if self._started is None else self._clock() - self._started
        return round(self._before + here, 3)
