"""The run of a pack as a store: whatever looks at runs can look at it, and nothing is ever written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from deep_research.errors import (
    LogDamagedError,
    PackError,
    PackVersionError,
    RunNotFoundError,
    StoreReadOnlyError,
    StoreVersionError,
)
from deep_research.packs import members
from deep_research.packs.manifest import MANIFEST
from deep_research.packs.pack import Pack
from deep_research.state.events import Event, RunCreated, decode_log
from deep_research.state.journal import missing
from deep_research.state.projection import Projector
from deep_research.state.reducer import Fold
from deep_research.state.run import DeepResearchState
from deep_research.store import Lane, Owner, RunCursor, RunFilter, RunRow, Store, StoredEvent, Watch
from deep_research.store.base import Append, page_of_runs
from deep_research.store.listing import EVERY_RUN


class PackStore(Store):
    """``PackStore(pack)``: its one run. ``events`` and ``state`` are that run's. The pack is the caller's to close.

    Raises `PackError` for a pack that is damaged, `PackVersionError` for a log of a newer version; each method that
    would write raises `StoreReadOnlyError`.
    """

    def __init__(self, pack: Pack) -> None:
        self._pack = pack
        if not pack.whole:
            raise _unreadable(pack, f"its {MANIFEST} is not as it was made")
        try:
            self._rows = members.event_rows(pack.member(members.EVENTS))
            self.events: Sequence[Event] = decode_log(self._rows)
            self._row, self.state = _folded(self.events, len(self._rows))
        except StoreVersionError as error:
            raise PackVersionError(error.problem, hint=error.hint, path=pack.name) from None
        except LogDamagedError as error:
            raise _unreadable(pack, error.problem.rstrip(".")) from None
        if self._row.run_id != pack.research_id:
            raise _unreadable(pack, "its log is that of another run")

    def open(self) -> None:
        """Always open."""

    def read(self, run_id: str, *, after: int = 0, limit: int | None = None) -> list[StoredEvent]:
        rows = self._rows[max(after, 0) :] if run_id == self._row.run_id else []
        return rows if limit is None else rows[:limit]

    def run(self, run_id: str) -> RunRow:
        if run_id != self._row.run_id:
            raise RunNotFoundError.of(run_id)
        return self._row

    def runs(
        self,
        *,
        filter: RunFilter = EVERY_RUN,
        after: RunCursor | None = None,
        limit: int | None = None,
    ) -> list[RunRow]:
        return page_of_runs([self._row], filter, after, limit, 0.0)

    def contents(self, hashes: Sequence[str]) -> list[bytes]:
        return [self._content(content_hash) for content_hash in hashes]

    def _content(self, content_hash: str) -> bytes:
        for folder in (members.TEXTS, members.SNAPSHOTS):
            if folder + content_hash in self._pack.names():
                return self._pack.member(folder + content_hash)
        raise missing(content_hash)

    def submit(self, appends: Sequence[Append]) -> None:
        self._refuse()

    def acquire(self, run_id: str, owner: Owner, *, over: int | None = None) -> RunRow:
        self._refuse()

    def release(self, lane: Lane) -> None:
        self._refuse()

    def watch(self, lane: Lane, watch: Watch) -> None:
        self._refuse()

    def unwatch(self, lane: Lane) -> None:
        """Nobody ever watches."""

    def enqueue_command(self, run_id: str, kind: str, payload: str = "") -> int:
        self._refuse()

    def delete(self, run_id: str) -> None:
        self._refuse()

    def close(self) -> None:
        """Nothing is held but the pack, which is the caller's."""

    def _refuse(self) -> NoReturn:
        raise StoreReadOnlyError(
            f"{self._pack.name} is an evidence pack, which is read-only.",
            hint="Use the data directory of the original run.",
            path=self._pack.name,
        )


def _folded(events: Sequence[Event], last: int) -> tuple[RunRow, DeepResearchState]:
    """Raises `LogDamagedError`."""
    first = events[0] if events else None
    if not isinstance(first, RunCreated) or any(event.at is None for event in events):
        raise LogDamagedError("Its log lacks the question and its date.", hint="Pack the run again.")
    state, projector = Fold(), Projector(Fold())
    for event in events:
        state.apply(event)
        projector.apply(event)
    began, last_at = first.at, events[-1].at
    assert began is not None
    assert last_at is not None
    row = RunRow(
        run_id=first.research_id,
        query=first.query,
        projection=projector.projection(),
        last_seq=last,
        created_at=began,
        updated_at=last_at,
        fence=0,
        user_id=first.options.user_id,
        session_id=first.options.session_id,
    )
    return row, state.snapshot()


def _unreadable(pack: Pack, why: str) -> PackError:
    return PackError(
        f"{pack.name} is damaged: {why}.",
        hint="`deep-research verify FILE` lists the failures.",
        path=pack.name,
    )
