"""A request for a run: the question and options of a caller, checked against the settings and the user's rights, and
with its place in the queue and its idempotency key where it is submitted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from deep_research.assembly import EngineVariants, Parts
from deep_research.assembly.user_directory import UserDirectory, restricted
from deep_research.budget.shared_budget import SharedBudget, as_shared
from deep_research.errors import RepeatedKeyError, RightError, SettingsError, UsageError
from deep_research.logs import masked
from deep_research.models.characters import in_all_texts
from deep_research.setting_fields import DEFAULT, flatten, value_at, with_values
from deep_research.settings import ResolvedSettings, preset_values
from deep_research.state import Budget, QueuePlace, RunOptions, UserContext
from deep_research.state import events as ev
from deep_research.supervisor.opening import checked_question

MAX_KEY_CHARS = 255


@dataclass(frozen=True, slots=True)
class Request:
    """What an engine is asked to do: ``shared`` are the budgets that the run uses beside its own, ``parts`` the agents
    and providers for it, and ``user`` is for whom it works, if the engine has a directory of users."""

    question: str
    options: RunOptions
    shared: Sequence[SharedBudget]
    parts: Parts
    user: UserContext | None


class RequestBuilder:
    """Builds the requests of one engine. ``refuse_closed`` raises `UsageError` once the engine is closed."""

    def __init__(
        self,
        variants: EngineVariants,
        resolved: ResolvedSettings,
        users: UserDirectory | None,
        *,
        budget: Budget | None,
        shared_budget: Sequence[SharedBudget],
        refuse_closed: Callable[[], None],
    ) -> None:
        self._variants = variants
        self._resolved = resolved
        self._users = users
        self._budget = budget
        self._shared_budget = shared_budget
        self._refuse_closed = refuse_closed

    async def build(self, query: str, options: Mapping[str, Any]) -> Request:
        """Check a question and the options of its run. Raises `UsageError`, `SettingsError`, `ConfigurationError`,
        `RightError` for an unknown user, and what the directory of users raises."""
        settings = self._resolved.settings
        self._refuse_closed()
        user = await self._user(options.get("user_id"))
        self._refuse_closed()
        question = checked_question(query, settings.max_question_chars)
        values = {"budget": self._budget, **options} if self._budget is not None else dict(options)
        shared = (*self._shared_budget, *as_shared(values.pop("shared_budget", None)))
        run_options = settings.run_options(**values)
        if run_options.depth == "deep":
            run_options = self._deepened(run_options, values)
        if user is not None:
            run_options = restricted(run_options, user)
        parts = self._variants.of_options(
            run_options.provider_id, run_options.corpora, user.permissions if user is not None else None
        )
        parts.models.check(run_options.budget, shared)
        parts.check_kinds(run_options.source_types)
        parts.check_tasks(run_options)
        try:
            run_options.model_dump_json()
        except ValueError:
            raise SettingsError(
                "An option holds characters that are not text.", hint="Remove them and try again."
            ) from None
        with parts.keyring.scope():
            return Request(masked(question), in_all_texts(run_options, masked), shared, parts, user)

    async def _user(self, user_id: str | None) -> UserContext | None:
        """The user for whom a run works; None if the engine has no directory of users."""
        if self._users is None:
            return None
        parts = self._variants.own
        context: UserContext | None = await parts.calls(
            self._users.context, user_id, timeout=self._resolved.settings.hook_timeout
        )
        if context is None:
            raise RightError(
                f"The user '{str(user_id)[:60]}' is unknown." if user_id else "The run names no user.",
                hint="Name one with user_id, or add it to the directory of users.",
            )
        return context

    def _deepened(self, run_options: RunOptions, values: Mapping[str, Any]) -> RunOptions:
        """With the values of the preset `deep` for options that neither the run nor a setting sets."""
        own_paths = {path for path, origin in self._resolved.origins.items() if origin != DEFAULT}
        own_paths |= flatten(RunOptions, values).keys()
        options = {n: v for n, v in preset_values("deep").items() if n in RunOptions.model_fields}
        more = {path: v for path, v in flatten(RunOptions, options).items() if path not in own_paths}
        return with_values(run_options, more)


def queue_place(priority: int, not_before: datetime | str | None) -> QueuePlace:
    """Where a run stands in the queue. A time without a zone is local. Raises `UsageError`."""
    try:
        moment = datetime.fromisoformat(not_before) if isinstance(not_before, str) else not_before
        return QueuePlace(priority=priority, not_before=moment and moment.astimezone(UTC))
    except (ValueError, OverflowError, AttributeError):  # pydantic's errors are values' too
        raise UsageError(
            "priority or not_before is invalid.",
            hint="priority is a whole number from -100 to 100, not_before a time such as 2026-01-31T18:00.",
        ) from None


def checked_key(key: object) -> str:
    """Raises `UsageError` for what cannot be an idempotency key."""
    if isinstance(key, str) and 0 < len(key) <= MAX_KEY_CHARS and key.isprintable():
        return key
    raise UsageError(
        f"An idempotency key has 1 to {MAX_KEY_CHARS} printable characters.", hint="For example a UUID."
    )


def check_repeated(
    run_id: str, log: Iterable[ev.Event], question: str, options: RunOptions, values: Mapping[str, Any]
) -> None:
    """Compare what is submitted with the run that its key belongs to: the question, and of the options those that
    ``values`` name. Raises `RepeatedKeyError`."""
    created = cast("ev.RunCreated", next(iter(log)))
    own = flatten(RunOptions, {n: value for n, value in values.items() if n in RunOptions.model_fields})
    if created.query == question and all(
        value_at(created.options, path) == value_at(options, path) for path in own
    ):
        return
    raise RepeatedKeyError(
        f"The idempotency key belongs to run '{run_id}' with another question or other options.",
        hint="Use a new key for a new question.",
        research_id=run_id,
    )
