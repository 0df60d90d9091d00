"""Hooks: where the owner of a run looks in and has a say.

*Decision hooks* are awaited and may steer; *observers* read the log by cursor and can neither delay nor fail the
run. A hook that fails is passed over and recorded. `StopResearch` is the one exception that ends a run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from deep_research.errors import UnknownNameError, bounded_line
from deep_research.logs import cut
from deep_research.models.characters import in_all_texts
from deep_research.state import (
    AgentDecision,
    DeepResearchPhase,
    DeepResearchState,
    SupervisorAction,
    TaskFinding,
    TaskState,
    UserContext,
    ValidationResult,
    WhenDue,
)
from deep_research.state.events import Event

DECISION_HOOKS = ("admit", "before_phase", "after_phase", "think_pause", "gate", "decide_iteration", "review")
OBSERVERS = ("event", "error")
HOOKS = (*DECISION_HOOKS, *OBSERVERS)
MAX_CHARS = 20_000  # of one text that a hook answers with


@dataclass(frozen=True, slots=True)
class Park:
    """Returned by a decision hook: the run stops here, resumable, until it is answered (`answer(id, value)`) or until
    the given time. ``answer_schema`` is the JSON schema of the answer, None: a text; ``default`` is one that will do, and
    ``then`` says what happens at that time (``default``, ``abort``, ``stay``): without a default the hook is asked
    again."""

    waiting_for: str
    until: datetime | None = None
    answer_schema: Mapping[str, Any] | None = None
    default: Any = None
    then: WhenDue = WhenDue.DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Returned by the ``gate`` and ``decide_iteration`` hooks to overrule the supervisor.

    ``RETRY`` with ``phase=PLANNING`` plans again, once per iteration; other retries are of the phase that just
    ended, at most ``max_supervisor_retries`` times.
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
    """Returned by the ``review`` hook to overrule what was made of a task's finding. Of one that is not ``approved`` the
    task is done again, with the ``critique``, as often as ``max_task_retries`` allows; ``follow_up_question`` takes the
    place of its question then."""

    approved: bool
    critique: str = ""
    follow_up_question: str | None = None


@dataclass(frozen=True, slots=True)
class Allow:
    """Returned by the ``admit`` hook: the run may begin, as it may with None."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """Returned by the ``admit`` hook: the run is aborted as refused before anything is spent, for this ``reason``."""

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
    """Override what you need, or pass functions: ``SupervisorHooks(think_pause=ask_my_team)``.

    Every hook may be a coroutine or plain (then it runs in a thread). The state it sees is frozen. After a crash
    a hook may be called again for the same ``state.pause_id``. Public names that are no hooks are refused, so a
    misspelt one cannot be silently ignored; begin helper methods with an underscore.
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
        """Whether a run may begin, for whom; called before anything is spent. A hook that fails refuses it. What answers
        a `Park` lets the run in, and is guidance."""
        return None

    async def before_phase(self, state: DeepResearchState, phase: DeepResearchPhase) -> str | Park | None:
        """Guidance for the phase that is about to start."""
        return None

    async def after_phase(self, state: DeepResearchState, phase: DeepResearchPhase) -> str | Park | None:
        """Guidance for the next phase, before the gate is asked."""
        return None

    async def gate(
        self, state: DeepResearchState, phase: DeepResearchPhase, validation: ValidationResult
    ) -> Verdict | Park | None:
        """Overrule the gate's verdict on a phase."""
        return None

    async def think_pause(self, state: DeepResearchState, prompt: str) -> str | Park | None:
        """Guidance for the next phase, given the reflection prompt of the phase that ended."""
        return None

    async def decide_iteration(
        self, state: DeepResearchState, decision: AgentDecision
    ) -> Verdict | Park | None:
        """Overrule whether to go on after SYNTHESIS or REFINEMENT, within the iterations allowed."""
        return None

    async def review(
        self, state: DeepResearchState, task: TaskState, finding: TaskFinding
    ) -> TaskVerdict | Park | None:
        """Overrule what the reviewer made of a task's finding, which ``task.review`` says."""
        return None

    async def event(self, event: Event) -> None:
        """Observer: every durable event, in order, after it was stored."""

    async def error(self, error: Exception) -> None:
        """Observer: the run ended by an error."""


def overridden(hooks: SupervisorHooks, name: str) -> bool:
    """Whether the user gave this hook: the others are not worth a call."""
    return getattr(type(hooks), name) is not getattr(SupervisorHooks, name) or name in vars(hooks)
