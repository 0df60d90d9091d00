"""The runs of a user of the server, for the tools of the Model Context Protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from deep_research.errors import DeepResearchError, RunNotFoundError
from deep_research.mcp_server.call_errors import error_line
from deep_research.mcp_server.progress_notes import RunNews, send_notes
from deep_research.mcp_server.run_access import ReportProgress
from deep_research.presentation import phrases
from deep_research.research.operations import Right
from deep_research.research.run_summary import RunSummary
from deep_research.server.live_stream import ServerStops, until_ended, watched
from deep_research.server.problems import RequestRefused, problem_of
from deep_research.server.service import Service
from deep_research.server.users import User
from deep_research.state.identity import RUN_ID

if TYPE_CHECKING:
    from deep_research.research import DeepResearch


class UserRun:
    """A run of a user that a worker goes on with, watched or not."""

    def __init__(self, service: Service, user: User, research_id: str) -> None:
        self._service = service
        self._user = user
        self.research_id = research_id

    async def finish(self, report: ReportProgress) -> None:
        """Wait until it ends or parks, and ``report`` meanwhile what happens. Cancelled, the run goes on. Raises
        `RequestRefused` when the server stops."""
        news = RunNews()
        notes = asyncio.create_task(send_notes(self.research_id, news, report))
        try:
            async with aclosing(watched(self._service, self._user.name, self.research_id)) as batches:
                async for items in batches:
                    for item in items:
                        news.note(item.event)
        except ServerStops:
            hint = f"Run '{self.research_id}' continues on the next server: see research_status in a moment."
            raise RequestRefused(503, "closing", "The server stops.", hint) from None
        finally:
            notes.cancel()


class UserRuns:
    """What a user reaches over HTTP, by the same rights and caps as on every other route."""

    def __init__(self, service: Service, user: User) -> None:
        self._service = service
        self._user = user

    @property
    def engine(self) -> DeepResearch:
        return self._service.engine

    @property
    def user(self) -> str | None:
        return None if self._user.may(Right.ADMIN) else self._user.name

    def check(self, right: Right) -> None:
        """Raises `RightError`."""
        self._user.check(right)

    async def summary(self, research_id: str) -> RunSummary:
        """Where a run of the user stands. Raises `RunNotFoundError` also for the run of somebody else, and for what is
        no id."""
        if not RUN_ID.match(research_id):
            raise RunNotFoundError.of(research_id)
        return await self._service.summary(self._user, research_id)

    async def start(self, question: str, options: Mapping[str, Any]) -> UserRun:
        """Queue a run for a worker. Raises as `Service.submit`, and `RequestRefused` while the server stops."""
        self._service.refuse_closing()
        return self._run(await self._service.submit(self._user, question, options=options))

    async def resume(self, research_id: str, answer: Any = None) -> UserRun:
        """Go on with a run in this process. Raises as `Service.resume`, and `RequestRefused` while the server stops."""
        self._service.refuse_closing()
        run = await self.summary(research_id)
        await self._service.resume(self._user, run, {} if answer is None else {"answer": answer})
        return self._run(research_id)

    async def wait(self, research_id: str, seconds: float) -> None:
        """Until a run ends or parks, until the server stops, or for so many seconds."""
        await until_ended(self._service, self._user.name, research_id, seconds)

    async def cancel(self, research_id: str) -> None:
        """Ask a run to end."""
        await self._service.cancel(self._user, await self.summary(research_id))

    def _run(self, research_id: str) -> UserRun:
        return UserRun(self._service, self._user, research_id)


def user_error_line(error: Exception) -> str:
    """What a user is told of a call that failed: as `error_line`, without what is of the server alone."""
    if isinstance(error, ValidationError):
        return error_line(error)
    problem, _ = problem_of(error)
    if isinstance(error, DeepResearchError) and problem.status < 500:
        return error_line(error)
    return phrases.line(f"{problem.detail} {problem.hint}")
