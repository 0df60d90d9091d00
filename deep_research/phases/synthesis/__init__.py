"""The synthesis phase: its handoff, its rules, its work."""

from deep_research.phases.synthesis.extractive_synthesizer import ExtractiveSynthesizer
from deep_research.phases.synthesis.handoff import JudgeScope, SynthesizerInput, SynthesizerOutput
from deep_research.phases.synthesis.phase import SynthesisPhase, validate_synthesis

__all__ = [
    "ExtractiveSynthesizer",
    "JudgeScope",
    "SynthesisPhase",
    "SynthesizerInput",
    "SynthesizerOutput",
    "validate_synthesis",
]
