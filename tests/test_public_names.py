"""The public names are few, pinned here, and cheap to import."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import deep_research

NAMES = [
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
    "PHASE_TO_AGENT",
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


def test_the_public_names_are_these_and_no_others():
    assert sorted(deep_research.__all__) == sorted(NAMES)


def test_every_public_name_can_be_had():
    for name in NAMES:
        assert getattr(deep_research, name) is not None
    assert set(NAMES) <= set(dir(deep_research))


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(deep_research, "DeepResearh")


def test_importing_the_engine_loads_no_sdk_tokenizer_or_web_framework():
    heavy = ("anthropic", "openai", "tavily", "tiktoken", "httpx", "structlog", "tenacity", "Stemmer")
    code = f"import sys; from deep_research import DeepResearch; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_two_modules_have_one_name_but_those_that_each_room_has() -> None:
    every = Counter(path.name for path in Path(deep_research.__file__).parent.rglob("*.py"))
    several = {name for name, count in every.items() if count > 1}
    assert several <= {f"{name}.py" for name in ("__init__", "base", "handoff", "llm", "phase")}
