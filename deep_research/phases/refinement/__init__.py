"""The refinement phase: its handoff, its rules, its work."""

from deep_research.phases.refinement.extractive_refiner import ExtractiveRefiner
from deep_research.phases.refinement.handoff import RefinerInput, RefinerOutput
from deep_research.phases.refinement.phase import RefinementPhase, validate_refinement

__all__ = ["ExtractiveRefiner", "RefinementPhase", "RefinerInput", "RefinerOutput", "validate_refinement"]
