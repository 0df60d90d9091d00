"""The event sequence of a response, made from the log of its run alone: event N is the same for every listener and
after every restart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

from deep_research.server.openai_answers import (
    annotations_of,
    answer_text,
    response_object,
    status_of,
)
from deep_research.server.openai_models import response_id
from deep_research.state import SourceKind
from deep_research.state import events as ev
from deep_research.state.reducer import Fold

PIECE_CHARS = 200  # of a report, in one event
_ENDS = {"completed": "response.completed", "failed": "response.failed"}


class ResponseEvents:
    """Takes the events of a run in their order and gives those of the response, each with its ``sequence_number``.

    What a run ends or parks with is given by `end`, once nothing follows in the log: a run that is resumed goes on, and
    its earlier end is passed over.
    """

    def __init__(self) -> None:
        self.fold = Fold()
        self.output: list[dict[str, Any]] = []
        self._numbers = count()
        self._end: list[dict[str, Any]] = []
        self._ending: dict[str, Any] | None = None  # the item of the message that it has

    def apply(self, event: ev.Event) -> Iterator[dict[str, Any]]:
        """What an event of the run is in the response."""
        self.fold.apply(event)
        self._end, self._ending = [], None
        match event:
            case ev.RunCreated():
                yield self._event("response.created", response=self.response())
                yield self._event("response.in_progress", response=self.response())
            case ev.SubQueryCompleted() if event.searches:  # else what was saved is read
                yield from self._search(event.seq, event.sub_query_id, "completed", _pages(event))
            case ev.SubQueryFailed():
                yield from self._search(event.seq, event.sub_query_id, "failed", [])
            case ev.RunCompleted() | ev.RunAborted() | ev.RunParked():
                self._end = list(self._closing())

    def end(self) -> Iterator[dict[str, Any]]:
        """The events of the end of a run, or of its waiting."""
        if self._ending is not None:
            self.output.append(self._ending)
        yield from self._end
        self._end, self._ending = [], None

    def response(self) -> dict[str, Any]:
        ending = [] if self._ending is None else [self._ending]
        return response_object(self.fold.snapshot(), [*self.output, *ending])

    def _event(self, kind: str, **fields: Any) -> dict[str, Any]:
        return {"type": kind, "sequence_number": next(self._numbers), **fields}

    def _search(
        self, seq: int, sub_query: str, status: str, pages: list[Mapping[str, str]]
    ) -> Iterator[dict[str, Any]]:
        row = self.fold.sub_queries.get(sub_query)
        query = row.query if row is not None else ""
        action = {"type": "search", "query": query, "queries": [query], "sources": pages}
        item = {
            "type": "web_search_call",
            "id": f"ws_{self._suffix}_{seq}",
            "status": status,
            "action": action,
        }
        place = {"output_index": len(self.output), "item_id": item["id"]}
        open_item = {**item, "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=len(self.output), item=open_item)
        for step in ("in_progress", "searching", *(["completed"] if status == "completed" else [])):
            yield self._event(f"response.web_search_call.{step}", **place)
        yield self._event("response.output_item.done", output_index=len(self.output), item=item)
        self.output.append(item)

    @property
    def _suffix(self) -> str:
        return response_id(self.fold.research_id).partition("_")[2]

    def _closing(self) -> Iterator[dict[str, Any]]:
        state = self.fold.snapshot()
        text = answer_text(state)
        if text is not None:
            yield from self._message(text, annotations_of(state), status_of(state))
        yield self._event(_ENDS.get(status_of(state), "response.incomplete"), response=self.response())

    def _message(self, text: str, annotations: list[dict[str, Any]], status: str) -> Iterator[dict[str, Any]]:
        message_id, index = f"msg_{self._suffix}", len(self.output)
        part: dict[str, Any] = {"type": "output_text", "text": text, "annotations": annotations}
        item = {
            "type": "message",
            "id": message_id,
            "role": "assistant",
            "status": "completed" if status == "completed" else "incomplete",
            "content": [part],
        }
        at = {"item_id": message_id, "output_index": index, "content_index": 0}
        open_item = {**item, "status": "in_progress", "content": []}
        empty = {**part, "text": "", "annotations": []}
        yield self._event("response.output_item.added", output_index=index, item=open_item)
        yield self._event("response.content_part.added", **at, part=empty)
        for start in range(0, len(text), PIECE_CHARS):
            piece = text[start : start + PIECE_CHARS]
            yield self._event("response.output_text.delta", **at, delta=piece, logprobs=[])
        for number, annotation in enumerate(annotations):
            yield self._event(
                "response.output_text.annotation.added",
                **at,
                annotation_index=number,
                annotation=annotation,
            )
        yield self._event("response.output_text.done", **at, text=text, logprobs=[])
        yield self._event("response.content_part.done", **at, part=part)
        yield self._event("response.output_item.done", output_index=index, item=item)
        self._ending = item


def _pages(event: ev.SubQueryCompleted) -> list[Mapping[str, str]]:
    return [
        {"type": "url", "url": source.url}
        for source in event.sources
        if source.kind is SourceKind.WEB and source.url
    ]
