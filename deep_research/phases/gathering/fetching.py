"""The pages that one search may still ask for over the network."""

from __future__ import annotations

from dataclasses import dataclass, field

from deep_research.budget.shared_budget import Purse

OVER_CAP = "max_fetches leaves no more pages to this search"
OVER_SHARED_CAP = "a budget that is shared with other runs leaves no more pages"


@dataclass(slots=True)
class Fetching:
    """``left`` is the search's part of the run's own cap, None: it has none. ``made`` counts the pages asked for."""

    left: int | None = None
    purse: Purse = field(default_factory=Purse)
    made: int = 0

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
