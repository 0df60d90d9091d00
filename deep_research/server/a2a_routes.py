"""The researcher as an agent of the A2A protocol, over the runs of the store. Needs the extra ``a2a``.

Nothing of a task is held here: its id is that of a run, so any server over the store answers for it, also after a
restart.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager
from typing import Annotated, Any

from a2a.helpers import new_text_message
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers import RequestHandler, validate_request_params
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    CancelTaskRequest,
    GetTaskRequest,
    HTTPAuthSecurityScheme,
    Message,
    SecurityRequirement,
    SecurityScheme,
    SendMessageRequest,
    StringList,
    SubscribeToTaskRequest,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
)
from a2a.utils.errors import (
    A2AError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    UnsupportedOperationError,
)
from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field, StrictInt

from deep_research import __version__
from deep_research.errors import RunNotFoundError
from deep_research.research.operations import Right
from deep_research.research.run_summary import RunSummary
from deep_research.server.a2a_tasks import (
    MARKDOWN,
    context_of,
    refusal_of,
    state_of,
    status_of,
    task_of,
    text_of,
)
from deep_research.server.access import SCHEMES, service_of, user_of
from deep_research.server.live_stream import EVENT_SCHEMA, until_ended, watched
from deep_research.server.problem_responses import PROBLEMS
from deep_research.server.researcher_routes import WAIT_SECONDS
from deep_research.server.service import Service
from deep_research.server.small_talk import small_talk
from deep_research.server.users import User
from deep_research.state.identity import RUN_ID

CARD_PATH, RPC_PATH = "/.well-known/agent-card.json", "/a2a"
VERSION = "1.0"
TEXT = "text/plain"
STREAM, JSON = "text/event-stream", "application/json"
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer of the method, or its stream of events.",
        "content": {JSON: {"schema": {"type": "object"}}, STREAM: {"itemSchema": EVENT_SCHEMA}},
    }
}


class RpcRequest(BaseModel):
    """A request of JSON-RPC 2.0, with a method of A2A 1.0 such as ``SendMessage``."""

    jsonrpc: Annotated[str, Field(max_length=10)] = "2.0"
    id: Annotated[str, Field(max_length=200)] | StrictInt | None = None
    method: Annotated[str, Field(max_length=100)]
    params: dict[str, Any] = {}


def a2a_routes() -> APIRouter:
    router = APIRouter(tags=["a2a"])
    router.add_api_route(CARD_PATH, card, operation_id="a2a_card", responses={400: PROBLEMS[400]})
    router.add_api_route(
        RPC_PATH,
        answer_rpc,
        methods=["POST"],
        dependencies=list(SCHEMES),
        response_class=Response,
        responses={**PROBLEMS, **_ANSWERS},
        operation_id="a2a",
    )
    return router


async def card(request: Request) -> Response:
    """What the agent is, and where it is asked."""
    url = request.base_url
    if request.headers.get("x-forwarded-proto") == "https":  # the proxy before us has the certificate
        url = url.replace(scheme="https")
    with_tokens = service_of(request).tokens is not None
    return JSONResponse(agent_card_to_dict(agent_card(str(url).rstrip("/"), with_tokens=with_tokens)))


async def answer_rpc(request: Request, user: Annotated[User, Depends(user_of)], _: RpcRequest) -> Response:
    """A request of A2A: `SendMessage`, `SendStreamingMessage`, `GetTask`, `CancelTask` or `SubscribeToTask`."""
    return await JsonRpcDispatcher(RunTasks(service_of(request), user)).handle_requests(request)


def agent_card(url: str, *, with_tokens: bool) -> AgentCard:
    skill = AgentSkill(
        id="research",
        name="Research",
        description="Answers a question by a report whose statements are held against their sources.",
        tags=["research"],
    )
    bearer = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="Bearer"))
    return AgentCard(
        name="deep_research",
        description="Researches a question in documents and on the web, and reports with references.",
        version=__version__,
        supported_interfaces=[
            AgentInterface(protocol_binding="JSONRPC", url=f"{url}{RPC_PATH}", protocol_version=VERSION)
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=[TEXT],
        default_output_modes=[MARKDOWN],
        skills=[skill],
        security_schemes={"bearer": bearer} if with_tokens else {},
        security_requirements=[SecurityRequirement(schemes={"bearer": StringList()})] if with_tokens else [],
    )


@contextmanager
def _refusals(*, streaming: bool = False) -> Iterator[None]:
    """Raises errors of ours as the protocol has them."""
    try:
        yield
    except A2AError:
        raise
    except Exception as error:
        raise refusal_of(error, streaming=streaming) from None


class RunTasks(RequestHandler):
    """What one user asks of the tasks, which are the runs that the user sees."""

    def __init__(self, service: Service, user: User) -> None:
        self._service = service
        self._user = user

    @validate_request_params
    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        with _refusals():
            begun = await self._begin(params)
            if isinstance(begun, Message) or params.configuration.return_immediately:
                return begun
            await until_ended(self._service, self._user.name, begun.id, WAIT_SECONDS)
            return await self._task(begun.id)

    @validate_request_params
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Any]:
        with _refusals():
            begun = await self._begin(params)
        yield begun
        if isinstance(begun, Task):
            async for event in self._events(begun):
                yield event

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Any]:
        with _refusals():
            self._check_room()
            if (await self._run(params.id)).status.ended:
                raise UnsupportedOperationError("The task has ended. GetTask has what came of it.")
            task = await self._task(params.id)
        yield task
        async for event in self._events(task):
            yield event

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task:
        with _refusals():
            return await self._task(params.id)

    @validate_request_params
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task:
        with _refusals():
            self._user.check(Right.CONTROL)
            run = await self._run(params.id)
            if run.status.ended:
                raise TaskNotCancelableError("The task has ended.")
            await self._service.cancel(self._user, run)
            return await self._task(params.id)

    async def _begin(self, params: SendMessageRequest) -> Task | Message:
        """The task of a message: a new run, or the one that waits for this answer. A message that asks for no research
        gets one back. A message that is sent again is the same run."""
        message = params.message
        text = text_of(message)
        if params.configuration.HasField("task_push_notification_config"):
            raise PushNotificationNotSupportedError
        self._check_room()
        if message.task_id:
            run = await self._service.answer(self._user, await self._run(message.task_id), text)
            return await self._task(run.research_id)
        self._user.check(Right.CREATE)
        if (reply := small_talk(text)) is not None:
            return new_text_message(reply, context_id=message.context_id)
        options = {"session_id": message.context_id or message.message_id}
        key = f"a2a {message.message_id}"
        return await self._task(
            await self._service.submit(self._user, text, idempotency_key=key, options=options)
        )

    async def _events(self, task: Task) -> AsyncGenerator[Any]:
        """A task while it goes on: its phases, its report, and how it ended."""
        shown = None
        with _refusals(streaming=True):
            async with aclosing(watched(self._service, self._user.name, task.id)) as batches:
                async for _ in batches:
                    run = await self._run(task.id)
                    if state_of(run) == TaskState.TASK_STATE_WORKING and run.phase is not shown:
                        shown = run.phase
                        yield self._update(run)
            ended = await self._task(task.id)
            for artifact in ended.artifacts:
                yield TaskArtifactUpdateEvent(
                    task_id=ended.id, context_id=ended.context_id, artifact=artifact, last_chunk=True
                )
            yield self._update(await self._run(task.id))

    def _update(self, run: RunSummary) -> TaskStatusUpdateEvent:
        return TaskStatusUpdateEvent(
            task_id=run.research_id, context_id=context_of(run), status=status_of(run)
        )

    def _check_room(self) -> None:
        """Raises `RequestRefused` while the server stops, and `QuotaError`."""
        self._service.refuse_closing()
        self._service.streams.check(self._user.name)

    async def _run(self, task_id: str) -> RunSummary:
        """Raises `RunNotFoundError` also for the run of somebody else."""
        self._user.check(Right.READ)
        if not RUN_ID.match(task_id):
            raise RunNotFoundError.of(task_id)
        return await self._service.summary(self._user, task_id)

    async def _task(self, task_id: str) -> Task:
        run = await self._run(task_id)
        return task_of(run, await self._service.engine.aresult(task_id) if run.status.ended else None)

    async def _no_method(self, params: Any, context: ServerCallContext) -> Any:
        raise UnsupportedOperationError

    async def _no_notifications(self, params: Any, context: ServerCallContext) -> Any:
        raise PushNotificationNotSupportedError

    on_list_tasks = on_get_extended_agent_card = _no_method
    on_create_task_push_notification_config = on_get_task_push_notification_config = _no_notifications
    on_list_task_push_notification_configs = on_delete_task_push_notification_config = _no_notifications
