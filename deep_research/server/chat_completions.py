"""A run as an answer of OpenAI's chat completions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

from deep_research.server.live_stream import KEEPALIVE, watched
from deep_research.server.openai_answers import (
    annotations_of,
    answer_text,
    chat_usage_of,
    model_of,
)
from deep_research.server.openai_models import response_id
from deep_research.server.problems import openai_error
from deep_research.server.response_events import PIECE_CHARS
from deep_research.server.service import Service
from deep_research.server.users import User
from deep_research.state import DeepResearchState

DONE = b"data: [DONE]\n\n"


def chat_completion(state: DeepResearchState) -> dict[str, Any]:
    """The answer as one message. A run without a report says why it has none."""
    message = {
        "role": "assistant",
        "content": chat_text(state),
        "refusal": None,
        "annotations": chat_annotations(state),
    }
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
    return _frame(state, "chat.completion", choices=[choice], usage=chat_usage_of(state))


def chat_text(state: DeepResearchState) -> str:
    text = answer_text(state)
    if text is not None:
        return text
    if state.abort is not None:
        return f"There is no report: {state.abort.message}"
    return f"The research continues; GET /v1/responses/{response_id(state.research_id)} shows its status."


def chat_annotations(state: DeepResearchState) -> list[dict[str, Any]]:
    """With their fields one level deeper, as chat completions have them."""
    annotation_list = []
    for annotation in annotations_of(state):
        kind = annotation["type"]
        annotation_list.append(
            {"type": kind, kind: {name: annotation[name] for name in annotation if name != "type"}}
        )
    return annotation_list


def _frame(state: DeepResearchState, kind: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{response_id(state.research_id).partition('_')[2]}",
        "object": kind,
        "created": int(state.created_at.timestamp()) if state.created_at else 0,
        "model": model_of(state.options.metadata),
        **fields,
    }


async def chat_stream(
    service: Service, user: User, research_id: str, *, with_usage: bool
) -> AsyncIterator[bytes]:
    """The answer in chunks once the run has ended; until then comments keep the connection open."""
    try:
        state = (await service.engine.aresult(research_id)).state
        yield _chunk(state, {"role": "assistant", "content": ""})
        async with aclosing(watched(service, user.name, research_id)) as batches:
            async for _ in batches:
                yield KEEPALIVE
        state = (await service.engine.aresult(research_id)).state
        text, annotations = await asyncio.to_thread(lambda: (chat_text(state), chat_annotations(state)))
        for start in range(0, len(text), PIECE_CHARS):
            yield _chunk(state, {"content": text[start : start + PIECE_CHARS]})
        if annotations:
            yield _chunk(state, {"annotations": annotations})
        yield _chunk(state, {}, finish_reason="stop")
        if with_usage:
            yield _data(_frame(state, "chat.completion.chunk", choices=[], usage=chat_usage_of(state)))
        yield DONE
    except Exception as error:  # one that only ended would look as if the answer did
        yield _data(openai_error(error))


def _chunk(state: DeepResearchState, delta: dict[str, Any], finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
    return _data(_frame(state, "chat.completion.chunk", choices=[choice]))


def _data(frame: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(frame, ensure_ascii=False)}\n\n".encode()
