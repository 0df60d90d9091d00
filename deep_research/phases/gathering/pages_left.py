"""Pages that were found and left unread to keep within a cap, read under a higher one. No search is made again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from deep_research.calls import off_loop
from deep_research.phases.base import WorkLimits
from deep_research.phases.gathering.caps import unread_notices
from deep_research.phases.gathering.collecting import collected, work_of
from deep_research.phases.gathering.handoff import GathererInput, GathererOutput, PagesInput
from deep_research.state import DeepResearchState, SubQuery
from deep_research.state.events import Event, SubQueryCompleted
from deep_research.state.journal import Journal


def finder(state: DeepResearchState) -> SubQuery | None:
    """The sub-query under which what is read now is counted: the last that was searched. The log of a search does not say
    which pages it left."""
    return next(reversed(state.completed_sub_queries()), None)


async def read_left(
    read: Callable[[PagesInput], Awaitable[GathererOutput]],
    handoff: GathererInput,
    sub_query: SubQuery,
    journal: Journal,
    limits: WorkLimits,
) -> None:
    """Has the gatherer ``read`` the pages that a state has left, within the caps that hold now. What is left still is
    told again."""
    journal.check()
    state = journal.state
    cap = state.options.budget.max_fetches
    left = None if cap is None else max(0, cap - state.usage.fetches)
    pages = tuple(state.pages_left)
    answer = await read(PagesInput(**dict(handoff) | {"pages": pages, "fetches": left}))
    found = await off_loop(
        sum(map(work_of, answer.sources)),
        collected,
        answer.sources,
        sub_query_id=sub_query.id,
        known=handoff.known,
        most_new=len(pages),
        most_bytes=limits.max_source_bytes,
    )
    events: list[Event] = [
        SubQueryCompleted(
            sub_query_id=sub_query.id,
            sources=found.sources,
            wordings=sub_query.wordings,
            searches=0,
            fetches=answer.fetches,
            duplicates=found.twice,
        ),
        *unread_notices(answer.unread, cap),
    ]
    await journal.record(*events, contents=found.contents)
