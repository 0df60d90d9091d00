"""What a run does, as it does it: redrawn in place on a terminal, plain lines elsewhere."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType

from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.console import Console
from deep_research.interfaces.cli.describe import gist
from deep_research.interfaces.cli.session import Session
from deep_research.state import DeepResearchPhase, SubQuery, SubQueryStatus
from deep_research.state import events as ev
from deep_research.state.reducer import Fold

_TICK = 0.2  # seconds
_PHASES = tuple(DeepResearchPhase)


def watching(session: Session) -> Watching:
    """What suits the options and the terminal."""
    if not session.talks:
        return Watching()
    # Log lines and a picture that is redrawn in place would tear each other apart.
    plain = session.args.verbose or session.settings.log_level
    if plain or sys.stderr is None or not sys.stderr.isatty() or os.environ.get("TERM", "") in ("", "dumb"):
        return Lines(session.console, verbose=session.args.verbose)
    return Live(session.console)


class Watching:
    """Follows a run and says nothing; the base of those that do. ``fold`` is the run as far as it was seen."""

    def __init__(self) -> None:
        self.fold = Fold()

    async def __aenter__(self) -> Watching:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    @property
    def seen(self) -> int:
        """The number of the last event."""
        return self.fold.seq

    def recall(self, past: Iterable[ev.Event]) -> None:
        """What happened before, without telling it."""
        for event in past:
            self.fold.apply(event)

    def show(self, event: ev.Event | ev.Progress) -> None:
        if isinstance(event, ev.Progress):
            self.noted(event)
        else:
            self.fold.apply(event)
            self.happened(event)

    def noted(self, note: ev.Progress) -> None:
        """Something transient was said."""

    def happened(self, event: ev.Event) -> None:
        """The fold has taken an event in."""


class Lines(Watching):
    """A plain line for every finished phase and sub-query; with ``verbose`` one for every event."""

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        super().__init__()
        self._console = console
        self._verbose = verbose

    def happened(self, event: ev.Event) -> None:
        said = self._said(event)
        if not said and self._verbose:
            said = f"{event.name}: {gist(event)}"
        if said:
            self._console.note(text.line(said))

    def noted(self, note: ev.Progress) -> None:
        if note.until is not None:
            self._console.note(text.line(note.message))

    def _said(self, event: ev.Event) -> str:
        match event:
            case ev.RunCreated() | ev.RunResumed():
                return (
                    f"{'Run' if isinstance(event, ev.RunCreated) else 'Resumed run'} {self.fold.research_id}"
                )
            case ev.SubQueryCompleted():
                return f"{self._query(event.sub_query_id)}: {text.count(len(event.sources), 'source')}"
            case ev.SubQueryFailed():
                return f"{self._query(event.sub_query_id)}: failed: {event.error}"
            case ev.PhaseEnded():
                return f"{event.phase}: {outcome(self.fold, event.phase)}"
            case (
                ev.PhaseRetried()
                | ev.LimitReached()
                | ev.AgentFellBack()
                | ev.ModelFellBack()
                | ev.HookFailed()
            ):
                return f"{event.name}: {gist(event)}"
            case ev.IterationStarted():
                return gist(event)
            case _:
                return ""

    def _query(self, sub_query_id: str) -> str:
        return f"'{self.fold.sub_queries[sub_query_id].query}'"


def outcome(fold: Fold, phase: DeepResearchPhase) -> str:
    """What a phase has brought so far."""
    queries = current_queries(fold)
    match phase:
        case DeepResearchPhase.PLANNING:
            return text.count(len(queries), "sub-query", "sub-queries") if queries else ""
        case DeepResearchPhase.GATHERING:
            searched = sum(query.status is not SubQueryStatus.PENDING for query in queries)
            return f"{searched} of {len(queries)} searched, {text.count(len(fold.sources), 'source')}"
        case DeepResearchPhase.ANALYSIS:
            return f"{len(fold.analyzed)} of {text.count(len(fold.sources), 'source')} read, " + text.count(
                len(fold.findings), "finding"
            )
        case DeepResearchPhase.SYNTHESIS:
            words = fold.report_metadata.word_count if fold.report_metadata else 0
            return f"{text.count(words, 'word')}, {text.count(len(fold.citations), 'citation')}"
        case DeepResearchPhase.REFINEMENT:
            return text.count(sum(not gap.addressed for gap in fold.gaps.values()), "open gap")


def current_queries(fold: Fold) -> list[SubQuery]:
    """The sub-queries of the current iteration, without those a new plan replaced."""
    return [
        query
        for query in fold.sub_queries.values()
        if query.iteration == fold.iteration and query.status is not SubQueryStatus.SUPERSEDED
    ]


@dataclass(frozen=True, slots=True)
class Marks:
    """How things are marked, each one column wide: done, failed, waiting, and the turns of what goes on."""

    done: str = "✓"
    failed: str = "✗"
    waiting: str = "·"
    turns: Sequence[str] = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


ASCII = Marks("+", "x", ".", "-\\|/")


class Live(Watching):
    """A picture of the run, redrawn in place and taken away at the end."""

    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console
        self._marks = Marks() if "utf" in (sys.stderr.encoding or "").lower() else ASCII
        self._colours = not os.environ.get("NO_COLOR")
        self._searching: set[str] = set()
        self._waiting: ev.Progress | None = None
        self._started = time.monotonic()
        self._turn = 0
        self._drawn: list[str] = []
        self._ticker: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Watching:
        self._ticker = asyncio.create_task(self._tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
        self._console.draw(self._home() + "\x1b[J")
        self._drawn = []

    def noted(self, note: ev.Progress) -> None:
        if note.until is not None:
            self._waiting = note
        elif note.phase is DeepResearchPhase.GATHERING and note.message:
            self._searching.add(note.message)

    def happened(self, event: ev.Event) -> None:
        if isinstance(event, ev.ModelReserved):  # it is asked again
            self._waiting = None
        self._draw()

    async def _tick(self) -> None:
        while True:
            self._turn += 1
            self._draw()
            await asyncio.sleep(_TICK)

    def _home(self) -> str:
        return f"\r\x1b[{len(self._drawn)}A" if self._drawn else "\r"

    def _draw(self) -> None:
        if not self.fold.research_id:
            return
        columns, lines = text.size(sys.stderr)
        rows = picture(
            self.fold,
            self._searching,
            seconds=time.monotonic() - self._started,
            columns=columns - 1,  # a full last column makes some terminals wrap
            lines=lines - 1,
            marks=self._marks,
            turn=self._turn,
            waiting=self._waiting.message if self._waiting else "",
        )
        if rows != self._drawn:
            body = "".join(f"\x1b[2K{self._coloured(row)}\n" for row in rows)
            self._console.draw(f"{self._home()}{body}\x1b[J")
            self._drawn = rows

    def _coloured(self, row: str) -> str:
        if not self._colours:
            return row
        for mark, colour in ((self._marks.done, 32), (self._marks.failed, 31)):
            if row.lstrip().startswith(f"{mark} "):
                return row.replace(mark, f"\x1b[{colour}m{mark}\x1b[0m", 1)
        return row


def picture(
    fold: Fold,
    searching: set[str],
    *,
    seconds: float,
    columns: int,
    lines: int,
    marks: Marks,
    turn: int,
    waiting: str = "",
) -> list[str]:
    """The rows of the picture, none wider and all together no higher than the terminal."""
    going = marks.turns[turn % len(marks.turns)]
    clock = f"{int(seconds) // 60}:{int(seconds) % 60:02}"
    head = f"Iteration {fold.iteration}, {clock}" + (f", {text.line(waiting)}" if waiting else "")
    queries = _query_rows(fold, searching, marks, going, max(0, lines - 1 - len(_PHASES)))
    rows = [head]
    for place, phase in enumerate(_PHASES):
        now = _PHASES.index(fold.phase)
        mark = marks.done if place < now else going if place == now else marks.waiting
        said = outcome(fold, phase) if place <= now else ""
        rows.append(f"{mark} {phase:<10}  {said}".rstrip())
        if phase is fold.phase is DeepResearchPhase.GATHERING:
            rows += queries
    return [text.clip(row, columns) for row in rows[: max(1, lines)]]


def _query_rows(fold: Fold, searching: set[str], marks: Marks, going: str, room: int) -> list[str]:
    """One row a sub-query, the unfinished first when there is not room for all."""
    queries = current_queries(fold)
    shown = queries
    if len(queries) > room:
        by_need = sorted(
            queries, key=lambda q: (q.status is not SubQueryStatus.PENDING, q.query not in searching)
        )
        kept = {query.id for query in by_need[: max(0, room - 1)]}
        shown = [query for query in queries if query.id in kept]
    rows = []
    for query in shown:
        mark = going if query.query in searching else marks.waiting
        if query.status is SubQueryStatus.COMPLETED:
            mark = marks.done
        elif query.status is SubQueryStatus.FAILED:
            mark = marks.failed
        rows.append(f"    {mark} {text.line(query.query)}")
    hidden = len(queries) - len(shown)
    return [*rows, f"    {marks.waiting} and {hidden} more"] if hidden and room else rows
