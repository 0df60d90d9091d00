"""Gaps and contradictions as models write them, and what several readings have in common: the same thing said twice, gaps
that another reading fills."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.errors import BudgetError, ModelError, WindowError
from deep_research.models.coercion import Priority
from deep_research.models.failures import is_outage
from deep_research.models.language_model import LanguageModel
from deep_research.phases.analysis.handoff import (
    AnalyzedContradiction,
    AnalyzedFinding,
    AnalyzedGap,
    AnalyzedQuote,
    AnalyzedStance,
    SourceText,
    SurveyInput,
    SurveyOutput,
)
from deep_research.phases.prompting import (
    RULES,
    Aliases,
    Message,
    Room,
    ask_model,
    brief,
    listed,
    manner,
    one_line,
    opening,
)
from deep_research.provenance.sites import host_of
from deep_research.state import Difference, Finding, Gap
from deep_research.text.words import content_stems, denies
from deep_research.verification.finding_clusters import join_group, numbers

MAX_OUTPUT_TOKENS = 3_000  # tokens, thoughts included
MAX_FINDINGS = 150  # that are compared, the best; further ones stand as they are
MAX_NAMED_FINDINGS = 3  # findings that are named beside a gap
MAX_TITLE_CHARS = 120
MAX_GAPS = 3  # of an answer
MAX_GAP_QUERIES = 3
MAX_GAP_CHARS = 1_000
MAX_CONTRADICTIONS = 12  # of an answer
# Of the room of the message.
OF_FINDINGS, OF_SOURCES, OF_GAPS, OF_PARTS = 0.5, 0.12, 0.1, 0.05
OF_CONTRADICTIONS = OF_REFERENCES = 0.04
_OF_GROUP = ("content", "confidence", "source_ids", "category", "sub_query_id", "relevance", "part_id")
COMPARED = "the findings when they were compared"
IN_COMMON = 0.3  # of the words of the shorter of two findings that are said to be the same
NOT_COMPARED = "The share of the analysis had no room for comparing what was found in several readings."

GAP_RULES = """\
A gap is something the question needs and the sources do not give: say what, with one to three searches \
that may find it, each standing by itself. Priority 1 matters most. No more than three gaps, and none for \
what is nice to know."""
DIFFERENCES = """\
what differs: a number, a date, a direction (it rises, it falls; it does, it does not) or the scope (of another \
thing, place, version or condition). What says the same in other words or units is none."""

SYSTEM = f"""\
Several readers have read different sources for one question and written down findings (F1, F2 …), not \
knowing of each other. You see what they found, from which sources (S1, S2 …), the gaps that were open \
before (G1, G2 …), and to what the sources point for more. Put their work together:
- Which findings say the same thing? Two say the same if a report that has one gains nothing from the \
other: the same subject, the same figures, the same claim. Findings that agree only in part, or contradict \
each other, are not the same.
- Which findings contradict each other? Name the sides, each by its finding, and {DIFFERENCES} Those that are \
known already need not be named again.
- Which of the open gaps are none, since a finding fills them? It has to give what the gap asks for, of the same \
thing, time and version; words in common are not enough. Which are the same gap in other words?
- What does the question still need? {GAP_RULES} Do not repeat gaps that are open.
- How much of the question do the findings answer, from 0 (nothing) to 1 (all that can be wanted)?
- Which searches would do most for what is still missing? Each stands by itself. Where a source points to a \
section or page that would tell, search for that.

{RULES}"""


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


class Merge(BaseModel):
    same: list[list[str]] = Field(
        default_factory=list, description="groups of findings that say the same, the best worded first"
    )
    contradictions: list[NewContradiction] = Field(default_factory=list)
    filled_gaps: list[str] = Field(default_factory=list, description="gaps that a finding fills")
    same_gaps: list[list[str]] = Field(
        default_factory=list, description="groups of gaps that are one, the best worded first"
    )
    gaps: list[NewGap] = Field(default_factory=list, description="what is missing, beside the open gaps")
    completeness: float = Field(default=0.0, ge=0, le=1)
    suggested_queries: list[str] = Field(default_factory=list)


async def merge(handoff: SurveyInput, looked: SurveyOutput, model: LanguageModel) -> SurveyOutput:
    """``looked`` with what the model makes of all findings and gaps. Where nothing usable comes of it the findings stand
    as they are: nothing is lost but that something may be said twice. So it is, and told, where the share of the phase is
    used up. Raises `BudgetError` of a cap, and what an outage raises."""
    if not handoff.findings:
        return looked
    try:
        answer, message = await ask_model(
            model, SYSTEM, MAX_OUTPUT_TOKENS, Merge, lambda room: _Asked(handoff, room)
        )
    except BudgetError as error:
        if not error.data.get("share"):
            raise
        return looked.model_copy(update={"notes": (*looked.notes, NOT_COMPARED)})
    except (ModelError, WindowError) as error:
        if is_outage(error):
            raise
        return looked
    return _merge_output(answer, message, handoff, looked, model.name)


class _Asked(Message):
    """The message, with the findings and gaps that it has names for: those that fit, the first in rank."""

    def __init__(self, handoff: SurveyInput, room: Room) -> None:
        super().__init__(room)
        opening(self, handoff)
        brief(self, handoff.research_brief)
        self.parts = Aliases("P", [part.id for part in handoff.parts])
        if len(handoff.parts) > 1:
            parts = [part.text for part in handoff.parts]
            self._material("parts", self.parts, parts, OF_PARTS, "the parts of the question")
        if why := [
            f"{one_line(s.query)} ({one_line(s.rationale)})" for s in handoff.sub_queries if s.rationale
        ]:
            self.add(f"Why it was searched for what:\n{listed(self.lines(why, OF_PARTS, 'the searches'))}")
        findings = handoff.findings[:MAX_FINDINGS]
        carrying = {i for finding in findings for i in finding.source_ids}
        sources = [s for s in handoff.sources if s.id in carrying]
        self.sources = Aliases("S", [s.id for s in sources])
        self._material("sources", self.sources, map(_about, sources), OF_SOURCES, COMPARED)
        self.named = Aliases("F", [f.id for f in findings])
        finding_lines = (f"{f.content}{self._carried(f)}" for f in findings)
        self._material("findings", self.named, finding_lines, OF_FINDINGS, COMPARED)
        names = self.named.names
        gap_lines = [
            f"{', '.join(names[i] for i in c.finding_ids if i in names)}: {one_line(c.description)}"
            for c in handoff.contradictions
        ]
        self.listing("", "contradictions that are known", gap_lines, OF_CONTRADICTIONS, COMPARED)
        open_gaps = [gap for gap in handoff.gaps if not gap.addressed]
        self.gaps = Aliases("G", [g.id for g in open_gaps])
        if open_gaps:
            asked_for = (f"{g.description}{self._filling(g, handoff)}" for g in open_gaps)
            self._material("gaps", self.gaps, asked_for, OF_GAPS, COMPARED)
        of_sources = self.sources.names
        more = [
            f"{of_sources[r.source_id]}: {one_line(r.text)}"
            for r in handoff.references
            if r.source_id in of_sources
        ]
        self.listing("", "references", more, OF_REFERENCES, "what the sources point to")
        if searches := min(3, handoff.follow_ups):
            self.add(f"Name at most {searches} further searches. {manner(handoff)}")
        else:
            self.add(f"No further searches will be made. {manner(handoff)}")

    def _material(self, label: str, aliases: Aliases, texts: Iterable[str], share: float, what: str) -> None:
        source_lines = [
            f"{name}: {one_line(text)}" for name, text in zip(aliases.names.values(), texts, strict=True)
        ]
        self.material(label, "\n".join(self.lines(source_lines, share, what)))

    def _carried(self, finding: Finding) -> str:
        names = [self.sources.names[i] for i in finding.source_ids if i in self.sources.names]
        return f" [{', '.join(names)}; {finding.confidence.value}]" if names else ""

    def _filling(self, gap: Gap, handoff: SurveyInput) -> str:
        """Which findings have the words of a gap: whether they fill it is not for words to say."""
        filling = handoff.fillings.get(gap.id, ())[:MAX_NAMED_FINDINGS]
        names = [self.named.names[i] for i in filling if i in self.named.names]
        return f" [it has words of {', '.join(names)}]" if names else ""


def _about(source: SourceText) -> str:
    """A source in a line: title, site, date, quality."""
    day = source.published.isoformat() if source.published else "no date"
    site = host_of(source.url or "") or source.url
    return "; ".join(filter(None, (source.title[:MAX_TITLE_CHARS], site, day, source.quality.value)))


def _merge_output(
    merged: Merge, asked: _Asked, handoff: SurveyInput, looked: SurveyOutput, by: str
) -> SurveyOutput:
    by_id = {f.id: f for f in handoff.findings}
    unions, dropped, merged_ids = [], [], set[str]()
    for group in merged.same:
        members = [by_id[i] for i in asked.named.all(group) if i not in merged_ids]
        fresh = [f for f in members if _says_no_more(f, than=members[0])]
        merged_ids |= {finding.id for finding in fresh}
        if len(fresh) > 1:
            unions.append(_one(fresh))
            dropped += [finding.id for finding in fresh[1:]]
    filled_gaps = list(asked.gaps.all(merged.filled_gaps))
    for group in merged.same_gaps:
        filled_gaps += [i for i in asked.gaps.all(group)[1:] if i not in filled_gaps]
    return looked.model_copy(
        update={
            "findings": tuple(unions),
            "dropped": tuple(dropped),
            "contradictions": contradictions_of(merged.contradictions, asked.named, asked.sources, by),
            "gaps": gaps_of(merged.gaps, asked.parts),
            "own_searches": True,
            "addressed_gap_ids": tuple(filled_gaps),
            "completeness": merged.completeness,
            "follow_ups": tuple(query for query in merged.suggested_queries if query.strip())[
                : handoff.follow_ups
            ],
            "unknown": sum(a.unknown for a in (asked.named, asked.gaps, asked.sources, asked.parts)),
            "notes": asked.notes("analyzer"),
        }
    )


def _says_no_more(finding: Finding, *, than: Finding) -> bool:
    """Whatever a model says, figures do not get lost, a denial is not what it denies, and there are words in common: a
    page may ask for anything to be taken for the same."""
    one, other = finding.content, than.content
    stems, also = set(content_stems(one)), set(content_stems(other))
    are_near = len(stems & also) >= IN_COMMON * min(len(stems), len(also))
    return are_near and numbers(one) <= numbers(other) and denies(one) is denies(other)


def _one(group: list[Finding]) -> AnalyzedFinding:
    """The first, with the sources and quotes of all."""
    union = join_group(group)
    return AnalyzedFinding(
        **{name: getattr(union, name) for name in _OF_GROUP},
        quotes=tuple(dict.fromkeys(map(AnalyzedQuote.of, union.quotes))),
        iteration=min(f.iteration for f in group),
    )


def gaps_of(gaps: Iterable[NewGap], parts: Aliases) -> tuple[AnalyzedGap, ...]:
    """The gaps that matter most."""
    return tuple(
        AnalyzedGap(
            description=gap.description[:MAX_GAP_CHARS],
            suggested_queries=tuple(q for q in gap.suggested_queries if q.strip())[:MAX_GAP_QUERIES],
            priority=max(1, gap.priority),
            part_id=parts.id(gap.part) if gap.part else None,
        )
        for gap in sorted(gaps, key=lambda gap: gap.priority)[:MAX_GAPS]
        if gap.description.strip()
    )


def contradictions_of(
    told: Iterable[NewContradiction], findings: Aliases, sources: Aliases, by: str
) -> tuple[AnalyzedContradiction, ...]:
    """Those with two sides at least that name what was given."""
    contradictions = []
    for item in list(told)[:MAX_CONTRADICTIONS]:
        stances = [stance for side in item.sides if (stance := _stance(side, findings, sources)) is not None]
        if len(stances) > 1:
            contradictions.append(
                AnalyzedContradiction(
                    stances=tuple(stances), differs=Difference(item.differs), of=item.of, by=by
                )
            )
    return tuple(contradictions)


def _stance(side: NewSide, findings: Aliases, sources: Aliases) -> AnalyzedStance | None:
    of_finding = side.name.strip(" [](").upper().startswith(findings.letter) or side.name in findings.ids
    side_id = (findings if of_finding else sources).id(side.name)
    if side_id is None:
        return None
    return AnalyzedStance(**{"finding_id" if of_finding else "source_id": side_id}, says=side.says)
