"""The requests of LangGraph's client and the objects that it reads: a thread is a session, a run is a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from deep_research.capabilities.agent_state import AgentState
from deep_research.errors import UsageError
from deep_research.research.run_summary import RunSummary
from deep_research.research.sessions import SessionTurn
from deep_research.state import AbortReason, ParkedKind, RunStatus

ASSISTANT = "deep_research"
NODE = "researcher"  # whose updates are streamed
MAX_MODES = 20
MAX_THREAD_CHARS = 200
_REFUSED = ("command", "webhook", "after_seconds")  # would change what happens, if they were obeyed

ThreadId = Annotated[str, Field(min_length=1, max_length=MAX_THREAD_CHARS)]
StreamMode = Annotated[str, Field(max_length=40)]
StreamModes = StreamMode | Annotated[list[StreamMode], Field(max_length=MAX_MODES)]


class GraphRunRequest(BaseModel):
    """A run of the graph. What has no meaning here, such as a recursion limit, is not read."""

    assistant_id: Annotated[str, Field(max_length=200)] = ASSISTANT
    input: AgentState | None = None
    stream_mode: StreamModes = "values"
    command: dict[str, Any] | None = None
    webhook: Annotated[str, Field(max_length=2_000)] | None = None
    after_seconds: float | None = None

    @property
    def state(self) -> AgentState:
        """Raises `UsageError`."""
        for name in _REFUSED:
            if getattr(self, name) is not None:
                raise UsageError(f"{name} is not supported.", hint="Remove it.")
        if self.input is None:
            raise UsageError("A run needs an input.", hint='Send {"input": {"messages": [...]}}.')
        return self.input

    @property
    def modes(self) -> list[str]:
        return modes_of(self.stream_mode)


class ThreadRequest(BaseModel):
    """A thread; one without an id gets one. It is there as soon as it has a run."""

    thread_id: ThreadId | None = None
    metadata: dict[str, Any] | None = None


class Checkpoint(BaseModel):
    """A place in a thread: behind the run with this id, or at its end."""

    checkpoint_id: Annotated[str, Field(max_length=MAX_THREAD_CHARS)] | None = None


class CheckpointRequest(BaseModel):
    """Of which place of a thread the state is asked for."""

    checkpoint: Checkpoint = Checkpoint()


def modes_of(modes: StreamModes) -> list[str]:
    return [modes] if isinstance(modes, str) else modes


def thread_of(run: RunSummary) -> str:
    """A run without a session is a thread of its own."""
    return run.session_id or run.research_id


def run_status(run: RunSummary) -> Literal["pending", "running", "success", "error", "interrupted"]:
    match run.status:
        case RunStatus.COMPLETED:
            return "success"
        case RunStatus.ABORTED:
            return "interrupted" if run.reason is AbortReason.CANCELLED else "error"
        case RunStatus.PARKED if run.parked_kind is not ParkedKind.SHUTDOWN:
            return "interrupted"
        case RunStatus.QUEUED | RunStatus.PARKED:
            return "pending"
    return "running"


def run_object(run: RunSummary) -> dict[str, Any]:
    return {
        "run_id": run.research_id,
        "thread_id": thread_of(run),
        "assistant_id": ASSISTANT,
        "status": run_status(run),
        "created_at": run.created_at.isoformat(),
        "updated_at": run.updated_at.isoformat(),
        "metadata": {},
        "kwargs": {},
        "multitask_strategy": "enqueue",
    }


def thread_object(thread_id: str) -> dict[str, Any]:
    return {"thread_id": thread_id, "metadata": {}, "status": "idle", "values": None}


def state_object(thread_id: str, turns: Sequence[SessionTurn], answers: Mapping[str, str]) -> dict[str, Any]:
    """The conversation of a thread, each turn as two messages. ``answers`` are the contents of those that runs added, by
    their ids."""
    messages: list[dict[str, Any]] = []
    for turn in turns:
        messages.append({"type": "human", "content": turn.user_message, "id": f"{turn.research_id}-question"})
        if answer := answers[turn.research_id]:
            messages.append({"type": "ai", "content": answer, "id": turn.research_id})
    checkpoint: dict[str, Any] = {
        "thread_id": thread_id,
        "checkpoint_ns": "",
        "checkpoint_id": turns[-1].research_id if turns else None,
        "checkpoint_map": {},
    }
    return {
        "values": {"messages": messages},
        "next": [],
        "tasks": [],
        "metadata": {},
        "created_at": turns[-1].at.isoformat() if turns else None,
        "checkpoint": checkpoint,
        "parent_checkpoint": None,
    }
