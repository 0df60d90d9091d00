"""A model service on loopback, in a thread of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from servers.caches import PrefixCache
from servers.failing import FailingServer
from servers.faults import Fault, Schedule
from servers.http import Reply
from servers.server_exchange import PROSE, Answer, Called, Served, Usage
from servers.service import (
    ABILITIES,
    Answers,
    Service,
    billed,
    known_abilities,
    known_dialect,
)


class ModelServer(FailingServer):
    """Speaks the wire formats of Anthropic messages, OpenAI responses and chat completions, and Ollama.

    ::

        with ModelServer(["seven ships"], faults=[Fault("429-after-7")]) as server:
            AsyncAnthropic(base_url=server.base_url, ...)
            AsyncOpenAI(base_url=server.base_url + "/v1", ...)

    ``answers``: a sequence, one `Answer`, text or data per request that is answered, the last one again and again; a
    function of the `Served` request, plain or coroutine; None for the smallest answer of the shape that is asked for.
    ``faults``: what goes wrong, `Fault` or its kind. ``abilities``: what the server can
    do, of "schema", "tools", "json", "stream", "usage" and "count"; what it cannot it refuses, but what is in
    ``ignores`` it overhears, and answers in prose. ``key``: the only one it accepts. ``models`` and ``context``: what
    its lists of models say. ``cache_from``: tokens below which a prompt is not cached.
    ``dialect``: one of `DIALECTS`, of chat completions.
    The first four, and ``canned``, may be set anew at any time.

    ``log`` holds what models were asked and what it cost, ``lookups`` what was asked about them, ``most_at_once`` the
    largest number of requests in work.
    """

    prose = PROSE

    def __init__(
        self,
        answers: Answers | None = None,
        *,
        faults: Iterable[Fault | str] = (),
        abilities: Collection[str] = ABILITIES,
        ignores: Collection[str] = (),
        key: str | None = None,
        models: Sequence[str] = ("model-1",),
        context: int = 8192,
        cache_from: int = 0,
        dialect: str | None = None,
    ) -> None:
        self._service = Service(
            answers=answers,
            schedule=Schedule(faults),
            abilities=known_abilities(abilities),
            ignores=known_abilities(ignores),
            key=key,
            names=tuple(models),
            context=context,
            cache=PrefixCache(least=cache_from),
            dialect=known_dialect(dialect),
        )
        super().__init__(self._service.handle)

    @property
    def log(self) -> list[Served]:
        return list(self._service.log)

    @property
    def lookups(self) -> list[Served]:
        return list(self._service.lookups)

    @property
    def billed(self) -> Usage:
        """The sum over the log."""
        return billed(self.log)

    @property
    def most_at_once(self) -> int:
        return self._service.most_at_once

    @property
    def canned(self) -> Reply | None:
        """What is sent whatever is asked, if anything."""
        return self._service.canned

    @canned.setter
    def canned(self, reply: Reply | None) -> None:
        self._service.canned = reply

    @property
    def answers(self) -> Answers | None:
        return self._service.answers

    @answers.setter
    def answers(self, answers: Answers | None) -> None:
        self._service.answers = answers

    def say(self, text: str, *, stop: str = "end", reasoning: str = "") -> None:
        """The answer to every request from now on."""
        self.answers = [Answer(text, stop=stop, reasoning=reasoning)]

    def call_tools(
        self,
        *calls: tuple[str, str | Mapping[str, Any]] | tuple[str, str | Mapping[str, Any], str],
        text: str = "",
        reasoning: str = "",
        redacted: bool = False,
    ) -> None:
        """The turn of the model from now on, where tools are offered: the name of each tool, its arguments, and in place
        of the service's own an id."""
        called = tuple(Called(*call) for call in calls)
        self.answers = [Answer(text, reasoning=reasoning, calls=called, redacted=redacted)]

    @property
    def abilities(self) -> frozenset[str]:
        return self._service.abilities

    @abilities.setter
    def abilities(self, names: Collection[str]) -> None:
        self._service.abilities = known_abilities(names)

    @property
    def ignores(self) -> frozenset[str]:
        return self._service.ignores

    @ignores.setter
    def ignores(self, names: Collection[str]) -> None:
        self._service.ignores = known_abilities(names)

    @property
    def faults(self) -> list[Fault]:
        return list(self._service.schedule.faults)

    @faults.setter
    def faults(self, faults: Iterable[Fault | str]) -> None:
        self._service.schedule = Schedule(faults)

    def clear(self) -> None:
        """Forget the log, the faults, the caches and what is canned; a sequence of answers begins anew."""
        self._service.clear()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop; what an ``answers`` function raised is raised here, unless something else was."""
        self.stop()
        if kind is None and self._service.troubles:
            raise self._service.troubles[0]
