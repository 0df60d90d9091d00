"""What a client does when a server cannot be reached, is killed, or sends what no server should."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from deep_research.client import AsyncClient, Client, connection, event_source
from deep_research.errors import DeepResearchError, QuotaError, RemoteError, TokenError, UsageError
from deep_research.state.events import Event

pytestmark = pytest.mark.timed

RUN = "deepres-0123456789ab"
QUESTION = "What is known of towers?"


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(event_source, "MAX_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(event_source, "FIRST_PAUSE_SECONDS", 0.01)
    for name in ("DEEP_RESEARCH_SERVER", "DEEP_RESEARCH_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def asked(answer: Callable[[httpx.Request], httpx.Response], verb: Callable[[AsyncClient], Any]) -> Any:
    async def journey() -> Any:
        async with AsyncClient(transport=httpx.MockTransport(answer)) as client:
            result = verb(client)
            if hasattr(result, "__anext__"):
                return [event async for event in result]
            return await result

    return asyncio.run(journey())


def problem(status: int, code: str, **headers: str) -> httpx.Response:
    body = {"detail": "It is so.", "hint": "Do this.", "code": code, "data": {"retry_after": 1}}
    return httpx.Response(status, json=body, headers=headers)


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, content=b"<html>hello</html>"),
        httpx.Response(200, content=b"[" * 100_000),
        httpx.Response(200, content=b"\xff\xfe"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={"research_id": 3}),
        httpx.Response(200, json={"data": 5}),
        httpx.Response(200, json={"data": [{"type": "run.created"}], "next": None}),
        httpx.Response(200, json={"data": [{"type": "x" * 100, "version": 1}], "next": None}),
        httpx.Response(500, content=b"oops"),
        httpx.Response(404, json="no"),
        httpx.Response(302, headers={"location": "http://elsewhere.example/"}),
    ],
    ids=range(11),
)
def test_what_no_server_should_send_is_one_clear_error(answer: httpx.Response) -> None:
    for verb in (
        lambda c: c.status(RUN),
        lambda c: c.list(),
        lambda c: c.events(RUN),
        lambda c: c.submit(QUESTION),
    ):

        def fresh(_: httpx.Request) -> httpx.Response:
            return httpx.Response(answer.status_code, content=answer.content, headers=answer.headers)

        with pytest.raises(DeepResearchError) as refused:
            asked(fresh, verb)
        assert "\n" not in str(refused.value)


def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MAX_ANSWER_BYTES", 10_000)
    monkeypatch.setattr(event_source, "MAX_FRAME_BYTES", 10_000)
    large = httpx.Response(200, content=b"x" * 20_000)
    for verb in (lambda c: c.status(RUN), lambda c: c.follow(RUN)):
        with pytest.raises(RemoteError, match=r"too large|more than"):
            asked(lambda _: httpx.Response(200, content=large.content), verb)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (problem(401, "token"), TokenError),
        (problem(429, "quota"), QuotaError),
        (problem(422, "invalid_request"), UsageError),
        (problem(418, "a code of a later version"), RemoteError),
    ],
    ids=["token", "quota", "invalid", "unknown"],
)
def test_an_error_is_of_the_class_that_the_engine_raises(
    answer: httpx.Response, error: type[DeepResearchError]
) -> None:
    with pytest.raises(error, match=r"It is so\. Do this\.") as refused:
        asked(lambda _: answer, lambda c: c.status(RUN))
    assert refused.value.data["retry_after"] == 1


@pytest.mark.parametrize(
    ("verb", "tries"),
    [
        (lambda c: c.status(RUN), connection.MAX_TRIES),
        (lambda c: c.submit(QUESTION), connection.MAX_TRIES),  # has a key
        (lambda c: c.steer(RUN, "x"), 1),
        (lambda c: c.delete(RUN), 1),
    ],
    ids=["status", "submit", "steer", "delete"],
)
@pytest.mark.parametrize("fault", ["unreached", "busy"])
def test_only_what_may_be_repeated_is_tried_again(verb: Any, tries: int, fault: str) -> None:
    keys = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers.get("idempotency-key"))
        if fault == "unreached":
            raise httpx.ConnectError("refused", request=request)
        return problem(503, "store_locked", **{"retry-after": "1"})

    with pytest.raises(DeepResearchError):
        asked(answer, verb)
    assert len(keys) == tries
    assert len(set(keys)) == 1


def test_a_token_goes_to_its_server_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEP_RESEARCH_TOKEN", "dr_secret")
    seen = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append((request.url.host, request.headers.get("authorization")))
        return httpx.Response(302, headers={"location": "http://elsewhere.example/v1/runs"})

    with pytest.raises(RemoteError) as refused:
        asked(answer, lambda c: c.status(RUN))
    assert seen == [("127.0.0.1", "Bearer dr_secret")]
    assert "dr_secret" not in repr(refused.value)


def test_a_server_that_is_not_there_is_named() -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(RemoteError, match="cannot be reached"):
        client.status(RUN)
    with pytest.raises(UsageError, match="is not an address"):
        Client("ftp://x")


def test_a_client_follows_a_run_across_killed_servers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_source, "MAX_PAUSE_SECONDS", 5.0)

    async def listen(client: AsyncClient) -> None:
        async for event in client.follow(ids[0]):
            numbers.extend([event.seq] if isinstance(event, Event) else [])

    async def journey() -> None:
        async with AsyncClient(processes[0].address) as client:
            ids.append(await client.submit(QUESTION))
            listening = asyncio.create_task(listen(client))
            for _ in range(2):
                more = len(numbers) + 3
                while len(numbers) < more and not listening.done():
                    await asyncio.sleep(0.01)
                await asyncio.to_thread(processes[-1].close)
                processes.append(await asyncio.to_thread(make, port=processes[0].port))
            await listening

    def make(port: int = 0) -> Any:
        from server_process import ServerProcess

        return ServerProcess(tmp_path / "home", pause=0.5, port=port)

    ids: list[str] = []
    numbers: list[int] = []
    processes = [make()]
    try:
        asyncio.run(journey())
        with Client(processes[-1].address) as client:
            assert numbers == [event.seq for event in client.events(ids[0])]
            assert client.status(ids[0]).status == "completed"
    finally:
        for process in processes:
            process.close()


def test_a_client_needs_neither_server_nor_engine() -> None:
    code = (
        "import sys; import deep_research.client as c; c.Client, c.AsyncClient\n"
        "heavy = ('fastapi', 'starlette', 'uvicorn', 'deep_research.server', 'deep_research.phases',"
        " 'deep_research.sources', 'deep_research.models', 'deep_research.assembly')\n"
        "print([name for name in sys.modules if name.startswith(heavy)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
