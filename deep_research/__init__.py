"""An embeddable deep-research engine: a question goes in, a report comes out whose quotes are held
against saved texts, and everything in between is a log that can be watched, stopped, resumed and audited.

Names are loaded when first used, so importing the package stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from deep_research.version import __version__ as __version__

if TYPE_CHECKING:
    from deep_research.budget.shared_budget import SharedBudget
    from deep_research.errors import DeepResearchError, ResearchAbortedError, StopResearch
    from deep_research.memory import Memory, MemoryEntry, MemoryKind
    from deep_research.phases.agent_contract import Agent, AgentSpec
    from deep_research.phases.gathering.tasks.tool import Tool, ToolResult
    from deep_research.research import (
        DeepResearch,
        ResearchHandle,
        ResearchResult,
        RunDetail,
        RunSummary,
        open_pack,
    )
    from deep_research.settings import Settings
    from deep_research.settings.groups import (
        ContentArchiveSettings,
        FetchSettings,
        QualitySettings,
        RateLimits,
        ReadingSettings,
        SummarizationSettings,
        WindowSettings,
    )
    from deep_research.sources.search import SearchProvider, SearchRequest, SearchResult
    from deep_research.state import (
        PHASE_TO_AGENT,
        AbortReason,
        AgentDecision,
        AgentRole,
        Budget,
        Citation,
        ConfidenceLevel,
        Contradiction,
        DeepResearchPhase,
        DeepResearchState,
        Finding,
        Gap,
        Limit,
        Notice,
        RunOptions,
        RunStatus,
        Source,
        SourceQuality,
        SubQuery,
        SupervisorAction,
        TaskSettings,
        ValidationResult,
    )
    from deep_research.supervisor.hooks import (
        Allow,
        GatePolicy,
        Park,
        Refuse,
        SupervisorHooks,
        TaskVerdict,
        Verdict,
    )
    from deep_research.supervisor.orchestrator import SupervisorOrchestrator

_HOMES = {
    "deep_research.budget.shared_budget": ("SharedBudget",),
    "deep_research.errors": ("DeepResearchError", "ResearchAbortedError", "StopResearch"),
    "deep_research.memory": ("Memory", "MemoryEntry", "MemoryKind"),
    "deep_research.phases.agent_contract": ("Agent", "AgentSpec"),
    "deep_research.phases.gathering.tasks.tool": ("Tool", "ToolResult"),
    "deep_research.research": (
        "DeepResearch",
        "ResearchHandle",
        "ResearchResult",
        "RunDetail",
        "RunSummary",
        "open_pack",
    ),
    "deep_research.settings": ("Settings",),
    "deep_research.settings.groups": (
        "ContentArchiveSettings",
        "FetchSettings",
        "QualitySettings",
        "RateLimits",
        "ReadingSettings",
        "SummarizationSettings",
        "WindowSettings",
    ),
    "deep_research.sources.search": ("SearchProvider", "SearchRequest", "SearchResult"),
    "deep_research.state": (
        "PHASE_TO_AGENT",
        "AbortReason",
        "AgentDecision",
        "AgentRole",
        "Budget",
        "Citation",
        "ConfidenceLevel",
        "Contradiction",
        "DeepResearchPhase",
        "DeepResearchState",
        "Finding",
        "Gap",
        "Limit",
        "Notice",
        "RunOptions",
        "RunStatus",
        "Source",
        "SourceQuality",
        "SubQuery",
        "SupervisorAction",
        "TaskSettings",
        "ValidationResult",
    ),
    "deep_research.supervisor.hooks": (
        "Allow",
        "GatePolicy",
        "Park",
        "Refuse",
        "SupervisorHooks",
        "TaskVerdict",
        "Verdict",
    ),
    "deep_research.supervisor.orchestrator": ("SupervisorOrchestrator",),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "PHASE_TO_AGENT",
    "AbortReason",
    "Agent",
    "AgentDecision",
    "AgentRole",
    "AgentSpec",
    "Allow",
    "Budget",
    "Citation",
    "ConfidenceLevel",
    "ContentArchiveSettings",
    "Contradiction",
    "DeepResearch",
    "DeepResearchError",
    "DeepResearchPhase",
    "DeepResearchState",
    "FetchSettings",
    "Finding",
    "Gap",
    "GatePolicy",
    "Limit",
    "Memory",
    "MemoryEntry",
    "MemoryKind",
    "Notice",
    "Park",
    "QualitySettings",
    "RateLimits",
    "ReadingSettings",
    "Refuse",
    "ResearchAbortedError",
    "ResearchHandle",
    "ResearchResult",
    "RunDetail",
    "RunOptions",
    "RunStatus",
    "RunSummary",
    "SearchProvider",
    "SearchRequest",
    "SearchResult",
    "Settings",
    "SharedBudget",
    "Source",
    "SourceQuality",
    "StopResearch",
    "SubQuery",
    "SummarizationSettings",
    "SupervisorAction",
    "SupervisorHooks",
    "SupervisorOrchestrator",
    "TaskSettings",
    "TaskVerdict",
    "Tool",
    "ToolResult",
    "ValidationResult",
    "Verdict",
    "WindowSettings",
    "open_pack",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'deep_research' has no attribute '{name}'")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
