"""The planning phase: its handoff, its rules, its work."""

from deep_research.phases.planning.extractive_planner import ExtractivePlanner
from deep_research.phases.planning.handoff import PlannedQuery, PlannerInput, PlannerOutput
from deep_research.phases.planning.phase import PlanningPhase, validate_planning

__all__ = [
    "ExtractivePlanner",
    "PlannedQuery",
    "PlannerInput",
    "PlannerOutput",
    "PlanningPhase",
    "validate_planning",
]
