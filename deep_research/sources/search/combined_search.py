"""Several services and the user's documents as one search: order, failover, fusion."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from deep_research.calls import first
from deep_research.errors import SearchError
from deep_research.sources.search.base import SearchProvider, SearchRequest, SearchResult, SourceType
from deep_research.sources.search.fields import bounded_look
from deep_research.sources.search.fusion import fused
from deep_research.sources.search.policy import Service
from deep_research.state import FirstLook, SourceKind

CORPUS, WEB = "corpus", "web"  # the lanes of a pool: the user's documents, services of the web

_T = TypeVar("_T")
_Answers = list[tuple[Service, list[SearchResult]]]
_Lane = tuple[_Answers, list[tuple[str, SearchError]]]  # the latter: by name who failed how


@dataclass(frozen=True, slots=True)
class SearchOutcome:
    """What a search found, best first, each thing once. ``failures`` say who did not answer, ``notes`` what is to be
    known of those who did; ``private`` are the addresses that private sources gave, each with the name of its source."""

    results: tuple[SearchResult, ...]
    failures: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    private: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPool:
    """``services`` in the order of preference, beside them the user's documents.

    Each source type that is asked for makes a lane: of the services that are good for it, the first that answers with
    something.
    """

    services: Sequence[Service] = ()
    corpus: Service | None = None

    async def search(self, request: SearchRequest, *, corpus: bool = True, spare: int = 1) -> SearchOutcome:
        """Of the documents too, unless ``corpus`` is False. Services of the web are asked for ``spare`` times as many
        results, since not all can be read. Raises `SearchError` when nobody answered."""
        lanes = [self._lane(kind, request, spare) for kind in self._kinds(request)]
        if corpus and self.corpus is not None:
            lanes.insert(0, self._documents(self.corpus, request))
        answers = await _together(lanes)
        lists = [results for hits, _ in answers for _, results in hits]
        errors = [failure for _, failed in answers for failure in failed]
        failures = tuple(dict.fromkeys(error.problem for _, error in errors))
        if not lists:
            if errors and all(error.data.get("unreached") for _, error in errors):
                raise SearchError(
                    f"{listed(dict.fromkeys(name for name, _ in errors))} cannot be reached: there may be no network.",
                    hint="Resume the run when there is.",
                )
            raise SearchError(
                " ".join(failures) or "There is no search provider.",
                hint="Resume the run when the service is back.",
            )
        notes = dict.fromkeys(note for hits, _ in answers for service, _ in hits for note in service.notes)
        return SearchOutcome(tuple(fused(lists)), failures, tuple(notes))

    def limited(self, lanes: Sequence[str]) -> SearchPool:
        """The same with the lanes of these names alone."""
        return replace(
            self,
            corpus=self.corpus if CORPUS in lanes else None,
            services=self.services if WEB in lanes else (),
        )

    async def look(self, question: str) -> FirstLook | None:
        """What the documents say of a question before it is researched: of the corpus, else of the first provider
        that can tell. Raises `SearchError`."""
        for service in self._every():
            look = getattr(service.provider, "look", None)
            first_look: FirstLook | None = (
                await service.calls(look, question, timeout=service.timeout) if look else None
            )
            if first_look is not None:
                return bounded_look(first_look)
        return None

    def asks_services(self, request: SearchRequest) -> bool:
        """Whether a search asks more than what is on this machine."""
        return bool(self._kinds(request)) and not self.is_local

    @property
    def is_local(self) -> bool:
        """Whether all that it searches is on this machine."""
        return all(service.local for service in self.services)

    def is_own(self, result: SearchResult) -> bool:
        """Whether a result comes from what is on this machine: a document, or something of a service that is."""
        local = {service.name for service in self.services if service.local}
        return result.kind is SourceKind.DOCUMENT or result.provider in local

    @property
    def looks(self) -> bool:
        """Whether any of its providers can tell something before a search."""
        kinds = (type(service.provider) for service in self._every())
        return any(getattr(kind, "look", SearchProvider.look) is not SearchProvider.look for kind in kinds)

    def _every(self) -> tuple[Service, ...]:
        return (*([self.corpus] if self.corpus else ()), *self.services)

    def _kinds(self, request: SearchRequest) -> tuple[str | None, ...]:
        """The lanes that services are asked in; none of them has the user's documents."""
        if not self.services:
            return ()
        kinds = tuple(dict.fromkeys(kind for kind in request.source_types if kind != SourceType.DOCUMENT))
        return kinds or (() if request.source_types and self.corpus else (None,))

    async def _documents(self, corpus: Service, request: SearchRequest) -> _Lane:
        try:
            return [(corpus, await corpus.search(request, last=True))], []
        except SearchError as error:
            return [], [(corpus.name, error)]

    async def _lane(self, kind: str | None, request: SearchRequest, spare: int) -> _Lane:
        waiting = self._order(kind)
        if kind is not None:
            request = replace(request, source_types=(kind,))
        answers: _Answers = []
        failures: list[tuple[str, SearchError]] = []
        while waiting and not any(hits for _, hits in answers):
            # Who rests is asked when nobody else has answered.
            ready = [service for service in waiting if not service.health.rest]
            if answers and not ready:
                break
            service = (ready or waiting)[0]
            waiting.remove(service)
            try:
                hits = await service.search(_with_spare(service, request, spare), last=not waiting)
                answers.append((service, hits))
            except SearchError as error:
                failures.append((service.name, error))
        return answers, failures

    def _order(self, kind: str | None) -> list[Service]:
        """Those that are good for the kind; all of them when none is, and when any will do."""
        return [s for s in self.services if kind in s.types] or list(self.services)


def _with_spare(service: Service, request: SearchRequest, spare: int) -> SearchRequest:
    return request if service.local or spare == 1 else replace(request, limit=request.limit * spare)


def listed(names: Iterable[str]) -> str:
    """``a, b and c``."""
    *others, end = names
    return f"{', '.join(others)} and {end}" if others else end


async def _together(work: Sequence[Coroutine[Any, Any, _T]]) -> list[_T]:
    """All at once, in their order; when one raises, the others are stopped."""
    if len(work) == 1:
        return [await work[0]]
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in work]
    except BaseExceptionGroup as failures:
        raise first(failures) from None
    return [task.result() for task in tasks]
