"""What a run left out, as it holds when it is told. Pure.

The state keeps what was recorded as it happened; some of it was made good since.
"""

from __future__ import annotations

from collections.abc import Iterator

from deep_research.state.notices import merge_notices
from deep_research.state.phases import SubQueryStatus
from deep_research.state.records import NO_HIGH_QUALITY, OF_PAGES, PAGES, Limit
from deep_research.state.run import DeepResearchState

OF_SEARCHES = ("max_searches", "max_seconds")  # ``skipped`` are the searches that were not made


def limitations(state: DeepResearchState) -> tuple[Limit, ...]:
    """The limits that hold now: without pages that another search could read, caps whose searches were made after all or
    are told of again by a later round, and advice on gathering that reading made void, and with the findings and quotes
    that were thrown away. The same is told once."""
    return merge_notices(notices(state))


def notices(state: DeepResearchState) -> tuple[Limit, ...]:
    """The same one by one."""
    return (*_standing(state), *_unfounded(state))


def _standing(state: DeepResearchState) -> Iterator[Limit]:
    used = {source.url for source in state.sources if source.metadata.get("read") != "extract"}
    searched = {s.query for s in state.sub_queries if s.status is SubQueryStatus.COMPLETED}
    of_searches = [limit for limit in state.limits if limit.of_cap in OF_SEARCHES]
    for limit in state.limits:
        if limit.message == NO_HIGH_QUALITY and state.high_quality_sources():
            continue
        if any(_tells_more(other, limit) for other in of_searches):
            continue
        if limit.of_cap in OF_SEARCHES and limit.skipped and searched.issuperset(limit.skipped):
            continue
        left = tuple(url for url in limit.skipped if url not in used) if limit.name in OF_PAGES else None
        if left is None or left == limit.skipped:
            yield limit
        elif left:
            count = len(left) if limit.name == PAGES else limit.used
            yield limit.model_copy(update={"skipped": left, "used": count})


def _tells_more(other: Limit, limit: Limit) -> bool:
    """Whether another limit on searches holds in place of one: that of a cap that was raised, or what a later round
    could not make, earlier ones among it."""
    if other.name != limit.name or not limit.skipped:
        return False
    is_raised = (other.cap or 0) > (limit.cap or 0)
    return is_raised or (other.cap == limit.cap and set(other.skipped) > set(limit.skipped))


def _unfounded(state: DeepResearchState) -> Iterator[Limit]:
    """Findings and quotes that were thrown away are no secret."""
    told = []
    if state.unfounded:
        findings = "finding was" if state.unfounded == 1 else "findings were"
        why = "since what they quoted stands in none of their sources, or says something else"
        told.append(f"{state.unfounded} {findings} left out, {why}.")
    if state.unlocated:
        quotes = "quote was" if state.unlocated == 1 else "quotes were"
        told.append(f"{state.unlocated} {quotes} left out, since no source has the words.")
    if told:
        yield Limit(name="evidence", message=" ".join(told))
