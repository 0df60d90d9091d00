"""Hooks that park a run."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from deep_research.errors import UnknownNameError
from deep_research.state import DeepResearchPhase
from deep_research.supervisor.hooks import DECISION_HOOKS, Park, SupervisorHooks


def parking_hooks(*names: str, phases: Collection[DeepResearchPhase | str] = ()) -> SupervisorHooks:
    """Hooks of these names that ask to park, in these phases (all, if none is named). A pause that was answered
    is not asked again, so the run gets one phase further with each answer."""

    def park_at(state: Any, *_: Any) -> Park | None:
        if phases and state.phase not in phases:
            return None
        return Park(waiting_for=f"a word on {state.phase}")

    for name in names:
        if name not in DECISION_HOOKS:
            raise UnknownNameError.of("decision hook", name, DECISION_HOOKS)
    return SupervisorHooks(**dict.fromkeys(names, park_at))
