"""What the supervisor asks itself, or its hooks, after each phase, and what its model thinks of it."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.models.language_model import LanguageModel
from deep_research.phases.prompting import (
    OF_ADVICE,
    OF_OWNER,
    OF_QUESTION,
    RULES,
    Message,
    listed,
    one_line,
    output_for,
    room_for,
    shortened,
)
from deep_research.state import AgentDecision, DeepResearchPhase, DeepResearchState, ValidationResult

MOST_OUTPUT = 1_500  # tokens, thoughts included
MOST_SHOWN, MOST_REPORT = 3_000, 3_000  # tokens of findings, sources or sub-queries; of the report
OF_RESULT = 0.4  # of the room, at most

SYSTEM = f"""\
You supervise a piece of research that goes through planning, gathering, analysis, synthesis and \
refinement, each done by a specialist. After a phase you look at what came of it and advise whoever works \
next, or does the phase again.

Weigh whether the question is covered, how good the evidence is, and what the rounds that are left allow. \
Then give an action (proceed, retry, iterate or complete), the reason in one or two sentences, a score \
from 1 to 10 with strengths and weaknesses, and guidance: at most three short, concrete instructions that \
change what the next specialist does. Say "" if there is nothing worth saying; praise is no guidance.

{RULES}"""


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
    state: DeepResearchState, phase: DeepResearchPhase, validation: ValidationResult, model: LanguageModel
) -> Reflection:
    """What the supervisor's model thinks of a finished phase. Raises `WorkError`."""
    output = output_for(model, MOST_OUTPUT)
    message = Message(await room_for(model, output, SYSTEM))
    message.add(f"Question: {message.within(state.query, OF_QUESTION, 'the question')}")
    if state.options.system_prompt:
        said = message.within(state.options.system_prompt, OF_OWNER, "the instructions of the owner")
        message.add(f"The owner of this research says:\n{said}")
    message.add(f"Phase: {phase.value}, round {state.iteration} of {state.max_iterations}.")
    message.add(reflection_prompt(state, phase))
    if validation.issues:
        issues = message.lines([one_line(issue) for issue in validation.issues], OF_ADVICE, "the issues")
        message.add(f"The gate found:\n{listed(issues)}")
    label, lines = _shown(state, phase)
    if phase is DeepResearchPhase.SYNTHESIS and state.report:
        message.material(
            "report", shortened(state.report, min(MOST_REPORT, int(message.room * OF_RESULT)), message.count)
        )
    elif lines:
        least = min(OF_RESULT, MOST_SHOWN / max(1, message.room))
        message.material(label, listed(message.lines([one_line(line) for line in lines], least, label)))
    call = message.call(SYSTEM, output)
    return (await model.object(call, Reflection)).value


def reflected(
    reflection: Reflection, phase: DeepResearchPhase, iteration: int, at: datetime
) -> AgentDecision:
    """The reflection as the decision that it is recorded as."""
    return AgentDecision(
        agent="supervisor",
        action="reflect",
        rationale=reflection.rationale,
        inputs={"phase": phase.value, "iteration": iteration},
        outputs=reflection.model_dump(mode="json", exclude={"rationale"}),
        timestamp=at,
    )


def _shown(state: DeepResearchState, phase: DeepResearchPhase) -> tuple[str, list[str]]:
    """What the phase came to, a line for each item."""
    match phase:
        case DeepResearchPhase.PLANNING:
            return "plan", [s.query for s in state.current_sub_queries()]
        case DeepResearchPhase.GATHERING:
            return "sources", [f"{s.title} ({s.quality.value})" for s in state.sources]
        case DeepResearchPhase.ANALYSIS:
            findings = [f"{f.confidence.value}: {f.content}" for f in state.findings]
            return "findings and gaps", findings + [f"gap: {g.description}" for g in state.unresolved_gaps()]
        case DeepResearchPhase.SYNTHESIS:
            return "report", []
        case DeepResearchPhase.REFINEMENT:
            return "gaps", [g.description for g in state.unresolved_gaps()]


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
