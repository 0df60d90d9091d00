"""The gathering phase: its handoff, its rules, its work."""

from deep_research.phases.gathering.gatherer import SearchGatherer
from deep_research.phases.gathering.handoff import GatheredSource, GathererInput, GathererOutput
from deep_research.phases.gathering.phase import GatheringPhase, validate_gathering
from deep_research.state import GatherStats

__all__ = [
    "GatherStats",
    "GatheredSource",
    "GathererInput",
    "GathererOutput",
    "GatheringPhase",
    "SearchGatherer",
    "validate_gathering",
]
