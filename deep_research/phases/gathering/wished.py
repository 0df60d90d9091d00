"""What was wished for while a run is going, as further searches of an iteration. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from deep_research.evidence.disclosure import askable
from deep_research.phases.wishes import WISH, not_followed, query_of, too_many
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    Guidance,
    Limit,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.events import Event, LimitReached, SubQueriesAdded
from deep_research.state.identity import sub_query_id
from deep_research.state.records import GATE

MOST = 2  # further searches of an iteration


def unsearched_wishes(state: DeepResearchState) -> tuple[Guidance, ...]:
    """What was wished for the searches of this iteration and is neither searched nor told to be left out."""
    done = {s.rationale for s in state.sub_queries if s.origin}
    told = {limit.message for limit in state.limits if limit.name == WISH}
    wishes = {w.text: w for w in state.guidance if w.origin != GATE}
    here = (wishes[text] for text in state.wishes_for(DeepResearchPhase.GATHERING))
    return tuple(
        w for w in here if w.text not in done and told.isdisjoint((not_followed(w.text), too_many(w.text)))
    )


def with_wishes(wishes: Sequence[Guidance], state: DeepResearchState) -> list[Event]:
    """At most two further sub-queries an iteration, the latest wishes first. Where the plan has no room, they take the
    places of what is least important and not searched yet."""
    plan = [s for s in state.current_sub_queries() if s.iteration == state.iteration]
    left = MOST - sum(bool(s.origin) for s in plan)
    known = {s.id for s in state.current_sub_queries()}
    fresh: dict[str, SubQuery] = {}
    beyond: list[Guidance] = []
    for wish in reversed(wishes):
        text = askable(query_of(wish.text, state.query), state.query, state.options.system_prompt)
        key = sub_query_id(text)
        if not text or key in known or key in fresh:
            continue
        if len(fresh) >= left:
            beyond.append(wish)
            continue
        fresh[key] = SubQuery(
            id=key,
            query=text,
            rationale=wish.text,
            index=len(state.sub_queries) + len(fresh),
            iteration=state.iteration,
            origin=wish.origin,
        )
    pending = sorted(
        (s for s in plan if s.status is SubQueryStatus.PENDING), key=lambda s: (s.priority, s.index)
    )
    over = max(0, len(plan) + len(fresh) - state.max_sub_queries)
    replaced = tuple(s.id for s in pending[max(1, len(pending) - over) :]) if over else ()
    notes = [LimitReached(limit=Limit(name=WISH, message=too_many(wish.text))) for wish in beyond]
    return [
        *([SubQueriesAdded(sub_queries=tuple(fresh.values()), replaced=replaced)] if fresh else []),
        *notes,
    ]
