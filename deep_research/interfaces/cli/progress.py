"""Progress of a run: redrawn in place on a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from deep_research.interfaces.cli.console import Console, terminal_size
from deep_research.interfaces.cli.session import Look, Session
from deep_research.presentation import phrases
from deep_research.presentation.event_text import current_queries, in_words, outcome, steps
from deep_research.state import DeepResearchPhase, SubQueryStatus
from deep_research.state import events as ev
from deep_research.state.reducer import Fold

_TICK_SECONDS = 0.2  # seconds between drawings
_INDEXING_SECONDS = 10.0  # seconds between lines about the indexing of documents
_PHASES = tuple(DeepResearchPhase)


FilesRead = Callable[[], int | None]  # how many documents were read; None when none are being read


def indexing_line(files_read: FilesRead) -> str:
    """How far the indexing of documents is, "" when there is nothing to read."""
    read = files_read()
    return f"Reading documents: {phrases.count(read, 'file')}" if read else ""


def watcher_for(session: Session) -> Watching:
    """What suits the options and the terminal."""
    if not session.talks:
        return Watching()
    files_read = session.engine._files_read
    if is_redrawn(session):
        return Live(session.console, files_read)
    return Lines(session.console, files_read, verbose=session.args.verbose)


def is_redrawn(session: Look) -> bool:
    """Whether progress is redrawn in place. Log lines and a picture would tear each other apart."""
    plain = session.args.verbose or session.settings.log_level
    return not (
        plain or sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM", "") in ("", "dumb")
    )


class Count:
    """Tells how far a long look at things is, as ``Count(session, "claims checked")``; called with how many are done and
    how many there are, from any one thread. Redrawn in place on a terminal and taken away at the end, a line every ten
    seconds elsewhere."""

    def __init__(self, session: Look, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._what, self._clock = session.console, what, clock
        self._redrawn = session.talks and is_redrawn(session)
        self._every = _TICK_SECONDS if self._redrawn else _INDEXING_SECONDS
        self._next = clock() + self._every if session.talks else float("inf")
        self._is_drawn = False

    def __call__(self, count: int, total: int) -> None:
        if (now := self._clock()) < self._next:
            return
        self._next = now + self._every
        line = f"{count:,} of {total:,} {self._what}"
        if self._redrawn:
            self._is_drawn = True
            self._console.draw(f"\r\x1b[2K{phrases.clip(line, terminal_size(sys.stderr).columns - 1)}")
        else:
            self._console.note(line)

    def __enter__(self) -> Count:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._is_drawn:
            self._console.draw("\r\x1b[2K")


class Watching:
    """Follows a run and says nothing; the base of those that do. ``fold`` is the run as far as it was seen. `tick` is
    called every ``interval`` seconds, where there is one."""

    interval: float | None = None

    def __init__(self) -> None:
        self.fold = Fold()
        self._ticker: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Watching:
        if self.interval is not None:
            self._ticker = asyncio.create_task(self._tick(self.interval))
        return self

    async def __aexit__(self, *exc: object) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
        self.close()

    async def _tick(self, interval: float) -> None:
        while True:
            self.tick()
            await asyncio.sleep(interval)

    def tick(self) -> None:
        """Some time has passed."""

    def close(self) -> None:
        """Nothing more comes."""

    def recall(self, past: Iterable[ev.Event]) -> None:
        """What happened before, without telling it."""
        for event in past:
            self.fold.apply(event)

    def show(self, event: ev.Event | ev.Progress) -> None:
        if isinstance(event, ev.Progress):
            self.on_note(event)
        else:
            self.fold.apply(event)
            self.on_event(event)

    def on_note(self, note: ev.Progress) -> None:
        """Something transient was said."""

    def on_event(self, event: ev.Event) -> None:
        """The fold has taken an event in."""


class Lines(Watching):
    """A plain line for every finished phase and sub-query; with ``verbose`` the plan, reasons and every step."""

    def __init__(self, console: Console, files_read: FilesRead, *, verbose: bool = False) -> None:
        super().__init__()
        self.interval = _INDEXING_SECONDS
        self._console = console
        self._files_read = files_read
        self._verbose = verbose

    def tick(self) -> None:
        if words := indexing_line(self._files_read):
            self._console.note(words)

    def on_event(self, event: ev.Event) -> None:
        lines = [in_words(event, self.fold)] + (list(steps(event, self.fold)) if self._verbose else [])
        self._console.note(*(_one_line(line) for line in lines if line))

    def on_note(self, note: ev.Progress) -> None:
        if note.until is not None:
            self._console.note(phrases.line(note.message))
        elif self._verbose and note.step:
            self._console.note(phrases.line(f"'{note.message}': {note.step}"))
        elif self._verbose and note.total and note.done == note.total:
            self._console.note(phrases.line(f"'{note.message}': {phrases.count(note.total, 'page')} read"))


def _one_line(words: str) -> str:
    """Outside text as one clean line; what belongs to the line above stays indented."""
    return ("  " if words.startswith("  ") else "") + phrases.line(words)


@dataclass(frozen=True, slots=True)
class Marks:
    """How things are marked, each one column wide: done, failed, waiting, and the turns of what goes on."""

    tick: str = "✓"
    failed: str = "✗"
    waiting: str = "·"
    turns: Sequence[str] = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


ASCII = Marks("+", "x", ".", "-\\|/")


class Live(Watching):
    """A picture of the run, redrawn in place and taken away at the end."""

    def __init__(self, console: Console, files_read: FilesRead) -> None:
        super().__init__()
        self.interval = _TICK_SECONDS
        self._console = console
        self._files_read = files_read
        self._marks = Marks() if "utf" in (sys.stderr.encoding or "").lower() else ASCII
        self._colours = not os.environ.get("NO_COLOR")
        self._searching: dict[str, str] = {}  # by query: how many of its pages were read
        self._waiting: ev.Progress | None = None
        self._started = time.monotonic()
        self._turn = 0
        self._rows: list[str] = []

    def tick(self) -> None:
        self._turn += 1
        self._draw()

    def close(self) -> None:
        self._console.draw(self._home() + "\x1b[J")
        self._rows = []

    def on_note(self, note: ev.Progress) -> None:
        if note.until is not None:
            self._waiting = note
        elif note.phase is DeepResearchPhase.GATHERING and note.message:
            pages = f"{note.done} of {phrases.count(note.total, 'page')}" if note.total else ""
            self._searching[note.message] = phrases.line(note.step) or pages

    def on_event(self, event: ev.Event) -> None:
        if isinstance(event, ev.ModelReserved):  # it is asked again
            self._waiting = None
        self._draw()

    def _home(self) -> str:
        return f"\r\x1b[{len(self._rows)}A" if self._rows else "\r"

    def _draw(self) -> None:
        columns, lines = terminal_size(sys.stderr)
        indexed = indexing_line(self._files_read)
        if not self.fold.research_id:
            self._redraw([phrases.clip(indexed, columns - 1)] if indexed else [])
            return
        rows = picture(
            self.fold,
            self._searching,
            seconds=time.monotonic() - self._started,
            columns=columns - 1,  # a full last column makes some terminals wrap
            lines=lines - 1,
            marks=self._marks,
            turn=self._turn,
            waiting=self._waiting.message if self._waiting else indexed,
        )
        self._redraw(rows)

    def _redraw(self, rows: list[str]) -> None:
        if rows != self._rows:
            body = "".join(f"\x1b[2K{self._with_colours(row)}\n" for row in rows)
            self._console.draw(f"{self._home()}{body}\x1b[J")
            self._rows = rows

    def _with_colours(self, row: str) -> str:
        if not self._colours:
            return row
        for mark, colour in ((self._marks.tick, 32), (self._marks.failed, 31)):
            if row.lstrip().startswith(f"{mark} "):
                return row.replace(mark, f"\x1b[{colour}m{mark}\x1b[0m", 1)
        return row


def picture(
    fold: Fold,
    searching: Mapping[str, str],
    *,
    seconds: float,
    columns: int,
    lines: int,
    marks: Marks,
    turn: int,
    waiting: str = "",
) -> list[str]:
    """The rows of the picture, none wider and all together no higher than the terminal. ``searching`` are the queries
    under way, each with how many of its pages were read."""
    going = marks.turns[turn % len(marks.turns)]
    clock = f"{int(seconds) // 60}:{int(seconds) % 60:02}"
    head = f"Iteration {fold.iteration}, {clock}" + (f", {phrases.line(waiting)}" if waiting else "")
    queries = _query_rows(fold, searching, marks, going, max(0, lines - 1 - len(_PHASES)))
    rows = [head]
    for place, phase in enumerate(_PHASES):
        now = _PHASES.index(fold.phase)
        mark = marks.tick if place < now else going if place == now else marks.waiting
        summary = outcome(fold, phase) if place <= now else ""
        rows.append(f"{mark} {phase:<10}  {summary}".rstrip())
        if phase is fold.phase is DeepResearchPhase.GATHERING:
            rows += queries
    return [phrases.clip(row, columns) for row in rows[: max(1, lines)]]


def _query_rows(fold: Fold, searching: Mapping[str, str], marks: Marks, going: str, room: int) -> list[str]:
    """One row a sub-query, the unfinished first when there is not room for all."""
    queries = current_queries(fold)
    visible_queries = queries
    if len(queries) > room:
        by_need = sorted(
            queries, key=lambda q: (q.status is not SubQueryStatus.PENDING, q.query not in searching)
        )
        visible_ids = {query.id for query in by_need[: max(0, room - 1)]}
        visible_queries = [query for query in queries if query.id in visible_ids]
    rows = []
    for query in visible_queries:
        mark = going if query.query in searching else marks.waiting
        if query.status is SubQueryStatus.COMPLETED:
            mark = marks.tick
        elif query.status is SubQueryStatus.FAILED:
            mark = marks.failed
        pages = searching.get(query.query, "") if query.status is SubQueryStatus.PENDING else ""
        rows.append(f"    {mark} {pages + ': ' if pages else ''}{phrases.line(query.query)}")
    hidden = len(queries) - len(visible_queries)
    return [*rows, f"    {marks.waiting} and {hidden} more"] if hidden and room else rows
