"""The runs of a store, to be looked at and removed: nothing of an engine is needed for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from deep_research.errors import RunStateError, StoreError, UsageError
from deep_research.state import AbortReason, DeepResearchPhase, Record, RunStatus, SetUp
from deep_research.state.events import Event, RunCreated, SetUpChanged, decode_log, known
from deep_research.state.identity import RUN_ID
from deep_research.state.reducer import fold
from deep_research.store import RunRow, Store, StoredEvent

if TYPE_CHECKING:
    from deep_research.research.result import ResearchResult


class RunSummary(Record):
    """A run as `list` and `status` show it, without reading its log."""

    research_id: str
    query: str
    status: RunStatus
    reason: AbortReason | None = None
    phase: DeepResearchPhase
    iteration: int
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, row: RunRow, now: float) -> RunSummary:
        return cls(
            research_id=row.run_id,
            query=row.query,
            status=row.status(now),
            reason=row.projection.reason,
            phase=row.projection.phase,
            iteration=row.projection.iteration,
            created_at=row.created_at,
            updated_at=row.updated_at,
        )


class Runs:
    """What the runs of a ``store`` are, by their logs. The store is the caller's to close."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def row(self, research_id: str) -> RunRow:
        """Raises `RunNotFoundError`, `RunStateError` for what is no id."""
        if not isinstance(research_id, str) or not RUN_ID.match(research_id):
            raise RunStateError(
                f"'{str(research_id)[:60]}' is no run id.",
                hint="Run ids look like deepres-0123456789ab; `deep-research list` shows them.",
            )
        return await asyncio.to_thread(self._store.run, research_id)

    async def alist(self, *, limit: int | None = None) -> Sequence[RunSummary]:
        """All runs, newest first."""
        if limit is not None and (not isinstance(limit, int) or limit < 1):
            raise UsageError("limit must be a whole number above 0.", hint="Leave it out for all runs.")
        rows = await asyncio.to_thread(self._store.runs, limit=limit)
        now = time.time()
        return [RunSummary.of(row, now) for row in rows]

    async def astatus(self, research_id: str) -> RunSummary:
        return RunSummary.of(await self.row(research_id), time.time())

    async def aresult(self, research_id: str) -> ResearchResult:
        """The result of a run as it stands now. Raises `RunNotFoundError`, `LogDamagedError`."""
        from deep_research.research.result import ResearchResult

        row = await self.row(research_id)
        events = await self.aevents(research_id)
        state = await asyncio.to_thread(lambda: fold(events).snapshot())
        return ResearchResult.of(state, row.status(time.time()))

    async def aevents(self, research_id: str, after: int = 0, *, limit: int | None = None) -> Sequence[Event]:
        """The log of a run after a sequence number."""
        await self.row(research_id)
        return await asyncio.to_thread(self._read, research_id, after, limit)

    async def asetup(self, research_id: str) -> SetUp | None:
        """What a run works with, from its log, of which nothing else is decoded. None for a log that cannot be read:
        whoever takes the run reads all of it, and says what is wrong."""
        try:
            return _setup_of(await asyncio.to_thread(self._store.read, research_id))
        except StoreError:
            return None

    async def adelete(self, research_id: str) -> None:
        """Removes a run, and the texts that no other run uses. Raises `RunBusyError` while it is worked on."""
        await self.row(research_id)
        await asyncio.to_thread(self._store.delete, research_id)

    def _read(self, research_id: str, after: int, limit: int | None) -> Sequence[Event]:
        return decode_log(self._store.read(research_id, after=after, limit=limit))


def _setup_of(rows: Sequence[StoredEvent]) -> SetUp | None:
    setup: SetUp | None = None
    for event in decode_log(
        [row for row in rows if known(row.type, row.version) in (RunCreated, SetUpChanged)]
    ):
        if isinstance(event, RunCreated):
            setup = event.setup
        elif isinstance(event, SetUpChanged):
            setup = event.new
    return setup
