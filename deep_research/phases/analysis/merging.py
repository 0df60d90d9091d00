"""What several readings have in common: the same thing said twice, gaps that another reading fills."""

from __future__ import annotations

from pydantic import BaseModel, Field

from deep_research.errors import BudgetError, ModelError, WindowError
from deep_research.evidence.agreement import numbers
from deep_research.evidence.words import NEGATIONS, content_stems, words
from deep_research.models.failures import is_outage
from deep_research.models.language_model import LanguageModel
from deep_research.phases.analysis.handoff import AnalyzedFinding, AnalyzedQuote, SurveyInput, SurveyOutput
from deep_research.phases.prompting import RULES, Aliases, Message, Room, asked, manner, one_line, opening
from deep_research.state import Finding

MOST_OUTPUT = 3_000  # tokens, thoughts included
MOST_FINDINGS = 150  # that are compared, the best; further ones stand as they are
IN_COMMON = 0.3  # of the words of the shorter of two findings that are said to be the same
NOT_COMPARED = "The share of the analysis had no room for comparing what was found in several readings."

SYSTEM = f"""\
Several readers have read different sources for one question and written down findings (F1, F2 …) and gaps \
(G1, G2 …), not knowing of each other. Put their work together:
- Which findings say the same thing? Two say the same if a report that has one gains nothing from the \
other: the same subject, the same figures, the same claim. Findings that agree only in part, or contradict \
each other, are not the same.
- Which gaps are none, since a finding fills them? Which are the same gap in other words?
- How much of the question do the findings answer, from 0 (nothing) to 1 (all that can be wanted)?
- Which searches, at most three, would do most for what is still missing? Each stands by itself.

{RULES}"""


class Merge(BaseModel):
    same: list[list[str]] = Field(
        default_factory=list, description="groups of findings that say the same, the best worded first"
    )
    filled_gaps: list[str] = Field(default_factory=list, description="gaps that a finding fills")
    same_gaps: list[list[str]] = Field(
        default_factory=list, description="groups of gaps that are one, the best worded first"
    )
    completeness: float = Field(default=0.0, ge=0, le=1)
    suggested_queries: list[str] = Field(default_factory=list)


async def merge(handoff: SurveyInput, looked: SurveyOutput, model: LanguageModel) -> SurveyOutput:
    """``looked`` with what the model makes of all findings and gaps. Where nothing usable comes of it the findings stand
    as they are: nothing is lost but that something may be said twice. So it is, and told, where the share of the phase is
    used up. Raises `BudgetError` of a cap, and what an outage raises."""
    if not handoff.findings:
        return looked
    try:
        merged, message = await asked(model, SYSTEM, MOST_OUTPUT, Merge, lambda room: _Asked(handoff, room))
    except BudgetError as error:
        if not error.data.get("share"):
            raise
        return looked.model_copy(update={"notes": (*looked.notes, NOT_COMPARED)})
    except (ModelError, WindowError) as error:
        if is_outage(error):
            raise
        return looked
    return _merged(merged, message, handoff, looked)


class _Asked(Message):
    """The message, with the findings and gaps that it has names for: those that fit, the first in rank."""

    def __init__(self, handoff: SurveyInput, room: Room) -> None:
        super().__init__(room)
        opening(self, handoff)
        findings = handoff.findings[:MOST_FINDINGS]
        self.named = Aliases("F", [f.id for f in findings])
        self.material("findings", "\n".join(self._listed(self.named, [f.content for f in findings], 0.6)))
        open_gaps = [gap for gap in handoff.gaps if not gap.addressed]
        self.gaps = Aliases("G", [g.id for g in open_gaps])
        if open_gaps:
            self.material("gaps", "\n".join(self._listed(self.gaps, [g.description for g in open_gaps], 0.2)))
        self.add(f"Name at most {min(3, handoff.follow_ups)} further searches. {manner(handoff)}")

    def _listed(self, aliases: Aliases, texts: list[str], share: float) -> list[str]:
        named = [
            f"{name}: {one_line(text)}" for name, text in zip(aliases.names.values(), texts, strict=True)
        ]
        return self.lines(named, share, "the findings when they were compared")


def _merged(merged: Merge, asked: _Asked, handoff: SurveyInput, looked: SurveyOutput) -> SurveyOutput:
    by_id = {f.id: f for f in handoff.findings}
    joined, dropped, taken = [], [], set[str]()
    for group in merged.same:
        members = [by_id[i] for i in asked.named.all(group) if i not in taken]
        fresh = [f for f in members if _says_no_more(f, than=members[0])]
        taken |= {finding.id for finding in fresh}
        if len(fresh) > 1:
            joined.append(_one(fresh))
            dropped += [finding.id for finding in fresh[1:]]
    settled = list(asked.gaps.all(merged.filled_gaps))
    for group in merged.same_gaps:
        settled += [i for i in asked.gaps.all(group)[1:] if i not in settled]
    return looked.model_copy(
        update={
            "findings": tuple(joined),
            "dropped": tuple(dropped),
            "addressed_gap_ids": tuple(settled),
            "completeness": merged.completeness,
            "follow_ups": tuple(query for query in merged.suggested_queries if query.strip())[
                : handoff.follow_ups
            ],
            "unknown": asked.named.unknown + asked.gaps.unknown,
            "notes": asked.notes("analyzer"),
        }
    )


def _says_no_more(finding: Finding, *, than: Finding) -> bool:
    """Whatever a model says, figures do not get lost, and a denial is not what it denies."""
    one, other = finding.content, than.content
    return numbers(one) <= numbers(other) and _denies(one) is _denies(other) and _are_near(one, other)


def _are_near(one: str, other: str) -> bool:
    """Whether they have words in common: a page may ask for anything to be taken for the same."""
    said, also = set(content_stems(one)), set(content_stems(other))
    return len(said & also) >= IN_COMMON * min(len(said), len(also))


def _denies(text: str) -> bool:
    return any(word.casefold() in NEGATIONS for word in words(text))


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
        iteration=min(f.iteration for f in group),
        part_id=first.part_id,
    )
