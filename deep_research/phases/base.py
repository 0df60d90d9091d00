"""Base of all phases: calls of agents, and retries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from deep_research.budget.archive import Archive
from deep_research.budget.metered import RunModels
from deep_research.budget.shared_budget import BudgetScope
from deep_research.calls import Calls
from deep_research.errors import (
    AgentError,
    DeepResearchError,
    PhaseStateError,
    StopResearch,
    bounded_line,
)
from deep_research.logs import describe_error
from deep_research.models.language_model import LanguageModel
from deep_research.phases.agent_contract import Agent, AgentSpec, Operation, bind
from deep_research.phases.handoff import Handoff, MemoryNote, Proposal, QueryFilter
from deep_research.phases.live_guidance import guidance_scope
from deep_research.phases.steering_queries import Knows, split_searchable
from deep_research.state import (
    PHASE_TO_AGENT,
    AgentRole,
    DeepResearchPhase,
    DeepResearchState,
    ModelRole,
    Notice,
    Record,
    SubQuery,
    ValidationResult,
)
from deep_research.state.events import NoticeAdded
from deep_research.state.journal import Journal
from deep_research.state.transitions import opens_iteration

_In = TypeVar("_In", bound=Handoff)
_Out = TypeVar("_Out", bound=Record)


ReadMemories = Callable[[Sequence[MemoryNote]], Awaitable[tuple[MemoryNote, ...]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLimits:
    """How phases may work. Seconds; ``batch_bytes`` bounds the source text of one analysis unit, in characters; in
    ``archive`` the originals are kept of what an agent was given little or nothing of. ``memories`` gives the texts of
    entries of the user's memory."""

    max_concurrent: int = 5
    operation_timeout: float = 120.0
    max_source_bytes: int = 2_000_000
    batch_bytes: int = 1_000_000
    calls: Calls = field(default_factory=Calls)
    archive: Archive | None = None
    memories: ReadMemories | None = None


@dataclass(frozen=True, slots=True)
class Retry:
    """How a phase would be done again: with these reworded sub-queries, if any."""

    sub_queries: tuple[SubQuery, ...] = ()


class Phase(ABC):
    """One step of the machine. A phase computes from the state which units of work remain, does them, and records each
    when it is finished; run again, it does only what is left. ``operations`` are what its agent may be asked, the main
    one first."""

    phase: ClassVar[DeepResearchPhase]
    must_propose: ClassVar[bool] = False  # whether an answer without any search is of no use
    operations: ClassVar[tuple[Operation[Any, Any], ...]]

    def __init__(
        self,
        agent: Agent | Callable[..., Any],
        *,
        limits: WorkLimits | None = None,
        knows: Knows | None = None,
    ) -> None:
        """``knows`` tells whether a search for what guidance asks for can find something. Raises what `bind` does."""
        self.agent = bind(agent, self.role, self.operations)
        self.limits = limits or WorkLimits()
        self.knows = knows

    @property
    def role(self) -> AgentRole:
        return PHASE_TO_AGENT[self.phase]

    @property
    def spec(self) -> AgentSpec:
        return self.agent.spec

    @property
    def falls_back(self) -> bool:
        """Whether another agent does the rest where this one cannot."""
        return self.spec.falls_back

    @property
    def fallback_role(self) -> str:
        """Whose work that is, as it is told."""
        return self.role.value

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

    async def can_follow(self, steer: str, state: DeepResearchState) -> bool:
        """Whether the agent can do something with advice."""
        return True

    async def can_search(self, steer: str, state: DeepResearchState) -> bool:
        """Whether it has a model, or there is something to search for."""
        return self.spec.uses_model or bool((await split_searchable((steer,), state, self.knows))[0])

    def retried(self, state: DeepResearchState, *, advised: bool) -> Retry | None:
        """What doing the phase again would change, or None when it would only repeat itself. ``advised`` says
        that a hook gave new guidance; a gate's own words are no change to a deterministic agent."""
        return None if self.spec.deterministic and not advised else Retry()

    async def ask(
        self, operation: Operation[_In, _Out], handoff: _In, models: RunModels | None = None
    ) -> _Out:
        """One operation of the agent, which its spec has, under the operation's deadline; of one that uses a model each
        answer of the model has that deadline. A mapping is accepted as the answer and validated."""
        if handoff.memories and self.limits.memories is not None:
            handoff = handoff.model_copy(update={"memories": await self.limits.memories(handoff.memories)})
        answer = await self._called(operation, handoff, models)
        return self._asking(operation.validate(answer, self.role), handoff)

    def _asking(self, answer: _Out, handoff: Handoff) -> _Out:
        """The answer with what may be asked of the searches that it proposes. Agents that work by rule make them of the
        question and of sources alone, and never of what the owner says besides."""
        if not isinstance(answer, Proposal) or (self.spec.deterministic and not self.spec.uses_model):
            return answer
        query_filter = QueryFilter(handoff.original_query, handoff.system_prompt)
        changed = answer.with_queries(query_filter)
        if self.must_propose and query_filter.dropped and not query_filter.kept:
            raise AgentError(
                f"The searches of the {self.role} contain only addresses and confidential instructions.",
                hint="A page may have caused this; see docs/search.md.",
                role=self.role.value,
            )
        notes = query_filter.dropped_notes(self.role.value)
        return changed.model_copy(update={"notes": (*changed.notes, *notes)}) if notes else changed

    async def _called(
        self, operation: Operation[Any, Any], handoff: Handoff, models: RunModels | None
    ) -> Any:
        function = self.agent.calls[operation.name]
        try:
            if self.spec.uses_model:
                model = self._model(models)
                with guidance_scope(lambda: self._guidance(models)):
                    return await self.limits.calls(function, handoff, model)
            beside = (purse_of(models),) if self.spec.uses_purse else ()
            seconds = self.limits.operation_timeout if operation.has_deadline else None
            return await self.limits.calls(function, handoff, *beside, timeout=seconds)
        except (DeepResearchError, StopResearch):
            raise
        except TimeoutError as error:
            raise AgentError(
                f"The {self.role} took longer than {self.limits.operation_timeout:g} s.",
                hint="Raise operation_timeout, or give the agent less work.",
                role=self.role.value,
            ) from error
        except Exception as error:
            raise AgentError(
                f"The {self.role} failed: {describe_error(error)}",
                hint="Fix the agent, then resume the run.",
                role=self.role.value,
            ) from error

    def _guidance(self, models: RunModels | None) -> tuple[str, ...]:
        """The guidance for this phase so far."""
        return () if models is None else models.journal.state.guidance_for(self.phase)

    def _model(self, models: RunModels | None) -> LanguageModel:
        if models is None:
            raise AgentError(f"The {self.role} needs a model.", hint="Hand the phase a RunModels.")
        # Where nobody could do the rest of the phase, a share would end the run.
        return models.model(ModelRole(self.role.value), self.phase, steered=self.spec.falls_back)


def judged(blocking: Sequence[str], advice: Sequence[str], score: float) -> ValidationResult:
    """The verdict of a gate: what is ``blocking`` stands before what is only advice; the ``score`` counts up to 10."""
    issues = (*blocking, *advice)
    return ValidationResult(
        valid=not issues, issues=issues, blocking=tuple(blocking), quality_score=min(10.0, score)
    )


def purse_of(models: RunModels | None) -> BudgetScope:
    return models.purse if models is not None else BudgetScope()


def noted(notes: Iterable[str], name: str = "window") -> list[NoticeAdded]:
    """What an agent could only do in part, as notices of the run."""
    return [NoticeAdded(notice=Notice(name=name, message=bounded_line(note))) for note in notes]
