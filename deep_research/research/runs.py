"""The runs of a store, to be looked at, steered and removed without an engine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Unpack

from pydantic import Field

from deep_research.errors import (
    LogDamagedError,
    RunStateError,
    StoreDamagedError,
    StoreError,
    StoreVersionError,
    UnknownNameError,
    UsageError,
)
from deep_research.research.run_summary import RunDetail, RunSummary, filter_of
from deep_research.state import CommandKind, ParkedKind, Parking, Record, RunStatus, WhenDue
from deep_research.state.identity import RUN_ID
from deep_research.store import RunCursor, RunFilter

# Events and their fold are imported where a log is read: who lists runs, or only names the engine, needs none.
if TYPE_CHECKING:
    from pathlib import Path

    from deep_research.packs import Manifest, Verification
    from deep_research.research.arguments import FilterArguments
    from deep_research.research.result import ResearchResult
    from deep_research.state import Budget, Citation, DeepResearchState, Quote, SetUp, Source
    from deep_research.state.events import Event
    from deep_research.store import Lane, RunRow, Store, StoredEvent

ReportFormat = Literal["markdown", "json"]
FORMATS = ("markdown", "json")


class Waiting(Record):
    """A parked run: what it waits for, until when and what happens ``then``. ``asks`` says that an answer is waited for,
    of the form of ``answer_schema`` (None: a text); ``default`` is one that will do, ``about`` what has to be seen to
    answer, and ``has_answer`` that somebody left an answer which nobody has gone on with yet. ``parked_at`` is the number
    of its last event."""

    research_id: str
    query: str
    user_id: str | None = None
    session_id: str | None = None
    kind: ParkedKind
    waiting_for: str
    until: datetime | None = None
    asks: bool = False
    answer_schema: dict[str, Any] | None = None
    default: Any = None
    then: WhenDue = WhenDue.DEFAULT
    about: dict[str, Any] = Field(default_factory=dict)
    has_answer: bool = False
    parked_at: int = 0

    def due(self, now: datetime) -> bool:
        """Whether it is to be gone on with by now: what was shut down is at once, whatever the clock says."""
        if self.has_answer or self.kind is ParkedKind.SHUTDOWN:
            return True
        return self.until is not None and self.until <= now and self.then is not WhenDue.STAY


@dataclass(frozen=True, slots=True)
class ClaimedRun:
    """A run that a worker took from the store, whose lease is renewed from then on."""

    row: RunRow
    lane: Lane


@dataclass(frozen=True, slots=True)
class Resumption:
    """How a run is gone on with. Without an ``answer`` one that was left for the run is taken; ``by`` is who answers.
    ``budget`` are caps that are raised; ``take_over``: from a process that lives. ``parked_at`` is the number of the
    event that it was parked with, where it is to be gone on with from there alone. A run with a ``claim`` is taken
    already, by a worker that counts its runs itself."""

    answer: Any = None
    by: Literal["owner", "default", "worker"] = "owner"
    budget: Budget | None = None
    take_over: bool = False
    parked_at: int | None = None
    claim: ClaimedRun | None = None


def checked_run_id(research_id: object) -> str:
    """Raises `RunStateError` for what is no id of a run."""
    if isinstance(research_id, str) and RUN_ID.match(research_id):
        return research_id
    raise RunStateError(
        f"'{str(research_id)[:60]}' is not a run id.",
        hint="Run ids look like deepres-0123456789ab; `deep-research list` shows them.",
    )


class Runs:
    """The verbs of `OPERATIONS` that need no more than a ``store``. The store is the caller's to close."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def _row(self, research_id: str) -> RunRow:
        """Raises `RunNotFoundError`, `RunStateError` for what is no id."""
        return await asyncio.to_thread(self._store.run, checked_run_id(research_id))

    async def alist(
        self,
        *,
        limit: int | None = None,
        after: RunSummary | str | None = None,
        **filters: Unpack[FilterArguments],
    ) -> Sequence[RunSummary]:
        """Return the runs of the store, newest first.

        Args:
            status: The status as `list` shows it.
            user, session: Only runs of this user or session.
            text: Text in the question, in any letter case.
            parked_kind: question, plan, outage, budget, pause or shutdown.
            due_before: Only runs that are parked until a time before this.
            limit: Most runs.
            after: A run of the list, or its id; the page continues after it.

        Raises `UsageError`, `RunNotFoundError` for an unknown ``after``.

        Example:
            engine.list(status="parked", limit=20)
        """
        check_limit(limit)
        run_filter = filter_of(filters)
        cursor = await self._cursor(after)
        rows = await asyncio.to_thread(self._store.runs, filter=run_filter, after=cursor, limit=limit)
        now = time.time()
        return [RunSummary.of(row, now) for row in rows]

    async def _cursor(self, after: RunSummary | str | None) -> RunCursor | None:
        if after is None:
            return None
        if isinstance(after, RunSummary):
            return RunCursor(after.created_at, after.research_id)
        return (await self._row(after)).cursor

    async def astatus(self, research_id: str) -> RunDetail:
        """Return how far a run is, its answers so far, and what failed. Raises `RunNotFoundError`.

        Example:
            for answer in engine.status(run_id).answers:
                print(answer.state, answer.question, answer.text or answer.reason)
        """
        row = await self._row(research_id)
        try:
            state = await self._state(research_id)
        except (LogDamagedError, StoreDamagedError, StoreVersionError) as error:
            return RunDetail.of_unreadable(row, time.time(), error)
        return await asyncio.to_thread(RunDetail.of_state, row, time.time(), state)

    async def summary(self, research_id: str) -> RunSummary:
        """Return the summary of a run, as in `list`, without reading its log. Raises `RunNotFoundError`."""
        return RunSummary.of(await self._row(research_id), time.time())

    async def aresult(self, research_id: str) -> ResearchResult:
        """Return the result of a run so far, from its log. Raises `RunNotFoundError`, `LogDamagedError`."""
        from deep_research.research.result import ResearchResult

        row = await self._row(research_id)
        state = await self._state(research_id)
        return await asyncio.to_thread(ResearchResult.of, state, row.status(time.time()))

    async def areport(self, research_id: str, format: ReportFormat = "markdown") -> str | None:
        """Return the report as Markdown, or the whole result as JSON; None without a report.

        Raises `RunNotFoundError`, `UnknownNameError` for another format.
        """
        if format not in FORMATS:
            raise UnknownNameError.of("format", format, FORMATS)
        result = await self.aresult(research_id)
        return result.report if format == "markdown" else result.model_dump_json(indent=2)

    async def _state(self, research_id: str) -> DeepResearchState:
        """The state of a run as it stands now, from its log. Raises `RunNotFoundError`, `LogDamagedError`."""
        from deep_research.state.reducer import fold

        events = await self.aevents(research_id)
        return await asyncio.to_thread(lambda: fold(events).snapshot())

    async def awaiting(
        self,
        *,
        user: str | None = None,
        limit: int | None = None,
        after: RunSummary | str | None = None,
    ) -> Sequence[Waiting]:
        """Return the parked runs, newest first: the question of each, the form of an answer, until when, and what happens
        then. ``limit`` and ``after`` as in `list`. Raises `UsageError`.
        """
        check_limit(limit)
        run_filter, cursor = RunFilter(status=RunStatus.PARKED, user=user), await self._cursor(after)
        rows = await asyncio.to_thread(self._store.runs, filter=run_filter, after=cursor, limit=limit)
        return [await self._waiting(row) for row in rows]

    async def _due(self, now: datetime) -> Sequence[Waiting]:
        """The parked runs that are to be resumed by ``now``, newest first. The logs of others are not read."""
        rows = await asyncio.to_thread(self._maybe_due, now)
        return [waiting for row in rows if (waiting := await self._waiting(row)).due(now)]

    def _maybe_due(self, now: datetime) -> list[RunRow]:
        """The rows of parked runs that may be due: by their time, shut down, or with an answer."""
        parked = partial(RunFilter, status=RunStatus.PARKED)
        due = self._store.runs(filter=parked(due_before=now + timedelta.resolution))
        shut = self._store.runs(filter=parked(parked_kind=ParkedKind.SHUTDOWN))
        near = {row.run_id: row for row in (*due, *shut)}
        for run_id in self._store.answered_runs():
            if run_id not in near:
                near[run_id] = self._store.run(run_id)
        return sorted(near.values(), key=lambda row: row.cursor, reverse=True)

    async def _waiting(self, row: RunRow) -> Waiting:
        parking = row.projection.parking or Parking(waiting_for="")
        try:
            parking = (await self._state(row.run_id)).parking or parking
        except StoreError:
            parking = parking.model_copy(update={"then": WhenDue.STAY})
        commands = await asyncio.to_thread(self._store.pending_commands, row.run_id)
        return Waiting(
            research_id=row.run_id,
            query=row.query,
            user_id=row.user_id,
            session_id=row.session_id,
            asks=parking.asks,
            parked_at=row.last_seq,
            has_answer=parking.asks and any(command.kind == CommandKind.ANSWER for command in commands),
            **{
                name: getattr(parking, name)
                for name in ("kind", "waiting_for", "until", "answer_schema", "default", "then", "about")
            },
        )

    async def aevents(self, research_id: str, after: int = 0, *, limit: int | None = None) -> Sequence[Event]:
        """Return the log of a run after a sequence number, at most ``limit`` events.

        Raises `UsageError`, `RunNotFoundError`, `LogDamagedError`.
        """
        check_limit(limit)
        await self._row(research_id)
        return await asyncio.to_thread(self._read, research_id, after, limit)

    async def _setup(self, research_id: str) -> SetUp | None:
        """What a run works with, from its log, of which nothing else is decoded. None for a log that cannot be read:
        the process that takes the run reads all of it, and says what is wrong."""
        try:
            return _setup_of(await asyncio.to_thread(self._store.read, research_id))
        except StoreError:
            return None

    async def atext(self, source: Source | Citation | Quote | str) -> str:
        """Return the saved text of a source, a citation, a quote or a content hash.

        Raises `ContentMissingError`, and `UsageError` for other objects.

        Example:
            engine.text(result.citations[0])
        """
        from deep_research.research.packed_run import content_hash_of
        from deep_research.state.journal import readable

        (body,) = await asyncio.to_thread(self._store.contents, [content_hash_of(source)])
        return readable(body)

    async def apack(self, research_id: str, path: Path | str, *, force: bool = False) -> Manifest:
        """Write a run with all its evidence to one file (docs/packs.md), and return the manifest.

        ``force`` replaces an existing file. Raises `RunNotFoundError`, `UsageError` for the path, `PackError` for
        a run that is too large or contains a registered secret, `ContentMissingError`, `LogDamagedError`.

        Example:
            engine.pack(run_id, "bell-rock.zip")
        """
        from deep_research.packs import pack_run

        await self._row(research_id)
        return await asyncio.to_thread(pack_run, self._store, research_id, path, force=force)

    async def averify(
        self, research_id: str, *, progress: Callable[[int, int], None] | None = None
    ) -> Verification:
        """Recompute every hash, span and verdict of a run without a network, and compare them with the record.

        ``progress`` is called from another thread with the number of checked claims and of all claims. For a pack see
        `open_pack`. Raises `RunNotFoundError`.

        Example:
            assert engine.verify(run_id).holds
        """
        from deep_research.packs import stored_evidence, verified

        await self._row(research_id)
        return await asyncio.to_thread(
            lambda: verified(stored_evidence(self._store, research_id), progress=progress)
        )

    async def asteer(
        self,
        research_id: str,
        text: str = "",
        *,
        drop_sub_query: str | None = None,
        since: date | str | None = None,
        stop_searching: bool = False,
    ) -> None:
        """Give a run guidance. The command waits for the process that works on the run.

        Args:
            text: Guidance, which agents follow from their next unit on.
            drop_sub_query: The id of a sub-query that the run has not searched.
            since: Search only what was published since that day.
            stop_searching: Search nothing more, and write the report.

        Raises `RunNotFoundError`, `RunStateError` for a completed run, `UsageError` for empty or impossible guidance.

        Example:
            engine.steer(handle.research_id, "Also consider the towers of the north coast.")
        """
        from deep_research.research.steering import judged, payload, refuse_ended, steering

        guidance = steering(text, drop_sub_query=drop_sub_query, since=since, stop_searching=stop_searching)
        row = await self._row(research_id)
        refuse_ended(row.projection.status, research_id, "steer")
        if guidance.dropped is not None:
            refused = judged(guidance, await self._state(research_id)).refused
            if refused is not None:
                raise UsageError(
                    refused, hint="`deep-research status ID` shows what is still to be searched."
                )
        await self._queue(research_id, CommandKind.STEER, payload(guidance))

    async def apause(self, research_id: str) -> None:
        """Park a run before its next unit; `resume` continues it. A run that is parked, or that no process works
        on, does not change. Raises `RunNotFoundError`, and `RunStateError` for a run that has ended.
        """
        row = await self._row(research_id)
        if row.projection.status.is_final:
            raise RunStateError(
                f"Run '{research_id}' is {row.projection.status}: there is nothing to pause.",
                hint="`deep-research show` shows its result.",
            )
        status = row.projection.status
        if status is RunStatus.QUEUED or (status is not RunStatus.PARKED and row.owned(time.time())):
            await self._queue(research_id, CommandKind.PAUSE)

    async def _queue(self, research_id: str, kind: CommandKind, payload: str = "") -> None:
        """Leave a command for the process that works on a run, or will."""
        await asyncio.to_thread(self._store.enqueue_command, research_id, kind.value, payload)

    async def adelete(self, research_id: str) -> None:
        """Delete a run, and the texts that no other run uses. Raises `RunBusyError` while a process works on it."""
        await self._row(research_id)
        await asyncio.to_thread(self._store.delete, research_id)

    def _read(self, research_id: str, after: int, limit: int | None = None) -> Sequence[Event]:
        from deep_research.state.events import decode_log

        return decode_log(self._store.read(research_id, after=after, limit=limit))


def _setup_of(rows: Sequence[StoredEvent]) -> SetUp | None:
    from deep_research.state.events import RunCreated, SetUpChanged, decode_log, event_type_of

    setup: SetUp | None = None
    for event in decode_log(
        [row for row in rows if event_type_of(row.type, row.version) in (RunCreated, SetUpChanged)]
    ):
        if isinstance(event, RunCreated):
            setup = event.setup
        elif isinstance(event, SetUpChanged):
            setup = event.new
    return setup


def check_limit(limit: int | None) -> None:
    """Raises `UsageError`."""
    if limit is not None and (not isinstance(limit, int) or limit < 1):
        raise UsageError("limit must be a whole number above 0.", hint="Omit it to get all.")
