"""Bench of the store suite: stores over one place, a movable clock, owners alive and dead."""

from __future__ import annotations

import functools
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeVar

from deep_research.errors import ContentMissingError, DeepResearchError, RunBusyError, RunNotFoundError
from deep_research.state import DeepResearchPhase, RunStatus
from deep_research.state.journal import Content
from deep_research.state.projection import Projection
from deep_research.store import Command, Lane, NewRun, Owner, Store, StoredEvent, Watch
from deep_research.store.base import Append
from deep_research.testing.patience import PATIENCE_SECONDS

START_SECONDS = 1_800_000_000.0
RUNNING = Projection(status=RunStatus.RUNNING, phase=DeepResearchPhase.GATHERING)
Settled = Future[DeepResearchError | None]
_E = TypeVar("_E", bound=Exception)


class Mailbox:
    """An outbox that settles at once, in the store's thread, and remembers the batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def deliver(self, outcomes: list[tuple[Append, DeepResearchError | None]]) -> None:
        self.batches.append([append.lane.run_id for append, _ in outcomes])
        for append, failure in outcomes:
            append.on_settled(failure)


@dataclass(slots=True)
class Listener:
    """A watch that puts what it hears into queues."""

    commands: queue.SimpleQueue[Command] = field(default_factory=queue.SimpleQueue)
    losses: queue.SimpleQueue[bool] = field(default_factory=queue.SimpleQueue)

    def watch(self) -> Watch:
        return Watch(on_command=self.commands.put, on_lost=lambda: self.losses.put(True))

    def command(self) -> Command:
        return self.commands.get(timeout=PATIENCE_SECONDS)

    def wait_for_loss(self) -> bool:
        return self.losses.get(timeout=PATIENCE_SECONDS)


class Bench:
    """``Bench(make)``: ``make(now)`` gives a store; called again, another one over the same place.

    ``now`` is what the stores take for the time, in seconds since the epoch.
    """

    def __init__(self, make: Callable[[Callable[[], float]], Store]) -> None:
        self._make = make
        self._stores: list[Store] = []
        self.now = START_SECONDS
        self.mailbox = Mailbox()
        self.store = self.another()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *_: object) -> None:
        for store in self._stores:
            store.close()

    def another(self) -> Store:
        store = self._make(lambda: self.now)
        self._stores.append(store)
        return store

    # Owners and lanes

    def owner(self, name: str = "one") -> Owner:
        return Owner.here(name)

    def dead_owner(self, name: str = "gone") -> Owner:
        return replace(Owner.here(name), pid=dead_pid(), started="")

    def stranger(self, name: str = "far") -> Owner:
        """On another host, where nobody can tell whether the process lives."""
        return replace(Owner.here(name), host="elsewhere")

    def create(
        self, run_id: str = "run-1", *, owner: Owner | None = None, query: str = "Why?", **more: Any
    ) -> Lane:
        """A run with one event, and the lane of its owner."""
        lane = Lane(run_id, owner or self.owner(), fence=1)
        of_row = {name: more.pop(name) for name in ("user_id", "session_id", "places") if name in more}
        new = NewRun(query=query, **of_row)
        failure = self.append(lane, 0, new_run=new, **more)
        if failure is not None:
            raise failure
        return lane

    def take(self, run_id: str = "run-1", name: str = "two") -> Lane:
        owner = self.owner(name)
        return Lane(run_id, owner, self.store.acquire(run_id, owner).fence)

    # Appends

    def unit(
        self,
        lane: Lane,
        expected: int,
        count: int = 1,
        *,
        bodies: Sequence[bytes] = (),
        texts: Sequence[str] = (),
        pages: Sequence[Content] = (),
        projection: Projection = RUNNING,
        at: datetime | None = None,
        new_run: NewRun | None = None,
        release: bool = False,
        consumed: Sequence[int] = (),
        moved: tuple[str, ...] | None = None,
        closing: Callable[[Sequence[Command]], Sequence[StoredEvent]] | None = None,
    ) -> tuple[Append, Settled]:
        future: Settled = Future()
        bodies = bodies or [b'{"n": %d}' % n for n in range(count)]
        return Append(
            lane=lane,
            expected=expected,
            events=[StoredEvent(expected + n, "note", 1, body) for n, body in enumerate(bodies, start=1)],
            projection=projection,
            at=at or datetime.fromtimestamp(self.now, UTC),
            outbox=self.mailbox,
            contents=[*(Content.of(text) for text in texts), *pages],
            new_run=new_run,
            release=release,
            consumed=consumed,
            places=moved,
            closing=closing,
            on_settled=future.set_result,
        ), future

    def submit(
        self, *units: tuple[Append, Settled], store: Store | None = None
    ) -> list[DeepResearchError | None]:
        """Hand units in together and wait for what becomes of each."""
        (store or self.store).submit([append for append, _ in units])
        return [future.result(timeout=PATIENCE_SECONDS) for _, future in units]

    def append(
        self, lane: Lane, expected: int, count: int = 1, *, store: Store | None = None, **more: Any
    ) -> DeepResearchError | None:
        return self.submit(self.unit(lane, expected, count, **more), store=store)[0]

    def seqs(self, run_id: str = "run-1") -> list[int]:
        return [event.seq for event in self.store.read(run_id)]


def expect(kind: type[_E], ask: Callable[[], object]) -> _E:
    """The error that asking raises; anything else fails the check."""
    try:
        answer = ask()
    except kind as error:
        return error
    raise AssertionError(f"{answer!r} in place of a {kind.__name__}")


@functools.cache
def dead_pid() -> int:
    """The pid of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-I", "-S", "-c", ""])
    process.wait()
    return process.pid


def create_completed(bench: Bench, run_id: str = "run-1", *, texts: list[str] | None = None) -> None:
    lane = bench.create(run_id, texts=texts or [])
    assert bench.append(lane, 1, projection=Projection(status=RunStatus.COMPLETED), release=True) is None


def expect_missing(bench: Bench, text: str) -> ContentMissingError:
    return expect(ContentMissingError, lambda: bench.store.contents([Content.of(text).hash]))


def expect_unknown(ask: Callable[[], object]) -> RunNotFoundError:
    return expect(RunNotFoundError, ask)


def expect_busy(ask: Callable[[], object]) -> RunBusyError:
    return expect(RunBusyError, ask)


def run_together(works: list[Callable[[], None]]) -> None:
    """Run all at once; the first failure is raised here."""
    failures: list[BaseException] = []
    together = threading.Barrier(len(works))

    def run(work: Callable[[], None]) -> None:
        try:
            together.wait(PATIENCE_SECONDS)
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if failures:
        raise failures[0]
