"""Access of MCP tools to runs: those of an engine in this process, or of a user of a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from deep_research.research.operations import Right
from deep_research.research.run_summary import RunSummary

if TYPE_CHECKING:
    from deep_research.research import DeepResearch

ReportProgress = Callable[[float, str], Awaitable[None]]  # sends how many notes there were, and the last one


class ActiveRun(Protocol):
    """A run that was started, or is gone on with."""

    @property
    def research_id(self) -> str: ...

    async def finish(self, report: ReportProgress) -> None:
        """Wait until the work on it ends, and ``report`` meanwhile what happens. Raises what ended the work."""
        ...


class RunAccess(Protocol):
    """The runs of an ``engine`` that a client reaches, and what it may do with them. ``user`` is whose runs are listed;
    None: all. Callers that pass the id of a run to the engine ask for its `summary` first."""

    @property
    def engine(self) -> DeepResearch: ...

    @property
    def user(self) -> str | None: ...

    def check(self, right: Right) -> None:
        """Raises `RightError` where the client has it not."""
        ...

    async def summary(self, research_id: str) -> RunSummary:
        """Where a run stands. Raises `RunNotFoundError` also for one that the client may not see."""
        ...

    async def start(self, question: str, options: Mapping[str, Any]) -> ActiveRun:
        """Begin a run, which is in the store then. Raises as `DeepResearch.submit`, and `QuotaError`."""
        ...

    async def resume(self, research_id: str, answer: Any = None) -> ActiveRun:
        """Have a run go on. Raises as `DeepResearch.resume`, and `QuotaError`."""
        ...

    async def wait(self, research_id: str, seconds: float) -> None:
        """Until a run ends or parks, at most for so many seconds."""
        ...

    async def cancel(self, research_id: str) -> None:
        """End a run. Raises as `DeepResearch.cancel`."""
        ...
