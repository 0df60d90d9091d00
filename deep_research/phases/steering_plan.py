"""Guidance as work of agents that have no model: further sub-queries, and gaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deep_research.phases.steering_queries import Knows, split_searchable, steering_query
from deep_research.state import DeepResearchPhase, DeepResearchState, Gap, Guidance, SubQuery, SubQueryStatus
from deep_research.state.events import Event, NoticeAdded, SubQueriesAdded
from deep_research.state.identity import sub_query_id
from deep_research.state.notices import NOT_FOLLOWED, NOT_SEARCHED, guidance_notice, short_guidance
from deep_research.state.records import GATE, LEAD

MAX_SEARCHES = 2  # further ones of an iteration
_GAP = "Asked for: "  # opens the gap that a refiner makes of a steer


def unsearched(state: DeepResearchState, phase: DeepResearchPhase) -> tuple[Guidance, ...]:
    """Guidance for a phase that neither has a search nor a notice. A new plan took the place of the one before with all
    its searches."""
    anew = phase is DeepResearchPhase.PLANNING
    searched_ids = {
        s.rationale
        for s in state.sub_queries
        if s.origin and not (anew and s.status is SubQueryStatus.SUPERSEDED)
    }
    by_text = {g.text: g for g in state.guidance if g.origin != GATE}
    here = (by_text[text] for text in state.steering_for(phase) if text not in searched_ids)
    reasons = (NOT_FOLLOWED, NOT_SEARCHED)
    return tuple(
        g for g in here if not any(guidance_notice(reason, g.text) in state.notices for reason in reasons)
    )


async def plan_searches(
    state: DeepResearchState, phase: DeepResearchPhase, knows: Knows | None
) -> list[Event]:
    """The searches that guidance for a phase adds, and notices of what cannot be searched."""
    fresh = unsearched(state, phase)
    if not fresh:
        return []
    can, cannot = await split_searchable((g.text for g in fresh), state, knows)
    # Of what lasts the notice comes from who works later and cannot follow it either.
    lasting = {g.text for g in fresh if g.lasting}
    added = add_searches([g for g in fresh if g.text in can], state)
    return [*added, *unfollowed(text for text in cannot if text not in lasting)]


def add_searches(guidance: Sequence[Guidance], state: DeepResearchState) -> list[Event]:
    """At most two further sub-queries an iteration, the latest guidance first. Where the plan has no room, they take the
    places of what is least important and not searched yet, but of one; of what finds no room there is a notice."""
    plan = [s for s in state.current_sub_queries() if s.iteration == state.iteration and s.origin != LEAD]
    pending = sorted(
        (s for s in plan if s.status is SubQueryStatus.PENDING), key=lambda s: (s.priority, s.index)
    )
    free = state.max_sub_queries - len(plan)
    room = min(MAX_SEARCHES - sum(bool(s.origin) for s in plan), free + max(0, len(pending) - 1))
    query_ids = {s.id for s in state.current_sub_queries()}
    fresh: dict[str, SubQuery] = {}
    beyond: list[str] = []
    for each in reversed(guidance):
        text = steering_query(each.text, state.query, state.options.system_prompt)
        key = sub_query_id(text)
        if key in query_ids or key in fresh:
            continue
        if len(fresh) >= room:
            beyond.append(each.text)
            continue
        fresh[key] = SubQuery(
            id=key,
            query=text,
            rationale=each.text,
            index=state.next_index + len(fresh),
            iteration=state.iteration,
            part_id=state.parts[0].id if len(state.parts) == 1 else None,
            origin=each.origin,
        )
    over = max(0, len(fresh) - free)
    replaced = tuple(s.id for s in pending[len(pending) - over :])
    return [
        *([SubQueriesAdded(sub_queries=tuple(fresh.values()), replaced=replaced)] if fresh else []),
        *(NoticeAdded(notice=guidance_notice(NOT_SEARCHED, text)) for text in beyond),
    ]


def unfollowed(steering: Iterable[str]) -> list[NoticeAdded]:
    """Notices of steers that could not be followed; each once."""
    return [NoticeAdded(notice=guidance_notice(NOT_FOLLOWED, steer)) for steer in steering]


def gap_of(steer: str) -> str:
    """The description of the gap that a steer is for a refiner."""
    return f"{_GAP}{short_guidance(steer)}"


def searched(sub_queries: Iterable[SubQuery], gaps: Iterable[Gap]) -> tuple[str, ...]:
    """The steers for which searches were made, in their order."""
    of_steering = {gap.id for gap in gaps if gap.description.startswith(_GAP)}
    return tuple(dict.fromkeys(s.rationale for s in sub_queries if s.origin or s.gap_id in of_steering))
