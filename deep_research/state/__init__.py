"""The state of a run: its vocabulary, records, events, and how the events fold into it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deep_research.state.admission import Admission, Depth, Permissions, Scope, UserContext
    from deep_research.state.claims import (
        Aspect,
        Claim,
        ClaimBasis,
        ClaimCounts,
        ClaimKind,
        ClaimVerdict,
        Discrepancy,
        Draft,
        Judgement,
        PartJudgement,
        Repair,
        RepairKind,
        merge_parts,
    )
    from deep_research.state.context_usage import (
        ContextUsage,
        ReadDepth,
        ReadingBatch,
        ReadingPlan,
        SentItem,
        SourceTriage,
    )
    from deep_research.state.memory_refs import MemoryRef
    from deep_research.state.parking import Parking
    from deep_research.state.phases import (
        PHASE_TO_AGENT,
        AbortReason,
        AgentRole,
        CommandKind,
        ConfidenceLevel,
        DeepResearchPhase,
        ModelRole,
        ParkedKind,
        RunStatus,
        SourceKind,
        SourceQuality,
        SubQueryStatus,
        SupervisorAction,
        WhenDue,
    )
    from deep_research.state.question_parts import (
        AnswerCoverage,
        AnswerStatus,
        PartVerdict,
        QuestionPart,
        answer_coverage,
    )
    from deep_research.state.queue_place import QueuePlace
    from deep_research.state.records import (
        AgentDecision,
        Contradiction,
        ContradictionSide,
        Difference,
        Finding,
        FirstLook,
        FollowUpQuery,
        Gap,
        GapAnalysis,
        GatherStats,
        Guidance,
        IterationRecommendation,
        Limit,
        Mention,
        Notice,
        QualityUpdate,
        Quote,
        Record,
        Reference,
        Remark,
        RemarkKind,
        Source,
        Span,
        SubQuery,
        ValidationResult,
    )
    from deep_research.state.report import Citation, ConfidenceSummary, ReportMetadata
    from deep_research.state.resolution import Exchange, Resolution
    from deep_research.state.run import Abort, DeepResearchState, RunOptions
    from deep_research.state.setup import CorpusChoice, NamedChoice, SetUp
    from deep_research.state.spending import Budget, ModelSpend, Reservation, Spent, TokenUsage, Usage
    from deep_research.state.tasks import (
        KeyFact,
        Task,
        TaskFinding,
        TaskLimits,
        TaskReview,
        TaskState,
        TaskStep,
        ToolUse,
    )

__all__ = [
    "PHASE_TO_AGENT",
    "Abort",
    "AbortReason",
    "Admission",
    "AgentDecision",
    "AgentRole",
    "AnswerCoverage",
    "AnswerStatus",
    "Aspect",
    "Budget",
    "Citation",
    "Claim",
    "ClaimBasis",
    "ClaimCounts",
    "ClaimKind",
    "ClaimVerdict",
    "CommandKind",
    "ConfidenceLevel",
    "ConfidenceSummary",
    "ContextUsage",
    "Contradiction",
    "ContradictionSide",
    "CorpusChoice",
    "DeepResearchPhase",
    "DeepResearchState",
    "Depth",
    "Difference",
    "Discrepancy",
    "Draft",
    "Exchange",
    "Finding",
    "FirstLook",
    "FollowUpQuery",
    "Gap",
    "GapAnalysis",
    "GatherStats",
    "Guidance",
    "IterationRecommendation",
    "Judgement",
    "KeyFact",
    "Limit",
    "MemoryRef",
    "Mention",
    "ModelRole",
    "ModelSpend",
    "NamedChoice",
    "Notice",
    "ParkedKind",
    "Parking",
    "PartJudgement",
    "PartVerdict",
    "Permissions",
    "QualityUpdate",
    "QuestionPart",
    "QueuePlace",
    "Quote",
    "ReadDepth",
    "ReadingBatch",
    "ReadingPlan",
    "Record",
    "Reference",
    "Remark",
    "RemarkKind",
    "Repair",
    "RepairKind",
    "ReportMetadata",
    "Reservation",
    "Resolution",
    "RunOptions",
    "RunStatus",
    "Scope",
    "SentItem",
    "SetUp",
    "Source",
    "SourceKind",
    "SourceQuality",
    "SourceTriage",
    "Span",
    "Spent",
    "SubQuery",
    "SubQueryStatus",
    "SupervisorAction",
    "Task",
    "TaskFinding",
    "TaskLimits",
    "TaskReview",
    "TaskState",
    "TaskStep",
    "TokenUsage",
    "ToolUse",
    "Usage",
    "UserContext",
    "ValidationResult",
    "WhenDue",
    "answer_coverage",
    "merge_parts",
]

_NAMES = {
    "admission": "Admission Depth Permissions Scope UserContext",
    "claims": (
        "Aspect Claim ClaimBasis ClaimCounts ClaimKind ClaimVerdict Discrepancy Draft Judgement "
        "PartJudgement Repair RepairKind merge_parts"
    ),
    "parking": "Parking",
    "question_parts": "AnswerCoverage AnswerStatus PartVerdict QuestionPart answer_coverage",
    "phases": (
        "PHASE_TO_AGENT AbortReason AgentRole ConfidenceLevel CommandKind DeepResearchPhase ModelRole "
        "ParkedKind RunStatus SourceKind SourceQuality SubQueryStatus SupervisorAction WhenDue"
    ),
    "queue_place": "QueuePlace",
    "records": (
        "AgentDecision Contradiction ContradictionSide Difference Finding FirstLook FollowUpQuery Gap "
        "GapAnalysis GatherStats Guidance IterationRecommendation Limit Mention Notice QualityUpdate Quote "
        "Record Reference Remark RemarkKind Source Span SubQuery ValidationResult"
    ),
    "report": "Citation ConfidenceSummary ReportMetadata",
    "memory_refs": "MemoryRef",
    "resolution": "Exchange Resolution",
    "run": "Abort DeepResearchState RunOptions",
    "context_usage": "ContextUsage ReadDepth ReadingBatch ReadingPlan SentItem SourceTriage",
    "setup": "CorpusChoice NamedChoice SetUp",
    "spending": "Budget ModelSpend Reservation Spent TokenUsage Usage",
    "tasks": "KeyFact Task TaskFinding TaskLimits TaskReview TaskState TaskStep ToolUse",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return value
