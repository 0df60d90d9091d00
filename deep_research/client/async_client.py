"""`AsyncClient`: the verbs of `DeepResearch` as coroutine functions over HTTP."""

from __future__ import annotations

import asyncio
import secrets
import zipfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError
from pydantic_core import to_jsonable_python

from deep_research.client.connection import TIMEOUT_SECONDS, Connection, _unreadable
from deep_research.client.event_source import drain, event_of, follow_events
from deep_research.client.memory_calls import MemoryCalls
from deep_research.errors import ContentMissingError, RunStateError, UnknownNameError, UsageError
from deep_research.research.operations import ROUTES, of_run
from deep_research.research.run_summary import RunDetail, RunSummary
from deep_research.research.runs import FORMATS, ReportFormat, Waiting, check_limit, checked_run_id
from deep_research.research.sessions import SessionSummary, SessionTurn
from deep_research.setting_fields import SettingGroup
from deep_research.state import RunStatus

if TYPE_CHECKING:
    from deep_research.budget.estimate import Estimate
    from deep_research.packs import Manifest, Verification
    from deep_research.research.arguments import FilterArguments, RunArguments
    from deep_research.research.result import ResearchResult
    from deep_research.state import Budget, Source
    from deep_research.state.events import Event, Progress

PAGE_SIZE = 200  # items of a list that are asked for at once
PIECE_CHARS = 200_000  # of a text
POLL_SECONDS = 0.2  # between looks at a run that is to go on
Items = list[Any]
_Model = TypeVar("_Model", bound=BaseModel)


class AsyncClient(MemoryCalls):
    """``AsyncClient("http://127.0.0.1:8000", token="dr_…")``: what `DeepResearch` does, on a server.

    Without an address that of ``DEEP_RESEARCH_SERVER`` is taken, else this machine's port 8000; without a token that of
    ``DEEP_RESEARCH_TOKEN``. ``timeout`` is in seconds, for one request. Every verb raises what it raises on an engine,
    and `RemoteError` where the server cannot be reached or understood.

    Example:
        async with AsyncClient() as client:
            result = await client.run("Who built Bell Rock?")
    """

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._connection = Connection(server, token, timeout=timeout, transport=transport)

    async def aclose(self) -> None:
        await self._connection.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    # Researching

    async def submit(
        self,
        query: str,
        *,
        idempotency_key: str | None = None,
        priority: int = 0,
        not_before: datetime | str | None = None,
        **options: Unpack[RunArguments],
    ) -> str:
        """Queue a question, and give the id of its run. A broken connection starts no second run: a key is made where
        none is given."""
        body = {"query": query, "priority": priority, "not_before": not_before, **options}
        key = secrets.token_hex(16) if idempotency_key is None else idempotency_key
        summary = await self._call("submit", content=body, headers={"idempotency-key": key})
        return self._model(RunSummary, summary).research_id

    async def run(self, query: str, **options: Unpack[RunArguments]) -> ResearchResult:
        """Research a question to the end."""
        return await self.wait(await self.submit(query, **options))

    async def start(self, query: str, **options: Unpack[RunArguments]) -> AsyncRun:
        """Research in the background of the server."""
        return AsyncRun(self, await self.submit(query, **options))

    async def wait(self, research_id: str) -> ResearchResult:
        """Wait until a run ends, or waits for its owner, and give its result."""
        async with aclosing(self.follow(research_id)) as events:
            await drain(events)
        return await self.result(research_id)

    async def estimate(self, query: str, **options: Unpack[RunArguments]) -> Estimate:
        """What a run of this question may take."""
        from deep_research.budget.estimate import Estimate

        return self._model(Estimate, await self._call("estimate", content={"query": query, **options}))

    # Looking

    async def list(
        self,
        *,
        limit: int | None = None,
        after: RunSummary | str | None = None,
        **filters: Unpack[FilterArguments],
    ) -> Sequence[RunSummary]:
        """The runs that the token's user may see, newest first: see `DeepResearch.list`."""
        check_limit(limit)
        items = await self._pages("list", {**_plain(filters), **_after(after)}, limit)
        return [self._model(RunSummary, item) for item in items]

    async def status(self, research_id: str) -> RunDetail:
        """Where a run stands, with the answer so far to each of its questions, and what failed."""
        return self._model(RunDetail, await self._call("status", research_id))

    async def result(self, research_id: str) -> ResearchResult:
        """The result of a run as it stands, folded from its log as an engine does."""
        from deep_research.research.result import ResearchResult
        from deep_research.state.reducer import fold

        summary, events = await self.status(research_id), await self.events(research_id)
        return await asyncio.to_thread(lambda: ResearchResult.of(fold(events).snapshot(), summary.status))

    async def report(self, research_id: str, format: ReportFormat = "markdown") -> str | None:
        """The report as Markdown, or the whole result as JSON; None without a report."""
        if format not in FORMATS:
            raise UnknownNameError.of("format", format, FORMATS)
        path = _path("report", research_id)
        try:
            body = await self._connection.body("GET", path, params={"format": format})
        except RunStateError:
            return None
        return body.decode("utf-8", "replace")

    async def events(self, research_id: str, after: int = 0, *, limit: int | None = None) -> Sequence[Event]:
        """The log of a run after a sequence number, or the first ``limit`` events of that."""
        check_limit(limit)
        events: list[Event] = []
        following: Any = after
        while following is not None and (limit is None or len(events) < limit):
            page = await self._connection.json(
                "GET",
                _path("events", research_id),
                params={"after": following},
                headers={"accept": "application/json"},
            )
            items, following = _page(page)
            events += await asyncio.to_thread(_events_of, items)
        return events[:limit]

    def follow(self, research_id: str, after: int = 0) -> AsyncGenerator[Event | Progress]:
        """The log after a sequence number, and what happens, until the run ends or waits. A cut connection is taken up
        again without gap or repeat."""
        return follow_events(self._connection, _path("events", research_id), after)

    async def stream(self, query: str, **options: Unpack[RunArguments]) -> AsyncGenerator[Event | Progress]:
        """Research and give every event as it happens. Leaving early leaves the run to the server."""
        async with aclosing(self.follow(await self.submit(query, **options))) as events:
            async for event in events:
                yield event

    async def waiting(
        self, *, limit: int | None = None, after: RunSummary | str | None = None
    ) -> Sequence[Waiting]:
        """The parked runs that the token's user may see, newest first, with what each asks."""
        check_limit(limit)
        items = await self._pages("waiting", _after(after), limit)
        return [self._model(Waiting, item) for item in items]

    async def text(self, research_id: str, source: Source | str) -> str:
        """The saved text of a source of a run, or of one with that id."""
        source_id = source if isinstance(source, str) else source.id
        path = _path("text", research_id, source_id=source_id)
        pieces, start, length = [], 0, 1
        while start < length:
            piece = await self._connection.json(
                "GET", path, params={"start": start, "end": start + PIECE_CHARS}
            )
            text, length = piece.get("text"), piece.get("length")
            if not isinstance(text, str) or not isinstance(length, int):
                raise _unreadable()
            if not text and start < length:
                raise ContentMissingError("The server does not have the whole text.", hint="Ask again.")
            pieces.append(text)
            start += len(text)
        return "".join(pieces)

    async def sessions(
        self, *, user: str | None = None, limit: int | None = None
    ) -> Sequence[SessionSummary]:
        """The sessions that the token's user may see, the latest first."""
        check_limit(limit)
        items = await self._pages("sessions", _plain({"user": user}), limit)
        return [self._model(SessionSummary, item) for item in items]

    async def session_turns(self, session_id: str, *, user_id: str | None = None) -> Sequence[SessionTurn]:
        """The turns of a session, the oldest first."""
        params = _plain({"session_id": session_id, "user_id": user_id})
        return [self._model(SessionTurn, item) for item in await self._pages("session_turns", params)]

    async def session_rename(self, session_id: str, title: str, *, user_id: str | None = None) -> None:
        """Give a session a title, by which it is listed."""
        await self._call(
            "session_rename", content={"session_id": session_id, "title": title, "user_id": user_id}
        )

    async def session_delete(self, session_id: str, *, user_id: str | None = None) -> int:
        """Delete the runs of a session, and give how many there were."""
        count = len(await self.session_turns(session_id, user_id=user_id))
        route = ROUTES["session_delete"]
        params = _plain({"session_id": session_id, "user_id": user_id})
        await self._connection.json(route.method, route.path, params=params)
        return count

    async def corpora(self) -> Sequence[str]:
        """The names that the option ``corpora`` of a run may have."""
        return [str(name) for name in await self._pages("/v1/corpora", {})]

    async def pack(self, research_id: str, path: Path | str, *, force: bool = False) -> Manifest:
        """Write a run with all that its report rests on to one file, and give its manifest."""
        from deep_research.packs.manifest import MANIFEST, read_manifest

        target = Path(path)
        if not force and await asyncio.to_thread(target.exists):
            raise UsageError(f"{target} exists.", hint="Name another file, or pass force=True.")
        body = await self._connection.body("GET", _path("pack", research_id))

        def write() -> Manifest:
            target.write_bytes(body)
            with zipfile.ZipFile(target) as archive:
                return read_manifest(archive.read(MANIFEST), target.name)

        try:
            return await asyncio.to_thread(write)
        except (zipfile.BadZipFile, KeyError):
            raise _unreadable() from None

    async def verify(self, research_id: str) -> Verification:
        """Make every hash, span and verdict of a run again, on the server."""
        from deep_research.packs import Verification

        return self._model(Verification, await self._call("verify", research_id))

    # Acting

    async def resume(
        self,
        research_id: str,
        answer: Any = None,
        *,
        setup: Literal["same", "new"] = "same",
        budget: Budget | None = None,
        take_over: bool = False,
    ) -> ResearchResult:
        """Go on with a run on the server, and wait for its end."""
        at = await self._standing(research_id)
        body = {"answer": answer, "setup": setup, "budget": budget, "take_over": take_over}
        content = {name: value for name, value in body.items() if value not in (None, False, "same")}
        await self._call("resume", research_id, content=content)
        return await self._result_after(research_id, at)

    async def answer(self, research_id: str, value: Any, *, run: bool = True) -> ResearchResult | None:
        """Answer what a parked run asks; a worker of the server goes on with it. ``run=False`` does not wait for that."""
        at = await self._standing(research_id)
        await self._call("answer", research_id, content={"value": value})
        return await self._result_after(research_id, at) if run else None

    async def _standing(self, research_id: str) -> int:
        """The number of a run's last event."""
        events = await self.events(research_id)
        return events[-1].seq if events else 0

    async def _result_after(self, research_id: str, at: int) -> ResearchResult:
        """The result of a run once it went on from event ``at``, and ended or waits again."""
        while not await self.events(research_id, at):
            if (await self.status(research_id)).status is RunStatus.COMPLETED:
                break
            await asyncio.sleep(POLL_SECONDS)
        async with aclosing(self.follow(research_id, at)) as following:
            await drain(following)
        return await self.result(research_id)

    async def steer(
        self,
        research_id: str,
        text: str = "",
        *,
        drop_sub_query: str | None = None,
        since: date | str | None = None,
        stop_searching: bool = False,
    ) -> None:
        """Give a run guidance while it goes."""
        body: dict[str, Any] = {"text": text, "drop_sub_query": drop_sub_query, "since": since}
        body["stop_searching"] = stop_searching
        content = {name: value for name, value in body.items() if value}
        await self._call("steer", research_id, content=content)

    async def pause(self, research_id: str) -> None:
        """Park a run before its next unit."""
        await self._call("pause", research_id)

    async def cancel(self, research_id: str) -> RunSummary:
        """End a run; what it found is kept."""
        return self._model(RunSummary, await self._call("cancel", research_id))

    async def delete(self, research_id: str) -> None:
        """Remove a run and its saved texts."""
        await self._call("delete", research_id)

    # Inside

    async def _call(
        self,
        verb: str,
        research_id: str | None = None,
        *,
        content: Any = None,
        headers: dict[str, str] | None = None,
        params: Mapping[str, Any] | None = None,
        parts: Mapping[str, str] | None = None,
    ) -> Any:
        """The answer to a verb's request, of whose path ``parts`` are named."""
        if isinstance(content, dict):
            content = _plain(content)
        path = _path(verb, research_id, **(parts or {}))
        return await self._connection.json(
            ROUTES[verb].method, path, content=content, headers=headers, params=params
        )

    async def _pages(self, verb: str, params: dict[str, Any], limit: int | None = None) -> Sequence[Any]:
        path = verb if verb.startswith("/") else _path(verb)
        collection: Items = []
        after = params.get("after")
        while limit is None or len(collection) < limit:
            size = PAGE_SIZE if limit is None else min(PAGE_SIZE, limit - len(collection))
            page = await self._connection.json(
                "GET", path, params={**params, "limit": size, **({"after": after} if after else {})}
            )
            items, after = _page(page)
            collection += items
            if after is None:
                break
        return collection

    @staticmethod
    def _model(kind: type[_Model], body: Any) -> _Model:
        try:
            return kind.model_validate(body)
        except ValidationError:
            raise _unreadable() from None


class AsyncRun:
    """A run on a server, as its starter holds it. The verbs are those of `AsyncClient` for this run."""

    def __init__(self, client: AsyncClient, research_id: str) -> None:
        self.research_id = research_id
        self._engine = client

    def __repr__(self) -> str:
        return f"AsyncRun({self.research_id!r})"

    async def result(self, timeout: float | None = None) -> ResearchResult:
        """Wait for the end, at most ``timeout`` seconds. Raises `TimeoutError`; the run goes on."""
        async with asyncio.timeout(timeout):
            return await self._engine.wait(self.research_id)

    def events(self, after: int = 0) -> AsyncGenerator[Event | Progress]:
        """What happens in the run after a sequence number, until it ends or waits."""
        return self._engine.follow(self.research_id, after)

    status = of_run(AsyncClient.status)
    report = of_run(AsyncClient.report)
    steer = of_run(AsyncClient.steer)
    pause = of_run(AsyncClient.pause)
    answer = of_run(AsyncClient.answer)
    resume = of_run(AsyncClient.resume)
    cancel = of_run(AsyncClient.cancel)
    pack = of_run(AsyncClient.pack)
    verify = of_run(AsyncClient.verify)
    delete = of_run(AsyncClient.delete)


def _path(verb: str, research_id: str | None = None, **parts: str) -> str:
    """The path of a verb. Raises `RunStateError` for what is no id of a run."""
    values = {name: quote(value, safe="") for name, value in parts.items()}
    if research_id is not None:
        values["research_id"] = checked_run_id(research_id)
    return ROUTES[verb].path.format(**values)


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is given, as JSON; without what is not given. Raises `UsageError`."""
    if values.get("shared_budget") is not None:
        raise UsageError("A server takes no shared_budget.", hint="Set it on the engine of the server.")
    options = {
        name: value.model_dump(exclude_unset=True) if isinstance(value, SettingGroup) else value
        for name, value in values.items()
        if value is not None
    }
    try:
        data: dict[str, Any] = to_jsonable_python(options, exclude_none=True)
    except ValueError as error:
        raise UsageError(f"The request cannot be sent: {error}.", hint="Use plain values.") from None
    return data


def _after(run: RunSummary | str | None) -> dict[str, str]:
    """The place of a page that begins behind a run."""
    if run is None:
        return {}
    return {"after": run.research_id if isinstance(run, RunSummary) else checked_run_id(run)}


def _events_of(items: Sequence[Any]) -> Sequence[Event]:
    return [event_of(item) for item in items]


def _page(page: Any) -> tuple[Sequence[Any], Any]:
    """The items of a page, and where the next one begins."""
    if not isinstance(page, dict) or not isinstance(page.get("data"), list):
        raise _unreadable()
    return page["data"], page.get("next")
