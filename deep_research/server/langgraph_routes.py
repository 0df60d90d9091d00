"""The researcher as a remote graph of LangGraph: the routes that its client asks, over the runs of the store."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from deep_research.capabilities.agent_state import AgentState
from deep_research.errors import LogDamagedError, RunNotFoundError, StoreVersionError, UsageError
from deep_research.logs import describe_error, get_log
from deep_research.research.operations import Right
from deep_research.research.run_summary import RunSummary
from deep_research.research.sessions import SessionTurn
from deep_research.server.access import SCHEMES, service_of, user_with
from deep_research.server.langgraph_models import (
    MAX_MODES,
    MAX_THREAD_CHARS,
    NODE,
    CheckpointRequest,
    GraphRunRequest,
    StreamMode,
    ThreadRequest,
    run_object,
    state_object,
    thread_object,
    thread_of,
)
from deep_research.server.live_stream import EVENT_SCHEMA, KEEPALIVE, ServerStops, sequence_number, watched
from deep_research.server.problem_responses import PROBLEMS
from deep_research.server.problems import RequestRefused, problem_of
from deep_research.server.researcher_models import AnswerMessage
from deep_research.server.researcher_routes import message_of_run
from deep_research.server.service import Service
from deep_research.server.users import User
from deep_research.state.identity import RUN_ID

PREFIX = "/langgraph"
THREAD = f"{PREFIX}/threads/{{thread_id}}"
RUN = f"{THREAD}/runs/{{run_id}}"
STREAM, JSON = "text/event-stream", "application/json"
HEADERS = {"cache-control": "no-cache", "x-accel-buffering": "no"}
log = get_log("server")

_Creator = Annotated[User, Depends(user_with(Right.CREATE))]
_Reader = Annotated[User, Depends(user_with(Right.READ))]
_Controller = Annotated[User, Depends(user_with(Right.CONTROL))]
_Thread = Annotated[str, Path(min_length=1, max_length=MAX_THREAD_CHARS)]
_Modes = Annotated[list[StreamMode], Query(max_length=MAX_MODES)]
_LastId = Annotated[str | None, Header(max_length=200)]
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The object that LangGraph's client reads, or its stream of events.",
        "content": {JSON: {"schema": {}}, STREAM: {"itemSchema": EVENT_SCHEMA}},
    }
}


def langgraph_routes() -> APIRouter:
    router = APIRouter(dependencies=list(SCHEMES), responses=PROBLEMS, tags=["langgraph"])
    for method, path, endpoint in (
        ("POST", f"{PREFIX}/runs/stream", stream_run),
        ("POST", f"{PREFIX}/runs/wait", wait_for_run),
        ("POST", f"{PREFIX}/threads", create_thread),
        ("GET", f"{THREAD}/state", thread_state),
        ("POST", f"{THREAD}/state/checkpoint", thread_state_at),
        ("POST", f"{THREAD}/runs", create_thread_run),
        ("POST", f"{THREAD}/runs/stream", stream_thread_run),
        ("POST", f"{THREAD}/runs/wait", wait_for_thread_run),
        ("GET", RUN, get_thread_run),
        ("GET", f"{RUN}/stream", join_stream),
        ("GET", f"{RUN}/join", join_run),
        ("POST", f"{RUN}/cancel", cancel_run),
    ):
        router.add_api_route(
            path,
            endpoint,
            methods=[method],
            response_class=Response,
            responses=_ANSWERS,
            operation_id=f"langgraph_{endpoint.__name__}",
        )
    return router


async def stream_run(request: Request, user: _Creator, body: GraphRunRequest) -> Response:
    """Research the last question of a state, and stream the message that answers it."""
    return await _streamed(service_of(request), user, body, None)


async def wait_for_run(request: Request, user: _Creator, body: GraphRunRequest) -> Response:
    """Research the last question of a state, and give the state that is added."""
    return await _waited(service_of(request), user, body, None)


async def create_thread(_: _Creator, body: ThreadRequest) -> Response:
    """Name a thread. Its runs are a conversation."""
    return JSONResponse(thread_object(body.thread_id or str(uuid.uuid4())))


async def thread_state(request: Request, user: _Reader, thread_id: _Thread) -> Response:
    """The conversation of a thread."""
    return await _state(service_of(request), user, thread_id, None)


async def thread_state_at(
    request: Request, user: _Reader, thread_id: _Thread, body: CheckpointRequest
) -> Response:
    """The conversation of a thread as it was after a run, whose id is that of the checkpoint; without one all of it."""
    return await _state(service_of(request), user, thread_id, body.checkpoint.checkpoint_id)


async def _state(service: Service, user: User, thread_id: str, last: str | None) -> Response:
    """Raises `RunNotFoundError` where the ``last`` run is none of the thread."""
    try:
        turns = await service.engine.asession_turns(thread_id, user_id=user.name)
    except RunNotFoundError:  # it has no run yet
        turns = ()
    if last is not None:
        places = [turn.research_id for turn in turns]
        if last not in places:
            raise RunNotFoundError.of(last)
        turns = turns[: places.index(last) + 1]
    answers = {turn.research_id: await _answer(service, turn) for turn in turns}
    return JSONResponse(state_object(thread_id, turns, answers))


async def _answer(service: Service, turn: SessionTurn) -> str:
    """The content of the message that a run added; of one that goes on, or whose log cannot be read, the words that the
    turn has."""
    try:
        return (await message_of_run(service, turn.research_id)).content
    except (RequestRefused, LogDamagedError, StoreVersionError):
        return turn.answer


async def create_thread_run(
    request: Request, user: _Creator, thread_id: _Thread, body: GraphRunRequest
) -> Response:
    """Research the last question of a state in the background."""
    service = service_of(request)
    run = await _start(service, user, body.state, thread_id)
    if run is None:
        raise UsageError(
            "There is no question to research.", hint="Send a question as the last user message."
        )
    return JSONResponse(run_object(run), 200, _places(run, "join", ()))


async def stream_thread_run(
    request: Request, user: _Creator, thread_id: _Thread, body: GraphRunRequest
) -> Response:
    """As `/runs/stream`, as the next turn of a thread."""
    return await _streamed(service_of(request), user, body, thread_id)


async def wait_for_thread_run(
    request: Request, user: _Creator, thread_id: _Thread, body: GraphRunRequest
) -> Response:
    """As `/runs/wait`, as the next turn of a thread."""
    return await _waited(service_of(request), user, body, thread_id)


async def get_thread_run(request: Request, user: _Reader, thread_id: _Thread, run_id: str) -> Response:
    """Where a run stands."""
    return JSONResponse(run_object(await _run_of(service_of(request), user, thread_id, run_id)))


async def join_stream(
    request: Request,
    user: _Reader,
    thread_id: _Thread,
    run_id: str,
    stream_mode: _Modes = ["values", "updates"],  # noqa: B006
    last_event_id: _LastId = None,
) -> Response:
    """The stream of a run, from behind an event."""
    service = service_of(request)
    run = await _run_of(service, user, thread_id, run_id)
    after = sequence_number(last_event_id)
    service.refuse_closing()
    service.streams.check(user.name)
    frames = _frames(service, user, run, stream_mode, after=after)
    return StreamingResponse(frames, 200, {**HEADERS, **_places(run, "stream", stream_mode)}, STREAM)


async def join_run(request: Request, user: _Reader, thread_id: _Thread, run_id: str) -> Response:
    """The state that a run adds, once it has ended."""
    service = service_of(request)
    run = await _run_of(service, user, thread_id, run_id)
    service.refuse_closing()
    service.streams.check(user.name)
    values = _values(service, user, run)
    return StreamingResponse(values, 200, {**HEADERS, **_places(run, "join", ())}, JSON)


async def cancel_run(request: Request, user: _Controller, thread_id: _Thread, run_id: str) -> Response:
    """End a run; what it found is kept."""
    service = service_of(request)
    run = await service.cancel(user, await _run_of(service, user, thread_id, run_id))
    return JSONResponse(run_object(run))


async def _start(service: Service, user: User, state: AgentState, thread_id: str | None) -> RunSummary | None:
    """The run of a state, which goes on in the background; None for one that asks for no research."""
    service.refuse_closing()
    service.streams.check(user.name)
    if state.reply is not None:
        return None
    options = state.options
    options.pop("session_id", None)
    if thread_id is not None:
        options["session_id"] = thread_id
    return await service.summary(user, await service.submit(user, state.question, options=options))


async def _run_of(service: Service, user: User, thread_id: str, run_id: str) -> RunSummary:
    """Raises `RunNotFoundError` also for the run of somebody else, and of another thread."""
    if not RUN_ID.match(run_id):
        raise RunNotFoundError.of(run_id)
    run = await service.summary(user, run_id)
    if thread_of(run) != thread_id:
        raise RunNotFoundError.of(run_id)
    return run


async def _streamed(service: Service, user: User, body: GraphRunRequest, thread_id: str | None) -> Response:
    state = body.state
    run = await _start(service, user, state, thread_id)
    frames = _frames(service, user, run, body.modes, reply=state.reply)
    places = {} if run is None else _places(run, "stream", body.modes)
    return StreamingResponse(frames, 200, {**HEADERS, **places}, STREAM)


async def _waited(service: Service, user: User, body: GraphRunRequest, thread_id: str | None) -> Response:
    state = body.state
    run = await _start(service, user, state, thread_id)
    if run is None:
        return JSONResponse(_update(AnswerMessage(content=state.reply or "")))
    values = _values(service, user, run)
    return StreamingResponse(values, 200, {**HEADERS, **_places(run, "join", ())}, JSON)


def _places(run: RunSummary, view: str, modes: list[str] | tuple[()]) -> dict[str, str]:
    """Where the client goes on after a cut. It joins such a path to the address that it was given, with its prefix."""
    path = f"/threads/{quote(thread_of(run), safe='')}/runs/{run.research_id}"
    query = f"?{urlencode([('stream_mode', mode) for mode in modes])}" if modes else ""
    return {"location": f"{path}/{view}{query}", "content-location": path}


async def _frames(
    service: Service,
    user: User,
    run: RunSummary | None,
    modes: list[str],
    *,
    reply: str | None = None,
    after: int = 0,
) -> AsyncIterator[bytes]:
    """The events of a run behind one. Only what is final is sent: the client takes the last values for the answer. Where
    the server stops, the answer breaks off and the client comes again; of one that only ended without ``end`` it asks how
    the run stands, and takes a run that has ended meanwhile for an answer that it got. Raises `ServerStops`."""
    try:
        if after < 1:
            yield _frame(1, "metadata", {"run_id": run and run.research_id, "attempt": 1})
        if run is None:
            message = AnswerMessage(content=reply or "")
        else:
            async for ping in _pings(service, user, run):
                yield ping
            message = await message_of_run(service, run.research_id)
        update = _update(message)
        events: Mapping[str, tuple[str, Any]] = {
            "values": ("values", update),
            "updates": ("updates", {NODE: update}),
            "messages-tuple": ("messages", [update["messages"][0], {"langgraph_node": NODE}]),
        }
        for number, (mode, event) in enumerate(events.items(), 2):
            if mode in modes and number > after:
                yield _frame(number, *event)
        yield b"event: end\ndata: null\n\n"
    except ServerStops:
        raise
    except Exception as error:
        yield _frame(None, "error", _error(error))


async def _values(service: Service, user: User, run: RunSummary) -> AsyncIterator[bytes]:
    """The state that a run adds, as JSON behind blank lines that keep the connection open. Raises `ServerStops`: from an
    answer that breaks off the client goes on."""
    try:
        async for _ in _pings(service, user, run):
            yield b"\n"
        message = await message_of_run(service, run.research_id)
        yield json.dumps(_update(message)).encode()
    except ServerStops:
        raise
    except Exception as error:  # too late for a status
        yield json.dumps({"__error__": _error(error)}).encode()


async def _pings(service: Service, user: User, run: RunSummary) -> AsyncIterator[bytes]:
    """Signs of life until a run ends or waits for its owner. Raises `ServerStops`."""
    async with aclosing(watched(service, user.name, run.research_id)) as batches:
        async for items in batches:
            if not items:
                yield KEEPALIVE


def _update(message: AnswerMessage) -> dict[str, Any]:
    """Only the new message: a graph adds it to those that it has."""
    return {"messages": [message.model_dump()]}


def _frame(number: int | None, name: str, data: Any) -> bytes:
    head = "" if number is None else f"id: {number}\n"
    return f"{head}event: {name}\ndata: {json.dumps(data)}\n\n".encode()


def _error(error: Exception) -> dict[str, str]:
    log.warning("stream_failed", error=describe_error(error))
    problem, _ = problem_of(error)
    return {"error": problem.code, "message": f"{problem.detail} {problem.hint}".strip()}
