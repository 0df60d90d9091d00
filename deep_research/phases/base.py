"""What all phases share: the agent contract, and how an agent is called."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError

from deep_research.budget.archive import Archive
from deep_research.budget.metered import RunModels
from deep_research.budget.priority import Weights
from deep_research.calls import Calls, first
from deep_research.errors import (
    AgentError,
    BudgetError,
    DeepResearchError,
    Halted,
    HandoffError,
    ModelError,
    PhaseStateError,
    StopResearch,
    bounded_line,
)
from deep_research.evidence.inquiry import question_parts
from deep_research.logs import cut, told
from deep_research.models.characters import in_all_texts, whole
from deep_research.models.language_model import LanguageModel
from deep_research.phases.hearing import hearing
from deep_research.phases.proposed_queries import Asked, Proposal
from deep_research.state import (
    PHASE_TO_AGENT,
    AgentRole,
    DeepResearchPhase,
    DeepResearchState,
    Limit,
    ModelRole,
    QuestionPart,
    Record,
    SubQuery,
)
from deep_research.state.events import LimitReached
from deep_research.state.journal import Journal
from deep_research.state.transitions import opens_iteration

MAX_FIELD_CHARS = 20_000  # of one text in the answer of an agent
MAX_REPORT_CHARS = 400_000  # twice the longest that one may want

_In_contra = TypeVar("_In_contra", contravariant=True)
_Out_co = TypeVar("_Out_co", covariant=True)
_In = TypeVar("_In", bound="Handoff")
_T = TypeVar("_T")
_Out = TypeVar("_Out", bound=Record)
_Answer = TypeVar("_Answer", bound=Record)


class Handoff(Record):
    """What every agent is told. ``guidance`` is advice from gates, hooks and answers, oldest first; ``system_prompt``
    what the owner of the run adds; ``language`` and ``audience`` are for what people will read; ``day`` is when the run
    was asked, ``as_of`` the day for which its answer has to hold, where its owner names one, and ``protected`` are
    patterns of sources that its owner wants kept. ``parts`` are those of the question; ``wishes`` is what hooks, answers
    and the supervisor said for the phase so far, for agents that have no model."""

    research_id: str
    original_query: str
    current_phase: DeepResearchPhase
    iteration: int
    guidance: tuple[str, ...] = ()
    wishes: tuple[str, ...] = ()
    parts: tuple[QuestionPart, ...] = ()
    system_prompt: str | None = None
    language: str | None = None
    audience: str | None = None
    day: date | None = None
    as_of: date | None = None
    protected: tuple[str, ...] = ()

    @property
    def weights(self) -> Weights:
        """By what items of the run matter where not all of them fit."""
        return Weights(self.day, self.protected)


def shared(state: DeepResearchState, phase: DeepResearchPhase) -> dict[str, Any]:
    """The fields that every handoff has."""
    return {
        "research_id": state.research_id,
        "original_query": state.query,
        "current_phase": phase,
        "iteration": state.iteration,
        "guidance": state.guidance_for(phase),
        "wishes": state.wishes_for(phase),
        "parts": state.parts or question_parts(state.query),
        "system_prompt": state.options.system_prompt,
        "language": state.options.language,
        "audience": state.options.audience,
        "day": state.created_at.date() if state.created_at else None,
        "as_of": state.options.as_of,
        "protected": state.options.protected,
    }


_H = TypeVar("_H", bound="Handoff")


def with_latest(handoff: _H, state: DeepResearchState) -> _H:
    """The handoff with what was said to the run since it was made: for a unit that begins only now."""
    phase = handoff.current_phase
    guidance, wishes = state.guidance_for(phase), state.wishes_for(phase)
    if (guidance, wishes) == (handoff.guidance, handoff.wishes):
        return handoff
    return handoff.model_copy(update={"guidance": guidance, "wishes": wishes})


class Agent(Protocol[_In_contra, _Out_co]):
    """A specialist: a handoff in, an answer out.

    ``deterministic`` says that the same handoff gives the same answer, so the supervisor does not ask again
    without a change. ``__call__`` may be a coroutine or plain; a plain one runs in a thread. An agent whose
    ``uses_model`` is true is called with the handoff and the `LanguageModel` of its role; a gatherer whose ``uses_purse``
    is true with the handoff and the `Purse` of the run.
    """

    deterministic: bool

    async def __call__(self, handoff: _In_contra, /) -> _Out_co: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimits:
    """How phases may work. Seconds; ``batch_bytes`` bounds the source text of one analysis unit; in ``archive`` the
    originals are kept of what an agent was given little or nothing of."""

    max_concurrent: int = 5
    operation_timeout: float = 120.0
    max_source_bytes: int = 2_000_000
    batch_bytes: int = 1_000_000
    calls: Calls = field(default_factory=Calls)
    archive: Archive | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """How a phase would be done again: with these reworded sub-queries, if any."""

    sub_queries: tuple[SubQuery, ...] = ()


class Phase(ABC, Generic[_In, _Out]):
    """One step of the machine. A phase computes from the state which units of work remain, does them, and
    records each when it is finished; run again, it does only what is left."""

    phase: ClassVar[DeepResearchPhase]
    must_propose: ClassVar[bool] = False  # whether an answer without any search is of no use
    answer_type: type[_Out]

    def __init__(self, agent: Agent[_In, _Out], *, limits: WorkLimits | None = None) -> None:
        self.agent = agent
        self.limits = limits or WorkLimits()

    @property
    def role(self) -> AgentRole:
        return PHASE_TO_AGENT[self.phase]

    @property
    def deterministic(self) -> bool:
        return bool(getattr(self.agent, "deterministic", False))

    @property
    def falls_back(self) -> bool:
        """Whether another agent does the rest where this one cannot."""
        return bool(getattr(self.agent, "falls_back", False))

    @property
    def fallback_role(self) -> str:
        """Whose work that is, as it is told."""
        return self.role.value

    @property
    def _uses_model(self) -> bool:
        return bool(getattr(self.agent, "uses_model", False))

    @abstractmethod
    async def run(self, state: DeepResearchState, journal: Journal, models: RunModels | None = None) -> None:
        """Do what remains of the phase. ``models`` are for an agent that uses one. Raises `WorkError`s,
        `ConfigurationError` and `StopResearch`, and `PhaseStateError` for a state that stands at another phase."""

    def check_place(self, state: DeepResearchState) -> None:
        """Raises `PhaseStateError` unless the state stands at this phase: else what is done would count as another's."""
        if state.phase is not self.phase:
            event = "iteration.started" if opens_iteration(state.phase, self.phase) else "phase.started"
            raise PhaseStateError(
                f"{self.phase.value.capitalize()} was handed a state that stands at {state.phase}.",
                hint=f"Record {event} before: `await journal.enter(DeepResearchPhase.{self.phase.name})` does.",
                phase=self.phase.value,
                stands_at=state.phase.value,
                event=event,
            )

    async def can_follow(self, wish: str, state: DeepResearchState) -> bool:
        """Whether the agent can do something with advice."""
        return True

    def retried(self, state: DeepResearchState, *, advised: bool) -> Retry | None:
        """What doing the phase again would change, or None when it would only repeat itself. ``advised`` says
        that a hook gave new guidance; a gate's own words are no change to a deterministic agent."""
        return None if self.deterministic and not advised else Retry()

    async def ask(self, handoff: _In, models: RunModels | None = None) -> _Out:
        """One call to the agent, answered with the handoff's output, under the operation's deadline; of one that uses
        a model each answer of the model has that deadline.

        A mapping is accepted in place of the output and validated.
        """
        answer = _checked(await self._called(self.agent, handoff, models), self.answer_type, self.role)
        return self._asking(answer, handoff)

    def _asking(self, answer: _Answer, handoff: Handoff) -> _Answer:
        """The answer with what may be asked of the searches that it proposes. Agents that work by rule make them of the
        question and of sources alone, and never of what the owner says besides."""
        if not isinstance(answer, Proposal) or (self.deterministic and not self._uses_model):
            return answer
        asked = Asked(handoff.original_query, handoff.system_prompt)
        changed = answer.with_queries(asked)
        if self.must_propose and asked.dropped and not asked.kept:
            raise AgentError(
                f"Nothing of what the {self.role} would search may be asked: it is addresses and the owner's words.",
                hint="A page may have ordered it; see docs/search.md.",
                role=self.role.value,
            )
        notes = asked.note(self.role.value)
        return changed.model_copy(update={"notes": (*changed.notes, *notes)}) if notes else changed

    async def _called(
        self, function: Callable[..., Any], handoff: Handoff, models: RunModels | None = None
    ) -> Any:
        try:
            if self._uses_model:
                model = self._model(models)
                with hearing(lambda: self._said(models)):
                    return await self.limits.calls(function, handoff, model)
            beside = self.beside(models)
            return await self.limits.calls(function, handoff, *beside, timeout=self.limits.operation_timeout)
        except (DeepResearchError, StopResearch):
            raise
        except TimeoutError as error:
            raise AgentError(
                f"The {self.role} took longer than {self.limits.operation_timeout:g} s.",
                hint="Raise operation_timeout, or give it less to do.",
                role=self.role.value,
            ) from error
        except Exception as error:
            raise AgentError(
                f"The {self.role} failed: {told(error)}",
                hint="The run can be resumed once the agent is mended.",
                role=self.role.value,
            ) from error

    def _said(self, models: RunModels | None) -> tuple[str, ...]:
        """What is to be heeded in this phase by now."""
        return () if models is None else models.journal.state.guidance_for(self.phase)

    def beside(self, models: RunModels | None) -> tuple[Any, ...]:
        """What an agent without a model is called with beside its handoff."""
        return ()

    def _model(self, models: RunModels | None) -> LanguageModel:
        if models is None:
            raise AgentError(f"The {self.role} needs a model.", hint="Hand the phase a RunModels.")
        # Where nobody could do the rest of the phase, a share would end the run.
        steered = bool(getattr(self.agent, "falls_back", False))
        return models.model(ModelRole(self.role.value), self.phase, steered=steered)

    async def ask_also(
        self,
        name: str,
        handoff: Handoff,
        answer_type: type[_Answer],
        models: RunModels | None = None,
    ) -> _Answer | None:
        """The same for a further operation that an agent may have under ``name``; None when it has not."""
        function = getattr(self.agent, name, None)
        if function is None:
            return None
        answer = _checked(await self._called(function, handoff, models), answer_type, self.role)
        return self._asking(answer, handoff)


def _checked(answer: Any, wanted: type[_Answer], role: AgentRole) -> _Answer:
    try:
        made = answer if isinstance(answer, wanted) else wanted.model_validate(answer)
        if role is AgentRole.GATHERER:  # whose texts are bounded where they are collected
            return whole(made)
        most = MAX_REPORT_CHARS if role is AgentRole.SYNTHESIZER else MAX_FIELD_CHARS
        made = in_all_texts(made, lambda text: cut(text, most))
        return made if _is_text(made) else whole(made)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "the answer"
        raise HandoffError(
            f"The {role} did not answer with {wanted.__name__}: {place}: {first['msg']}.",
            hint="See docs/agents.md for what each agent returns.",
            role=role.value,
        ) from None


def _is_text(answer: BaseModel) -> bool:
    """Whether all of it can be kept: a string may hold half a character."""
    try:
        answer.__pydantic_serializer__.to_json(answer)
    except PydanticSerializationError:
        return False
    return True


def noted(notes: Iterable[str], name: str = "window") -> list[LimitReached]:
    """What an agent could only do in part, as limits of the run."""
    return [LimitReached(limit=Limit(name=name, message=bounded_line(note))) for note in notes]


def _nothing() -> None:
    """No unit is kept from beginning."""


async def together(
    units: Iterable[Callable[[], Coroutine[Any, Any, None]]],
    *,
    at_once: int,
    check: Callable[[], None] = _nothing,
) -> None:
    """Run units side by side, so many at once. The first failure ends those that run, lets none begin, and is
    raised as itself. When a model fails, the budget is reached, or ``check`` (which is asked before each) halts the run,
    those that run finish first: they were paid for."""
    slots = asyncio.Semaphore(at_once)
    failed = False
    outage: ModelError | BudgetError | Halted | None = None

    async def in_turn(unit: Callable[[], Coroutine[Any, Any, None]]) -> None:
        nonlocal failed, outage
        async with slots:
            if failed:  # the slot came free before the cancellation reached this task
                return
            try:
                check()
                await unit()
            except (ModelError, BudgetError, Halted) as error:
                failed, outage = True, outage or error
            except BaseException:
                failed = True
                raise

    try:
        async with asyncio.TaskGroup() as group:
            for unit in units:
                group.create_task(in_turn(unit))
    except BaseExceptionGroup as failures:
        raise first(failures) from None
    if outage is not None:
        raise outage
