"""The process of a server: it answers requests and works on the runs, until it is asked to end."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn

from deep_research.errors import UsageError
from deep_research.logs import describe_error, get_log
from deep_research.server.app import Routes, create_app
from deep_research.server.http_protocol import bounded_protocol
from deep_research.server.request_gate import LOOPBACK_HOSTS, RequestLimits
from deep_research.server.service import Service, Tokens

if TYPE_CHECKING:
    from deep_research.research import DeepResearch

HOST, PORT = "127.0.0.1", 8000
MAX_RUNS_AT_ONCE = 4  # runs at once
DRAIN_SECONDS = 10.0
STOP_SECONDS = 5  # for answers that are under way, when all runs are parked
KEEP_ALIVE_SECONDS = 15
MAX_PORT = 65_535
MAX_CONNECTIONS = 2_000
log = get_log("server")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """Where a server listens, who may use it and how it works. ``allowed_hosts`` are names under which it is reached
    beside those of this machine, ``routes`` those that it has."""

    host: str = HOST
    port: int = PORT
    tokens: Tokens | None = None
    concurrency: int = MAX_RUNS_AT_ONCE
    drain_seconds: float = DRAIN_SECONDS
    allowed_hosts: Sequence[str] = ()
    limits: RequestLimits = field(default_factory=RequestLimits)
    routes: Routes = "all"

    def check(self) -> None:
        """Raises `UsageError` for a server without tokens that others could reach, by its address or through a proxy."""
        options = (("--host", self.host), *(("--allowed-host", host) for host in self.allowed_hosts))
        for option, host in options:
            if self.tokens is None and not _is_loopback(host):
                raise UsageError(
                    f"Other machines can reach a server on {host}, so it needs tokens.",
                    hint=f"`deep-research token add NAME` creates one; or remove {option}.",
                )


async def serve(
    engine: DeepResearch, options: ServerOptions, *, on_listening: Callable[[str], None] = lambda _: None
) -> None:
    """Serve an engine and work on its runs until SIGTERM or Ctrl-C. ``on_listening`` is called with the address.

    On a signal ``/readyz`` says no, streams end, and runs are parked before their next unit, for which they have
    ``drain_seconds``; a second signal ends the process at once. Raises `UsageError`.
    """
    options.check()
    logging.getLogger("python_multipart").setLevel(
        logging.ERROR
    )  # a malformed form is the client's to hear of
    hosts = (*LOOPBACK_HOSTS, _in_url(options.host), *options.allowed_hosts)
    app = create_app(
        engine, options.tokens, allowed_hosts=hosts, limits=options.limits, routes=options.routes
    )
    with _listening(options.host, options.port) as listener:
        server = _Server(_config(app, options.limits), app.state.service, options.drain_seconds)
        worker = asyncio.create_task(engine.awork(options.concurrency))
        worker.add_done_callback(server.on_worker_end)
        on_listening(_address(options.host, listener))
        try:
            await server.serve(sockets=[listener])
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
    server.raise_for_worker()


def _config(app: object, limits: RequestLimits) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        http=bounded_protocol(limits),
        ws="none",
        lifespan="off",
        loop="none",
        log_config=None,
        log_level="critical",  # `RequestGate` logs what fails, without secrets
        access_log=False,  # ours names the route, and neither a query nor a header
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=STOP_SECONDS,
    )


class _Server(uvicorn.Server):
    """uvicorn's server; asked to end, it goes on answering until the runs are parked."""

    def __init__(self, config: uvicorn.Config, service: Service, drain_seconds: float) -> None:
        super().__init__(config)
        self._service = service
        self._drain_seconds = drain_seconds
        self._loop = asyncio.get_running_loop()
        self._is_ending = False
        self._ending: asyncio.Task[None] | None = None
        self._worker_error: BaseException | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._is_ending:
            os._exit(128 + sig)
        self._is_ending = True
        self._loop.call_soon_threadsafe(self._begin_end)

    def on_worker_end(self, worker: asyncio.Task[int]) -> None:
        """A server without its worker ends."""
        if not worker.cancelled() and (error := worker.exception()) is not None:
            self._worker_error = error
            self._begin_end()

    def raise_for_worker(self) -> None:
        if self._worker_error is not None:
            raise self._worker_error

    def _begin_end(self) -> None:
        self._is_ending = True
        self._service.closing.set()
        if self._ending is None:
            self._ending = self._loop.create_task(self._end())

    async def _end(self) -> None:
        try:
            parked = await self._service.engine.adrain(self._drain_seconds)
            log.info("drained", parked=parked)
        except Exception as error:
            log.error("drain_failed", error=describe_error(error))
        finally:
            self.should_exit = True


def _listening(host: str, port: int) -> socket.socket:
    """Raises `UsageError`."""
    if not 0 <= port <= MAX_PORT:
        raise UsageError(f"There is no port {port}.", hint=f"Name one from 1 to {MAX_PORT}.")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=256)
    except OSError as error:
        raise UsageError(
            f"Cannot listen on {host} port {port}: {error.strerror or error}.",
            hint="Name another with --host or --port.",
        ) from None
    # The sockets that it accepts have it too; asyncio sets it on those alone that it made itself. Without it an answer in
    # two pieces waits some 40 ms for the other side.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _address(host: str, listener: socket.socket) -> str:
    return f"http://{_in_url(host)}:{listener.getsockname()[1]}"


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
