"""The contract of a store: an append-only log per run, saved texts, and who owns which run.

A store is called from any thread. Its methods block, except `submit`: it returns at once, and the store settles each
append later through the append's ``outbox``. Every implementation passes `deep_research.testing.store_suite`.
"""

from __future__ import annotations

import functools
import inspect
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from deep_research.errors import (
    AppendRefusedError,
    DeepResearchError,
    RunBusyError,
    RunNotFoundError,
    RunStateError,
)
from deep_research.logs import masked, safe_name
from deep_research.state.journal import Content, PageHead
from deep_research.state.phases import CommandKind, ParkedKind, RunStatus, WhenDue
from deep_research.state.projection import Projection
from deep_research.store.listing import EVERY_RUN, RunCursor, RunFilter, holds, utc_text
from deep_research.store.owner import Owner

LEASE_SECONDS = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as it is listed. ``lease_until`` is in seconds since the epoch. ``places`` are the folders of its documents
    on this machine, in the order of its set-up; an empty text stands for one that is not kept. ``claims`` counts
    the workers that claimed the run since somebody last let go of it; ``claimed_at`` is when the last one did, in seconds
    since the epoch."""

    run_id: str
    query: str
    projection: Projection
    last_seq: int
    created_at: datetime
    updated_at: datetime
    fence: int
    owner: Owner | None = None
    lease_until: float = 0.0
    user_id: str | None = None
    session_id: str | None = None
    places: tuple[str, ...] = ()
    claims: int = 0
    claimed_at: float | None = None

    def owned(self, now: float) -> bool:
        """Whether a live process holds the run."""
        return self.owner is not None and self.lease_until > now and not self.owner.dead()

    def status(self, now: float) -> RunStatus:
        """The status to show: what says running or pending without a live owner is interrupted."""
        status = self.projection.status
        if status in (RunStatus.RUNNING, RunStatus.PENDING) and not self.owned(now):
            return RunStatus.INTERRUPTED
        return status

    def claimable(self, now: float, answered_ids: Container[str]) -> bool:
        """Whether a worker may claim the run: it is queued, or its worker died, and ``not_before`` has passed; or it is
        parked by a shutdown, is parked and due (unless ``then`` is STAY), or waits for an answer and is among the
        ``answered_ids``."""
        if self.owned(now):
            return False
        moment = utc_text(datetime.fromtimestamp(now, UTC))
        queue, parking = self.projection.queue, self.projection.parking
        match self.status(now):
            case RunStatus.QUEUED | RunStatus.INTERRUPTED if queue is not None:
                return queue.not_before is None or utc_text(queue.not_before) <= moment
            case RunStatus.PARKED if parking is not None:
                due = parking.until is not None and utc_text(parking.until) <= moment
                return (
                    parking.kind is ParkedKind.SHUTDOWN
                    or (due and parking.then is not WhenDue.STAY)
                    or (parking.asks and self.run_id in answered_ids)
                )
        return False

    @property
    def priority(self) -> int:
        """Runs of a higher one are claimed first."""
        return self.projection.queue.priority if self.projection.queue else 0

    @property
    def cursor(self) -> RunCursor:
        """Where a page begins that goes on after this run."""
        return RunCursor(self.created_at, self.run_id)

    def fits(self, run_filter: RunFilter, now: float) -> bool:
        """Whether a filter lets the run through."""
        parking = self.projection.parking
        due = parking.until if parking else None
        return (
            (run_filter.status is None or self.status(now) == run_filter.status)
            and (run_filter.user is None or self.user_id == run_filter.user)
            and (run_filter.session is None or self.session_id == run_filter.session)
            and (run_filter.text is None or holds(self.query, run_filter.text))
            and (
                run_filter.parked_kind is None
                or (parking is not None and parking.kind == run_filter.parked_kind)
            )
            and (
                run_filter.due_before is None
                or (due is not None and utc_text(due) < utc_text(run_filter.due_before))
            )
        )


def page_of_runs(
    rows: Iterable[RunRow], run_filter: RunFilter, after: RunCursor | None, limit: int | None, now: float
) -> list[RunRow]:
    """Filters, sorts and limits all runs of a store as `Store.runs` must."""
    listed = sorted(
        (row for row in rows if (after is None or row.cursor < after) and row.fits(run_filter, now)),
        key=lambda row: row.cursor,
        reverse=True,
    )
    return listed if limit is None else listed[:limit]


def claim_order(rows: Sequence[RunRow], answered_ids: Container[str], now: float) -> list[RunRow]:
    """The runs that may be claimed, in the order in which workers take them: by priority; of equal ones those of the user
    whose last claim is the longest ago; of one user's the oldest."""
    last: dict[str | None, float] = {}
    for row in rows:
        last[row.user_id] = max(last.get(row.user_id, 0.0), row.claimed_at or 0.0)
    return sorted(
        (row for row in rows if row.claimable(now, answered_ids)),
        key=lambda row: (-row.priority, last[row.user_id], row.cursor),
    )


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One row of a log: the event as JSON, with its type and version beside it."""

    seq: int
    type: str
    version: int
    body: bytes


@dataclass(slots=True)
class Lane:
    """The right to append to one run, in order. A refused or failed append closes it, and everything handed
    in behind that append is refused too: otherwise a later event could land where an earlier one is missing.

    ``seconds`` is the total work time of all owners. An owner sets it if it releases the run without a final event;
    None: the row has it already."""

    run_id: str
    owner: Owner
    fence: int
    closed: bool = False
    seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """What the first append of a run brings besides its events. ``places`` as in `RunRow`."""

    query: str
    user_id: str | None = None
    session_id: str | None = None
    places: tuple[str, ...] = ()

    def masked(self) -> NewRun:
        """Without registered secrets."""
        user, session = (text and masked(text) for text in (self.user_id, self.session_id))
        return NewRun(
            query=masked(self.query), user_id=user, session_id=session, places=kept_places(self.places)
        )


def kept_places(places: Sequence[str]) -> tuple[str, ...]:
    """Replaces each path that contains a secret by an empty text."""
    return tuple(place if safe_name(place) == place else "" for place in places)


class Outbox(Protocol):
    """Where settled appends go back to; called once per batch from the store's thread."""

    def deliver(self, outcomes: list[tuple[Append, DeepResearchError | None]]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Append:
    """One unit: events after ``expected`` (the run's last sequence number), texts, and the row they lead to.

    ``release`` lets go of the run in the same transaction; ``consumed`` are commands it answers; ``places`` are where
    its documents are from now on, None: where they were. A unit that completes the run has ``closing``: see
    `with_leftover_commands`.
    """

    lane: Lane
    expected: int
    events: Sequence[StoredEvent]
    projection: Projection
    at: datetime
    outbox: Outbox
    contents: Sequence[Content] = ()
    new_run: NewRun | None = None
    release: bool = False
    consumed: Sequence[int] = ()
    places: tuple[str, ...] | None = None
    closing: Callable[[Sequence[Command]], Sequence[StoredEvent]] | None = None
    on_settled: Callable[[DeepResearchError | None], None]

    def with_leftover_commands(self, left: Sequence[Command]) -> Append:
        """The append that a store writes in place of one that completes the run: it also consumes and logs the commands
        in ``left`` that this one did not answer. ``left`` are the run's commands, read in the transaction that writes the
        append. The store calls ``closing`` once, in its thread."""
        unread = [command for command in left if command.id not in self.consumed]
        if not unread:
            return self
        consumed = (*self.consumed, *(command.id for command in unread))
        return replace(self, events=self.closing(unread) if self.closing else self.events, consumed=consumed)


@dataclass(frozen=True, slots=True)
class SavedPage:
    """A page as a run saved it."""

    head: PageHead
    media_type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Command:
    """A message to a run, sent from any process. The store does not check ``kind``; the owner of the run does
    (`deep_research.state.CommandKind`)."""

    id: int
    run_id: str
    kind: str
    payload: str = ""


@dataclass(slots=True)
class Watch:
    """The callbacks of a run's owner; both are called from the store's thread and must return at once."""

    on_command: Callable[[Command], None]
    on_lost: Callable[[], None]
    seen_ids: set[int] = field(default_factory=set)


class Store(ABC):
    """Logs, texts, ownership. Every method may raise `StoreError`; others are named in its docstring.

    A store written before filters may define ``runs(limit=None)``; the base class then filters all runs. A store may also
    define ``acquire`` without ``over``; then no live owner loses a run. ``lease`` is how long, in seconds, a run stays
    with an owner who no longer renews it; ``now`` gives the time, in seconds since the epoch.
    """

    lease: float = LEASE_SECONDS
    now: Callable[[], float] = staticmethod(time.time)

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        own = cls.__dict__.get("runs")
        if own is not None and "filter" not in inspect.signature(own).parameters:
            cls.runs = _looked_through(own)  # type: ignore[method-assign]
        acquire = cls.__dict__.get("acquire")
        if acquire is not None and "over" not in inspect.signature(acquire).parameters:
            cls.acquire = _over_nobody(acquire)  # type: ignore[method-assign]

    @abstractmethod
    def open(self) -> None:
        """Make sure that the store can be used; done by itself at first use. Blocking."""

    @abstractmethod
    def submit(self, appends: Sequence[Append]) -> None:
        """Hand appends in, in order. Each is settled through its outbox; this never blocks on the disk."""

    @abstractmethod
    def acquire(self, run_id: str, owner: Owner, *, over: int | None = None) -> RunRow:
        """Make ``owner`` the owner and raise the fence. Pending ``cancel`` commands are dropped. ``over`` is the fence of
        an owner who loses the run although it lives, since it was asked to release the run and did not.

        Raises `RunNotFoundError`, `RunBusyError` when another live process owns it.
        """

    def claim(self, owner: Owner, *, besides: Collection[str] = ()) -> RunRow | None:
        """Acquire the run that a worker takes next, in one operation; None where none may be claimed. See `claim_order`.
        ``besides``: it skips these runs. A store that can do so without a look at all its runs should; one that does not
        keep ``claimed_at`` serves its users by age alone."""
        rows = claim_order(self.runs(), set(self.answered_runs()), self.now())
        for row in rows:
            if row.run_id in besides:
                continue
            with suppress(RunBusyError, RunNotFoundError):  # another worker was faster, or it is deleted
                return self.acquire(row.run_id, owner)
        return None

    @abstractmethod
    def release(self, lane: Lane) -> None:
        """Let go of the run if the lane still owns it. The lane's ``seconds``, where there are any, go into its row."""

    @abstractmethod
    def watch(self, lane: Lane, watch: Watch) -> None:
        """Renew the lane's lease from now on, and tell its owner of commands and of losing the run."""

    @abstractmethod
    def unwatch(self, lane: Lane) -> None:
        """Stop renewing and telling."""

    @abstractmethod
    def read(self, run_id: str, *, after: int = 0, limit: int | None = None) -> list[StoredEvent]:
        """The log after a sequence number, in order."""

    @abstractmethod
    def run(self, run_id: str) -> RunRow:
        """Returns the row of a run. Raises `RunNotFoundError`."""

    @abstractmethod
    def runs(
        self,
        *,
        filter: RunFilter = EVERY_RUN,
        after: RunCursor | None = None,
        limit: int | None = None,
    ) -> list[RunRow]:
        """The runs that fit the filter, by when they were created and then by id, the last one first; those below
        ``after``, and of them the first ``limit``: fewer only where there are no more."""

    @abstractmethod
    def contents(self, hashes: Sequence[str]) -> list[bytes]:
        """The saved texts, in the order of their hashes. Raises `ContentMissingError`."""

    def page(self, url: str) -> SavedPage | None:
        """The last snapshot that any run saved of an address; None where there is none, or pages are not remembered."""
        return None

    @abstractmethod
    def enqueue_command(self, run_id: str, kind: str, payload: str = "") -> int:
        """Queue a command for the run's owner; returns its id. A run that completes names in its last word what is left.

        Raises `RunNotFoundError`, and `RunStateError` for a run that is completed: nobody would ever read it."""

    def pending_commands(self, run_id: str) -> list[Command]:
        """The commands that wait for the next owner of the run, the oldest first; none where a store cannot tell."""
        return []

    def answered_runs(self) -> list[str]:
        """The parked runs for which an answer was left. A store that can say so without a look at each of them should."""
        parked = self.runs(filter=RunFilter(status=RunStatus.PARKED))
        return [
            row.run_id
            for row in parked
            if any(command.kind == CommandKind.ANSWER for command in self.pending_commands(row.run_id))
        ]

    @abstractmethod
    def delete(self, run_id: str) -> None:
        """Remove the run, and the texts that no other run uses.

        Raises `RunNotFoundError`, `RunBusyError` while a live process owns it.
        """

    @abstractmethod
    def close(self) -> None:
        """Settle what was handed in and let go of everything. A later call opens the store again."""


def _looked_through(runs: Callable[..., list[RunRow]]) -> Callable[..., list[RunRow]]:
    """The ``runs`` of a store that knows no filters."""

    @functools.wraps(runs)
    def filtered(
        store: Store,
        *,
        filter: RunFilter = EVERY_RUN,
        after: RunCursor | None = None,
        limit: int | None = None,
    ) -> list[RunRow]:
        return page_of_runs(runs(store), filter, after, limit, store.now())

    return filtered


def _over_nobody(acquire: Callable[..., RunRow]) -> Callable[..., RunRow]:
    """The ``acquire`` of a store in which no live owner loses a run."""

    @functools.wraps(acquire)
    def take(store: Store, run_id: str, owner: Owner, *, over: int | None = None) -> RunRow:
        del over
        return acquire(store, run_id, owner)

    return take


def refused_error(lane: Lane, why: str) -> AppendRefusedError:
    return AppendRefusedError(
        f"This process no longer owns run '{lane.run_id}': {why}.",
        hint="Another process took it over; see `deep-research status`.",
        research_id=lane.run_id,
    )


def refuse_completed(row: RunRow) -> None:
    """Raises `RunStateError` if the run is completed."""
    if row.projection.status is RunStatus.COMPLETED:
        raise RunStateError(
            f"Run '{row.run_id}' is completed: nobody works on it any more.",
            hint="Ask anew, or resume it under a larger budget.",
            research_id=row.run_id,
        )


def busy_error(row: RunRow) -> RunBusyError:
    owner = row.owner
    where = f"process {owner.pid} on {owner.host.partition('/')[0]}" if owner else "another process"
    return RunBusyError(
        f"Run '{row.run_id}' is being worked on by {where}.",
        hint="Wait for it, cancel it, or take it over: `deep-research resume ID --take-over`.",
        research_id=row.run_id,
        owner=asdict(owner) if owner else None,
    )
