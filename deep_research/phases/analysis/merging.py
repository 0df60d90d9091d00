"""What several readings have in common: the same thing said twice, gaps that another reading fills."""

from __future__ import annotations

from pydantic import BaseModel, Field

from deep_research.evidence.agreement import numbers
from deep_research.evidence.text import content_stems
from deep_research.models.base import Effort, ModelCall
from deep_research.models.base import Message as Turn
from deep_research.models.language import LanguageModel
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, SurveyInput, SurveyOutput
from deep_research.phases.prompting import RULES, Aliases, Message, one_line, output_for, wishes
from deep_research.state import Finding

MOST_OUTPUT = 3_000  # tokens, thoughts included
MOST_FINDINGS = 150  # that are compared, the best; further ones stand as they are
IN_COMMON = 0.3  # of the words of the shorter of two findings that are said to be the same

SYSTEM = f"""\
Several readers have read different sources for one question and written down findings (F1, F2 …) and gaps \
(G1, G2 …), not knowing of each other. Put their work together:
- Which findings say the same thing? Two say the same if a report that has one gains nothing from the \
other: the same subject, the same figures, the same claim. Findings that agree only in part, or contradict \
each other, are not the same.
- Which gaps are none, since a finding fills them, and which are named twice?
- How much of the question do the findings answer, from 0 (nothing) to 1 (all that can be wanted)?
- Which searches, at most three, would do most for what is still missing? Each stands by itself.

{RULES}"""


class Merge(BaseModel):
    same: list[list[str]] = Field(
        default_factory=list, description="groups of findings that say the same, the best worded first"
    )
    settled_gaps: list[str] = Field(default_factory=list, description="gaps that are filled or named twice")
    completeness: float = Field(default=0.0, ge=0, le=1)
    suggested_queries: list[str] = Field(default_factory=list)


async def merge(handoff: SurveyInput, looked: SurveyOutput, model: LanguageModel) -> SurveyOutput:
    """``looked`` with what the model makes of all findings and gaps."""
    findings = handoff.findings[:MOST_FINDINGS]
    open_gaps = [gap for gap in handoff.gaps if not gap.addressed]
    if not findings:
        return looked
    named, gaps = Aliases("F", [f.id for f in findings]), Aliases("G", [g.id for g in open_gaps])
    message = Message()
    message.add(f"Question: {handoff.original_query}")
    message.add(wishes(handoff))
    lines = [f"{named.names[f.id]}: {one_line(f.content)}" for f in findings]
    message.material("findings", "\n".join(lines))
    if open_gaps:
        message.material(
            "gaps", "\n".join(f"{gaps.names[g.id]}: {one_line(g.description)}" for g in open_gaps)
        )
    call = ModelCall(
        system=SYSTEM,
        messages=(Turn(content=str(message)),),
        max_output=output_for(model, MOST_OUTPUT),
        effort=Effort.LOW,
        nonce=message.mark,
    )
    merged = (await model.object(call, Merge)).value
    by_id = {f.id: f for f in findings}
    groups = [[by_id[i] for i in named.all(group)] for group in merged.same]
    settled = gaps.all(merged.settled_gaps)
    joined, dropped, taken = [], [], set[str]()
    for group in groups:
        fresh = [finding for finding in group if finding.id not in taken]
        taken |= {finding.id for finding in fresh}
        alike = [finding for finding in fresh if _can_be_same(fresh[0], finding)]
        if len(alike) > 1:
            joined.append(_one(alike))
            dropped += [finding.id for finding in alike[1:]]
    return looked.model_copy(
        update={
            "findings": tuple(joined),
            "dropped": tuple(dropped),
            # A gap that is said to be named twice may be so with another that goes too: one of them stays.
            "addressed_gap_ids": settled if len(settled) < len(open_gaps) else settled[1:],
            "completeness": merged.completeness,
            "follow_ups": tuple(query for query in merged.suggested_queries if query.strip())[
                : handoff.follow_ups
            ],
        }
    )


def _can_be_same(one: Finding, other: Finding) -> bool:
    """Whether it is to be believed that two findings say the same: a page may have asked for it. Other figures, or
    hardly a word in common, and they stand as they are."""
    a, b = numbers(one.content), numbers(other.content)
    if a and b and a.isdisjoint(b):
        return False
    said, also = set(content_stems(one.content)), set(content_stems(other.content))
    return len(said & also) >= IN_COMMON * min(len(said), len(also))


def _one(group: list[Finding]) -> AnalyzedFinding:
    """The first, with the sources and quotes of all."""
    first = group[0]
    quotes = dict.fromkeys(
        AnalyzedQuote(source_id=q.source_id, quote=q.quote, start=q.start) for f in group for q in f.quotes
    )
    return AnalyzedFinding(
        content=first.content,
        confidence=first.confidence,
        source_ids=tuple(dict.fromkeys(i for f in group for i in f.source_ids)),
        category=first.category,
        quotes=tuple(quotes),
        sub_query_id=first.sub_query_id,
        relevance=max(f.relevance for f in group),
    )
