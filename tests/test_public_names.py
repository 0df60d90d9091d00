"""The public names are few, pinned here, and cheap to import."""

import subprocess
import sys

import deep_research

NAMES = [
    "AbortReason",
    "AgentDecision",
    "AgentRole",
    "Budget",
    "Citation",
    "ConfidenceLevel",
    "Contradiction",
    "DeepResearch",
    "DeepResearchError",
    "DeepResearchPhase",
    "DeepResearchState",
    "Finding",
    "Gap",
    "GatePolicy",
    "Limit",
    "PHASE_TO_AGENT",
    "Park",
    "ResearchAbortedError",
    "ResearchHandle",
    "ResearchResult",
    "RunOptions",
    "RunStatus",
    "RunSummary",
    "SearchProvider",
    "SearchRequest",
    "SearchResult",
    "SharedBudget",
    "Source",
    "SourceQuality",
    "StopResearch",
    "SubQuery",
    "SupervisorAction",
    "SupervisorHooks",
    "SupervisorOrchestrator",
    "TaskVerdict",
    "Tool",
    "ToolResult",
    "ValidationResult",
    "Verdict",
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
