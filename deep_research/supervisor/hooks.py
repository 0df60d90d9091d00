"""Gate policies and hooks: where the owner of a run looks in and has a say.

*Decision hooks* are awaited and may steer; *observers* read the log by cursor and can neither delay nor fail the
run. A hook that fails is passed over and recorded. `StopResearch` is the one exception that ends a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from deep_research.calls import Calls
from deep_research.errors import StopResearch, StoreError, UnknownNameError, bounded_line
from deep_research.logs import cut, describe_error, get_log
from deep_research.models.characters import in_all_texts
from deep_research.state import (
    AgentDecision,
    DeepResearchPhase,
    DeepResearchState,
    Parking,
    SupervisorAction,
    TaskFinding,
    TaskState,
    UserContext,
    ValidationResult,
    WhenDue,
)
from deep_research.state.events import Event, HookFailed, RunParked
from deep_research.state.journal import Journal
from deep_research.state.parking import as_advice

DECISION_HOOKS = ("admit", "before_phase", "after_phase", "think_pause", "gate", "decide_iteration", "review")
OBSERVERS = ("event", "error")
HOOKS = (*DECISION_HOOKS, *OBSERVERS)
MAX_CHARS = 20_000  # of one text that a hook answers with
log = get_log("supervisor")


class GatePolicy(StrEnum):
    """What the engine does when a gate finds a blocking issue; the default is ``retry``.

    ``proceed`` continues anyway. ``retry`` repeats the phase, at most ``gate_retries`` times, then aborts the run.
    ``abort`` aborts it at once. ``strict`` is ``retry`` and also blocks on advisory issues
    (`ValidationResult.advisory`).

    Example:
        DeepResearch(gates={"analysis": GatePolicy.STRICT})
    """

    PROCEED = "proceed"
    RETRY = "retry"
    ABORT = "abort"
    STRICT = "strict"


Gates = Mapping[DeepResearchPhase, GatePolicy] | Mapping[DeepResearchPhase | str, GatePolicy | str]


def policies(values: Gates | None) -> dict[DeepResearchPhase, GatePolicy]:
    """The policy of every phase. Raises `UnknownNameError`."""
    by_phase = dict.fromkeys(DeepResearchPhase, GatePolicy.RETRY)
    for phase, policy in (values or {}).items():
        if phase not in list(DeepResearchPhase):
            raise UnknownNameError.of("phase", str(phase), [p.value for p in DeepResearchPhase])
        if policy not in list(GatePolicy):
            raise UnknownNameError.of("gate policy", str(policy), [p.value for p in GatePolicy])
        by_phase[DeepResearchPhase(phase)] = GatePolicy(policy)
    return by_phase


def verdict(validation: ValidationResult, policy: GatePolicy, *, retry_allowed: bool) -> SupervisorAction:
    """Proceed, retry or abort. Pure."""
    issues = validation.issues if policy is GatePolicy.STRICT else validation.blocking
    if not issues or policy is GatePolicy.PROCEED:
        return SupervisorAction.PROCEED
    if policy is not GatePolicy.ABORT and retry_allowed:
        return SupervisorAction.RETRY
    return SupervisorAction.ABORT


@dataclass(frozen=True, slots=True)
class Park:
    """A decision hook returns this to park the run until it is answered, or until a given time.

    Args:
        waiting_for: The question, or what the run waits for.
        until: When the wait ends; None: never.
        answer_schema: JSON schema of the answer; None: a text.
        default: The answer to take if nobody answers in time.
        then: What happens at ``until``: ``default``, ``abort`` or ``stay``. Without a default the hook is called again.

    Example:
        return Park("the year", answer_schema={"type": "integer"}, default=1870)
    """

    waiting_for: str
    until: datetime | None = None
    answer_schema: Mapping[str, Any] | None = None
    default: Any = None
    then: WhenDue = WhenDue.DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The ``gate`` and ``decide_iteration`` hooks return this to overrule the supervisor.

    Args:
        action: ``proceed``, ``retry``, ``abort``, ``iterate`` or ``complete``. ``RETRY`` with ``phase=PLANNING`` plans
            again, once in each iteration. Other retries repeat the phase that just ended, at most
            ``max_supervisor_retries`` times.
        rationale: The reason, for the log.
        guidance: Text for the agents that work next.
        phase: The phase to repeat.

    Raises `UnknownNameError` for an unknown action or phase.

    Example:
        return Verdict(action="retry", guidance="Look for primary sources.")
    """

    action: SupervisorAction
    rationale: str = ""
    guidance: str | None = None
    phase: DeepResearchPhase | None = None

    def __post_init__(self) -> None:
        """Names are accepted in place of the enumerations. Raises `UnknownNameError`."""
        for field, kind in (("action", SupervisorAction), ("phase", DeepResearchPhase)):
            value = getattr(self, field)
            if value is None:
                continue
            if value not in list(kind):
                raise UnknownNameError.of(field, str(value), [member.value for member in kind])
            object.__setattr__(self, field, kind(value))


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskVerdict:
    """The ``review`` hook returns this to overrule the review of a task's finding.

    Args:
        approved: Whether the finding stands. Otherwise the task is repeated, at most ``tasks.max_retries`` times.
        critique: Text for the next attempt.
        follow_up_question: The question of the next attempt, if it changes.

    Example:
        return TaskVerdict(approved=False, critique="Name the year.")
    """

    approved: bool
    critique: str = ""
    follow_up_question: str | None = None


@dataclass(frozen=True, slots=True)
class Allow:
    """The ``admit`` hook returns this, or None, to admit the run.

    Example:
        return Allow()
    """


@dataclass(frozen=True, slots=True)
class Refuse:
    """The ``admit`` hook returns this to refuse the run before it spends anything.

    Args:
        reason: The text that the run shows. The run is aborted with the reason ``refused``.

    Example:
        return Refuse("Ask the front desk.")
    """

    reason: str


# What each decision hook may answer with, besides None.
ANSWERS: dict[str, tuple[type, ...]] = {
    "admit": (Allow, Refuse, Park),
    "before_phase": (str, Park),
    "after_phase": (str, Park),
    "think_pause": (str, Park),
    "gate": (Verdict, Park),
    "decide_iteration": (Verdict, Park),
    "review": (TaskVerdict, Park),
}


def bounded(answer: Any) -> Any:
    """What a hook answered, with its texts cut as what the owner of a run tells it; what he is asked is a line."""
    if isinstance(answer, Refuse):
        answer = replace(answer, reason=bounded_line(str(answer.reason)))
    if isinstance(answer, Park):
        answer = replace(answer, waiting_for=bounded_line(str(answer.waiting_for)))
    return in_all_texts(answer, lambda text: cut(text, MAX_CHARS))


class SupervisorHooks:
    """Your functions that the supervisor calls during a run (docs/hooks.md).

    Override methods in a subclass, or pass functions by name. A hook is a coroutine, or a plain function that runs in a
    thread. The state that it gets is frozen. After a crash the run may call a hook again with the same
    ``state.pause_id``. Begin the names of helper methods with an underscore.

    Raises `UnknownNameError` for a name that is not a hook.

    Example:
        hooks = SupervisorHooks(think_pause=ask_my_team)
    """

    def __init__(self, **functions: Callable[..., Any]) -> None:
        for name, function in functions.items():
            if name not in HOOKS:
                raise UnknownNameError.of("hook", name, HOOKS)
            setattr(self, name, function)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in vars(cls).items():
            if not name.startswith("_") and callable(value) and name not in HOOKS:
                raise UnknownNameError.of("hook", name, HOOKS, where=cls.__name__)

    async def admit(self, query: str, user: UserContext) -> Allow | Refuse | Park | None:
        """Decide whether a run may begin, before it spends anything. A hook that fails refuses the run. The answer to a
        `Park` admits the run and becomes guidance.
        """
        return None

    async def before_phase(self, state: DeepResearchState, phase: DeepResearchPhase) -> str | Park | None:
        """Return guidance for the phase that is about to start."""
        return None

    async def after_phase(self, state: DeepResearchState, phase: DeepResearchPhase) -> str | Park | None:
        """Return guidance for the next phase, before the gate is checked."""
        return None

    async def gate(
        self, state: DeepResearchState, phase: DeepResearchPhase, validation: ValidationResult
    ) -> Verdict | Park | None:
        """Overrule the result of the gate for a phase."""
        return None

    async def think_pause(self, state: DeepResearchState, prompt: str) -> str | Park | None:
        """Return guidance for the next phase. ``prompt`` is the reflection prompt of the phase that ended."""
        return None

    async def decide_iteration(
        self, state: DeepResearchState, decision: AgentDecision
    ) -> Verdict | Park | None:
        """Overrule the decision to continue after SYNTHESIS or REFINEMENT, within the allowed iterations."""
        return None

    async def review(
        self, state: DeepResearchState, task: TaskState, finding: TaskFinding
    ) -> TaskVerdict | Park | None:
        """Overrule the review of a task's finding (``task.review``)."""
        return None

    async def event(self, event: Event) -> None:
        """Observe every stored event, in order."""

    async def error(self, error: Exception) -> None:
        """Observe that the run ended by an error."""


def overridden(hooks: SupervisorHooks, name: str) -> bool:
    """Whether the user gave this hook: the others are not worth a call."""
    return getattr(type(hooks), name) is not getattr(SupervisorHooks, name) or name in vars(hooks)


class ParkedError(Exception):
    """The run is parked, as its journal has it: nothing more is done."""


class HookRaisedError(Exception):
    """A hook failed where none may; the cause is what it raised."""

    def __init__(self, name: str, error: str) -> None:
        super().__init__(f"The hook {name} failed: {error}")


class HookCalls:
    """Calls decision hooks, each isolated: a failure is recorded and counts as no answer, unless hooks are ``strict``.
    ``instead`` are functions that are called in place of hooks, whether or not there are such."""

    def __init__(
        self,
        hooks: SupervisorHooks,
        calls: Calls,
        timeout: float,
        *,
        strict: bool,
        instead: Mapping[str, Callable[..., Any]],
    ) -> None:
        self._hooks = hooks
        self._calls = calls
        self.timeout = timeout
        self._strict = strict
        self._instead = instead

    def has(self, name: str) -> bool:
        return name in self._instead or overridden(self._hooks, name)

    async def __call__(
        self, journal: Journal, name: str, *args: Any, at: str = "", failed: Any = None
    ) -> Any:
        """An answer that was given to a pause of this hook counts as its guidance, and it is not called again. ``at``
        tells the calls of one place apart; ``failed`` is the answer where it fails. Raises `ParkedError`,
        `HookRaisedError`."""
        if not self.has(name):
            return None
        pause_id = f"{journal.state.pause_id}.{name}" + (f".{at}" if at else "")
        if pause_id in journal.state.answers:
            return as_advice(journal.state.answers[pause_id])
        function = self._instead.get(name) or getattr(self._hooks, name)
        try:
            answer = await self._calls(function, *args, timeout=self.timeout)
        except (StopResearch, StoreError):
            raise
        except Exception as error:
            is_late = isinstance(error, TimeoutError)
            problem = f"no answer within {self.timeout:g} s" if is_late else describe_error(error)
            await self._record_failure(journal, name, problem, error)
            return failed
        if answer is not None and not isinstance(answer, ANSWERS[name]):
            problem = f"answered with {type(answer).__name__}, not "
            problem += " or ".join(kind.__name__ for kind in ANSWERS[name])
            await self._record_failure(journal, name, problem, TypeError(f"{name} {problem}"))
            return failed
        if isinstance(answer, str) and not answer.strip():
            return None
        answer = bounded(answer)
        if isinstance(answer, Park):
            parking = Parking(
                waiting_for=answer.waiting_for,
                until=answer.until,
                pause_id=pause_id,
                answer_schema=None if answer.answer_schema is None else dict(answer.answer_schema),
                default=answer.default,
                then=WhenDue(answer.then),
            )
            await journal.record(RunParked(parking=parking))
            raise ParkedError
        return answer

    async def _record_failure(self, journal: Journal, name: str, problem: str, cause: Exception) -> None:
        log.warning("hook_failed", hook=name, error=problem)
        await journal.record(HookFailed(hook=name, error=problem))
        if self._strict:
            raise HookRaisedError(name, problem) from cause

    async def observe_error(self, error: Exception) -> Exception | None:
        """Tell the observer, whose run has ended, whatever comes of this; its failure, where hooks are ``strict``."""
        if not overridden(self._hooks, "error"):
            return None
        try:
            await self._calls(self._hooks.error, error, timeout=self.timeout)
        except Exception as failure:
            log.warning("observer_failed", error=describe_error(failure))
            return failure if self._strict else None
        return None
