"""The server as a thing to start, share, load and stop."""

import asyncio
import json
import socket
import threading
import time

import httpx2
import openai
import pytest

from servers import Answer, Fault, ModelServer, Usage

pytestmark = pytest.mark.timed

ASKED = {"model": "m", "messages": []}


def raw(server, data):
    """What comes back first for these bytes."""
    host, port = server.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=300) as client:
        client.sendall(data)
        return client.recv(65536)


def wait_until(holds, seconds=300):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        threading.Event().wait(0.002)


def test_a_server_that_is_stopped_leaves_no_thread_and_no_port_even_with_a_client_hanging_on():
    before = threading.active_count()
    with ModelServer(faults=[Fault("hang")]) as server:
        host, port = server.base_url.removeprefix("http://").split(":")
        client = socket.create_connection((host, int(port)), timeout=300)
        body = json.dumps(ASKED).encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(body)
        client.sendall(head + body)
        wait_until(lambda: server.log and server.log[0].fault)
    assert threading.active_count() == before
    client.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=300)


def test_stopping_twice_is_no_error():
    server = ModelServer().start()
    server.stop()
    server.stop()


def test_a_client_that_goes_away_ends_a_hang():
    with ModelServer(faults=[Fault("hang")]) as server:
        with pytest.raises(httpx2.ReadTimeout):
            httpx2.post(
                server.base_url + "/api/chat",
                json=ASKED,
                timeout=httpx2.Timeout(300, read=0.05),
                trust_env=False,
            )
        wait_until(lambda: server.connections == 0)


def test_two_hundred_requests_at_once_are_all_answered_over_shared_connections():
    here, enough = [], asyncio.Event()

    async def answer(served):
        here.append(served)
        if len(here) > 100:
            enough.set()
        await asyncio.wait_for(enough.wait(), 300)
        return served.text

    async def ask_all(server):
        async with httpx2.AsyncClient(
            base_url=server.base_url, timeout=300, limits=httpx2.Limits(max_connections=200)
        ) as client:
            requests = [
                {"model": "m", "messages": [{"role": "user", "content": f"no. {n}"}]} for n in range(200)
            ]
            replies = await asyncio.gather(*(client.post("/v1/chat/completions", json=r) for r in requests))
        return [reply.json()["choices"][0]["message"]["content"] for reply in replies]

    with ModelServer(answer) as server:
        assert asyncio.run(ask_all(server)) == [f"no. {n}" for n in range(200)]
        assert len(server.log) == 200
        assert 100 < server.most_at_once <= 200


def test_a_connection_is_kept_for_the_next_request(desk):
    desk.ask("ollama")
    before = desk.server.connections
    for _ in range(5):
        desk.ask("ollama")
    assert desk.server.connections == before


def test_the_log_is_the_truth_about_what_was_sent(desk):
    desk.ask("chat", text="who kept the light?", max_completion_tokens=50, structured=True)
    (served,) = desk.server.log
    assert (served.number, served.path, served.model, served.stream) == (
        1,
        "/v1/chat/completions",
        "m",
        False,
    )
    assert served.body["messages"][0]["content"] == served.text == "who kept the light?"
    assert served.schema["required"] == ["name", "ids"]
    assert served.limit == 50
    assert served.headers["authorization"] == "Bearer key-1"
    assert served.headers["user-agent"].startswith("AsyncOpenAI/Python")


def test_clearing_forgets_log_faults_and_caches_and_begins_the_answers_anew(desk):
    desk.server.answers = ["first", "second"]
    desk.server.faults = [Fault("500", skip=1, times=None)]
    assert desk.ask("chat").text == "first"
    desk.server.clear()
    assert (desk.server.log, desk.server.faults, desk.server.billed) == ([], [], Usage())
    assert [desk.ask("chat").text for _ in range(3)] == ["first", "second", "second"]


@pytest.mark.parametrize("wire", ["anthropic", "responses", "chat", "ollama"])
def test_a_key_that_is_asked_for_must_be_the_right_one(wire, desk):
    with ModelServer(key="key-2") as server:
        error = desk.run(_refused(server, wire))
        assert error.response.status_code == 401
        assert server.log[0].usage is None


async def _refused(server, wire):
    path = {"anthropic": "/v1/messages", "responses": "/v1/responses", "ollama": "/api/chat"}
    async with httpx2.AsyncClient(base_url=server.base_url, headers={"x-api-key": "wrong"}) as client:
        reply = await client.post(path.get(wire, "/v1/chat/completions"), json={})
        right = await client.get("/v1/models", headers={"x-api-key": "key-2"})
    assert right.status_code == 200
    with pytest.raises(httpx2.HTTPStatusError) as caught:
        reply.raise_for_status()
    assert "error" in reply.json()
    return caught.value


def test_the_right_key_opens_to_both_sdks():
    async def asked(server):
        async with openai.AsyncOpenAI(
            base_url=server.base_url + "/v1", api_key="k2", max_retries=0
        ) as client:
            return (await client.responses.create(model="m", input="hello")).output_text

    with ModelServer("".join, key="k2") as server:
        server.answers = ["seven ships"]
        assert asyncio.run(asked(server)) == "seven ships"


def test_a_mistake_in_the_answers_is_an_error_to_the_client_and_to_the_test():
    def broken(served):
        raise LookupError("no such answer")

    def asked():
        with ModelServer(broken) as server:
            reply = httpx2.post(server.base_url + "/api/chat", json=ASKED, trust_env=False)
            assert reply.status_code == 500

    with pytest.raises(LookupError, match="no such answer"):
        asked()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"400"),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: -1\r\n\r\n", b"400"),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: 99999999999\r\n\r\n", b"413"),
        (b"POST /v1/messages HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", b"411"),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 70_000, b"431"),
        (b"GET /nowhere HTTP/1.1\r\n\r\n", b"404"),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: 5\r\n\r\n{nope", b"400"),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: 4\r\n\r\nnull", b"400"),
        (b"POST /v1/responses HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}", b"400"),
    ],
)
def test_what_is_no_proper_request_is_refused(desk, sent, status):
    assert raw(desk.server, sent).split(b" ")[1] == status


def test_answers_can_be_texts_data_or_whole_answers_by_order_or_by_function(desk):
    desk.server.answers = ["text", {"data": 1}, Answer("whole", stop="length")]
    assert [desk.ask("chat").text for _ in range(3)] == ["text", '{"data": 1}', "whole"]
    desk.server.answers = lambda served: f"{served.model} was told {served.text}, {served.number}"
    assert desk.ask("anthropic").text == "m was told hello, 4"


def test_a_request_that_fails_before_it_is_answered_uses_up_no_answer(desk):
    desk.server.answers = ["first", "second"]
    desk.server.faults = ["429"]
    assert [desk.ask("chat").text for _ in range(3)] == [None, "first", "second"]
