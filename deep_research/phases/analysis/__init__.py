"""The analysis phase: its handoff, its rules, its work."""

from deep_research.phases.analysis.extractive_analyzer import ExtractiveAnalyzer
from deep_research.phases.analysis.handoff import (
    AnalyzedFinding,
    AnalyzedGap,
    AnalyzedQuote,
    AnalyzerInput,
    AnalyzerOutput,
    SourceText,
)
from deep_research.phases.analysis.phase import AnalysisPhase, validate_analysis

__all__ = [
    "AnalysisPhase",
    "AnalyzedFinding",
    "AnalyzedGap",
    "AnalyzedQuote",
    "AnalyzerInput",
    "AnalyzerOutput",
    "ExtractiveAnalyzer",
    "SourceText",
    "validate_analysis",
]
