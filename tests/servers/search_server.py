"""Search services on loopback, in a thread of their own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast
from urllib.parse import parse_qsl

from deep_research.testing.search_bench import Hit
from servers.failing import FailingServer
from servers.faults import Fault, Schedule
from servers.http import Reply, Request
from servers.misdeeds import spoiled
from servers.search_wire import Asked, RefusedError, SearchWire, as_body
from servers.wire import Wire
from servers.wire_google import GoogleSearch
from servers.wire_openalex import OpenAlexWorks
from servers.wire_searxng import SearXNGSearch
from servers.wire_semantic_scholar import SemanticScholarSearch
from servers.wire_tavily import TavilySearch
from servers.wire_wikipedia import WikipediaQuery

Found = Sequence[Hit] | Callable[[Asked], Sequence[Hit]]

_WIRES: tuple[SearchWire, ...] = (
    TavilySearch(),
    GoogleSearch(),
    SemanticScholarSearch(),
    OpenAlexWorks(),
    WikipediaQuery(),
    SearXNGSearch(),
)


class SearchServer(FailingServer):
    """Speaks the formats of Tavily, Google, Semantic Scholar, OpenAlex, Wikipedia and SearXNG, each at its own path.

    ::

        with SearchServer(hits(3), faults=[Fault("429-after-7")]) as server:
            OpenAlex(base_url=server.base_url)

    ``hits``: what is found, whatever is asked, or a function of the request. ``faults``: what goes wrong, `Fault` or its
    kind; those that end a stream of events do nothing here. ``key``: the only one that is accepted, by services that
    take one. ``canned`` is sent whatever is asked. All may be set anew at any time. A request that the service's
    documentation does not allow is refused in the service's own words, and parameters that it does not know too.

    ``log`` holds what was asked.
    """

    def __init__(
        self, hits: Found = (), *, faults: Iterable[Fault | str] = (), key: str | None = None
    ) -> None:
        super().__init__(self._reply)
        self.hits = hits
        self.key = key
        self.canned: Reply | None = None
        self.log: list[Asked] = []
        self._schedule = Schedule(faults)

    @property
    def faults(self) -> list[Fault]:
        return list(self._schedule.faults)

    @faults.setter
    def faults(self, faults: Iterable[Fault | str]) -> None:
        self._schedule = Schedule(faults)

    def reply_to(self, asked: Asked) -> Reply:
        """What would be answered to a request of the log, without what is canned and without faults."""
        wire = next(w for w in _WIRES if (w.method, w.path) == (asked.method, asked.path))
        return _json(self._checked(wire, asked))

    async def _reply(self, request: Request) -> Reply:
        asked = Asked(
            method=request.method,
            path=request.path,
            headers=request.headers,
            query=request.query,
            body=request.body.decode(errors="replace"),
        )
        self.log.append(asked)
        reply = self._answered(request, asked)
        asked.status = None if reply.silent else reply.status
        return reply

    def _answered(self, request: Request, asked: Asked) -> Reply:
        if self.canned is not None:
            return self.canned
        wire = next((w for w in _WIRES if (w.method, w.path) == (request.method, request.path)), None)
        if wire is None:
            there = any(w.path == request.path for w in _WIRES)
            return _json({"error": "Not here"}, 405 if there else 404)
        try:
            reply = _json(self._checked(wire, asked))
        except RefusedError as refusal:
            return _json(wire.error(refusal.status, refusal.message, refusal.code or None), refusal.status)
        fault = self._schedule.take(request.path, asked.query + asked.body, generates=True)
        if fault is None:
            return reply
        asked.fault = fault.kind
        # A format of search has what a refusal needs, and streams nothing.
        return spoiled(reply, fault, cast(Wire, wire), closing=0)

    def _checked(self, wire: SearchWire, asked: Asked) -> Any:
        asked.params = _params(wire, asked)
        key = wire.key(asked)
        if self.key is not None and wire.takes_key and key != self.key:
            raise wire.no_key()
        wire.check(asked)
        return wire.answer(asked, self.hits(asked) if callable(self.hits) else self.hits)


def _params(wire: SearchWire, asked: Asked) -> dict[str, Any]:
    if wire.method == "GET":
        pairs = parse_qsl(asked.query, keep_blank_values=True)
        if len(dict(pairs)) != len(pairs):
            raise RefusedError(400, "A parameter is given twice.")
        return dict(pairs)
    if asked.headers.get("content-type", "").partition(";")[0] != "application/json":
        raise RefusedError(422, "The body is no JSON.")
    try:
        body = json.loads(asked.body)
    except ValueError:
        raise RefusedError(422, "The body is no JSON.") from None
    if not isinstance(body, dict):
        raise RefusedError(422, "The body is no object.")
    return body


def _json(data: Any, status: int = 200) -> Reply:
    return Reply(status, (as_body(data),))
