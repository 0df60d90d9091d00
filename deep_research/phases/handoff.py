"""The input that all agents share, and the searches that an agent proposes: here each query of a model passes
`askable`."""

from __future__ import annotations

from collections.abc import Callable, Container
from datetime import date
from typing import Any, Self, TypeVar

from pydantic import Field

from deep_research.budget.allocation import Weights
from deep_research.logs import get_log
from deep_research.provenance.secret_filter import askable
from deep_research.retrieval.parsed_question import ParsedQuestion, parse_question, question_parts
from deep_research.state import (
    Claim,
    Contradiction,
    DeepResearchPhase,
    DeepResearchState,
    Finding,
    Limit,
    MemoryRef,
    Notice,
    PartVerdict,
    QuestionPart,
    Quote,
    Record,
    Source,
    SubQuery,
)

_H = TypeVar("_H", bound="Handoff")

log = get_log("handoff")
Change = Callable[[str], str]
_TALKING = (DeepResearchPhase.PLANNING, DeepResearchPhase.SYNTHESIS)  # the phases that know the conversation


class MemoryNote(MemoryRef):
    """An entry of the user's memory with its text, which is put in when the agent is asked; empty where the entry was
    edited or forgotten since."""

    text: str = ""
    day: date | None = None


class Handoff(Record):
    """What every agent is told. ``guidance`` has the advice for this iteration, from gates, hooks, answers, steers and
    the supervisor, oldest first; ``steering`` has the same without gates, from all iterations, for agents without a
    model; ``system_prompt`` is what the owner of the run adds; ``language`` and ``audience`` are for what people will
    read; ``day`` is when the run was asked, ``as_of`` the day for which its answer has to hold, where its owner names
    one, and ``protected_sources`` are patterns of sources that its owner wants kept. ``conversation`` is a summary of the
    turns before the run, for the planner and the writer, and ``memories`` are what is remembered of the user. ``parts``
    are those of the question."""

    research_id: str
    original_query: str
    current_phase: DeepResearchPhase
    iteration: int
    guidance: tuple[str, ...] = ()
    steering: tuple[str, ...] = ()
    parts: tuple[QuestionPart, ...] = ()
    system_prompt: str | None = None
    language: str | None = None
    audience: str | None = None
    day: date | None = None
    as_of: date | None = None
    protected_sources: tuple[str, ...] = ()
    conversation: str = ""
    memories: tuple[MemoryNote, ...] = ()

    @property
    def weights(self) -> Weights:
        """By what items of the run matter where not all of them fit."""
        return Weights(self.day, self.protected_sources)

    @property
    def question(self) -> ParsedQuestion:
        """The question as it is read: its terms, names, parts and expected answer."""
        return parse_question(self.original_query)

    @property
    def common(self) -> dict[str, Any]:
        """The fields that every handoff has, for another one of the same phase."""
        return {name: getattr(self, name) for name in Handoff.model_fields}


class QuotePassage(Record):
    """A piece of a saved text of a source: ``text(content_hash)[start:end] == text``, in code points."""

    source_id: str
    content_hash: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    text: str

    @classmethod
    def of(cls, quote: Quote) -> Self:
        return cls(
            source_id=quote.source_id,
            content_hash=quote.content_hash,
            start=quote.start,
            end=quote.end,
            text=quote.quote,
        )


class EvidenceInput(Handoff):
    """What those are given who write a report or judge it. ``sources`` are those that findings cite, without their texts;
    ``source_rounds`` their ids by the round in which they were found first, in an order that stays when more are found.
    ``passages`` are the first quotes of findings with what stands around them, by their ids; ``verdicts`` are those on
    the parts of the question. ``draft`` is the last report with ids of findings, where there is one, ``failing`` are
    those of its claims that nothing carries."""

    max_iterations: int
    research_brief: str | None = None
    findings: tuple[Finding, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    verdicts: tuple[PartVerdict, ...] = ()
    sources: tuple[Source, ...] = ()
    sub_queries: tuple[SubQuery, ...] = ()
    notices: tuple[Notice | Limit, ...] = ()
    source_rounds: tuple[tuple[str, ...], ...] = ()
    passages: dict[str, tuple[QuotePassage, ...]] = Field(default_factory=dict)
    draft: str = ""
    failing: tuple[Claim, ...] = ()


def evidence_of(state: DeepResearchState) -> dict[str, Any]:
    """What a state has of it."""
    cited_ids = {source_id for finding in state.findings for source_id in finding.source_ids}
    return {
        "max_iterations": state.max_iterations,
        "research_brief": state.research_brief,
        "findings": state.findings,
        "contradictions": state.contradictions,
        "verdicts": state.verdicts,
        "sources": tuple(source for source in state.sources if source.id in cited_ids),
        "sub_queries": state.current_sub_queries(),
        "source_rounds": _source_rounds(state, cited_ids),
    }


def _source_rounds(state: DeepResearchState, cited: Container[str]) -> tuple[tuple[str, ...], ...]:
    """The cited sources by the round in which they were found, in the order of searches and of what each found: neither
    changes later, as scores do."""
    searches = {search.id: search for search in state.sub_queries}
    rounds: list[list[tuple[int, int, str]]] = [[] for _ in range(max(1, state.iteration))]
    for source in state.sources:
        if source.id in cited:
            search = searches.get(source.sub_query_id)
            number, index = (search.iteration, search.index) if search else (1, 0)
            rounds[min(max(1, number), len(rounds)) - 1].append((index, source.rank, source.id))
    return tuple(tuple(source_id for _, _, source_id in sorted(each)) for each in rounds)


def shared(state: DeepResearchState, phase: DeepResearchPhase) -> dict[str, Any]:
    """The fields that every handoff has."""
    return {
        "research_id": state.research_id,
        "original_query": state.query,
        "current_phase": phase,
        "iteration": state.iteration,
        "guidance": state.guidance_for(phase),
        "steering": state.steering_for(phase),
        "parts": state.parts or question_parts(state.query),
        "system_prompt": state.options.system_prompt,
        "language": state.options.language,
        "audience": state.options.audience,
        "day": state.created_at.date() if state.created_at else None,
        "as_of": state.options.as_of,
        "protected_sources": state.options.protected_sources,
        "memories": tuple(MemoryNote(**dict(ref)) for ref in state.memories) if phase in _TALKING else (),
        "conversation": state.resolution.summary if state.resolution and phase in _TALKING else "",
    }


def with_latest(handoff: _H, state: DeepResearchState) -> _H:
    """The handoff with what was said to the run since it was made: for a unit that begins only now."""
    phase = handoff.current_phase
    guidance, steering = state.guidance_for(phase), state.steering_for(phase)
    if (guidance, steering) == (handoff.guidance, handoff.steering):
        return handoff
    return handoff.model_copy(update={"guidance": guidance, "steering": steering})


class Proposal(Record):
    """An answer that may propose searches. ``notes`` are what a reader of the report should know."""

    notes: tuple[str, ...] = ()

    def with_queries(self, change: Change) -> Self:
        """The same with each query changed, and without those that become empty."""
        raise NotImplementedError


class QueryFilter:
    """Removes from proposed queries what may not leave the machine; counts them as ``kept`` and ``dropped``."""

    def __init__(self, question: str, instructions: str | None) -> None:
        self._question = question
        self._instructions = instructions
        self.kept = self.dropped = 0

    def __call__(self, query: str) -> str:
        text = askable(query, self._question, self._instructions)
        self.kept += bool(text)
        self.dropped += bool(query.strip()) and not text
        return text

    def dropped_notes(self, agent_role: str) -> tuple[str, ...]:
        """Log the dropped queries and return a note for the report."""
        if not self.dropped:
            return ()
        log.warning("queries_dropped", agent=agent_role, queries=self.dropped)
        many, were, they = "A search", "was", "it"
        if self.dropped > 1:
            many, were, they = f"{self.dropped} searches", "were", "they"
        return (
            f"{many} that the {agent_role} proposed {were} not made: "
            f"{they} contained only addresses or instructions.",
        )
