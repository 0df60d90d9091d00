"""The refiner that thinks with a model."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, Field

from deep_research.budget.content_budget import DEFAULTS, Content, ContentRules
from deep_research.models.language_model import LanguageModel
from deep_research.phases.prompting import (
    RULES,
    SHORTENING,
    Aliases,
    Message,
    Room,
    asked,
    listed,
    manner,
    one_line,
    opening,
)
from deep_research.phases.refinement.handoff import REPORT, RefinerInput, RefinerOutput
from deep_research.report.render import REFERENCES
from deep_research.state import ConfidenceLevel, FollowUpQuery, Gap, GapAnalysis, IterationRecommendation

MOST_OUTPUT = 2_500  # tokens, thoughts included
OF_REPORT, OF_GAPS, OF_ASKED = 0.3, 0.15, 0.1  # of the room

SYSTEM = f"""\
You judge what is missing in a piece of research, and whether looking further is worth it. You are given \
the question, the report (of a long one what matters most, […] for the rest), and the gaps that are open, each with a \
name such as G1.

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

    def __init__(self, rules: ContentRules = DEFAULTS) -> None:
        self._rules = rules

    async def __call__(self, handoff: RefinerInput, model: LanguageModel) -> RefinerOutput:
        judgement, message = await asked(
            model,
            SYSTEM,
            MOST_OUTPUT,
            Judgement,
            lambda room: _told(handoff, room),
            self._rules,
            size=SHORTENING * len(handoff.report or "") + sum(len(gap.description) for gap in handoff.gaps),
        )
        return _output(judgement, handoff).model_copy(
            update={"notes": message.notes(self.name), "sent": message.sending}
        )


def _output(judgement: Judgement, handoff: RefinerInput) -> RefinerOutput:
    gaps = Aliases("G", [gap.id for gap in handoff.gaps])
    seen = {_key(query) for query in handoff.asked}
    assessed: dict[str, GapAnalysis] = {}
    for item in judgement.gap_analysis:
        gap_id = gaps.id(item.gap_id)
        if gap_id is None or gap_id in assessed:
            continue
        fresh = []
        for search in item.follow_up_queries:
            if _key(search.query) and _key(search.query) not in seen:
                fresh.append(search)
                seen.add(_key(search.query))
        assessed[gap_id] = GapAnalysis(
            gap_id=gap_id,
            severity=item.severity,
            addressable=item.addressable,
            follow_up_queries=tuple(
                FollowUpQuery(
                    query=" ".join(q.query.split()),
                    expected_contribution=q.expected_contribution,
                )
                for q in fresh
            ),
        )
    recommended = judgement.iteration_recommendation
    return RefinerOutput(
        gap_analysis=tuple(assessed.values()),
        iteration_recommendation=IterationRecommendation(
            should_iterate=recommended.should_iterate,
            rationale=recommended.rationale,
            priority_gaps=gaps.all(recommended.priority_gaps),
        ),
        report_improvements=tuple(item for item in judgement.report_improvements if item.strip()),
        unknown=gaps.unknown,
    )


def _key(query: str) -> str:
    return " ".join(query.lower().split())


def _told(handoff: RefinerInput, room: Room) -> Message:
    message = Message(room)
    high = sum(f.confidence in (ConfidenceLevel.HIGH, ConfidenceLevel.CONFIRMED) for f in handoff.findings)
    opening(message, handoff)
    message.add(
        f"Round {handoff.iteration} of {handoff.max_iterations}; {handoff.remaining_iterations} are left."
        f" Sources: {handoff.source_count}. Findings: {len(handoff.findings)}, {high} of them of high confidence."
    )
    if handoff.report:
        # The list of references at its end is put in by code.
        report = Content(REPORT, (handoff.report.partition(f"\n## {REFERENCES}\n")[0],), 1.0)
        fitted = message.fitted([report], int(room.tokens * OF_REPORT), handoff.original_query, "the report")
        message.add("The report as it is:")
        message.material("report", fitted.texts[REPORT])
    names = Aliases("G", [gap.id for gap in handoff.gaps]).names
    gaps = [Content(gap.id, _forms(gap), *handoff.weights.gap(gap)) for gap in handoff.gaps]
    fitted = message.fitted(gaps, int(room.tokens * OF_GAPS), handoff.original_query, "the gaps")
    ranked = sorted(handoff.gaps, key=lambda gap: gap.priority)
    lines = [
        f"{names[gap.id]} (priority {gap.priority}): {text}"
        for gap in ranked
        if (text := fitted.texts[gap.id])
    ]
    message.add("The open gaps:")
    message.material("gaps", "\n".join(lines))
    if handoff.asked:
        latest = [one_line(query) for query in reversed(handoff.asked)]
        asked = message.lines(latest, OF_ASKED, "earlier searches")
        message.add(f"Searched already, the latest first:\n{listed(asked)}")
    message.add(manner(handoff))
    return message


def _forms(gap: Gap) -> tuple[str, ...]:
    """A gap with the ideas for searches, and without."""
    said = one_line(gap.description)
    ideas = "; ".join(one_line(query) for query in gap.suggested_queries)
    return (f"{said} Ideas: {ideas}", said) if ideas else (said,)
