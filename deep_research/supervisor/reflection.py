"""The questions that the supervisor asks itself, or its hooks, after each phase, and what its model thinks of them before
the next phase starts."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.budget.metered import RunModels
from deep_research.errors import ModelError, StopResearch, StoreError
from deep_research.logs import describe_error, get_log
from deep_research.models.failures import Verdict
from deep_research.models.language_model import LanguageModel
from deep_research.phases.base import Phase
from deep_research.phases.prompting import (
    OF_ADVICE,
    OF_QUESTION,
    RULES,
    Message,
    Room,
    ask_model,
    instructions,
    listed,
    one_line,
    today_of,
)
from deep_research.state import (
    AgentDecision,
    DeepResearchPhase,
    DeepResearchState,
    ModelRole,
    Notice,
    QuestionPart,
    SupervisorAction,
    ValidationResult,
)
from deep_research.state.events import NoticeAdded
from deep_research.state.journal import Clock, Journal
from deep_research.state.records import OF_MODEL
from deep_research.supervisor.decisions import by_supervisor
from deep_research.supervisor.review import Review, consider

MAX_OUTPUT_TOKENS = 1_500  # tokens, thoughts included

SYSTEM = f"""\
You supervise a piece of research that goes through planning, gathering, analysis, synthesis and \
refinement, each done by a specialist. After a phase you look at what came of it, in figures, decide what \
comes next, and advise whoever works then, or does the phase again.

Weigh whether the question is covered, how good the evidence is, and what the rounds that are left allow. \
Then give an action (proceed, retry, iterate or complete), the reason in one or two sentences, a score \
from 1 to 10 with strengths and weaknesses, and guidance: at most three short, concrete instructions that \
change what the next specialist does. Say "" if there is nothing worth saying; praise is no guidance.

{RULES}"""

ORIGIN = "supervisor"
_IN_VAIN = (Verdict.TRANSIENT, Verdict.PARK, Verdict.FATAL)  # the service does not answer, or not us
log = get_log("thinking")


class Assessment(BaseModel):
    score: int = Field(default=5, ge=1, le=10)
    strengths: list[str] = Field(default_factory=list)
    weaknesses: list[str] = Field(default_factory=list)


class Reflection(BaseModel):
    action: Literal["proceed", "retry", "iterate", "complete"] = "proceed"
    rationale: str = ""
    quality_assessment: Assessment = Field(default_factory=Assessment)
    guidance: str = Field(default="", description="instructions to whoever works next")


async def reflect(
    state: DeepResearchState,
    phase: DeepResearchPhase,
    validation: ValidationResult,
    model: LanguageModel,
    prompt: str,
) -> Reflection:
    """What the supervisor's model thinks of a finished phase, asked by the ``prompt``. Raises `WorkError`."""
    reflection, _ = await ask_model(
        model,
        SYSTEM,
        MAX_OUTPUT_TOKENS,
        Reflection,
        lambda room: _prompt(state, phase, validation, prompt, room),
    )
    return reflection


def _prompt(
    state: DeepResearchState,
    phase: DeepResearchPhase,
    validation: ValidationResult,
    prompt: str,
    room: Room,
) -> Message:
    message = Message(room)
    message.add(f"Question: {message.within(state.query, OF_QUESTION, 'the question')}")
    message.add(today_of(state))
    instructions(message, state.options.system_prompt)
    message.add(f"Phase: {phase.value}, round {state.iteration} of {state.max_iterations}.")
    message.add(prompt)
    if validation.issues:
        issues = message.lines([one_line(issue) for issue in validation.issues], OF_ADVICE, "the issues")
        message.add(f"The gate found:\n{listed(issues)}")
    message.add(f"What there is:\n{listed(_figures(state, phase))}")
    return message


def reflected(
    reflection: Reflection, phase: DeepResearchPhase, iteration: int, at: datetime
) -> AgentDecision:
    """The reflection as the decision that it is recorded as."""
    inputs = {"phase": phase.value, "iteration": iteration}
    outputs = reflection.model_dump(mode="json", exclude={"rationale"})
    return by_supervisor("reflect", reflection.rationale, inputs, outputs, at)


def _figures(state: DeepResearchState, phase: DeepResearchPhase) -> list[str]:
    """What the run has, in figures and the words of its owner alone: what pages say could order a model to have phases
    done again and again."""
    lines = [f"{part.text}: {verdict}" for part, verdict in _parts(state)]
    searched = sum(bool(s.source_ids) for s in state.completed_sub_queries())
    lines.append(f"{len(state.current_sub_queries())} searches planned, {searched} of them found something.")
    if phase is DeepResearchPhase.PLANNING:
        return lines
    kinds = Counter(f"{source.kind.value} of {source.quality.value} quality" for source in state.sources)
    lines.append(f"Sources: {_count_list(kinds)}.")
    if phase is not DeepResearchPhase.GATHERING:
        lines.append(
            f"Findings: {_count_list(Counter(f'{f.confidence.value} confidence' for f in state.findings))}."
        )
        lines.append(
            f"{len(state.unresolved_gaps())} gaps are open; {len(state.contradictions)} contradictions."
        )
    if state.report_metadata is not None:
        metadata = state.report_metadata
        lines.append(f"Report: {metadata.word_count} words, {metadata.citations_count} citations.")
    return [one_line(line) for line in lines]


def _parts(state: DeepResearchState) -> list[tuple[QuestionPart, str]]:
    """The parts of the question, each with how far it is answered; a planner that has read titles may word them, so that
    only those that the question itself shows are told."""
    verdicts = {v.part_id: v.verdict.value.replace("_", " ") for v in state.verdicts}
    return [
        (part, verdicts[part.id])
        for part in state.parts
        if part.id in verdicts and " ".join(part.text.split()) in " ".join(state.query.split())
    ]


def _count_list(kinds: Counter[str]) -> str:
    return ", ".join(f"{count} of {kind}" for kind, count in sorted(kinds.items())) or "none"


def reflection_prompt(state: DeepResearchState, phase: DeepResearchPhase) -> str:
    """The phase's result in figures and the questions to weigh. Pure."""
    unresolved, total = len(state.unresolved_gaps()), len(state.gaps)
    match phase:
        case DeepResearchPhase.PLANNING:
            brief = "with" if state.research_brief else "without"
            return (
                f"The plan has {len(state.current_sub_queries())} sub-queries, {brief} a research brief."
                " Do they cover the whole question? Which side of it is not asked about?"
            )
        case DeepResearchPhase.GATHERING:
            return (
                f"{len(state.sources)} sources were gathered, {state.high_quality_sources()} of high quality."
                " Are they different enough from one another? Is their quality good enough?"
            )
        case DeepResearchPhase.ANALYSIS:
            return (
                f"{len(state.findings)} findings were drawn and {unresolved} gaps are open."
                " Do the sources carry the findings? Which gap matters most?"
            )
        case DeepResearchPhase.SYNTHESIS:
            return (
                f"The report has {len(state.report or '')} characters, in iteration {state.iteration} of"
                f" {state.max_iterations}. Does it answer the question? Is another round worth it?"
            )
        case DeepResearchPhase.REFINEMENT:
            return (
                f"{total - unresolved} of {total} gaps are addressed."
                " Should the research go on, or is it ready to be finished?"
            )


class Thinking:
    """The reflections of one run. ``when`` is never, on_failure or always."""

    def __init__(self, models: RunModels | None, when: str, clock: Clock) -> None:
        has_model = models is not None and bool(models.roles.chain_of(ModelRole.SUPERVISOR))
        self._models = models if has_model and when != "never" else None
        self._always = when == "always"
        self._clock = clock

    async def after(self, journal: Journal, review: Review, worker: Phase, prompt: str) -> None:
        """Think about a finished phase by the ``prompt``, as far as that is wanted: what the model advises and wants
        becomes part of the review."""
        failed = review.action is not SupervisorAction.PROCEED
        if self._models is None or not (failed or self._always) or review.action is SupervisorAction.ABORT:
            return
        thought = await self._think(journal, review, prompt, self._models)
        if thought is None:
            return
        state = journal.state
        advice = thought.guidance.strip()
        is_new = bool(advice) and advice not in state.steering_for(review.phase)
        followed = is_new and await worker.can_follow(advice, state)
        if advice:
            review.guidance.append((advice, ORIGIN))
        decision = reflected(thought, review.phase, state.iteration, self._clock())
        consider(review, decision, SupervisorAction(thought.action), state, worker, followed=followed)

    async def _think(
        self, journal: Journal, review: Review, prompt: str, models: RunModels
    ) -> Reflection | None:
        """None where nothing comes of it: advice is no work, and the run goes on without."""
        model = models.model(ModelRole.SUPERVISOR, review.phase)
        try:
            return await reflect(journal.state, review.phase, review.validation, model, prompt)
        except (StoreError, StopResearch):
            raise
        except Exception as error:  # a provider may be anybody's
            log.warning("no_reflection", error=describe_error(error))
            if isinstance(error, ModelError) and error.verdict in _IN_VAIN:
                self._models = None  # a request after each phase would be as much in vain
                problem = f"The supervisor's model does not answer ({error.problem})"
                message = f"{problem}; the run continues without its advice."
                await journal.record(NoticeAdded(notice=Notice(name=OF_MODEL, message=message)))
            return None
