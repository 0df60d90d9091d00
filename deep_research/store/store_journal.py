"""The journal of a run over a store.

Sequence numbers are given when events are handed in. Everything a commit brings about (the state, the watchers,
the waiting coroutine) happens in one callback on the run's loop after the disk has it, never in the coroutine
that waits: a cancelled waiter must not leave the state behind its log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial

from deep_research.errors import DeepResearchError, Halted, RunStateError
from deep_research.state.events import (
    Event,
    Progress,
    RunCompleted,
    RunCreated,
    RunParked,
    storable,
    without_secrets,
)
from deep_research.state.journal import Clock, Content, readable, utc_now
from deep_research.state.projection import Projector
from deep_research.state.reducer import Fold
from deep_research.state.run import DeepResearchState
from deep_research.store.base import (
    Append,
    Command,
    Lane,
    NewRun,
    Store,
    StoredEvent,
    kept_places,
    refused_error,
)
from deep_research.store.feed import Feed

Unapplied = Callable[[Command, Event], Sequence[Event]]


class LoopOutbox:
    """Gathers the appends of one turn of the loop into one hand-in, and brings back what became of them."""

    def __init__(self, store: Store, loop: asyncio.AbstractEventLoop) -> None:
        self._store = store
        self._loop = loop
        self._waiting: list[Append] = []

    def add(self, append: Append) -> None:
        if not self._waiting:
            self._loop.call_soon(self._hand_in)
        self._waiting.append(append)

    def _hand_in(self) -> None:
        appends, self._waiting = self._waiting, []
        try:
            self._store.submit(appends)
        except DeepResearchError as error:
            self._settle([(append, error) for append in appends])

    def deliver(self, outcomes: list[tuple[Append, DeepResearchError | None]]) -> None:
        try:
            self._loop.call_soon_threadsafe(self._settle, outcomes)
        except RuntimeError:
            # The loop is closed: its runs are interrupted, and their logs hold what was committed.
            return

    @staticmethod
    def _settle(outcomes: list[tuple[Append, DeepResearchError | None]]) -> None:
        for append, failure in outcomes:
            append.on_settled(failure)


class RunJournal:
    """Appends to one run through its lane. Used on one loop, by one owner.

    ``fold`` is the state after what the store holds; ``new_run`` makes the first append create the run; ``elapsed`` gives
    the seconds that the run was worked on, by all its owners, for its row. ``unapplied`` gives the events that name a
    command that the run's last word, handed over with it, leaves undone.
    """

    def __init__(
        self,
        store: Store,
        lane: Lane,
        *,
        fold: Fold,
        outbox: LoopOutbox,
        feed: Feed,
        clock: Clock = utc_now,
        new_run: NewRun | None = None,
        elapsed: Callable[[], float] | None = None,
        unapplied: Unapplied = lambda _, __: (),
    ) -> None:
        self.lane = lane
        self._store = store
        self._fold = fold
        self._projector = Projector(fold)
        self._elapsed = elapsed
        self._unapplied = unapplied
        self._outbox = outbox
        self._feed = feed
        self._clock = clock
        self._new_run = new_run and new_run.masked()
        self._last = fold.seq
        self._closed: DeepResearchError | None = None
        self._ending: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._released = False
        self._consumed: list[int] = []
        self._halted = False
        self._at_last: list[Command] = []
        self._places: tuple[str, ...] | None = None

    @property
    def state(self) -> DeepResearchState:
        return self._fold.snapshot()

    @property
    def is_closed(self) -> bool:
        """Whether nothing more can be recorded."""
        return self._closed is not None

    @property
    def released(self) -> bool:
        """Whether the run's last word is stored, and the run let go of with it."""
        return self._released

    async def record_refusal(self) -> None:
        """Raise why the lane was lost. Raises `AppendRefusedError`."""
        raise self._closed or refused_error(self.lane, "its lease ran out and another process took it")

    def check(self) -> None:
        if self._halted:
            raise Halted

    def halt(self, command: Command | None = None) -> None:
        """No further unit begins. The command that asked for it is answered by the run's last word."""
        self._halted = True
        if command is not None:
            self.consume_at_last(command)

    def consume_at_last(self, command: Command) -> None:
        """The run's last word answers this command, and nothing before it."""
        self._at_last.append(command)

    def consume(self, command_id: int) -> None:
        """The next append answers this command."""
        self._consumed.append(command_id)

    def stand(self, places: Sequence[str]) -> None:
        """The next append writes where the documents are, beside the log."""
        self._places = kept_places(places)

    async def record(self, *events: Event, contents: Sequence[Content] = ()) -> None:
        """Raises `RunStateError` after the run's last word (once that is stored), `StoreError` when it could not
        be stored."""
        if not events:
            return
        if self._closed is not None:
            if self._ending is not None:
                await asyncio.wait({self._ending})
            raise self._closed
        last_word = next((e for e in events if e.terminal or isinstance(e, RunParked)), None)
        completes = isinstance(last_word, RunCompleted)
        if last_word is not None and not completes:  # of what completes the run the store tells what is left
            unapplied = [event for command in self._at_last for event in self._unapplied(command, last_word)]
            events = (*events[:-1], *unapplied, events[-1])
            self._consumed += [command.id for command in self._at_last]
        stamped, rows = _encode_events(_stamp(events, self._last, self._clock()))
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        expected, self._last = self._last, stamped[-1].seq
        for event in stamped:
            self._projector.apply(event)
        if last_word is not None:
            self._end()
        self._outbox.add(
            Append(
                lane=self.lane,
                expected=expected,
                events=rows,
                projection=self._projector.projection(self._elapsed() if self._elapsed else None),
                at=self._clock(),
                outbox=self._outbox,
                contents=contents,
                new_run=self._new_run,
                release=last_word is not None or _queues(events),
                consumed=tuple(self._consumed),
                places=self._places,
                closing=partial(self._closed_with, stamped) if completes else None,
                on_settled=lambda failure: self._settle(stamped, failure, future),
            )
        )
        self._new_run = None
        self._consumed.clear()
        self._places = None
        await future

    def _end(self) -> None:
        self._ending = asyncio.get_running_loop().create_future()
        self._closed = RunStateError(
            f"Run '{self.lane.run_id}' has ended.", hint="Resume it to go on.", research_id=self.lane.run_id
        )

    def _settle(
        self, stamped: Sequence[Event], failure: DeepResearchError | None, future: asyncio.Future[None]
    ) -> None:
        """The store has written it, or refused it; every waiter learns which."""
        self._last = max(self._last, stamped[-1].seq)  # more than was handed in, where commands were named
        try:
            if failure is None:
                for event in stamped:
                    self._fold.apply(event)
        except DeepResearchError as error:
            failure = error
        if failure is None:
            self._feed.publish(self.lane.run_id)
        else:
            self._closed = failure
        if self._drained is not None and (failure is not None or self._fold.seq == self._last):
            self._drained.set_result(None)
            self._drained = None
        if self._ending is not None and stamped[-1].seq == self._last:
            self._released = failure is None
            self._ending.set_result(None)
        if future.done():
            return
        if failure is None:
            future.set_result(None)
        else:
            future.set_exception(failure)

    def _closed_with(self, stamped: list[Event], left: Sequence[Command]) -> list[StoredEvent]:
        """The rows of the unit that completes the run, with the commands that are left named before its last word; so is
        ``stamped`` from then on. In the store's thread."""
        *before, last_word = stamped
        unapplied = [event for command in left for event in self._unapplied(command, last_word)]
        first = stamped[0]
        stamped[:], rows = _encode_events(_stamp((*before, *unapplied, last_word), first.seq - 1, first.at))
        return rows

    async def settle(self) -> None:
        if self._fold.seq == self._last or self.lane.closed:
            return
        if self._drained is None:
            self._drained = asyncio.get_running_loop().create_future()
        await asyncio.wait({self._drained})

    @property
    def watched(self) -> bool:
        return self._feed.watched(self.lane.run_id)

    def progress(self, note: Progress) -> None:
        self._feed.publish(self.lane.run_id, without_secrets(note))

    async def texts(self, hashes: Sequence[str]) -> list[str]:
        bodies = await asyncio.to_thread(self._store.contents, hashes)
        return [readable(body) for body in bodies]


def _queues(events: Sequence[Event]) -> bool:
    """Whether the run is created for a worker, and nobody works on it until one claims it."""
    return any(isinstance(event, RunCreated) and event.queue is not None for event in events)


def _stamp(events: Sequence[Event], last: int, at: datetime | None) -> list[Event]:
    """The events after the one with the number ``last``."""
    return [
        event.model_copy(update={"seq": number, "at": at})
        for number, event in enumerate(events, start=last + 1)
    ]


def _encode_events(stamped: Sequence[Event]) -> tuple[list[Event], list[StoredEvent]]:
    """Events without secrets, and as they are stored."""
    pairs = [storable(event) for event in stamped]
    return [event for event, _ in pairs], [
        StoredEvent(event.seq, event.name, event.version, body) for event, body in pairs
    ]
