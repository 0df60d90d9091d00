"""The servers of the tests end with all their connections, whatever these were about to do."""

import asyncio
import gc
import socket
import warnings

import pytest

from servers import ModelServer, WebSite, web_reply

pytestmark = pytest.mark.timed

LARGE = web_reply(b"tower " * 2_000_000)  # more than any buffer between two sockets


async def hang(writer):
    await asyncio.Event().wait()


@pytest.mark.parametrize("page", [LARGE, hang], ids=["an answer nobody takes", "an answer that never comes"])
@pytest.mark.parametrize(
    "asked", [b"GET /a HTTP/1.1\r\nhost: x\r\n\r\n", b"GET /a", b""], ids=["whole", "half", "none"]
)
def test_no_connection_of_a_site_outlives_it(page, asked):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with WebSite({"/a": page}) as site:
            clients = [socket.create_connection(("127.0.0.1", site.port), timeout=300) for _ in range(5)]
            for client in clients:
                client.sendall(asked)
        for client in clients:
            client.close()
        gc.collect()
    assert [str(warning.message) for warning in told if "unclosed" in str(warning.message)] == []


@pytest.mark.parametrize("server", [WebSite, ModelServer])
def test_no_connection_that_is_let_in_as_a_server_ends_outlives_it(server):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for many in range(12):
            with server() as running:
                port = running.port if server is WebSite else int(running.base_url.rpartition(":")[2])
                clients = [socket.create_connection(("127.0.0.1", port), timeout=300) for _ in range(many)]
            for client in clients:
                client.close()
        gc.collect()
    assert [str(warning.message) for warning in told if "unclosed" in str(warning.message)] == []
