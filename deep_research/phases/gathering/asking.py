"""One query put to the gatherer: whether a shared budget allows it, what came of it, and what is counted of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from deep_research.budget.shared_budget import Purse
from deep_research.errors import BudgetError, DeepResearchError, SearchError
from deep_research.phases.gathering.handoff import GathererInput, GathererOutput


@dataclass(frozen=True, slots=True)
class Asked:
    """What a query gave: an ``answer``, else why there is none (``error``). ``searches``, with those that ``failed``, and
    ``fetches`` are what counts against the caps of the run."""

    answer: GathererOutput | None = None
    error: str = ""
    searches: int = 0
    failed: int = 0
    fetches: int = 0


async def answered(
    ask: Callable[[GathererInput], Awaitable[GathererOutput]],
    handoff: GathererInput,
    purse: Purse,
    *,
    takes_itself: bool,
) -> Asked | BudgetError:
    """The gatherer, ``ask``, at one query; or the refusal where a shared budget does not allow it. What one takes that
    does not take from the purse itself, each search but the first and each page, is charged to it afterwards."""
    refusal = purse.take("max_searches")
    if refusal is not None:
        return refusal
    try:
        answer = await ask(handoff)
    except DeepResearchError as error:
        # A search that failed led to no page; else nobody knows how many were asked for.
        fetches = 0 if isinstance(error, SearchError) else handoff.fetches or 0
        return Asked(error=error.problem, searches=1, failed=1, fetches=fetches)
    searches = max(1 + len(answer.wordings), answer.stats.queries_executed)
    if not takes_itself:
        purse.charge("max_searches", searches - 1)
        purse.charge("max_fetches", answer.fetches)
    return Asked(
        answer,
        searches=searches,
        failed=min(answer.stats.queries_failed, searches),
        fetches=answer.fetches,
    )
