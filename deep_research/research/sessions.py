"""Sessions: the runs of one user with one ``session_id``, as the turns of a conversation."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Unpack

from deep_research.errors import (
    LogDamagedError,
    RunBusyError,
    RunNotFoundError,
    StoreVersionError,
    UsageError,
)
from deep_research.memory.base import Memory, storable
from deep_research.memory.entry import MemoryEntry, MemoryKind
from deep_research.research.runs import Runs, check_limit
from deep_research.state import Record, RunStatus
from deep_research.state.identity import sha256_hex
from deep_research.store import RunFilter

if TYPE_CHECKING:
    from deep_research.research.arguments import RunArguments
    from deep_research.research.result import ResearchResult
    from deep_research.store import RunRow, Store

MAX_SESSION_CHARS = 200
SESSION_TOKENS = 2_000  # of a summary, where no setting says more


class SessionSummary(Record):
    """A session as it is listed. ``title`` is the one that the user gave it, ``question`` that of its first run, and
    ``turns`` counts its runs; the latest of them is ``latest_run_id``, created at ``latest_run_at``."""

    session_id: str
    user_id: str | None = None
    title: str = ""
    question: str
    turns: int
    created_at: datetime
    updated_at: datetime
    latest_run_id: str
    latest_run_at: datetime


class SessionTurn(Record):
    """A run as a turn: ``user_message`` are the user's words, ``question`` is what was researched, ``answer`` plain
    text, and ``sources`` are the addresses that the answer's report cites. ``searches`` is 0 where saved sources
    answered."""

    research_id: str
    user_message: str
    question: str
    answer: str = ""
    sources: tuple[str, ...] = ()
    status: RunStatus
    searches: int = 0
    at: datetime


class Sessions(Runs):
    """The verbs on sessions. A session is there while it has a run; its runs are those of ``list`` with its id, its title
    is in the ``memory``, which is the caller's to close."""

    _memory: Memory

    def __init__(self, store: Store, memory: Memory) -> None:
        super().__init__(store)
        self._memory = memory

    async def asessions(
        self, *, user: str | None = None, limit: int | None = None
    ) -> Sequence[SessionSummary]:
        """Return the sessions, or those of one ``user``, the one with the latest run first, at most ``limit``. Raises
        `UsageError`.
        """
        check_limit(limit)
        rows = await asyncio.to_thread(self._store.runs, filter=RunFilter(user=user))
        by_session: defaultdict[tuple[str, str | None], list[RunRow]] = defaultdict(list)
        for row in rows:
            if row.session_id is not None:
                by_session[row.session_id, row.user_id].append(row)
        # Rows come newest first, and so do the sessions by their latest run.
        listed = list(by_session.items())[:limit]
        titles = {user: await self._titles(user) for user in {key[1] for key, _ in listed}}
        return [_summary(*key, rows, titles[key[1]].get(key[0], "")) for key, rows in listed]

    async def _titles(self, user_id: str | None) -> dict[str, str]:
        """The titles of a user's sessions, by their ids."""
        entries = await asyncio.to_thread(self._memory.list, user_id, kinds=(MemoryKind.SESSIONS,))
        return {entry.words: entry.text for entry in entries}

    async def asession_turns(self, session_id: str, *, user_id: str | None = None) -> Sequence[SessionTurn]:
        """Return the turns of a session, oldest first. Raises `RunNotFoundError` for an unknown session."""
        rows = await self._of_session(session_id, user_id)
        return [await self._turn(row) for row in reversed(rows)]

    async def asession_rename(self, session_id: str, title: str, *, user_id: str | None = None) -> None:
        """Give a session a title of 1 to 200 characters. Its id stays. Raises `RunNotFoundError`, `UsageError`."""
        await self._of_session(session_id, user_id)
        entry = MemoryEntry(
            id=_title_id(session_id),
            user_id=user_id,
            kind=MemoryKind.SESSIONS,
            text=checked_session(title),
            words=session_id,
            at=datetime.now(UTC),
        )
        await asyncio.to_thread(self._memory.put, storable([entry]))

    async def asession_delete(self, session_id: str, *, user_id: str | None = None) -> int:
        """Delete the runs of a session with their saved texts, and return their number. Deletes nothing while a process
        works on one of them. Raises `RunNotFoundError`, `RunBusyError`.
        """
        rows = await self._of_session(session_id, user_id)
        if busy := next((row for row in rows if row.owned(time.time())), None):
            raise RunBusyError(
                f"Run '{busy.run_id}' of the session is in progress.",
                hint="Cancel it, or wait until it ends.",
                research_id=busy.run_id,
            )
        for row in reversed(rows):
            with suppress(RunNotFoundError):  # somebody was faster
                await asyncio.to_thread(self._store.delete, row.run_id)
        await asyncio.to_thread(self._memory.forget, user_id, ids=[_title_id(session_id)])
        return len(rows)

    async def _of_session(self, session_id: str, user_id: str | None) -> list[RunRow]:
        """Its runs, the newest first. Raises `RunNotFoundError`."""
        run_filter = RunFilter(user=user_id, session=checked_session(session_id))
        rows = await asyncio.to_thread(self._store.runs, filter=run_filter)
        own = [row for row in rows if row.user_id == user_id]
        if not own:
            raise RunNotFoundError(
                f"There is no session '{session_id}'.", hint="`deep-research sessions list` shows them."
            )
        return own

    async def _turn(self, row: RunRow) -> SessionTurn:
        from deep_research.conversation.turn import turn_of

        of_row: dict[str, Any] = {
            "research_id": row.run_id,
            "status": row.status(time.time()),
            "at": row.created_at,
        }
        try:
            state = await self._state(row.run_id)
        except (LogDamagedError, StoreVersionError):  # it is shown by its row
            return SessionTurn(user_message=row.query, question=row.query, **of_row)
        turn = turn_of(state)
        cited_ids = {citation.source_id for citation in state.citations}
        return SessionTurn(
            user_message=turn.user_message,
            question=turn.question,
            answer=turn.answer,
            sources=tuple(source.url or source.title for source in state.sources if source.id in cited_ids),
            searches=state.usage.searches,
            **of_row,
        )


def checked_session(session_id: object) -> str:
    """Raises `UsageError` for what is no id of a session."""
    if isinstance(session_id, str) and 0 < len(session_id) <= MAX_SESSION_CHARS:
        return session_id
    raise UsageError(
        "A session needs a name.", hint=f"Name it with a text of 1 to {MAX_SESSION_CHARS} characters."
    )


def _title_id(session_id: str) -> str:
    return f"session:{sha256_hex(session_id.encode())[:24]}"


def _summary(session_id: str, user_id: str | None, rows: Sequence[RunRow], title: str) -> SessionSummary:
    return SessionSummary(
        session_id=session_id,
        user_id=user_id,
        title=title,
        question=rows[-1].query,
        turns=len(rows),
        created_at=rows[-1].created_at,
        updated_at=max(row.updated_at for row in rows),
        latest_run_id=rows[0].run_id,
        latest_run_at=rows[0].created_at,
    )


class Session:
    """A conversation: the engine reads each question in the light of the earlier ones. Create it with
    ``research.session("towers")``.

    Example:
        session = research.session("towers")
        session.ask("How tall is Cape Hatteras Lighthouse?")
        print(session.ask("And how old is it?").answer)
    """

    def __init__(
        self, engine: Any, session_id: str, user_id: str | None = None, *, tokens: int = SESSION_TOKENS
    ) -> None:
        """``engine`` is a `DeepResearch`, or a `Client` of a server, which has the plain methods alone; ``tokens`` is
        how long the summary may be."""
        self.session_id = checked_session(session_id)
        self.user_id = user_id
        self._engine = engine
        self._tokens = tokens

    def __repr__(self) -> str:
        return f"Session({self.session_id!r})"

    async def aask(self, text: str, **options: Unpack[RunArguments]) -> ResearchResult:
        """Research a question after the turns so far. Options and errors are those of `DeepResearch.run`; ``depth`` is
        ``auto`` by default.
        """
        result: ResearchResult = await self._engine.arun(text, **self._with_session(options))
        return result

    def ask(self, text: str, **options: Unpack[RunArguments]) -> ResearchResult:
        """As `aask`, for plain code."""
        result: ResearchResult = self._engine.run(text, **self._with_session(options))
        return result

    def _with_session(self, options: RunArguments) -> dict[str, Any]:
        own = {"session_id": self.session_id, **({"user_id": self.user_id} if self.user_id else {})}
        if options.keys() & {"session_id", "user_id"}:
            raise UsageError("A session already has an id and a user.", hint="Remove session_id and user_id.")
        return {"depth": "auto", **options, **own}

    async def aturns(self) -> Sequence[SessionTurn]:
        """Return the turns so far, oldest first."""
        with suppress(RunNotFoundError):
            turns: Sequence[SessionTurn] = await self._engine.asession_turns(
                self.session_id, user_id=self.user_id
            )
            return turns
        return ()

    @property
    def turns(self) -> Sequence[SessionTurn]:
        """As `aturns`, for plain code."""
        with suppress(RunNotFoundError):
            turns: Sequence[SessionTurn] = self._engine.session_turns(self.session_id, user_id=self.user_id)
            return turns
        return ()

    async def asummary(self) -> str:
        """Return the summary of the turns for the next run, within the setting ``session_tokens``."""
        return _summary_of(await self.aturns(), self._tokens)

    @property
    def summary(self) -> str:
        """As `asummary`, for plain code."""
        return _summary_of(self.turns, self._tokens)

    def rename(self, title: str) -> None:
        """Give the session a title."""
        self._engine.session_rename(self.session_id, title, user_id=self.user_id)

    def export(self) -> dict[str, Any]:
        """Return the session as JSON: its id, its user and its turns."""
        turns = [turn.model_dump(mode="json") for turn in self.turns]
        return {"session_id": self.session_id, "user_id": self.user_id, "turns": turns}

    def delete(self) -> int:
        """Delete the runs with their saved texts, and return their number."""
        count: int = self._engine.session_delete(self.session_id, user_id=self.user_id)
        return count


def _summary_of(turns: Sequence[SessionTurn], tokens: int) -> str:
    from deep_research.conversation.turn import Turn
    from deep_research.conversation.turn_summary import summary_of

    return summary_of([Turn(**turn.model_dump(include=set(Turn.model_fields))) for turn in turns], tokens)
