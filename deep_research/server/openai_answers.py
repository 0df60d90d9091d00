"""A run as the objects of OpenAI's API: the text of its answer with annotations, its usage and its status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deep_research.report.reference_marks import reference_marks
from deep_research.server.openai_models import DEFAULT_MODEL, MODEL_KEY, response_id
from deep_research.state import AbortReason, DeepResearchState, RunStatus, Source, SourceKind


def answer_text(state: DeepResearchState) -> str | None:
    """The report; of a run that waits what it waits for; None where there is nothing to say."""
    if state.report:
        return state.report
    if state.is_waiting and state.parking is not None:
        return f"The research waits for {state.parking.waiting_for}."
    return None


def annotations_of(state: DeepResearchState) -> list[dict[str, Any]]:
    """A citation of each reference in the report: of a page with its address, of a document with the name of its file.
    Places are in characters of `answer_text`."""
    report = state.report
    if not report:
        return []
    sources = {source.id: source for source in state.sources}
    numbers = {
        citation.number: sources[citation.source_id]
        for citation in state.citations
        if citation.source_id in sources
    }
    return [
        _annotation(numbers[mark.number], mark.start, mark.end) for mark in reference_marks(report, numbers)
    ]


def _annotation(source: Source, start: int, end: int) -> dict[str, Any]:
    if source.kind is SourceKind.WEB and source.url:
        return {
            "type": "url_citation",
            "start_index": start,
            "end_index": end,
            "url": source.url,
            "title": source.title,
        }
    return {
        "type": "file_citation",
        "index": end,
        "file_id": source.id,
        "filename": source.url or source.title,
        "start_index": start,  # more than OpenAI says: a client may know where the mark is
        "end_index": end,
    }


def status_of(state: DeepResearchState) -> str:
    """The status of a response."""
    match state.status:
        case RunStatus.COMPLETED:
            return "completed"
        case RunStatus.PARKED if state.is_waiting:
            return "incomplete"
        case RunStatus.ABORTED if state.abort is not None:
            if state.abort.reason is AbortReason.CANCELLED:
                return "cancelled"
            return "incomplete" if state.report else "failed"
        case RunStatus.QUEUED:
            return "queued"
    return "in_progress"


def error_of(state: DeepResearchState) -> dict[str, Any] | None:
    if status_of(state) != "failed" or state.abort is None:
        return None
    return {"code": state.abort.reason.value, "message": state.abort.message}


def incomplete_of(state: DeepResearchState) -> dict[str, Any] | None:
    """Why a response is not whole: the reason of an abort, or what kind of thing a parked run waits for."""
    if status_of(state) != "incomplete":
        return None
    if state.abort is not None:
        return {"reason": state.abort.reason.value}
    return {"reason": state.parking.kind.value if state.parking is not None else "waiting"}


def model_of(metadata: Mapping[str, str]) -> str:
    return metadata.get(MODEL_KEY, DEFAULT_MODEL)


def usage_of(state: DeepResearchState) -> dict[str, Any]:
    usage = state.usage
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def chat_usage_of(state: DeepResearchState) -> dict[str, Any]:
    usage = state.usage
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


def response_object(state: DeepResearchState, output: list[dict[str, Any]]) -> dict[str, Any]:
    """A response as clients get it, with these output items."""
    options = state.options
    status = status_of(state)
    return {
        "id": response_id(state.research_id),
        "object": "response",
        "created_at": int(state.created_at.timestamp()) if state.created_at else 0,
        "status": status,
        "model": model_of(options.metadata),
        "output": output,
        "error": error_of(state),
        "incomplete_details": incomplete_of(state),
        "instructions": options.system_prompt,
        "metadata": {name: value for name, value in options.metadata.items() if name != MODEL_KEY},
        "usage": None if status in ("queued", "in_progress") else usage_of(state),
        "max_tool_calls": options.budget.max_searches,
        "parallel_tool_calls": True,
        "previous_response_id": options.previous_run_id and response_id(options.previous_run_id),
        "tool_choice": "auto",
        "tools": [{"type": "web_search"}],
        "temperature": None,
        "top_p": None,
    }
