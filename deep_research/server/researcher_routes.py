"""The researcher: an agent for graphs of agents, which takes their state and adds one message with what it found."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel

from deep_research.capabilities.agent_state import AgentState
from deep_research.capabilities.offers import AgentOffers, offers_of_researcher
from deep_research.capabilities.research_answer import answer_content, has_answer
from deep_research.errors import DeepResearchError
from deep_research.logs import describe_error, get_log
from deep_research.research.operations import Right
from deep_research.research.run_summary import RunSummary
from deep_research.server.access import SCHEMES, run_with, service_of, user_with
from deep_research.server.live_stream import EVENT_SCHEMA, KEEPALIVE, until_ended, watched
from deep_research.server.problem_responses import PROBLEMS
from deep_research.server.problems import RequestRefused, problem_of
from deep_research.server.researcher_models import (
    AnswerMessage,
    AnswerMetadata,
    AnswerState,
    AnyRequest,
    BatchAnswer,
    BatchMetadata,
    BatchRequest,
    InvokeAnswer,
    InvokeRequest,
    Pending,
)
from deep_research.server.service import Service
from deep_research.server.users import User

WAIT_SECONDS = 3_600.0  # for a run, on one request; clients of such services wait without an end
RETRY_SECONDS = 10  # to ask again for what has not ended
STREAM = "text/event-stream"
RUN_PATH = "/graph/runs/{research_id}"
log = get_log("server")

_Key = Annotated[str | None, Header(max_length=200)]
_Prefer = Annotated[str | None, Header(max_length=200)]
_Creator = Annotated[User, Depends(user_with(Right.CREATE))]
_Reader = Annotated[User, Depends(user_with(Right.READ))]
_PENDING: dict[int | str, dict[str, Any]] = {
    202: {
        "description": "The research continues; `Location` has the address of the answer.",
        "model": Pending,
    }
}
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Events.", "content": {STREAM: {"itemSchema": EVENT_SCHEMA}}}
}


def researcher_routes() -> APIRouter:
    router = APIRouter(dependencies=list(SCHEMES), responses=PROBLEMS, tags=["researcher"])
    router.add_api_route(
        "/graph/invoke",
        invoke,
        methods=["POST"],
        response_model=InvokeAnswer | AnswerState,
        responses=_PENDING,
        operation_id="graph_invoke",
    )
    router.add_api_route(
        "/graph/batch", batch, methods=["POST"], response_model=BatchAnswer, operation_id="graph_batch"
    )
    router.add_api_route(
        "/graph/stream",
        stream,
        methods=["POST"],
        response_class=Response,
        responses=_EVENTS,
        operation_id="graph_stream",
    )
    router.add_api_route(
        RUN_PATH, get_run, response_model=InvokeAnswer, responses=_PENDING, operation_id="graph_run"
    )
    router.add_api_route(
        "/capabilities", list_capabilities, response_model=AgentOffers, operation_id="capabilities"
    )
    return router


async def invoke(
    request: Request,
    user: _Creator,
    given: Annotated[AnyRequest, Body()],
    idempotency_key: _Key = None,
    prefer: _Prefer = None,
) -> Response:
    """Research the last question of a state. A state as LangServe sends it gets `output` and `metadata`, a bare one the
    state that it becomes. The header `Prefer: respond-async` asks for 202 and a place to ask instead of the wait."""
    service, state = service_of(request), given.state
    wrapped = isinstance(given, InvokeRequest)
    if (reply := state.reply) is not None:
        return _json(_output(state, _message(reply), None, wrapped=wrapped))
    service.refuse_closing()
    research_id = await _submit(service, user, state, idempotency_key)
    if _wants_no_wait(prefer):
        return _pending(request, await service.summary(user, research_id), preferred=True)
    service.streams.check(user.name)
    message = await _answer(service, user, research_id)
    return _json(_output(state, message, research_id, wrapped=wrapped))


async def batch(
    request: Request, user: _Creator, body: BatchRequest, idempotency_key: _Key = None
) -> Response:
    """Research the last questions of several states, at most 20. Where one of them is refused, none is researched."""
    service = service_of(request)
    for state in body.inputs:  # what does not fit is refused before anything is started
        state.check()
    replies = [state.reply for state in body.inputs]
    service.refuse_closing()
    service.streams.check(user.name)
    started = await _submit_all(service, user, body.inputs, replies, idempotency_key)
    waits = [
        _answer(service, user, started[place]) if reply is None else _ready(_message(reply))
        for place, reply in enumerate(replies)
    ]
    messages = _all_of(await asyncio.gather(*waits, return_exceptions=True))
    answer = BatchAnswer(
        output=[_state(state, message) for state, message in zip(body.inputs, messages, strict=True)],
        metadata=BatchMetadata(
            responses=[AnswerMetadata(run_id=started.get(place)) for place in range(len(replies))]
        ),
    )
    return _json(answer)


async def stream(
    request: Request, user: _Creator, given: Annotated[AnyRequest, Body()], idempotency_key: _Key = None
) -> Response:
    """As `invoke`, in server-sent events: `metadata` with the run, `data` with the message when the run has ended, and
    `end`; until then comments keep the connection open. `error` says that it failed."""
    service, state = service_of(request), given.state
    reply = state.reply
    service.refuse_closing()
    service.streams.check(user.name)
    research_id = None if reply is not None else await _submit(service, user, state, idempotency_key)
    frames = _frames(service, user, state, research_id, reply)
    headers = {"cache-control": "no-cache", "x-accel-buffering": "no"}
    return StreamingResponse(frames, 200, headers, media_type=STREAM)


async def get_run(request: Request, run: Annotated[RunSummary, Depends(run_with(Right.READ))]) -> Response:
    """The answer of a run, without the context of its state; 202 while it goes on."""
    service = service_of(request)
    result = await service.engine.aresult(run.research_id)
    if not has_answer(result):
        return _pending(request, run)
    message = _message(await asyncio.to_thread(answer_content, result), run.research_id)
    return _json(InvokeAnswer(output=AnswerState(messages=[message]), metadata=_metadata(run.research_id)))


async def list_capabilities(_: _Reader) -> Response:
    """What is offered here: where to ask for it, and the schemas of request and answer."""
    return _json(offers_of_researcher())


async def _submit(service: Service, user: User, state: AgentState, key: str | None) -> str:
    return await service.submit(user, state.question, idempotency_key=key, options=state.options)


async def _submit_all(
    service: Service,
    user: User,
    states: list[AgentState],
    replies: list[str | None],
    key: str | None,
) -> dict[int, str]:
    """The runs by the places of their states. Where one is refused, the runs before it are cancelled, unless a request
    with the same key may come again for them."""
    started: dict[int, str] = {}
    try:
        for place, state in enumerate(states):
            if replies[place] is None:
                state_key = None if key is None else f"{key} {place}"
                started[place] = await _submit(service, user, state, state_key)
    except DeepResearchError:
        for research_id in started.values() if key is None else ():
            await service.cancel(user, await service.summary(user, research_id))
        raise
    return started


async def _answer(service: Service, user: User, research_id: str) -> AnswerMessage:
    """The message of a run, when it has ended. Raises `RequestRefused` where it does not in time."""
    await until_ended(service, user.name, research_id, WAIT_SECONDS)
    return await message_of_run(service, research_id)


async def message_of_run(service: Service, research_id: str) -> AnswerMessage:
    """Raises `RequestRefused` for a run that goes on."""
    result = await service.engine.aresult(research_id)
    if not has_answer(result):
        raise RequestRefused(
            503,
            "not_ended",
            f"Run '{research_id}' has not ended.",
            f"GET {RUN_PATH.format(research_id=research_id)} has its answer later; so has a request with the same"
            " Idempotency-Key.",
            {"retry-after": str(RETRY_SECONDS)},
        )
    return _message(await asyncio.to_thread(answer_content, result), research_id)


async def _ready(message: AnswerMessage) -> AnswerMessage:
    return message


def _all_of(messages: Sequence[AnswerMessage | BaseException]) -> list[AnswerMessage]:
    """Raises the first error."""
    answers = []
    for message in messages:
        if isinstance(message, BaseException):
            raise message
        answers.append(message)
    return answers


async def _frames(
    service: Service, user: User, state: AgentState, research_id: str | None, reply: str | None
) -> AsyncIterator[bytes]:
    try:
        yield _event("metadata", _metadata(research_id).model_dump())
        if research_id is None:
            message = _message(reply or "")
        else:
            async with aclosing(watched(service, user.name, research_id)) as batches:
                async for items in batches:
                    if not items:
                        yield KEEPALIVE
            message = await message_of_run(service, research_id)
        yield _event("data", _state(state, message).model_dump())
        yield b"event: end\n\n"
    except Exception as error:  # a stream that only ended would look as if there were no answer
        log.warning("stream_failed", run=research_id, error=describe_error(error))
        problem, _ = problem_of(error)
        text = f"{problem.detail} {problem.hint}".strip()
        yield _event("error", {"status_code": problem.status, "message": text})


def _event(name: str, data: Mapping[str, Any]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _message(content: str, research_id: str | None = None) -> AnswerMessage:
    return AnswerMessage(content=content, id=research_id)


def _metadata(research_id: str | None) -> AnswerMetadata:
    return AnswerMetadata(run_id=research_id)


def _state(state: AgentState, message: AnswerMessage) -> AnswerState:
    return AnswerState(messages=[message], context=state.context)


def _output(
    state: AgentState, message: AnswerMessage, research_id: str | None, *, wrapped: bool
) -> InvokeAnswer | AnswerState:
    output = _state(state, message)
    return InvokeAnswer(output=output, metadata=_metadata(research_id)) if wrapped else output


def _json(answer: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """What a state brings back may have half characters, which JSON has as escapes alone."""
    body = json.dumps(answer.model_dump(), allow_nan=False)
    return Response(body, status, dict(headers or {}), media_type="application/json")


def _wants_no_wait(prefer: str | None) -> bool:
    names = (part.partition(";")[0].strip().lower() for part in (prefer or "").split(","))
    return "respond-async" in names


def _pending(request: Request, run: RunSummary, *, preferred: bool = False) -> Response:
    path = request.scope.get("root_path", "") + RUN_PATH.format(research_id=run.research_id)
    headers = {"location": path, "retry-after": str(RETRY_SECONDS)}
    if preferred:
        headers["preference-applied"] = "respond-async"
    return _json(Pending(run_id=run.research_id, status=run.status.value, location=path), 202, headers)
