"""A run that waits for the word on its plan, is planned again, gets an edited list, and is killed at chosen commits. What
a child of a `WarmParent` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import kills
from witness import Witness, WitnessedSearch

from deep_research import DeepResearch
from deep_research.phases.planning.handoff import PlannedQuery, PlannerOutput
from deep_research.testing import scripted_agents
from deep_research.testing.doubles import FakeClock

QUESTION = "What is known of the keepers of the light?"
PLAN = ("keepers of the first light", "keepers of the second light", "keepers of the third light")


def research(
    database: str,
    witness: str,
    *,
    research_id: str | None = None,
    answers: Mapping[str, Any] | None = None,
    kill: Sequence[Any] | None = None,
) -> dict[str, Any]:
    """Start a run, or resume one, and give it the ``answers`` to the pauses that it comes to, by their ids."""
    store = kills.MortalStore(database, kill=kill)
    planned = Witness(f"{witness}-plans")

    def planner(handoff: Any) -> PlannerOutput:
        said = " ".join(handoff.steering)
        planned.note(f"plan:{said}", said)
        queries = (*PLAN, *((f"what else: {said}",) if said else ()))
        return PlannerOutput(
            research_brief="Three lights.", sub_queries=tuple(PlannedQuery(query=query) for query in queries)
        )

    made = DeepResearch(
        agents=scripted_agents(without=["gatherer"]) | {"planner": planner},
        search=[WitnessedSearch(witness=witness)],
        store=store,
        clock=FakeClock(),
        max_concurrent=1,
        max_iterations=1,
        max_rewordings=0,
        data_dir=str(Path(database).parent),
    )
    result = made.resume(research_id) if research_id else made.run(QUESTION, approve_plan=True)
    while result.status == "parked" and result.state.question is not None:
        answer = (answers or {}).get(result.state.question.pause_id or "")
        if answer is None:
            break
        result = made.answer(result.research_id, answer) or result
    return {
        **kills.shown(result, store),
        "sub_queries": [(s.id, s.query, s.index, s.status.value) for s in result.state.sub_queries],
        "guidance": [g.text for g in result.state.guidance if g.origin == "answer"],
        "pause": result.state.question.pause_id if result.state.question else None,
        "events": [event.name for event in made.events(result.research_id)],
    }
