"""The events of a run in the five types of a streaming graph: models and tools that start, text that comes, tools that
end, and everything else."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from typing import Any, overload

from deep_research.state import DeepResearchPhase, ModelRole
from deep_research.state import events as ev

MODEL_STARTS = "on_chat_model_start"
MODEL_WRITES = "on_chat_model_stream"
TOOL_STARTS = "on_tool_start"
TOOL_ENDS = "on_tool_end"
CUSTOM = "on_custom_event"
_TOOLS = "tool_executor"
_NODES = {
    DeepResearchPhase.PLANNING: "planner",
    DeepResearchPhase.GATHERING: _TOOLS,
    DeepResearchPhase.ANALYSIS: "analyzer",
    DeepResearchPhase.SYNTHESIS: "generator",
    DeepResearchPhase.REFINEMENT: "verifier",
}
# The node of a model that does another work than that of its phase.
_ROLES = {ModelRole.JUDGE.value: "verifier", ModelRole.SUPERVISOR.value: "verifier"}

_Event = ev.Event | ev.Progress
_Part = tuple[str, str, dict[str, Any]]  # type, node, payload
_PAYLOADS: dict[type[ev.Event], Callable[[Any], dict[str, Any]]] = {
    ev.RunCreated: lambda e: {"query": e.query},
    ev.PhaseStarted: lambda e: {"phase": e.phase.value, "iteration": e.iteration},
    ev.PhaseEnded: lambda e: {"phase": e.phase.value, "valid": e.validation.valid},
    ev.PhaseRetried: lambda e: {"attempt": e.attempt, "issues": list(e.issues), "asked_by": e.asked_by},
    ev.PlanMade: lambda e: {"queries": [query.query for query in e.sub_queries]},
    ev.SubQueriesAdded: lambda e: {"queries": [query.query for query in e.sub_queries]},
    ev.IterationStarted: lambda e: {"iteration": e.iteration},
    ev.DecisionMade: lambda e: {"action": e.action.value, "rationale": e.decision.rationale},
    ev.SourcesAnalyzed: lambda e: {"findings": len(e.findings)},
    ev.ReportWritten: lambda e: {"words": e.metadata.word_count, "claims": len(e.claims)},
    ev.ModelSettled: lambda e: {"call_id": e.call_id, "outcome": e.outcome},
    ev.LimitReached: lambda e: {"message": e.limit.line},
    ev.NoticeAdded: lambda e: {"message": e.notice.line},
    ev.RunParked: lambda e: {"waiting_for": e.parking.waiting_for, "kind": e.parking.kind.value},
    ev.RunSteered: lambda e: {"text": e.text, "refused": e.refused},
    ev.RunCompleted: lambda e: {"rationale": e.rationale},
    ev.RunAborted: lambda e: {"reason": e.reason.value, "message": e.message},
}


@overload
def as_protocol(events: AsyncIterable[_Event]) -> AsyncIterator[dict[str, Any]]: ...
@overload
def as_protocol(events: Iterable[_Event]) -> Iterator[dict[str, Any]]: ...
def as_protocol(
    events: AsyncIterable[_Event] | Iterable[_Event],
) -> AsyncIterator[dict[str, Any]] | Iterator[dict[str, Any]]:
    """The events of a run, as `DeepResearch.events` or `DeepResearch.follow` gives them, each as none, one or several of
    five types. ``name`` is the node it comes from: planner, tool_executor, analyzer, generator or verifier; ``data`` what
    it says; ``seq`` the number of the event that it is made of, which notes have not; ``run_id`` is known from the first
    event on.

    Example:
        for event in as_protocol(research.events(run_id)):
            print(event["event"], event["name"], event["data"])
    """
    adapter = ProtocolAdapter()
    if isinstance(events, AsyncIterable):
        return _asynchronous(adapter, events)
    return (message for event in events for message in adapter.adapt(event))


async def _asynchronous(
    adapter: ProtocolAdapter, events: AsyncIterable[_Event]
) -> AsyncIterator[dict[str, Any]]:
    async for event in events:
        for message in adapter.adapt(event):
            yield message


class ProtocolAdapter:
    """Adapts the events of one run, one after the other."""

    def __init__(self, run_id: str | None = None) -> None:
        self._run_id = run_id

    def adapt(self, event: _Event) -> Iterator[dict[str, Any]]:
        """What an event is in the protocol; nothing for a note that says no more than another does."""
        if isinstance(event, ev.RunCreated):
            self._run_id = event.research_id
        for kind, node, data in _parts(event):
            message: dict[str, Any] = {"event": kind, "name": node, "data": data}
            if self._run_id is not None:
                message["run_id"] = self._run_id
            if isinstance(event, ev.Event):
                message["seq"] = event.seq
            yield message


def _parts(event: _Event) -> Iterator[_Part]:
    match event:
        case ev.ModelReserved():
            reservation = event.reservation
            node = _ROLES.get(reservation.role, _NODES[reservation.phase])
            content = {
                "model": reservation.model,
                "tokens": reservation.input_tokens,
                "call_id": reservation.call_id,
            }
            yield MODEL_STARTS, node, {"input": content}
        case ev.Written():
            piece = {"chunk": event.text or "", "label": event.label}
            yield (
                MODEL_WRITES,
                _NODES[event.phase],
                piece | ({} if event.text is not None else {"reset": True}),
            )
        case ev.Started():
            yield TOOL_STARTS, _TOOLS, {"tool": event.tool, "input": event.input}
        case ev.SubQueryCompleted() if event.searches:  # else what was saved is read
            pages = [{"title": source.title, "url": source.url} for source in event.sources]
            yield TOOL_ENDS, _TOOLS, {"tool": "search", "id": event.sub_query_id, "output": pages}
        case ev.SubQueryFailed():
            yield TOOL_ENDS, _TOOLS, {"tool": "search", "id": event.sub_query_id, "error": event.error}
        case ev.TaskStepped():
            for use in event.step.uses:
                content = {"tool": use.tool, "input": use.arguments, "output": list(event.step.source_ids)}
                yield TOOL_ENDS, _TOOLS, content | ({"failed": True} if use.failed else {})
        case ev.Event():
            yield CUSTOM, _node_of(event), {"status": _status_of(event), **_payload_of(event)}
        case _:
            return


def _node_of(event: ev.Event) -> str:
    phase = getattr(event, "phase", None)
    return _NODES[phase] if isinstance(event, ev.PhaseStarted) and phase is not None else "verifier"


def _status_of(event: ev.Event) -> str:
    """A name for what happened: ``planning_retry``, ``run_completed``, …"""
    if isinstance(event, ev.PhaseRetried):
        return f"{event.phase.value}_retry"
    return event.name.replace(".", "_")


def _payload_of(event: ev.Event) -> dict[str, Any]:
    make = _PAYLOADS.get(type(event))
    return make(event) if make is not None else {}
