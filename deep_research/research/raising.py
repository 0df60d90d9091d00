"""More money for a run that ended at a cap: which caps are raised, and which of its units remain under them. Pure."""

from __future__ import annotations

from deep_research.errors import RunStateError, UsageError
from deep_research.state import Budget, DeepResearchPhase, DeepResearchState
from deep_research.state.events import BudgetRaised
from deep_research.state.spending import ON_MODELS

ON_SEARCHING = ("max_searches", "max_seconds")
RAISABLE = (*ON_MODELS, *ON_SEARCHING)
_ORDER = tuple(DeepResearchPhase)


def raised(state: DeepResearchState, given: Budget) -> BudgetRaised:
    """The event of a run that goes on under the caps that are ``given``; those that are not stay. Raises `RunStateError`
    where no cap that the run reached is raised, `UsageError` for one that is lowered.

    Example:
        raised(state, Budget(max_searches=20)).phase  # DeepResearchPhase.GATHERING
    """
    if not isinstance(given, Budget):
        raise UsageError("budget must be a Budget.", hint="For example: Budget(max_usd=2.0).")
    wanted = {name: cap for name, cap in given.model_dump().items() if cap is not None}
    old = state.options.budget.model_dump()
    for name, cap in wanted.items():
        if old[name] is not None and cap < old[name]:
            raise UsageError(
                f"The cap {name} of {old[name]:,.10g} would be lowered to {cap:,.10g}.",
                hint="Name a higher one.",
            )
    reached = {limit.of_cap for limit in state.limits if not limit.is_shared} & set(RAISABLE)
    more = {name for name in reached if name in wanted and (old[name] is None or wanted[name] > old[name])}
    if not more:
        told = f"it reached {', '.join(sorted(reached))}" if reached else "it reached none that can be raised"
        raise RunStateError(
            f"That raises no cap that stopped run '{state.research_id}': {told}.",
            hint="Name a higher cap of those." if reached else "Ask anew for a longer report.",
            research_id=state.research_id,
        )
    unread = _unread(state) if more & set(ON_MODELS) else ()
    dropped = tuple(f.id for f in state.findings if unread and set(f.source_ids) <= set(unread))
    return BudgetRaised(
        budget=state.options.budget.model_copy(update=wanted),
        phase=_where(state, more, unread),
        unread=unread,
        dropped=dropped,
    )


def _unread(state: DeepResearchState) -> tuple[str, ...]:
    """The sources that were read without a model."""
    sent = state.sent.get(DeepResearchPhase.ANALYSIS)
    by_model = {item.id for item in sent.items if item.current_tokens} if sent else set()
    return tuple(s.id for s in state.sources if s.id in state.analyzed and s.id not in by_model)


def _where(state: DeepResearchState, more: set[str], unread: tuple[str, ...]) -> DeepResearchPhase | None:
    """Where the run goes on: at what was left out first; None where it stands before that anyway."""
    searches = bool(more & set(ON_SEARCHING)) and not state.searching_stopped
    if searches and state.pending_sub_queries():
        target = DeepResearchPhase.GATHERING
    elif more & set(ON_MODELS) and (unread or any(s.id not in state.analyzed for s in state.sources)):
        target = DeepResearchPhase.ANALYSIS
    else:
        target = DeepResearchPhase.SYNTHESIS
    place, at = _ORDER.index(target), _ORDER.index(state.phase)
    return target if at > place or (at == place and state.phase_done) else None
