"""What models write of gaps and contradictions: the forms, what is asked of them, and what is made of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.models.coercion import Priority
from deep_research.phases.analysis.handoff import AnalyzedContradiction, AnalyzedGap, AnalyzedStance
from deep_research.phases.prompting import Aliases
from deep_research.state import Difference

MOST_GAPS = 3  # of an answer
MOST_GAP_QUERIES = 3
LONGEST_GAP = 1_000  # characters
MOST_CONTRADICTIONS = 12  # of an answer

GAP_RULES = """\
A gap is something the question needs and the sources do not give: say what, with one to three searches \
that may find it, each standing by itself. Priority 1 matters most. No more than three gaps, and none for \
what is nice to know."""
DIFFERENCES = """\
what differs: a number, a date, a direction (it rises, it falls; it does, it does not) or the scope (of another \
thing, place, version or condition). What says the same in other words or units is none."""


class NewGap(BaseModel):
    description: str
    suggested_queries: list[str] = Field(default_factory=list)
    priority: Priority = 1
    part: str | None = Field(
        default=None, description="name of the part of the question that lacks it, such as P1"
    )


class NewSide(BaseModel):
    name: str = Field(description="name of the source, such as S1, or of the finding, such as F2")
    says: str = Field(default="", description="what it says, in its own words, such as 57 metres")


class NewContradiction(BaseModel):
    of: str = Field(default="", description="of what they speak, in words of the findings")
    differs: Literal["number", "date", "direction", "scope"] = "number"
    sides: list[NewSide] = Field(description="two or more")


def gaps_of(gaps: Iterable[NewGap], parts: Aliases) -> tuple[AnalyzedGap, ...]:
    """The gaps that matter most."""
    return tuple(
        AnalyzedGap(
            description=gap.description[:LONGEST_GAP],
            suggested_queries=tuple(q for q in gap.suggested_queries if q.strip())[:MOST_GAP_QUERIES],
            priority=max(1, gap.priority),
            part_id=parts.id(gap.part) if gap.part else None,
        )
        for gap in sorted(gaps, key=lambda gap: gap.priority)[:MOST_GAPS]
        if gap.description.strip()
    )


def contradictions_of(
    told: Iterable[NewContradiction], findings: Aliases, sources: Aliases, by: str
) -> tuple[AnalyzedContradiction, ...]:
    """Those with two sides at least that name what was given."""
    made = []
    for item in list(told)[:MOST_CONTRADICTIONS]:
        stances = [stance for side in item.sides if (stance := _stance(side, findings, sources)) is not None]
        if len(stances) > 1:
            made.append(
                AnalyzedContradiction(
                    stances=tuple(stances), differs=Difference(item.differs), of=item.of, by=by
                )
            )
    return tuple(made)


def _stance(side: NewSide, findings: Aliases, sources: Aliases) -> AnalyzedStance | None:
    of_finding = side.name.strip(" [](").upper().startswith(findings.letter) or side.name in findings.ids
    known = (findings if of_finding else sources).id(side.name)
    if known is None:
        return None
    return AnalyzedStance(
        finding_id=known if of_finding else None, source_id=None if of_finding else known, says=side.says
    )
