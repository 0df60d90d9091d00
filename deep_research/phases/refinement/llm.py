"""The refiner that thinks with a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.budget.content_budget import Content
from deep_research.models.language_model import LanguageModel
from deep_research.patterns import regex
from deep_research.phases.evidence_lines import about_finding, levels, source_names, with_short_names
from deep_research.phases.evidence_rounds import EvidenceRounds, add_evidence, in_order, searches_by_round
from deep_research.phases.prompting import (
    RULES,
    SHORTENING,
    Aliases,
    Message,
    ModelAgent,
    Room,
    advice,
    ask_model,
    brief,
    listed,
    manner,
    one_line,
    standing,
)
from deep_research.phases.refinement.handoff import REPORT, NamedGap, RefinerInput, RefinerOutput
from deep_research.report.render import REFERENCES
from deep_research.state import (
    ConfidenceLevel,
    Finding,
    FollowUpQuery,
    Gap,
    GapAnalysis,
    IterationRecommendation,
    Remark,
    RemarkKind,
)
from deep_research.state.identity import gap_id

MAX_OUTPUT_TOKENS = 2_500  # tokens, thoughts included
OF_REPORT, OF_FINDINGS, OF_SOURCES, OF_GAPS, OF_ASKED, OF_BESIDE = (
    0.3,
    0.2,
    0.08,
    0.1,
    0.06,
    0.04,
)  # of the room
MAX_FINDINGS = 150  # the first
NAME_TOKENS = 12  # of a finding's name, where it stands and in the list of how sure they are, at most
MAX_NEW_GAPS = 3
MAX_GAP_CHARS = 1_000
_PRIORITIES = {"critical": 1, "moderate": 2, "minor": 3}
_NAMES = regex(r"(?<!\s)\s*+\[[FS]\d{1,4}(?:[\s,;]+[FS]\d{1,4})*\]")

SYSTEM = f"""\
You judge what is missing in a piece of research, whether looking further is worth it, and how its report could be \
better. You are given the question; the report (of a long one what matters most, […] for the rest), with the names of \
findings (F1, F2 …) behind what rests on them; what was found, and which sources (S1, S2 …) say it; what of the \
report nothing carries; and the gaps that are open, each with a name such as G1.

For each gap say how much the answer suffers from it (critical, moderate or minor), whether a search can \
be expected to fill it, and which searches would. A search stands by itself, names things in full, and is \
none of those made before; say what it should bring. What nobody publishes, or what lies in the future, is \
not addressable.

A gap that the question shows and nobody has named yet, you may name: what is missing, with one to three \
searches for it. Name none for what is nice to know.

Recommend another round only if a gap that matters can be filled and rounds are left. Name the gaps to begin \
with.

Then judge the report itself, sentence by sentence. Remark on a sentence that is unclear, that repeats another, \
or that is too strong for what its sources say (one voice, an old date, low quality, a contradiction that is not \
told); and on what is missing: a finding that the answer needs and the report leaves out. Copy the first words \
of the sentence, name the heading it stands under, and say in one sentence what to do. No remark on what is good \
enough, none at all if all of it is. What concerns the whole report belongs into the improvements.

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


class NewGap(BaseModel):
    description: str = Field(description="what the question needs and nobody has looked for")
    severity: Literal["critical", "moderate", "minor"] = "moderate"
    follow_up_queries: list[Search] = Field(default_factory=list)


class Critique(BaseModel):
    kind: Literal["unclear", "repeated", "missing", "too strong"]
    sentence: str = Field(default="", description="its first words, copied; empty for what is missing")
    heading: str = Field(default="", description="the heading it stands under")
    advice: str = Field(description="what to do about it, one sentence")


class Judgement(BaseModel):
    gap_analysis: list[GapJudgement] = Field(default_factory=list)
    new_gaps: list[NewGap] = Field(default_factory=list)
    iteration_recommendation: Recommendation
    remarks: list[Critique] = Field(default_factory=list)
    report_improvements: list[str] = Field(default_factory=list)


class LLMRefiner(ModelAgent):
    """Asks its model about the report and the open gaps. Names of gaps that were not given are dropped."""

    name = "refiner"

    async def __call__(self, handoff: RefinerInput, model: LanguageModel) -> RefinerOutput:
        judgement, message = await ask_model(
            model,
            SYSTEM,
            MAX_OUTPUT_TOKENS,
            Judgement,
            lambda room: _message(handoff, room),
            self._rules,
            size=SHORTENING * len(handoff.report or "")
            + sum(len(gap.description) for gap in handoff.gaps)
            + sum(len(finding.content) for finding in handoff.findings),
        )
        return _output(judgement, handoff).model_copy(
            update={"notes": message.notes(self.name), "context_usage": message.sending}
        )


def _output(judgement: Judgement, handoff: RefinerInput) -> RefinerOutput:
    gaps = Aliases("G", [gap.id for gap in handoff.gaps])
    query_keys = {_key(query) for query in handoff.earlier_queries}
    assessed: dict[str, GapAnalysis] = {}
    for item in judgement.gap_analysis:
        key = gaps.id(item.gap_id)
        if key is None or key in assessed:
            continue
        assessed[key] = GapAnalysis(
            gap_id=key,
            severity=item.severity,
            addressable=item.addressable,
            follow_up_queries=_unasked(item.follow_up_queries, query_keys),
        )
    named_gaps = _new_gaps(judgement, {gap.id for gap in handoff.gaps}, query_keys)
    assessed |= {analysis.gap_id: analysis for _, analysis in named_gaps}
    recommended = judgement.iteration_recommendation
    return RefinerOutput(
        gap_analysis=tuple(assessed.values()),
        gaps=tuple(gap for gap, _ in named_gaps),
        remarks=tuple(
            Remark(
                kind=RemarkKind(item.kind),
                heading=one_line(item.heading).strip("# "),
                sentence=one_line(_NAMES.sub("", item.sentence).strip(" .…\"“”'")),
                advice=one_line(item.advice),
            )
            for item in judgement.remarks
            if item.advice.strip()
        ),
        iteration_recommendation=IterationRecommendation(
            should_iterate=recommended.should_iterate,
            rationale=recommended.rationale,
            priority_gaps=gaps.all(recommended.priority_gaps),
        ),
        report_improvements=tuple(item for item in judgement.report_improvements if item.strip()),
        unknown=gaps.unknown,
    )


def _unasked(searches: Iterable[Search], seen: set[str]) -> tuple[FollowUpQuery, ...]:
    """Those that are not among the queries ``seen`` so far, in any case; these are seen from now on."""
    fresh = []
    for search in searches:
        key = _key(search.query)
        if key and key not in seen:
            seen.add(key)
            query = " ".join(search.query.split())
            fresh.append(FollowUpQuery(query=query, expected_contribution=search.expected_contribution))
    return tuple(fresh)


def _key(query: str) -> str:
    return " ".join(query.lower().split())


def _new_gaps(judgement: Judgement, known: set[str], seen: set[str]) -> list[tuple[NamedGap, GapAnalysis]]:
    """The gaps that nobody named before, with what is to be searched for them; ``seen`` are queries that need not be
    asked again, with these from now on."""
    named_gaps: dict[str, tuple[NamedGap, GapAnalysis]] = {}
    for new in judgement.new_gaps[:MAX_NEW_GAPS]:
        text = " ".join(new.description.split())[:MAX_GAP_CHARS]
        key = gap_id(text)
        if not text or key in known or key in named_gaps:
            continue
        follow_ups = _unasked(new.follow_up_queries, seen)
        gap = NamedGap(
            description=text,
            priority=_PRIORITIES[new.severity],
            suggested_queries=tuple(query.query for query in follow_ups),
        )
        named_gaps[key] = (
            gap,
            GapAnalysis(
                gap_id=key, severity=new.severity, addressable=bool(follow_ups), follow_up_queries=follow_ups
            ),
        )
    return list(named_gaps.values())


def _message(handoff: RefinerInput, room: Room) -> Message:
    """What stays the same comes first, and the report behind what it was written from."""
    message = Message(room)
    high = sum(f.confidence in (ConfidenceLevel.HIGH, ConfidenceLevel.CONFIRMED) for f in handoff.findings)
    standing(message, handoff)
    brief(message, handoff.research_brief)
    names_of = _evidence(handoff, message)
    message.add(
        f"Round {handoff.iteration} of {handoff.max_iterations}; {handoff.remaining_iterations} are left."
        f" Sources: {handoff.source_count}. Findings: {len(handoff.findings)}, {high} of them of high confidence."
    )
    if handoff.report:
        # The list of references at its end is put in by code.
        report_text = (
            with_short_names(handoff.draft, names_of) or handoff.report.partition(f"\n## {REFERENCES}\n")[0]
        )
        report = Content(REPORT, (report_text,), 1.0)
        fitted = message.fitted([report], int(room.tokens * OF_REPORT), handoff.original_query, "the report")
        message.add("The report as it is:")
        message.material("report", fitted.texts[REPORT])
    _beside(handoff, message)
    names = Aliases("G", [gap.id for gap in handoff.gaps]).names
    gaps = [Content(gap.id, _forms(gap), *handoff.weights.gap(gap)) for gap in handoff.gaps]
    fitted = message.fitted(gaps, int(room.tokens * OF_GAPS), handoff.original_query, "the gaps")
    by_priority = sorted(handoff.gaps, key=lambda gap: gap.priority)
    lines = [
        f"{names[gap.id]} (priority {gap.priority}): {text}"
        for gap in by_priority
        if (text := fitted.texts[gap.id])
    ]
    message.add("The open gaps:")
    message.material("gaps", "\n".join(lines))
    explained_queries = {search.query for search in handoff.sub_queries if search.rationale}
    if latest := [
        one_line(query) for query in reversed(handoff.earlier_queries) if query not in explained_queries
    ]:
        earlier_searches = message.lines(latest, OF_ASKED, "earlier searches")
        message.add(f"Searched already as well, the latest first:\n{listed(earlier_searches)}")
    advice(message, handoff)
    message.add(manner(handoff))
    return message


def _evidence(handoff: RefinerInput, message: Message) -> Mapping[str, str]:
    """What was found and who says it: as many findings, from the first on, as a share of the room takes, whose names by
    their ids it gives, and what sources have word for word where that leaves a place for it."""
    names_of_sources = source_names(handoff.sources)
    sources = {source.id: source for source in handoff.sources}
    left = int(message.room * OF_FINDINGS)
    findings: list[Finding] = []
    for finding in in_order(handoff)[:MAX_FINDINGS]:
        line = f"{about_finding(finding, names_of_sources, sources)}: {one_line(finding.content)}"
        left -= message.count(line) + NAME_TOKENS
        if left < 0 and message.rules.enabled:
            message.shortened["the findings"] = None
            break
        findings.append(finding)
    names = Aliases("F", [finding.id for finding in findings]).names
    evidence = EvidenceRounds(
        handoff,
        {finding.id: one_line(finding.content) for finding in findings},
        names,
        message.count,
        int(message.room * OF_SOURCES),
        max(0, left),
    )
    add_evidence(message, evidence.rounds(findings), searches=searches_by_round(handoff, message))
    if evidence.is_short:
        message.shortened["the sources"] = None
    if findings:
        message.add(f"How sure the findings are: {levels(findings, names)}.")
    return names


def _beside(handoff: RefinerInput, message: Message) -> None:
    """What of the report nothing carries, what contradicts itself, and what was left out."""
    claims = [f"“{one_line(claim.text)}”" for claim in handoff.failing]
    what = "claims that nothing carries"
    message.listing("What of the report no source carries:", "claims", claims, OF_BESIDE, what)
    conflicts = [one_line(conflict.description) for conflict in handoff.contradictions]
    what = "the contradictions"
    message.listing("What contradicts itself:", "contradictions", conflicts, OF_BESIDE, what)
    parts = {part.id: part.text for part in handoff.parts}
    lines = [
        f"{one_line(parts[v.part_id])}: {v.verdict.value}{'' if v.claim_ids else ', not told in the report'}"
        for v in handoff.verdicts
        if v.part_id in parts and len(handoff.verdicts) > 1
    ]
    heading = "The parts of the question, and what was found of each:"
    message.listing(heading, "parts", lines, OF_BESIDE, "the parts of the question")
    if handoff.notices:
        limits = [one_line(notice.line) for notice in handoff.notices]
        message.add(f"Limits:\n{listed(message.lines(limits, OF_BESIDE, 'the limits'))}")
    more = [f"{one_line(each.text)} → {one_line(each.target)}" for each in handoff.references]
    heading = "Where sources point to for more; a search may name it:"
    message.listing(heading, "references", more, OF_BESIDE, "references of sources")


def _forms(gap: Gap) -> tuple[str, ...]:
    """A gap with the ideas for searches, and without."""
    description = one_line(gap.description)
    ideas = "; ".join(one_line(query) for query in gap.suggested_queries)
    return (f"{description} Ideas: {ideas}", description) if ideas else (description,)
