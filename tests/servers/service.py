"""One request in, one reply out: routes, keys, abilities, faults and answers."""

from __future__ import annotations

import hmac
import inspect
import json
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from deep_research.errors import UnknownNameError
from deep_research.testing.models import as_json
from servers.answer_text import as_answer, default_answer, said
from servers.caches import PrefixCache, prompt_tokens
from servers.catalogue import models, ollama_details, ollama_tags
from servers.dialects import DIALECTS, Dialect
from servers.faults import Fault, Schedule, Stage
from servers.http import Reply, Request
from servers.misdeeds import spoiled
from servers.server_exchange import Answer, Asked, Said, Served, Usage
from servers.wire import Wire
from servers.wire_anthropic import AnthropicMessages
from servers.wire_chat import OpenAIChat
from servers.wire_ollama import OllamaChat
from servers.wire_responses import OpenAIResponses

ABILITIES = frozenset({"schema", "tools", "json", "stream", "usage", "count"})

Spoken = Answer | str | Mapping[str, Any]
Answers = Callable[[Served], Spoken | Awaitable[Spoken]] | Sequence[Spoken]

_ANTHROPIC, _RESPONSES, _CHAT, _OLLAMA = AnthropicMessages(), OpenAIResponses(), OpenAIChat(), OllamaChat()
_GENERATING: dict[str, Wire] = {
    "/v1/messages": _ANTHROPIC,
    "/v1/responses": _RESPONSES,
    "/v1/chat/completions": _CHAT,
    "/api/chat": _OLLAMA,
}
_COUNTING: dict[str, Wire] = {
    "/v1/messages/count_tokens": _ANTHROPIC,
    "/v1/responses/input_tokens": _RESPONSES,
}
_TELLING = ("/api/show", "/api/tags")
_PAID = {Stage.ANSWER, Stage.DELIVERY, Stage.STREAM}
_KEPT_HEADERS = ("authorization", "x-api-key", "user-agent")


@dataclass(slots=True)
class Service:
    """Everything about a server but its socket. ``troubles``: what answering raised, in most cases the ``answers``.
    ``canned``: what is sent whatever is asked."""

    answers: Answers | None = None
    schedule: Schedule = field(default_factory=Schedule)
    abilities: frozenset[str] = ABILITIES
    ignores: frozenset[str] = frozenset()
    key: str | None = None
    names: tuple[str, ...] = ("model-1",)
    context: int = 8192
    cache: PrefixCache = field(default_factory=PrefixCache)
    log: list[Served] = field(default_factory=list)
    lookups: list[Served] = field(default_factory=list)
    troubles: list[Exception] = field(default_factory=list)
    most_at_once: int = 0
    canned: Reply | None = None
    dialect: Dialect = field(default_factory=Dialect)
    _in_flight: int = 0
    _answered: int = 0

    def clear(self) -> None:
        """As if nothing had been asked yet, and nothing were to go wrong."""
        self.log, self.lookups, self.schedule, self.most_at_once, self._answered = [], [], Schedule(), 0, 0
        self.canned = None
        self.cache.clear()

    async def handle(self, request: Request) -> Reply:
        served = Served(
            number=len(self.log) + 1,
            path=request.path,
            body=None,
            headers={name: request.headers[name] for name in _KEPT_HEADERS if name in request.headers},
            at=time.monotonic(),
        )
        (self.lookups if request.method == "GET" or request.path in _TELLING else self.log).append(served)
        self._in_flight += 1
        self.most_at_once = max(self.most_at_once, self._in_flight)
        try:
            reply = await self._reply(request, served)
        finally:
            self._in_flight -= 1
        served.status = None if reply.silent else reply.status
        return reply

    async def _reply(self, request: Request, served: Served) -> Reply:
        if self.canned is not None:
            return self.canned
        path = request.path
        wire = _GENERATING.get(path) or _COUNTING.get(path) or _wire_of(request)
        try:
            reply = await self._good_or_bad(request, served, wire)
        except Exception as error:  # a mistake in the test's answers: it must see it, and not as a hang
            self.troubles.append(error)
            reply = _error(wire, 500, f"This server's answers raised {error!r}")
        name = f"req_{served.number:06}"
        return replace(reply, headers={wire.request_id_header: name, **reply.headers})

    async def _good_or_bad(self, request: Request, served: Served, wire: Wire) -> Reply:
        if self.key is not None and not _has_key(request, self.key):
            return _error(wire, 401)
        path = request.path
        try:
            served.body = json.loads(request.body) if request.body else None
            asked = wire.read(served.body) if path in _GENERATING or path in _COUNTING else None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return _error(wire, 400, f"The request is not well formed: {error!r}")
        if asked is not None:
            _note(served, asked)
        generates = path in _GENERATING
        if generates and asked is not None:
            for ability in asked.needs:
                if ability not in self.abilities | self.ignores:
                    return _error(wire, 400, wire.lacks(ability, asked.model))
            if asked.objection and not self.ignores & set(asked.needs):
                return _error(wire, 400, asked.objection)
            if refusal := self.dialect.refusal(served.body, asked, prompt_tokens(asked.segments)):
                return refusal
        text = request.body.decode(errors="replace")
        fault = self.schedule.take(path, text, generates=generates)
        served.fault = fault.kind if fault else None
        if generates and asked is not None:
            return await self._answer(served, asked, wire, fault)
        plain = self._plain(request, served, wire, asked)
        return spoiled(plain, fault, wire, closing=0) if fault else plain

    def _plain(self, request: Request, served: Served, wire: Wire, asked: Asked | None) -> Reply:
        """What no model has to be asked for."""
        if asked is not None and "count" in self.abilities:
            return _json(wire.count(prompt_tokens(asked.segments)))
        if request.method == "GET" and request.path.startswith("/v1/models"):
            name = request.path.removeprefix("/v1/models").strip("/")
            if not name or name in self.names:
                context = self.context if self.dialect.window is None else None
                return _json(models(self.names, name, context, anthropic=wire is _ANTHROPIC))
        if request.path == "/api/tags":
            return _json(ollama_tags(self.names))
        if request.path == "/api/show":
            named = served.body.get("model") if isinstance(served.body, dict) else None
            if named in self.names:
                return _json(ollama_details(named, self.context, self.abilities))
            return _error(wire, 404, f"model '{named}' not found")
        return _error(wire, 404)

    async def _answer(self, served: Served, asked: Asked, wire: Wire, fault: Fault | None) -> Reply:
        paid = _paid(fault, stream=asked.stream)
        charged = fault.billed if fault and fault.billed is not None else paid
        if fault and not (paid or charged):
            # An answer that is not streamed fails before it is begun, with a status that says so.
            served.maybe = _in_doubt(fault) and fault.kind != "sse-error"
            return spoiled(Reply(), fault, wire, closing=0)
        served.maybe = True  # for a client that does not wait for the answer
        answer = await self._next_answer(served, asked)
        speech = said(asked, answer, served.number, wire, self.cache, self.ignores, fault)
        if speech.tool is None and speech.text:
            speech = replace(speech, text=f"{self.dialect.before}{speech.text}{self.dialect.after}")
        served.usage = speech.usage if charged else None
        reported = "usage" in self.abilities and (asked.stream_usage or not asked.stream)
        if not reported:
            speech = replace(speech, usage=None)
        served.maybe = _in_doubt(fault) or not reported
        reply, closing = _told(wire, speech, stream=asked.stream and "stream" in self.abilities)
        reply = self.dialect.changed(reply)
        return spoiled(reply, fault, wire, closing=closing) if fault else reply

    async def _next_answer(self, served: Served, asked: Asked) -> Answer:
        if self.answers is None:
            return default_answer(asked)
        if callable(self.answers):
            spoken = self.answers(served)
            return as_answer(await spoken if inspect.isawaitable(spoken) else spoken)
        self._answered += 1
        return as_answer(self.answers[min(self._answered, len(self.answers)) - 1])


def known_abilities(names: Collection[str]) -> frozenset[str]:
    for name in names:
        if name not in ABILITIES:
            raise UnknownNameError.of("ability", name, ABILITIES)
    return frozenset(names)


def known_dialect(name: str | None) -> Dialect:
    if name is not None and name not in DIALECTS:
        raise UnknownNameError.of("dialect", name, DIALECTS)
    return DIALECTS[name] if name is not None else Dialect()


def _note(served: Served, asked: Asked) -> None:
    served.model, served.stream, served.messages = asked.model, asked.stream, asked.messages
    served.schema, served.tools, served.tool = asked.schema, tuple(asked.tools), asked.tool
    served.limit, served.context = asked.limit, asked.context


def _told(wire: Wire, speech: Said, *, stream: bool) -> tuple[Reply, int]:
    """The reply, and how many of its events end the answer."""
    if not stream:
        return _json(wire.reply(speech)), 0
    events = wire.stream(speech)
    return Reply(pieces=tuple(events.events), media=wire.stream_media, chunked=True), events.closing


def _paid(fault: Fault | None, *, stream: bool) -> bool:
    """Whether a model has done its work when the fault strikes. An answer that is not streamed fails before it."""
    if fault is None:
        return True
    return fault.stage in _PAID and (stream or fault.kind != "sse-error")


def _in_doubt(fault: Fault | None) -> bool:
    """Whether what comes back leaves open what it cost."""
    if fault is None or fault.stage is Stage.ANSWER or fault.kind == "sse-slow":
        return False
    return fault.stage is not Stage.REFUSAL or fault.status in (408, 500)


def _has_key(request: Request, key: str) -> bool:
    given = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix(
        "Bearer "
    )
    return hmac.compare_digest(given.encode(), key.encode())


def _wire_of(request: Request) -> Wire:
    if request.path.startswith("/api/"):
        return _OLLAMA
    anthropic = "anthropic-version" in request.headers or request.path.startswith("/v1/messages")
    return _ANTHROPIC if anthropic else _CHAT


def _error(wire: Wire, status: int, message: str | None = None) -> Reply:
    return replace(_json(wire.error(status, message)), status=status)


def _json(data: Any) -> Reply:
    return Reply(pieces=(as_json(data).encode(),))


def billed(log: Sequence[Served]) -> Usage:
    return sum((served.usage for served in log if served.usage is not None), Usage())
