"""The plan before its owner: it is shown before anything is searched, and what he says of it is done. Pure, but for the
estimate that is asked for.

What was answered and not yet acted on shows in the state, so a run that is resumed in between does it once.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

from deep_research.errors import StopResearch
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    Guidance,
    ParkedKind,
    Parking,
    SupervisorAction,
    WhenDue,
)
from deep_research.state.events import (
    DecisionMade,
    Event,
    GuidanceGiven,
    PhaseRetried,
    PlanApproved,
    RunParked,
)
from deep_research.state.parking import as_advice
from deep_research.state.records import ANSWERED
from deep_research.supervisor import decisions
from deep_research.supervisor.plan_answers import (
    BadEditError,
    agrees,
    answer_schema,
    planned,
    read_edit,
    refuses,
)

PlanEstimate = Callable[[DeepResearchState], Awaitable[dict[str, Any]]]
PLAN = "plan"
NOT_WANTED = "The owner of the run does not want its plan."
_RETRIED = "retry_phase"


def sentences(state: DeepResearchState) -> int:
    """How often the plan was made again since its owner said something of it."""
    return sum(d.action == _RETRIED and (d.outputs or {}).get("asked_by") == PLAN for d in state.decisions)


async def of_plan(
    state: DeepResearchState,
    at: datetime,
    estimate: PlanEstimate | None = None,
    data_sources: Sequence[str] = (),
) -> list[Event]:
    """What is to be recorded before GATHERING begins, empty where nothing is: the run parks with its plan, or does what
    was answered. Raises `StopResearch` where its owner does not want it."""
    if state.plan_approved or not state.options.approve_plan:
        return []
    pause_id = f"{state.iteration}.{PLAN}.{sentences(state)}"
    replans = sentences(state) < state.options.max_supervisor_retries
    # One that was refused, and is gone on with all the same, asks again.
    ended = sum(d.action == "abort" and d.rationale == NOT_WANTED for d in state.decisions)
    problem = ""
    while pause_id in state.answers:  # once, but where an answer was taken that cannot be followed any more
        answer = state.answers[pause_id]
        if refuses(answer):
            if not ended:
                raise StopResearch(NOT_WANTED)
            ended, pause_id = ended - 1, f"{pause_id}+"
            continue
        if agrees(answer):
            return [PlanApproved(by="owner")]
        if isinstance(answer, str) and replans:
            return planned_again(state, answer, PLAN, at)
        try:
            edited = read_edit(state, answer)
        except BadEditError as error:
            problem, pause_id = f"; what was answered cannot be: {error}", f"{pause_id}+"
            continue
        return [PlanApproved(sub_queries=edited.sub_queries, terms=edited.terms, by=edited.by)]
    searches = len(planned(state))
    may = [name for name in data_sources if state.options.may_search(name)]
    parking = Parking(
        waiting_for=f"your word on the plan of {searches} search{'es' * (searches != 1)}{problem}",
        pause_id=pause_id,
        kind=ParkedKind.PLAN,
        answer_schema=answer_schema(state, replans=replans, data_sources=may),
        then=WhenDue.STAY,
        about=await told(state, estimate),
    )
    return [RunParked(parking=parking)]


async def told(state: DeepResearchState, estimate: PlanEstimate | None) -> dict[str, Any]:
    """The plan as data: what its owner has to see to agree to it."""
    return {
        "brief": state.research_brief or "",
        "parts": [{"id": part.id, "text": part.text} for part in state.parts],
        "sub_queries": [
            {
                "id": each.id,
                "query": each.query,
                "rationale": each.rationale,
                "priority": each.priority,
                "part": each.part_id,
                "data_sources": list(each.data_sources),
            }
            for each in planned(state)
        ],
        "most": state.max_sub_queries,
        "estimate": await estimate(state) if estimate is not None else {},
    }


def planned_again(state: DeepResearchState, said: Any, asked_by: str, at: datetime) -> list[Event]:
    """The planning is done again with what the owner said, which all who work later are told too."""
    planning = DeepResearchPhase.PLANNING
    earlier = sum(
        d.action == _RETRIED and (d.outputs or {}).get("phase") == planning.value for d in state.decisions
    )
    decision = decisions.action(
        state,
        name=_RETRIED,
        rationale="The owner of the run answered.",
        outputs={"phase": planning.value, "asked_by": asked_by},
        at=at,
    )
    said_so = Guidance(
        phase=planning, iteration=state.iteration, text=as_advice(said).strip(), origin=ANSWERED, lasting=True
    )
    return [
        GuidanceGiven(guidance=said_so),
        DecisionMade(action=SupervisorAction.RETRY, decision=decision),
        PhaseRetried(phase=planning, attempt=earlier + 1, asked_by=ANSWERED),
    ]
