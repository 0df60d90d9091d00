"""A server at an address: one that is real, and one that refuses, breaks off, floods or sends elsewhere."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from mcp_runs import PATIENCE, connection
from note_server import TEXT, note_server
from servers.http import Ending, Reply, Request
from servers.loopback import LoopbackServer

from deep_research.errors import MissingKeyError, RemoteError, SearchError
from deep_research.sources.mcp import McpConnection
from deep_research.sources.search import SearchRequest
from deep_research.sources.search.mcp_search import McpSearch

pytestmark = pytest.mark.timed

TOKEN = "canary-token-0123456789-abcdef"
ASKED = SearchRequest(query="orm", limit=5)


def table(url: str, **more: Any) -> dict[str, Any]:
    given = {"tools": ["search_notes"], "search_tool": "search_notes", "timeout": PATIENCE, **more}
    return {"url": url, **given}


@contextmanager
def real_server(heard: list[dict[str, str]], token: str | None = None) -> Iterator[str]:
    """The server of notes on loopback, which notes the headers of each request."""
    app = note_server().streamable_http_app()

    async def noting(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = {name.decode(): value.decode() for name, value in scope["headers"]}
            heard.append(headers)
            if token is not None and headers.get("authorization") != f"Bearer {token}":
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
        await app(scope, receive, send)

    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(noting, log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listening.close()


def searched(server: McpConnection) -> Any:
    async def journey() -> Any:
        try:
            return await McpSearch(server).search(ASKED)
        finally:
            await server.aclose()

    return asyncio.run(journey())


def test_a_server_at_an_address_is_searched_with_its_token(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NOTES_TOKEN", TOKEN)
    heard: list[dict[str, str]] = []
    caplog.set_level(logging.DEBUG)
    with real_server(heard, TOKEN) as url:
        (found,) = searched(connection(table(url, token_variable="NOTES_TOKEN"), "notes"))
    assert (found.title, found.snippet) == ("Orm", TEXT)
    assert {headers["authorization"] for headers in heard} == {f"Bearer {TOKEN}"}
    assert TOKEN not in caplog.text
    assert all(TOKEN not in str(vars(record)) for record in caplog.records)


def test_without_its_token_it_refuses_and_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTES_TOKEN", "another-token-0123456789")
    with real_server([], TOKEN) as url:
        with pytest.raises(SearchError, match=r"status 401.*Check NOTES_TOKEN") as refused:
            searched(connection(table(url, token_variable="NOTES_TOKEN"), "notes"))
        assert refused.value.data["trouble"] == "refused"
        assert "another-token" not in repr(refused.value)
        with pytest.raises(SearchError, match="token_variable"):
            searched(connection(table(url), "notes"))
        monkeypatch.delenv("NOTES_TOKEN")
        with pytest.raises(MissingKeyError, match="NOTES_TOKEN"):
            connection(table(url, token_variable="NOTES_TOKEN"), "notes")


class Odd(LoopbackServer):
    """Speaks the protocol as it was before 2026, and answers calls, or all requests, with ``reply``."""

    def __init__(self, reply: Reply | None = None, *, at_once: bool = False) -> None:
        super().__init__(self._answer)
        self.reply, self.at_once = reply, at_once
        self.asked: list[str] = []

    async def _answer(self, request: Request) -> Reply:
        message = json.loads(request.body or b"{}")
        method = message.get("method", request.method)
        self.asked.append(method)
        if self.reply is not None and (self.at_once or method == "tools/call"):
            return self.reply
        if "id" not in message:
            return Reply(405 if request.method == "GET" else 202, ())
        tool = {
            "name": "search_notes",
            "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
            "annotations": {"readOnlyHint": True},
        }
        results = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "serverInfo": {"name": "odd", "version": "1"},
            },
            "tools/list": {"tools": [tool]},
            "tools/call": {"content": [{"type": "text", "text": TEXT}]},
        }
        if method not in results:
            error = {"code": -32601, "message": "No."}
            return _json({"jsonrpc": "2.0", "id": message["id"], "error": error})
        return _json({"jsonrpc": "2.0", "id": message["id"], "result": results[method]})


def _json(value: Any, status: int = 200) -> Reply:
    return Reply(status, (json.dumps(value).encode(),))


REPLIES = {
    "400": (Reply(400, (b"no",)), "refused", 400),
    "403": (Reply(403, (b"no",)), "refused", 403),
    "404": (Reply(404, (b"no",)), "refused", 404),
    "402": (Reply(402, (b"no",)), "quota", 402),
    "429": (Reply(429, (b"no",), headers={"retry-after": "7"}), "transient", 429),
    "429 for an hour": (Reply(429, (b"no",), headers={"retry-after": "3600"}), "quota", 429),
    "500": (Reply(500, (b"no",)), "transient", 500),
    "a page": (Reply(200, (b"<html>",), "text/html"), None, None),
    "no JSON": (Reply(200, (b"{",)), None, None),
    "null": (Reply(200, (b"null",)), None, None),
    "a list": (Reply(200, (b"[]",)), None, None),
    "deep": (Reply(200, (b"[" * 100_000,)), None, None),
    "10 MB": (Reply(200, (b" " * 1_000_000,) * 10), "transient", None),
    "10 MB of an error": (Reply(500, (b" " * 1_000_000,) * 10), "transient", 500),
    "cut": (Reply(200, (b"{}",), length=1_000, ending=Ending.CLOSED), "transient", None),
    "reset": (Reply(200, (b"{}",), length=1_000, ending=Ending.RESET), "transient", None),
    "an event without an end": (
        Reply(200, (b"data: " + b"x" * 1_000_000,) * 8, "text/event-stream", chunked=True),
        "transient",
        None,
    ),
    "accepted": (Reply(202, ()), None, None),
}


@pytest.mark.parametrize("at_once", [False, True], ids=["in a call", "at once"])
@pytest.mark.parametrize("name", REPLIES)
def test_whatever_it_answers_is_one_error_of_a_search(name: str, at_once: bool) -> None:
    reply, trouble, status = REPLIES[name]
    with Odd(reply, at_once=at_once) as server, pytest.raises(SearchError) as failed:
        searched(connection(table(f"{server.base_url}/mcp"), "odd"))
    data = failed.value.data
    assert str(failed.value).startswith("mcp:odd: ")
    assert str(failed.value).isprintable()
    assert trouble is None or at_once or data["trouble"] == trouble
    assert status is None or data["status"] == status
    if "retry-after" in reply.headers:
        assert data["retry_after"] == float(reply.headers["retry-after"])


def test_one_that_hangs_is_left_in_time() -> None:
    with Odd(Reply(200, (), silent=True, ending=Ending.HANGING)) as server:

        async def journey() -> None:
            odd = connection(table(f"{server.base_url}/mcp"), "odd")
            with pytest.raises(RemoteError, match="no answer within"):
                await odd.call("search_notes", {"q": "orm"}, 0.2)
            await odd.aclose()

        asyncio.run(journey())


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_neither_a_question_nor_a_token_is_sent_elsewhere(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTES_TOKEN", TOKEN)
    with Odd() as stranger:
        elsewhere = Reply(status, (b"",), headers={"location": f"{stranger.base_url}/mcp"})
        with Odd(elsewhere) as server, pytest.raises(SearchError):
            searched(connection(table(f"{server.base_url}/mcp", token_variable="NOTES_TOKEN"), "odd"))
        assert stranger.asked == []


def test_where_nobody_listens_it_is_told() -> None:
    with socket.socket() as taken:  # bound and not listening, so that no one else can
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(SearchError, match="cannot be reached") as failed:
            searched(connection(table(f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"), "odd"))
    assert failed.value.data["unreached"] is True
