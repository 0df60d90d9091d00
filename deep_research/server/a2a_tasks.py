"""A run as a task of the A2A protocol. Needs the extra ``a2a``."""

from __future__ import annotations

from a2a.helpers import get_message_text, new_text_artifact, new_text_message
from a2a.types import Message, Task, TaskState, TaskStatus
from a2a.utils.errors import (
    A2AError,
    ContentTypeNotSupportedError,
    InternalError,
    InvalidParamsError,
    TaskNotFoundError,
    UnsupportedOperationError,
)

from deep_research.research import ResearchResult
from deep_research.research.run_summary import RunSummary
from deep_research.server.problems import RequestRefused, problem_of
from deep_research.state import AbortReason, ParkedKind, RunStatus

REPORT = "report.md"
MARKDOWN = "text/markdown"
_ERRORS: dict[int, type[A2AError]] = {
    404: TaskNotFoundError,
    409: UnsupportedOperationError,
    422: InvalidParamsError,
}


def task_of(run: RunSummary, result: ResearchResult | None = None) -> Task:
    """A run as a task; of one that ended the ``result``, whose report is the artifact."""
    report = result.report if result is not None else None
    artifacts = [new_text_artifact(REPORT, report, MARKDOWN, artifact_id=REPORT)] if report else []
    return Task(id=run.research_id, context_id=context_of(run), status=status_of(run), artifacts=artifacts)


def context_of(run: RunSummary) -> str:
    """A run without a session is a context of its own."""
    return run.session_id or run.research_id


def state_of(run: RunSummary) -> TaskState:
    match run.status:
        case RunStatus.COMPLETED:
            return TaskState.TASK_STATE_COMPLETED
        case RunStatus.ABORTED if run.reason is AbortReason.CANCELLED:
            return TaskState.TASK_STATE_CANCELED
        case RunStatus.ABORTED:
            return TaskState.TASK_STATE_FAILED
        case RunStatus.PARKED if run.parked_kind is not ParkedKind.SHUTDOWN:
            return TaskState.TASK_STATE_INPUT_REQUIRED
        case RunStatus.QUEUED:
            return TaskState.TASK_STATE_SUBMITTED
    return TaskState.TASK_STATE_WORKING


def status_of(run: RunSummary) -> TaskStatus:
    """Where a run stands: the reason of one that was aborted, what one waits for, the phase of one that goes on."""
    state = state_of(run)
    text = run.message
    if state == TaskState.TASK_STATE_INPUT_REQUIRED:
        text = f"The research waits for {run.waiting_for}."
    elif state == TaskState.TASK_STATE_WORKING:
        text = run.phase.value
    message = new_text_message(text, context_id=context_of(run), task_id=run.research_id) if text else None
    return TaskStatus(state=state, message=message, timestamp=run.updated_at)


def text_of(message: Message) -> str:
    """Raises `ContentTypeNotSupportedError` for a part that is no text."""
    if not all(part.HasField("text") for part in message.parts):
        raise ContentTypeNotSupportedError("Only text is read.")
    return get_message_text(message)


def refusal_of(error: Exception, *, streaming: bool = False) -> Exception:
    """An error of ours as one of the protocol; who may not, or has too much open, gets the status of HTTP that says so,
    unless the answer has begun."""
    problem, headers = problem_of(error)
    text = f"{problem.detail} {problem.hint}".strip()
    if streaming or problem.status in _ERRORS:
        return _ERRORS.get(problem.status, InternalError)(text)
    return RequestRefused(problem.status, problem.code, problem.detail, problem.hint, headers)
