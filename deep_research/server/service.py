"""The engine as its routes share it: for each request, what its user may see and start."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from deep_research.errors import QuotaError, RunNotFoundError
from deep_research.research.operations import Right
from deep_research.server.users import User
from deep_research.state import Budget, RunStatus

if TYPE_CHECKING:
    from deep_research.research import DeepResearch, RunSummary

OPEN = (RunStatus.QUEUED, RunStatus.PENDING, RunStatus.RUNNING, RunStatus.INTERRUPTED)


class Tokens(Protocol):
    """Says whose a token is."""

    def user(self, token: str | None) -> User:
        """Raises `TokenError` for a token that is missing, unknown or revoked."""
        ...


class Service:
    """An engine, the tokens of its users (None: everybody is the owner), and ``closing``, which is set when the server
    stops: streams end then."""

    def __init__(self, engine: DeepResearch, tokens: Tokens | None = None) -> None:
        self.engine = engine
        self.tokens = tokens
        self.closing = asyncio.Event()

    async def submit(
        self,
        user: User,
        query: str,
        *,
        idempotency_key: str | None = None,
        priority: int = 0,
        not_before: datetime | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> str:
        """Queue a run for the user, within the user's caps, and give its id. ``options`` are those of `RunOptions`; a
        ``user_id`` among them is replaced by the user's name.

        Raises `RightError`, `QuotaError`, and as `DeepResearch.submit`.
        """
        user.check(Right.CREATE)
        chosen = dict(options or {})
        if user.name is not None:
            chosen["user_id"] = user.name
        if user.max_usd is not None:
            chosen["budget"] = _capped(chosen.get("budget"), user.max_usd)
        if idempotency_key is not None:
            repeated = await self.engine.asubmission(query, idempotency_key, **chosen)
            if repeated is not None:  # no new run, so no cap is met
                return repeated
        await self._check_quota(user)
        return await self.engine.asubmit(
            query, idempotency_key=idempotency_key, priority=priority, not_before=not_before, **chosen
        )

    async def summary(self, user: User, research_id: str) -> RunSummary:
        """Where a run of the user stands. Raises `RunNotFoundError` also for the run of somebody else."""
        summary = await self.engine.astatus(research_id)
        if not user.sees(summary.user_id):
            raise RunNotFoundError.of(research_id)
        return summary

    async def _check_quota(self, user: User) -> None:
        most = user.max_open_runs
        if most is None:
            return
        count = 0
        for status in OPEN:
            count += len(await self.engine.alist(user=user.name, status=status, limit=most))
        if count >= most:
            raise QuotaError(
                f"{count} of your runs have not ended; this token allows {most} at once.",
                hint="Wait for one to end, or cancel one.",
                retry_after=10,
            )


def _capped(budget: Budget | Mapping[str, Any] | None, max_usd: float) -> Budget:
    given = budget if isinstance(budget, Budget) else Budget(**(budget or {}))
    wanted = given.max_usd
    return given.model_copy(update={"max_usd": max_usd if wanted is None else min(wanted, max_usd)})
