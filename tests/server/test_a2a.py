"""The A2A protocol, with the client of its own SDK: tasks are runs, whoever serves them."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from a2a.client import Client, ClientConfig, create_client
from a2a.helpers import get_artifact_text, get_message_text, new_text_message
from a2a.types import (
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InternalError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from fastapi.testclient import TestClient
from server_process import PATIENCE, ServerProcess, server

from deep_research import DeepResearch
from deep_research.server.app import create_app

pytestmark = pytest.mark.timed

CORPUS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "corpus"
QUESTION = "How tall is the Cape Hatteras lighthouse?"


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with server(tmp_path_factory.mktemp("home"), corpus=str(CORPUS)) as process:
        yield process


@asynccontextmanager
async def connected(process: ServerProcess, token: str = "") -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False, headers=headers) as http:
        yield await create_client(process.address, ClientConfig(streaming=True, httpx_client=http))


def request(text: str, *, now: bool = False, **more: str) -> SendMessageRequest:
    message = new_text_message(text, role=Role.ROLE_USER, **more)
    return SendMessageRequest(message=message, configuration=SendMessageConfiguration(return_immediately=now))


async def events_of(stream: AsyncIterator[Any]) -> list[Any]:
    """What a stream brings: tasks, messages and updates."""
    return [getattr(each, each.WhichOneof("payload")) async for each in stream]


async def send(client: Client, text: str, *, now: bool = False, **more: str) -> Task | Message:
    """The answer to a message that waits for the end of its task, or with ``now`` for its begin."""
    client._config.streaming = False
    (answer,) = await events_of(client.send_message(request(text, now=now, **more)))
    client._config.streaming = True
    return answer


def is_report(task: Task) -> bool:
    (report,) = task.artifacts
    return task.status.state == TaskState.TASK_STATE_COMPLETED and "198.49" in get_artifact_text(report)


def test_the_card_says_where_and_how_to_ask(remote: ServerProcess) -> None:
    with remote.client() as http:
        plain = http.get("/.well-known/agent-card.json")
        behind = http.get("/.well-known/agent-card.json", headers={"x-forwarded-proto": "https"})
    (place,) = plain.json()["supportedInterfaces"]
    assert place == {"url": f"{remote.address}/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    assert plain.json()["capabilities"] == {"streaming": True}
    assert "securitySchemes" not in plain.json()
    assert behind.json()["supportedInterfaces"][0]["url"].startswith("https://127.0.0.1:")


def test_a_message_is_answered_by_a_task_with_the_report(remote: ServerProcess) -> None:
    async def journey() -> None:
        async with connected(remote) as client:
            task = await send(client, QUESTION)
            assert isinstance(task, Task)
            assert is_report(task)
            assert await client.get_task(GetTaskRequest(id=task.id)) == task
            begun = await send(client, "Who built the Bell Rock lighthouse?", now=True)
            assert begun.status.state in (TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING)

    asyncio.run(journey())


def test_a_stream_has_the_task_its_phases_and_the_report(remote: ServerProcess) -> None:
    async def journey() -> None:
        async with connected(remote) as client:
            first, *updates, report, last = await events_of(client.send_message(request(QUESTION)))
            assert isinstance(first, Task)
            assert {each.status.state for each in updates} <= {TaskState.TASK_STATE_WORKING}
            assert {each.task_id for each in (*updates, report, last)} == {first.id}
            assert "198.49" in get_artifact_text(report.artifact)
            assert last.status.state == TaskState.TASK_STATE_COMPLETED

    asyncio.run(journey())


def test_messages_of_a_context_are_a_conversation(remote: ServerProcess) -> None:
    async def journey() -> str:
        async with connected(remote) as client:
            task = await send(client, QUESTION)
            await send(client, "And how old is it?", context_id=task.context_id)
            return task.context_id

    context = asyncio.run(journey())
    with remote.client() as http:
        turns = http.get("/v1/sessions/turns", params={"session_id": context}).json()["data"]
    assert [turn["question"] for turn in turns][1].startswith("How old is Cape Hatteras")


def test_a_message_that_is_sent_again_is_the_same_task(remote: ServerProcess) -> None:
    async def journey() -> None:
        async with connected(remote) as client:
            given = request(QUESTION)
            first, second = [await events_of(client.send_message(given)) for _ in range(2)]
            assert first[0].id == second[0].id

    asyncio.run(journey())


def test_small_talk_gets_a_message(remote: ServerProcess) -> None:
    async def journey() -> None:
        async with connected(remote) as client:
            for answers in (
                [await send(client, "Hello!")],
                await events_of(client.send_message(request("Hello!"))),
            ):
                (answer,) = answers
                assert isinstance(answer, Message)
                assert get_message_text(answer).startswith("Hello.")

    asyncio.run(journey())


def test_what_is_not_done_is_an_error_that_the_client_knows(remote: ServerProcess) -> None:
    async def journey() -> None:
        async with connected(remote) as client:
            task = await send(client, QUESTION)
            for error, call in (
                (TaskNotFoundError, client.get_task(GetTaskRequest(id="deepres-000000000000"))),
                (TaskNotFoundError, client.get_task(GetTaskRequest(id="../x"))),
                (TaskNotCancelableError, client.cancel_task(CancelTaskRequest(id=task.id))),
                (UnsupportedOperationError, events_of(client.subscribe(SubscribeToTaskRequest(id=task.id)))),
                (UnsupportedOperationError, send(client, "And now?", task_id=task.id)),
                (InvalidParamsError, send(client, "x" * 200_000)),
            ):
                with pytest.raises(error):
                    await call
            data = request(QUESTION)
            data.message.parts[0].url = "http://127.0.0.1/"
            with pytest.raises(ContentTypeNotSupportedError):
                await events_of(client.send_message(data))

    asyncio.run(journey())


def test_a_task_is_followed_and_cancelled_across_a_restart(tmp_path: Path) -> None:
    async def begin(process: ServerProcess) -> str:
        async with connected(process) as client:
            return (await send(client, QUESTION, now=True)).id

    async def end(process: ServerProcess, task_id: str) -> None:
        async with connected(process) as client, connected(process) as other:
            task = await client.get_task(GetTaskRequest(id=task_id))
            assert task.status.state == TaskState.TASK_STATE_WORKING
            events = client.subscribe(SubscribeToTaskRequest(id=task_id))
            assert (await anext(events)).task.id == task_id
            cancelled = await other.cancel_task(CancelTaskRequest(id=task_id))
            assert cancelled.status.state == TaskState.TASK_STATE_CANCELED
            *_, last = await events_of(events)
            assert last.status.state == TaskState.TASK_STATE_CANCELED

    with server(tmp_path, pause=600, drain_seconds=0.1) as process:
        task_id = asyncio.run(begin(process))
        process.wait_for_report()
        process.signal(signal.SIGTERM)
        assert process.wait()[0] == 0
    (tmp_path / "reached").unlink()
    with server(tmp_path, pause=600) as process:
        process.wait_for_report()
        asyncio.run(end(process, task_id))


def ask(client: TestClient, token: str, method: str, params: Any) -> Any:
    headers = {"a2a-version": "1.0", "x-api-key": token}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers["content-type"] = "application/json"
    return client.post("/a2a", content=json.dumps(body), headers=headers)


def test_a_task_is_the_user_s_alone(
    guarded: TestClient, engine: DeepResearch, tokens: dict[str, str]
) -> None:
    mine = engine.submit("Who built Bell Rock?", user_id="alice")
    for method in ("GetTask", "CancelTask", "SubscribeToTask"):
        error = ask(guarded, tokens["other"], method, {"id": mine}).json()["error"]
        assert error["code"] == -32001, method
    assert ask(guarded, tokens["reader"], "GetTask", {"id": mine}).json()["result"]["id"] == mine
    assert ask(guarded, tokens["reader"], "CancelTask", {"id": mine}).status_code == 403
    cancelled = ask(guarded, tokens["runner"], "CancelTask", {"id": mine}).json()["result"]
    assert cancelled["status"]["state"] == "TASK_STATE_CANCELED"
    card = guarded.get("/.well-known/agent-card.json").json()
    assert card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"] == "Bearer"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("ListTasks", {}),
        ("GetExtendedAgentCard", {}),
        ("SetNothing", {}),
        ("SendMessage", {}),
        ("SendMessage", {"message": 3}),
        (
            "SendMessage",
            {"message": {"role": "ROLE_USER", "messageId": "\ud800", "parts": [{"text": "Who?"}]}},
        ),
        ("GetTask", {"id": "x" * 5_000}),
    ],
)
def test_a_request_that_does_not_fit_is_refused_in_words(
    guarded: TestClient, tokens: dict[str, str], method: str, params: Any
) -> None:
    answer = ask(guarded, tokens["runner"], method, params)
    assert answer.status_code == 200
    assert answer.json()["error"]["message"]
    assert "Traceback" not in json.dumps(answer.json())


@pytest.mark.parametrize("package", ["a2a", "sse_starlette"])
def test_without_the_extra_its_routes_are_not_there(
    engine: DeepResearch, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    """Of an extra that is there in part too."""
    monkeypatch.setattr("deep_research.server.app.find_spec", lambda name: None if name == package else name)
    with TestClient(create_app(engine), base_url="http://127.0.0.1") as client:
        assert client.get("/.well-known/agent-card.json").status_code == 404
        assert client.post("/a2a", json={}).status_code == 404


def test_with_a_version_that_does_not_fit_the_server_goes_without(
    engine: DeepResearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "deep_research.server.a2a_routes", None)
    with TestClient(create_app(engine), base_url="http://127.0.0.1") as client:
        assert client.get("/.well-known/agent-card.json").status_code == 404
        assert client.get("/readyz").status_code == 200


@pytest.mark.parametrize("method", ["SendStreamingMessage", "SendMessage"])
def test_while_the_server_stops_nothing_is_begun(
    engine: DeepResearch, guarded: TestClient, tokens: dict[str, str], method: str
) -> None:
    guarded.app.state.service.closing.set()
    params = {"message": {"role": "ROLE_USER", "messageId": "m", "parts": [{"text": "Who?"}]}}
    assert ask(guarded, tokens["runner"], method, params).status_code == 503
    assert not engine.list()


def test_a_stream_ends_with_an_error_when_the_server_stops(tmp_path: Path) -> None:
    async def follow(process: ServerProcess) -> None:
        async with connected(process) as client:
            events = client.send_message(request(QUESTION))
            task = (await anext(events)).task
            await asyncio.to_thread(process.wait_for_report)
            process.signal(signal.SIGTERM)
            with pytest.raises(InternalError, match="Take the stream up again"):
                await events_of(events)
            assert task.id

    with server(tmp_path, pause=600, drain_seconds=0.1) as process:
        asyncio.run(follow(process))
        code, log = process.wait()
    assert code == 0
    assert "Traceback" not in log
