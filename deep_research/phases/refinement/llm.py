"""The refiner that thinks with a model."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from deep_research.models.base import Effort, ModelCall
from deep_research.models.base import Message as Turn
from deep_research.models.language import LanguageModel
from deep_research.phases.prompting import (
    RULES,
    Aliases,
    Message,
    listed,
    manner,
    one_line,
    output_for,
    wishes,
)
from deep_research.phases.refinement.handoff import RefinerInput, RefinerOutput
from deep_research.state import ConfidenceLevel, FollowUpQuery, GapAnalysis, IterationRecommendation

MOST_OUTPUT = 2_500  # tokens, thoughts included
EXCERPT = 4_000  # characters of the report's beginning that are read again, fewer in a small window
MOST_ASKED = 60

SYSTEM = f"""\
You judge what is missing in a piece of research, and whether looking further is worth it. You are given \
the question, the beginning of the report, and the gaps that are open, each with a name such as G1.

For each gap say how much the answer suffers from it (critical, moderate or minor), whether a search can \
be expected to fill it, and which searches would. A search stands by itself, names things in full, and is \
none of those made before; say what it should bring. What nobody publishes, or what lies in the future, is \
not addressable.

Recommend another round only if a gap that matters can be filled and rounds are left. Name the gaps to \
begin with. Then say how the report itself could be better, in short instructions to whoever writes it: \
what is unclear, missing from what was found, in the wrong place, said twice.

{RULES}"""


class Search(BaseModel):
    query: str
    expected_contribution: str = Field(default="", description="what it should bring")


class GapJudgement(BaseModel):
    gap_id: str = Field(description="the name of the gap, such as G1")
    severity: Literal["critical", "moderate", "minor"] = "moderate"
    addressable: bool = True
    follow_up_queries: list[Search] = Field(default_factory=list)


class Recommendation(BaseModel):
    should_iterate: bool
    rationale: str = ""
    priority_gaps: list[str] = Field(
        default_factory=list, description="names of gaps, the most important first"
    )


class Judgement(BaseModel):
    gap_analysis: list[GapJudgement]
    iteration_recommendation: Recommendation
    report_improvements: list[str] = Field(default_factory=list)


class LLMRefiner:
    """Asks its model about the open gaps. Names of gaps that were not given are dropped."""

    uses_model = True
    deterministic = False
    falls_back = True
    name = "refiner"

    async def __call__(self, handoff: RefinerInput, model: LanguageModel) -> RefinerOutput:
        gaps = Aliases("G", [gap.id for gap in handoff.gaps])
        message = Message()
        call = ModelCall(
            system=SYSTEM,
            messages=(Turn(content=_told(handoff, gaps, message, min(EXCERPT, model.profile.context // 4))),),
            max_output=output_for(model, MOST_OUTPUT),
            effort=Effort.LOW,
            nonce=message.mark,
        )
        judgement = (await model.object(call, Judgement)).value
        asked = {" ".join(query.lower().split()) for query in handoff.asked}
        return RefinerOutput(
            gap_analysis=tuple(
                GapAnalysis(
                    gap_id=gap_id,
                    severity=item.severity,
                    addressable=item.addressable,
                    follow_up_queries=tuple(
                        FollowUpQuery(query=q.query, expected_contribution=q.expected_contribution)
                        for q in item.follow_up_queries
                        if q.query.strip() and " ".join(q.query.lower().split()) not in asked
                    ),
                )
                for item in judgement.gap_analysis
                if (gap_id := gaps.id(item.gap_id)) is not None
            ),
            iteration_recommendation=IterationRecommendation(
                should_iterate=judgement.iteration_recommendation.should_iterate,
                rationale=judgement.iteration_recommendation.rationale,
                priority_gaps=gaps.all(judgement.iteration_recommendation.priority_gaps),
            ),
            report_improvements=tuple(item for item in judgement.report_improvements if item.strip()),
        )


def _told(handoff: RefinerInput, gaps: Aliases, message: Message, excerpt: int) -> str:
    high = sum(f.confidence in (ConfidenceLevel.HIGH, ConfidenceLevel.CONFIRMED) for f in handoff.findings)
    message.add(f"Question: {handoff.original_query}")
    message.add(wishes(handoff))
    message.add(
        f"Round {handoff.iteration} of {handoff.max_iterations}; {handoff.remaining_iterations} are left."
        f" Sources: {handoff.source_count}. Findings: {len(handoff.findings)}, {high} of them of high confidence."
    )
    if handoff.report:
        cut = " (its beginning)" if len(handoff.report) > excerpt else ""
        message.add(f"The report as it is{cut}:")
        message.material("report", handoff.report[:excerpt])
    lines = []
    for gap in handoff.gaps:
        ideas = "; ".join(one_line(query) for query in gap.suggested_queries)
        lines.append(
            f"{gaps.names[gap.id]} (priority {gap.priority}): {one_line(gap.description)}"
            + (f" Ideas: {ideas}" if ideas else "")
        )
    message.add("The open gaps:")
    message.material("gaps", "\n".join(lines))
    if handoff.asked:
        message.add(f"Searched already:\n{listed(one_line(q) for q in handoff.asked[-MOST_ASKED:])}")
    message.add(manner(handoff))
    return str(message)
