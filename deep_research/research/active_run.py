"""A run that this process carries out, and the commands that reach it meanwhile."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from deep_research.errors import RunStateError, StoreError
from deep_research.logs import get_log
from deep_research.research.steering import judged, steered
from deep_research.state import AbortReason, CommandKind, Notice
from deep_research.state import events as ev
from deep_research.store import Command, RunJournal, Store, Watch
from deep_research.supervisor.opening import Stopwatch
from deep_research.supervisor.orchestrator import Halt, SupervisorOrchestrator

CANCELLED = "The run was cancelled."
log = get_log("runner")


@dataclass(slots=True)
class ActiveRun:
    """A run that this engine carries out."""

    loop: asyncio.AbstractEventLoop
    journal: RunJournal
    orchestrator: SupervisorOrchestrator
    elapsed: Stopwatch
    task: asyncio.Task[Any] | None = None
    has_begun: bool = False
    stopped: bool = False
    halted: bool = False
    is_lost: bool = False
    over: bool = False
    release: Future[None] = field(default_factory=Future)  # done once the run was let go of
    recording: set[asyncio.Task[None]] = field(default_factory=set)
    observer: Future[None] | None = None  # done once the observer has heard all
    failure: Exception | None = None  # the first that the observer raised

    @property
    def ours(self) -> bool:
        """False in a forked child, which has its parent's list of runs but not the runs."""
        return self.journal.lane.owner.pid == os.getpid()

    def watch(self, store: Store) -> None:
        """Keep the lease from now on, and hear what others want of the run."""
        watch = Watch(
            on_command=lambda command: in_loop(self.loop, lambda: self._apply_command(command)),
            on_lost=lambda: in_loop(self.loop, self._lose),
        )
        store.watch(self.journal.lane, watch)

    def halt(self, why: Halt, command: Command | None = None) -> None:
        """Have the run stand still before its next unit. A row that asked for it is used up with the run's last word."""
        self.orchestrator.halt(why)
        self.journal.halt(command)
        if self.task is not None and not self.has_begun:  # it waits for a slot
            self.halted = True
            self.task.cancel()

    def cancel(self) -> None:
        self.orchestrator.stop(AbortReason.CANCELLED, CANCELLED)
        if self.task is not None and not self.has_begun:  # it waits for a slot
            self.stopped = True
            self.task.cancel()

    def _lose(self) -> None:
        self.is_lost = True
        if self.task is not None:
            self.task.cancel()

    def _apply_command(self, command: Command) -> None:
        match command.kind:
            case CommandKind.CANCEL:
                self.journal.consume_at_last(command)  # or a process killed before it would lose it
                self.cancel()
            case CommandKind.PAUSE:
                self.halt(Halt.PAUSE, command)
            case CommandKind.RELEASE:  # who takes the run over uses the row up
                self.halt(Halt.RELEASE)
            case _:
                if command.kind != CommandKind.STEER:
                    log.warning("command_unknown", run=command.run_id, kind=command.kind)
                recording = self.loop.create_task(_record(command, self.journal))  # beside the walk
                self.recording.add(recording)
                recording.add_done_callback(self.recording.discard)


async def _record(command: Command, journal: RunJournal) -> None:
    """Use a command up: guidance, or why it cannot be followed, is in the log before the next unit begins; what the run
    waits for no more, or another version wrote, is named in its limits."""
    journal.consume(command.id)
    guidance = command.kind == CommandKind.STEER
    try:
        await journal.record(
            judged(steered(command.payload), journal.state) if guidance else unused_command(command)
        )
    except (RunStateError, StoreError) as error:  # the run has ended meanwhile, or was lost
        log.warning("command_not_recorded", run=command.run_id, error=str(error))


def unused_command(command: Command) -> ev.NoticeAdded:
    what = "An answer came" if command.kind == CommandKind.ANSWER else f"The command '{command.kind}' came"
    message = f"{what} and was left: the run waited for none."
    return ev.NoticeAdded(notice=Notice(name="command", message=message))


def in_loop(loop: asyncio.AbstractEventLoop, function: Callable[[], Any]) -> None:
    try:
        loop.call_soon_threadsafe(function)
    except RuntimeError:
        return  # the loop is closed, and its runs with it
