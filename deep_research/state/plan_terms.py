"""Changes of a run's options that come with an approved plan."""

from __future__ import annotations

from datetime import date
from typing import Any

from pydantic import Field

from deep_research.state.records import Record
from deep_research.state.spending import Budget


class PlanTerms(Record):
    """What is None stays as it is. ``budget`` are caps that take the place of those of the run, one by one; the others
    are options of the run by their names.

    Example:
        PlanTerms(max_sources_per_query=3, budget=Budget(max_searches=4))
    """

    max_sources_per_query: int | None = Field(default=None, ge=1, le=50)
    source_types: tuple[str, ...] | None = None
    domains: tuple[str, ...] | None = None
    not_domains: tuple[str, ...] | None = None
    since: date | None = None
    until: date | None = None
    budget: Budget | None = None

    def changes(self, budget: Budget) -> dict[str, Any]:
        """The options that differ under these terms, by name, for a run with such a ``budget``."""
        changed = {
            name: value
            for name in PlanTerms.model_fields
            if name != "budget" and (value := getattr(self, name)) is not None
        }
        if self.budget is None:
            return changed
        caps = {name: cap for name, cap in self.budget if cap is not None}
        return {**changed, "budget": budget.model_copy(update=caps)}
