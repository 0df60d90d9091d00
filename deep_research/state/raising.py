"""More money for a run that ended at a cap: which caps it reached, and what remains of its work. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from deep_research.errors import RightError, UsageError
from deep_research.state.context_usage import ContextUsage
from deep_research.state.phases import DeepResearchPhase, ParkedKind
from deep_research.state.records import FETCHES, Limit, Notice
from deep_research.state.run import DeepResearchState
from deep_research.state.spending import ON_MODELS, Budget

_ORDER = tuple(DeepResearchPhase)


def reached(state: DeepResearchState) -> tuple[str, ...]:
    """The caps of the run's own budget for want of which something was left out, or at which it waits, by name."""
    caps = {limit.of_cap for limit in state.limits if not (limit.is_shared or _is_of_plan(limit))}
    if state.parking is not None and state.parking.kind is ParkedKind.BUDGET:
        caps.add(str(state.parking.about.get("name")))
    budget = state.options.budget
    if budget.max_seconds is not None and state.seconds >= budget.max_seconds:
        caps.add("max_seconds")
    if is_last_iteration(state):
        caps.add("max_iterations")
    return tuple(name for name in Budget.model_fields if name in caps)


def is_last_iteration(state: DeepResearchState) -> bool:
    """Whether it is the budget alone that allows no further iteration, and there would be something to look for."""
    cap = state.options.budget.max_iterations
    return (
        cap is not None
        and cap < state.options.max_iterations
        and state.iteration >= cap
        and state.has_unresolved_gaps()
    )


def higher(old: Budget, new: Budget) -> tuple[str, ...]:
    """The caps that leave more room in the new budget."""
    return tuple(
        name
        for name in Budget.model_fields
        if (was := getattr(old, name)) is not None and ((now := getattr(new, name)) is None or now > was)
    )


def raised(state: DeepResearchState, new_caps: Budget) -> Budget:
    """The budget under which a run goes on: its own, with the caps that were named. One that was named None is lifted.
    Raises `UsageError` where it is not larger in anything that was reached.

    Example:
        raised(state, Budget(max_searches=10))  # the other caps stay
    """
    old, caps = state.options.budget, reached(state)
    if not caps:
        raise UsageError(
            f"Run '{state.research_id}' left nothing out for want of its budget.",
            hint="Resume it without one, or ask anew.",
        )
    new = old.model_copy(update={name: getattr(new_caps, name) for name in new_caps.model_fields_set})
    if refused := state.permissions.excess(new):
        raise RightError(f"The user of this run may not: {refused}.", hint="Ask for no more than that.")
    if not set(caps) & set(higher(old, new)):
        stand = ", ".join(
            f"{name} {getattr(old, name):,.10g}" for name in caps if getattr(old, name) is not None
        )
        raise UsageError(
            f"The budget is not larger in anything that was reached: {stand}.", hint="Raise one of these."
        )
    return new


def told_of(notice: Notice, caps: Collection[str]) -> bool:
    """Whether it tells of one of these caps of the run's own budget, or of work that was done without a model for
    want of it."""
    if _is_of_plan(notice):
        return False
    if isinstance(notice, Limit):
        return notice.of_cap in caps and not notice.is_shared
    message = notice.message
    return any(f"the cap {name} of" in message or f"what {name} has for" in message for name in caps)


def _is_of_plan(notice: Notice) -> bool:
    """Whether it tells how the plan was made, which is not made again."""
    return notice.name.endswith(f":{DeepResearchPhase.PLANNING}") or notice.message.startswith("The planner ")


def pages_left(state: DeepResearchState, caps: Collection[str]) -> tuple[str, ...]:
    """The addresses of pages that were found and not asked for, to keep within the cap on them."""
    if FETCHES not in caps:
        return state.pages_left
    read = {source.url for source in state.sources}
    left = (url for limit in state.limits if limit.name == FETCHES for url in limit.skipped)
    return tuple(dict.fromkeys(url for url in (*state.pages_left, *left) if url not in read))


def read_for_less(state: DeepResearchState, caps: Collection[str]) -> frozenset[str]:
    """The sources of which a model was given less than all, or nothing, for want of these caps on models; those that it
    never saw were read without it."""
    if not any(told_of(each, caps) for each in _of_analysis(state)):
        return frozenset()
    whole = {
        item.id
        for item in state.context_usage.get(DeepResearchPhase.ANALYSIS, ContextUsage()).items
        if item.current_tokens >= item.original_tokens
    }
    return frozenset(state.analyzed - whole)


def _of_analysis(state: DeepResearchState) -> Iterator[Notice]:
    """The limits and notices that tell what was not read, or not by a model."""
    yield from (limit for limit in state.limits if limit.name.endswith(f":{DeepResearchPhase.ANALYSIS}"))
    yield from (n for n in state.notices if n.name == "agent" and n.message.startswith("The analyzer "))


def starts(state: DeepResearchState, new: Budget) -> DeepResearchPhase | None:
    """The phase that begins anew under a new budget; None where the run goes on as it stands, with a draft that was paid
    for say, or with the decision whether to go on."""
    place = _takes_up(state, new)
    if place is not state.phase:
        return place
    if place is DeepResearchPhase.SYNTHESIS and state.phase_done:
        return place if _is_unwritten(state, higher(state.options.budget, new)) else None
    if place is DeepResearchPhase.ANALYSIS:
        return place  # what is read in which calls is planned anew
    return place if state.phase_done and place is DeepResearchPhase.GATHERING else None


def _takes_up(state: DeepResearchState, new: Budget) -> DeepResearchPhase:
    """Where work remains first under a new budget: searches and pages of this iteration, sources, the report; else where
    the run stands."""
    caps = higher(state.options.budget, new)
    place = state.phase
    if _can_gather(state, new, caps):
        place = DeepResearchPhase.GATHERING
    elif read_for_less(state, caps):
        place = DeepResearchPhase.ANALYSIS
    elif set(caps) & set(ON_MODELS) and _is_unwritten(state, caps):
        place = DeepResearchPhase.SYNTHESIS
    return min(place, state.phase, key=_ORDER.index)


def _can_gather(state: DeepResearchState, new: Budget, caps: Collection[str]) -> bool:
    if new.max_seconds is not None and state.seconds >= new.max_seconds:
        return False
    if pages_left(state, caps) and (new.max_fetches is None or new.max_fetches > state.usage.fetches):
        return True
    searches = new.max_searches is None or new.max_searches > state.usage.searches
    return bool(state.pending_sub_queries()) and searches


def _is_unwritten(state: DeepResearchState, caps: Collection[str]) -> bool:
    """Whether the report was written without the model that was to write it."""
    return (
        state.report is not None
        and DeepResearchPhase.SYNTHESIS not in state.context_usage
        and any(told_of(notice, caps) for notice in (*state.limits, *state.notices))
    )
