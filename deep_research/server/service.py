"""The engine as its routes share it: for each request, what its user may see and start."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from deep_research.errors import (
    QuotaError,
    RightError,
    RunBusyError,
    RunNotFoundError,
)
from deep_research.logs import describe_error, get_log
from deep_research.research.operations import Right
from deep_research.server.problems import RequestRefused
from deep_research.server.streams import Streams
from deep_research.server.users import User
from deep_research.state import Budget, ParkedKind, RunStatus

if TYPE_CHECKING:
    from deep_research.packs import Verification
    from deep_research.research import DeepResearch, ResearchResult, RunSummary

POLL_SECONDS = 0.1  # between looks at a run that is to go on
START_SECONDS = 10.0  # for a run to go on, before its sender is answered
MAX_PACKS = 2  # that are made, or runs that are verified, at once
METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"})
log = get_log("server")
OPEN = (RunStatus.QUEUED, RunStatus.PENDING, RunStatus.RUNNING, RunStatus.INTERRUPTED)


class Tokens(Protocol):
    """Says whose a token is."""

    def user(self, token: str | None) -> User:
        """Raises `TokenError` for a token that is missing, unknown or revoked."""
        ...


class Service:
    """An engine, the tokens of its users (None: everybody is the owner), and ``closing``, set when the server stops:
    streams end then. ``streams`` counts those that are open, ``packing`` and ``uploading`` bound what takes long."""

    def __init__(self, engine: DeepResearch, tokens: Tokens | None = None) -> None:
        self.engine = engine
        self.tokens = tokens
        self.closing = asyncio.Event()
        self.streams = Streams()
        self.packing = asyncio.Semaphore(MAX_PACKS)
        self.uploading = asyncio.Semaphore(1)
        self.answers: Counter[tuple[str, int]] = Counter()  # by method and status
        self._submitting: defaultdict[str | None, asyncio.Lock] = defaultdict(asyncio.Lock)  # by user
        self._starting: Counter[str | None] = Counter()  # runs that are resumed and not yet open, by user
        self._resumed: set[asyncio.Task[ResearchResult]] = set()

    def count_answer(self, method: str, status: int) -> None:
        self.answers[method if method in METHODS else "OTHER", status] += 1

    def refuse_closing(self) -> None:
        """Raises `RequestRefused` while the server stops."""
        if self.closing.is_set():
            raise RequestRefused(503, "closing", "The server stops.", "Try again.", {"retry-after": "2"})

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
        run_options = _options_of(user, options)
        if idempotency_key is not None:
            repeated = await self.engine.asubmission(query, idempotency_key, **run_options)
            if repeated is not None:  # no new run, so no cap is met
                return repeated
        async with self._submitting[user.name]:  # so that requests at once do not all find room for one run
            await self._check_quota(user)
            return await self.engine.asubmit(
                query,
                idempotency_key=idempotency_key,
                priority=priority,
                not_before=not_before,
                **run_options,
            )

    async def submission(
        self, user: User, query: str, idempotency_key: str, options: Mapping[str, Any] | None = None
    ) -> str | None:
        """The id of the run that the user submitted under a key. Raises as `DeepResearch.asubmission`."""
        return await self.engine.asubmission(query, idempotency_key, **_options_of(user, options))

    async def summary(self, user: User, research_id: str) -> RunSummary:
        """Where a run of the user stands. Raises `RunNotFoundError` also for the run of somebody else."""
        summary = await self.engine.summary(research_id)
        if not user.sees(summary.user_id):
            raise RunNotFoundError.of(research_id)
        return summary

    async def resume(self, user: User, run: RunSummary, arguments: Mapping[str, Any]) -> RunSummary:
        """Go on with a run of the user in the background of this process, with the ``arguments`` of
        `DeepResearch.resume`, and say where it stands once it goes on. Raises as that does, and `RightError`,
        `QuotaError`."""
        user.check(Right.CONTROL)
        _check_dollars(user, run, arguments.get("budget"))
        _check_dollars(user, run, arguments.get("answer"))
        async with self._submitting[user.name]:
            if run.status not in OPEN:
                await self._check_quota(user)
            self._starting[user.name] += 1
        try:
            task = asyncio.create_task(self.engine.aresume(run.research_id, **arguments))
            self._resumed.add(task)
            task.add_done_callback(self._resumed.discard)
            await self._wait_for_start(task, run)
        finally:
            self._starting[user.name] -= 1
        return await self.summary(user, run.research_id)

    async def _wait_for_start(self, task: asyncio.Task[ResearchResult], run: RunSummary) -> None:
        """Until a run that is resumed has recorded something, or `START_SECONDS` are over: it may wait for others to end.
        Raises what ended it before."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_SECONDS
        try:
            while not task.done() and loop.time() < deadline:
                await asyncio.wait({task}, timeout=POLL_SECONDS)
                if (await self.engine.summary(run.research_id)).updated_at != run.updated_at:
                    break
        finally:
            if not task.done():
                task.add_done_callback(_note_failure)
        if task.done():
            task.result()

    async def answer(self, user: User, run: RunSummary, value: Any) -> RunSummary:
        """Leave an answer for a parked run of the user, with which a worker goes on. Raises as `DeepResearch.answer`,
        `RightError` and `QuotaError`."""
        user.check(Right.CONTROL)
        _check_dollars(user, run, value)
        if run.status not in OPEN:
            await self._check_quota(user)
        await self.engine.aanswer(run.research_id, value, run=False)
        return await self.summary(user, run.research_id)

    async def cancel(self, user: User, run: RunSummary) -> RunSummary:
        """Ask a run of the user to end, and say where it stands then, or after `CANCEL_WAIT` seconds."""
        user.check(Right.CONTROL)
        try:
            return await self.engine.acancel(run.research_id)
        except RunBusyError:
            return await self.summary(user, run.research_id)

    async def verify(self, run: RunSummary) -> Verification:
        """Verify a run, while few others are. Raises as `DeepResearch.verify`."""
        async with self.packing:
            return await self.engine.averify(run.research_id)

    async def _check_quota(self, user: User) -> None:
        most = user.max_open_runs
        if most is None:
            return
        count = self._starting[user.name]
        for status in OPEN:
            count += len(await self.engine.alist(user=user.name, status=status, limit=most))
        if count >= most:
            raise QuotaError(
                f"{count} of your runs have not ended; this token allows {most} at once.",
                hint="Wait for one to end, or cancel one.",
                retry_after=10,
            )


def _options_of(user: User, options: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options of a run of the user, within the user's caps."""
    run_options = dict(options or {})
    if user.name is not None:
        run_options["user_id"] = user.name
    if user.max_usd is not None:
        run_options["budget"] = _capped(run_options.get("budget"), user.max_usd)
    return run_options


def _capped(budget: Budget | Mapping[str, Any] | None, max_usd: float) -> Budget:
    caps = budget if isinstance(budget, Budget) else Budget(**(budget or {}))
    own_cap = caps.max_usd
    return caps.model_copy(update={"max_usd": max_usd if own_cap is None else min(own_cap, max_usd)})


def _check_dollars(user: User, run: RunSummary, caps: Budget | Any) -> None:
    """Raises `RightError` where caps, or an answer that names some, allow more dollars than the user has for a run."""
    if user.max_usd is None or caps is None:
        return
    dollars = caps.max_usd if isinstance(caps, Budget) else None
    if run.parked_kind is ParkedKind.PLAN and isinstance(caps, Mapping):
        caps = caps.get("limits")
    if run.parked_kind in (ParkedKind.BUDGET, ParkedKind.PLAN) and isinstance(caps, Mapping):
        dollars = caps.get("max_usd")
    if isinstance(dollars, int | float) and not dollars <= user.max_usd:
        raise RightError(f"This token allows {user.max_usd:g} dollars a run.", hint="Ask for at most that.")


def _note_failure(task: asyncio.Task[ResearchResult]) -> None:
    """What ended a run in the background is no answer to a request any more."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.warning("resume_failed", error=describe_error(error))
