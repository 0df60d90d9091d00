"""The engine as an embedder holds it."""

from deep_research.research.engine import DeepResearch
from deep_research.research.handle import ResearchHandle
from deep_research.research.result import ResearchResult, RunSummary

__all__ = ["DeepResearch", "ResearchHandle", "ResearchResult", "RunSummary"]
