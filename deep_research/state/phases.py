"""The vocabulary of the state machine: phases, roles, statuses, levels."""

from __future__ import annotations

from enum import StrEnum

EVERY_ROLE = "all"  # in place of a `ModelRole`, where something is set for each


class DeepResearchPhase(StrEnum):
    """A phase of a run, in the order of the machine.

    Example:
        DeepResearchPhase("planning") is DeepResearchPhase.PLANNING
    """

    PLANNING = "planning"
    GATHERING = "gathering"
    ANALYSIS = "analysis"
    SYNTHESIS = "synthesis"
    REFINEMENT = "refinement"


class AgentRole(StrEnum):
    """The role of an agent. The supervisor decides between phases; each other role works in one phase.

    Example:
        DeepResearch(agents={AgentRole.PLANNER: my_planner})
    """

    SUPERVISOR = "supervisor"
    PLANNER = "planner"
    GATHERER = "gatherer"
    ANALYZER = "analyzer"
    SYNTHESIZER = "synthesizer"
    REFINER = "refiner"


class ModelRole(StrEnum):
    """For what a language model is asked: the agents, and work that agents hand on."""

    SUPERVISOR = "supervisor"
    PLANNER = "planner"
    GATHERER = "gatherer"
    ANALYZER = "analyzer"
    SYNTHESIZER = "synthesizer"
    REFINER = "refiner"
    SUMMARIZER = "summarizer"
    TASK_AGENT = "task_agent"
    REVIEWER = "reviewer"
    JUDGE = "judge"
    MEMORY = "memory"


PHASE_TO_AGENT: dict[DeepResearchPhase, AgentRole] = {
    DeepResearchPhase.PLANNING: AgentRole.PLANNER,
    DeepResearchPhase.GATHERING: AgentRole.GATHERER,
    DeepResearchPhase.ANALYSIS: AgentRole.ANALYZER,
    DeepResearchPhase.SYNTHESIS: AgentRole.SYNTHESIZER,
    DeepResearchPhase.REFINEMENT: AgentRole.REFINER,
}


class RunStatus(StrEnum):
    """The status of a run.

    A ``QUEUED`` run waits for a worker. ``INTERRUPTED`` is never stored: a run reads so if it says ``running`` and no
    live process owns it.

    Example:
        if engine.status(run_id).status is RunStatus.PARKED: ...
    """

    QUEUED = "queued"
    PENDING = "pending"
    RUNNING = "running"
    PARKED = "parked"
    COMPLETED = "completed"
    ABORTED = "aborted"
    INTERRUPTED = "interrupted"

    @property
    def is_final(self) -> bool:
        """Whether the run has a terminal event as its last word."""
        return self in (RunStatus.COMPLETED, RunStatus.ABORTED)


class ParkedKind(StrEnum):
    """What a parked run waits for: the answer to a question, of a hook or of ours; the word on its plan; a service that
    could not be reached; a higher cap; the user who paused it; or the next process, after the one that stopped."""

    QUESTION = "question"
    PLAN = "plan"
    OUTAGE = "outage"
    BUDGET = "budget"
    PAUSE = "pause"
    SHUTDOWN = "shutdown"


class WhenDue(StrEnum):
    """What happens to a parked run when its time has come: it goes on with the default answer, or without one where there
    is none; it is aborted; it stays parked."""

    DEFAULT = "default"
    ABORT = "abort"
    STAY = "stay"


class CommandKind(StrEnum):
    """Kinds of commands that anyone may give a run, from any process."""

    CANCEL = "cancel"
    ANSWER = "answer"
    STEER = "steer"
    PAUSE = "pause"
    RELEASE = "release"


class AbortReason(StrEnum):
    """The reason why a run was aborted.

    Example:
        if result.reason is AbortReason.NO_EVIDENCE: ...
    """

    CANCELLED = "cancelled"
    REFUSED = "refused"
    TIMEOUT = "timeout"
    BUDGET = "budget"
    NO_EVIDENCE = "no_evidence"
    CONFIG = "config"
    ERROR = "error"


class SubQueryStatus(StrEnum):
    PENDING = "pending"
    COMPLETED = "completed"
    FAILED = "failed"
    SUPERSEDED = "superseded"


class SourceKind(StrEnum):
    WEB = "web"
    DOCUMENT = "document"


class SourceQuality(StrEnum):
    """The quality of a source, by its signals (docs/search.md).

    Example:
        best = [source for source in result.sources if source.quality is SourceQuality.HIGH]
    """

    UNKNOWN = "unknown"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class ConfidenceLevel(StrEnum):
    """The confidence in a finding, weakest first.

    Example:
        sure = [f for f in result.findings if f.confidence is ConfidenceLevel.CONFIRMED]
    """

    SPECULATION = "speculation"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CONFIRMED = "confirmed"


class SupervisorAction(StrEnum):
    """A decision of the supervisor after a phase.

    Example:
        Verdict(action=SupervisorAction.RETRY)
    """

    PROCEED = "proceed"
    RETRY = "retry"
    ITERATE = "iterate"
    COMPLETE = "complete"
    ABORT = "abort"
