"""The pages that one search may still ask for over the network, and how many of them were read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from deep_research.budget.shared_budget import Purse
from deep_research.phases.agent_contract import Allowance

OVER_CAP = "max_fetches leaves no more pages to this search"
OVER_SHARED_CAP = "a budget that is shared with other runs leaves no more pages"

Tell = Callable[[int, int], None]
# A gatherer is told of its handoff alone; who listens to its progress stands around the call.
_LISTENER: ContextVar[Tell] = ContextVar("page_listener", default=lambda _read, _wanted: None)


@contextmanager
def pages_told(tell: Tell) -> Iterator[None]:
    """Within it ``tell`` hears, for each search, how many pages were read of how many that are wanted."""
    token = _LISTENER.set(tell)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@dataclass(slots=True)
class Fetching:
    """``left`` is the search's part of the run's own cap, None: it has none. ``made`` counts the pages asked for,
    ``read`` those of ``wanted`` that were read, or could not be."""

    left: int | None = None
    purse: Allowance = field(default_factory=Purse)
    made: int = 0
    wanted: int = 0
    read: int = 0

    @property
    def rest(self) -> int | None:
        """How many pages may still be asked for; None: as many as it takes."""
        return None if self.left is None else max(0, self.left - self.made)

    def want(self, pages: int) -> None:
        """So many pages more are waited for."""
        self.wanted += pages
        _LISTENER.get()(self.read, self.wanted)

    def done(self) -> None:
        """One of them is waited for no more."""
        self.read += 1
        _LISTENER.get()(self.read, self.wanted)

    def refusal(self) -> str | None:
        """Why no further page may be asked for; None takes it."""
        if self.left is not None and self.made >= self.left:
            return OVER_CAP
        if self.purse.take("max_fetches") is not None:
            return OVER_SHARED_CAP
        self.made += 1
        return None

    def give_back(self) -> None:
        """A page that was taken did not have to be asked for."""
        self.made -= 1
        self.purse.charge("max_fetches", -1)


@dataclass(slots=True)
class OneUse(Fetching):
    """The pages of one use out of what several share side by side, which ``of_all`` counts."""

    of_all: Fetching = field(default_factory=Fetching)

    @classmethod
    def of(cls, shared: Fetching) -> OneUse:
        return cls(of_all=shared)

    def refusal(self) -> str | None:
        why = self.of_all.refusal()
        self.made += why is None
        return why

    def give_back(self) -> None:
        self.made -= 1
        self.of_all.give_back()
