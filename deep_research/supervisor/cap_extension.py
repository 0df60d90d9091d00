"""A run at a cap asks for more: what it has done, what is left and what that would take. Pure."""

from __future__ import annotations

import math
from typing import Any

from deep_research.state import Budget, DeepResearchPhase, DeepResearchState, Limit, ParkedKind, Parking
from deep_research.state.raising import is_last_iteration, pages_left
from deep_research.state.records import FETCHES
from deep_research.state.spending import ON_MODELS
from deep_research.supervisor.plan_approval import PlanEstimate

REPORT = "report"  # the answer that asks for the report of what there is
_ENDS = (DeepResearchPhase.SYNTHESIS, DeepResearchPhase.REFINEMENT)
_MAX_NAMED = 50  # searches or pages that are named
_OF_PLAN = {"max_usd": "cost_usd", "max_tokens": "tokens", "max_model_calls": "model_calls"}


async def asking(
    state: DeepResearchState, *limits: Limit, estimate: PlanEstimate | None = None
) -> Parking | None:
    """How a run whose owner wants to be asked parks at a cap of its own budget, one of ``limits`` or of those that the
    state has; None where no cap is reached of which it did not ask yet. ``estimate`` says what a run may take."""
    if state.options.on_cap != "ask":
        return None
    by_name = {limit.name: limit for limit in (*state.limits, *limits)}
    if state.phase in _ENDS and state.phase_done and is_last_iteration(state):
        by_name["max_iterations"] = Limit(name="max_iterations", message="", usage=state.iteration)
    for name in Budget.model_fields:  # the name of a share or of a shared budget is another one
        cap = getattr(state.options.budget, name)
        if name in by_name and cap is not None:
            pause = f"cap.{name}.{cap:.10g}"  # it asks once for each value of a cap
            if pause not in state.answers:
                return await _parking(state, by_name[name], name, cap, pause, estimate)
    return None


async def _parking(
    state: DeepResearchState, limit: Limit, name: str, cap: float, pause: str, estimate: PlanEstimate | None
) -> Parking:
    left = _left(state, name)
    about: dict[str, Any] = {
        "name": name,
        "cap": cap,
        "usage": limit.usage if name == "max_seconds" else _usage_of(state, name),
        "done": {
            "searches": state.usage.searches,
            "sources": len(state.sources),
            "findings": len(state.findings),
            "model_calls": state.usage.model_calls,
            "cost_usd": state.usage.cost_usd,
        },
        "left": left,
        "estimate": await _estimate(state, name, left, estimate),
    }
    return Parking(
        waiting_for=f"a higher cap than {name} {cap:,.10g}, or '{REPORT}' for a report now",
        kind=ParkedKind.BUDGET,
        pause_id=pause,
        answer_schema=ANSWER,
        default=REPORT,
        about=about,
    )


def _usage_of(state: DeepResearchState, name: str) -> float | None:
    usage = state.usage
    return {
        "max_usd": usage.cost_usd,
        "max_tokens": usage.input_tokens + usage.output_tokens,
        "max_model_calls": usage.model_calls,
        "max_searches": usage.searches,
        "max_fetches": usage.fetches,
        "max_iterations": state.iteration,
    }.get(name)


def _left(state: DeepResearchState, name: str) -> dict[str, Any]:
    """What is not done yet, by its kind."""
    searches = [s.query for s in state.pending_sub_queries()]
    pages = list(pages_left(state, (FETCHES,) if name == FETCHES else ()))
    unread = sum(bool(s.content_hash) and s.id not in state.analyzed for s in state.sources)
    gaps = len(state.unresolved_gaps())
    counts = {
        "searches": searches[:_MAX_NAMED],
        "pages": pages[:_MAX_NAMED],
        "sources": unread,
        "gaps": gaps,
    }
    return {kind: much for kind, much in counts.items() if much} | (
        {"report": 1} if state.report is None else {}
    )


async def _estimate(
    state: DeepResearchState, name: str, left: dict[str, Any], of_run: PlanEstimate | None
) -> float | None:
    """The cap that would be enough for what is left, where that can be told."""
    match name:
        case "max_searches":
            return state.usage.searches + len(state.pending_sub_queries())
        case "max_fetches":
            return state.usage.fetches + len(left.get("pages", ()))
        case "max_iterations":
            return state.iteration + 1
        case _ if name in ON_MODELS and of_run is not None:
            return _at_most(state, name, (await of_run(state))["set_aside"][_OF_PLAN[name]])
        case _:
            return None


def _at_most(state: DeepResearchState, name: str, whole: float | None) -> float | None:
    """What was spent, and on top what the requests of a whole run have to be paid with: what is left is not more."""
    usage = _usage_of(state, name)
    if whole is None or usage is None:
        return None
    sum_ = usage + whole
    return math.ceil(sum_ * 100) / 100 if name == "max_usd" else math.ceil(sum_)


def _cap(of: type) -> dict[str, Any]:
    return {"anyOf": [{"type": "integer" if of is int else "number", "minimum": 0}, {"type": "null"}]}


ANSWER: dict[str, Any] = {
    "anyOf": [
        {"const": REPORT},
        {
            "type": "object",
            "properties": {
                name: _cap(float if name in ("max_usd", "max_seconds") else int)
                for name in Budget.model_fields
            },
            "additionalProperties": False,
            "minProperties": 1,
        },
    ]
}
