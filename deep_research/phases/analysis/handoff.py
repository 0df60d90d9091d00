"""Input and output of the analyzer."""

from __future__ import annotations

from datetime import date
from typing import Self

from pydantic import Field

from deep_research.budget.content_budget import DEFAULTS, ContentRules
from deep_research.phases.agent_contract import Operation
from deep_research.phases.handoff import Change, Handoff, Proposal
from deep_research.state import (
    ConfidenceLevel,
    ContextUsage,
    Contradiction,
    Difference,
    Finding,
    FirstLook,
    Gap,
    Limit,
    Mention,
    Notice,
    PartVerdict,
    QualityUpdate,
    Quote,
    ReadDepth,
    Record,
    Reference,
    SourceQuality,
    Span,
    SubQuery,
)


class SourceText(Record):
    """A source with its readable text. ``passages`` are the spans of the whole text that the search matched;
    ``tokens`` are those of all that was to be read of it, where ``content`` is less than that, else 0; ``in_part`` says
    that this is not the whole text."""

    id: str
    title: str
    url: str | None = None
    snippet: str = ""
    content: str
    quality: SourceQuality = SourceQuality.UNKNOWN
    published: date | None = None
    sub_query_id: str = ""
    relevance: float | None = None
    passages: tuple[Span, ...] = ()
    mentions: tuple[Mention, ...] = ()
    tokens: int = 0
    in_part: bool = False


class AnalyzerInput(Handoff):
    """One batch of sources. ``open_gaps`` are gaps of earlier iterations that this batch may address, ``findings`` what
    those iterations found. ``names_gaps`` says that this batch is all there is to judge by: else gaps are named once
    everything was read, with all findings in view."""

    research_brief: str | None = None
    source_count: int
    high_quality_sources: int
    sub_queries: tuple[SubQuery, ...] = ()
    sources: tuple[SourceText, ...] = ()
    open_gaps: tuple[Gap, ...] = ()
    findings: tuple[Finding, ...] = ()
    names_gaps: bool = True

    @property
    def looked_for(self) -> str:
        """What a source that is too long is looked through for."""
        return "\n".join((self.original_query, *(s.query for s in self.sub_queries)))


class AnalyzedQuote(Record):
    """A passage as the analyzer gives it; ``start`` is where it stands, if known. It is looked up in the text,
    and dropped when it is not there."""

    source_id: str
    quote: str
    start: int = 0

    @classmethod
    def of(cls, quote: Quote) -> Self:
        """One that was located before."""
        return cls(source_id=quote.source_id, quote=quote.quote, start=quote.start)


class AnalyzedFinding(Record):
    """``iteration`` is that of an earlier finding whose place it takes; None is this one. ``part_id`` is the part of the
    question that it serves, None: the phase looks. The last four are those of `deep_research.state.Finding`, for an
    analyzer that ranks passages: each quoted one is a passage of its source."""

    content: str
    confidence: ConfidenceLevel = ConfidenceLevel.LOW
    source_ids: tuple[str, ...]
    category: str | None = None
    quotes: tuple[AnalyzedQuote, ...] = ()
    sub_query_id: str | None = None
    relevance: float = 0.0
    iteration: int | None = None
    part_id: str | None = None
    highlights: tuple[Span, ...] = ()
    heading: str = ""
    rank: int | None = None
    probability: float | None = None


class AnalyzedGap(Record):
    description: str
    suggested_queries: tuple[str, ...] = ()
    priority: int = 1
    part_id: str | None = None


class AnalyzedStance(Record):
    """One side of a contradiction: the finding that takes it, by its id where it was known before, else by a source of
    the batch that carries it, and what it says."""

    finding_id: str | None = None
    source_id: str | None = None
    says: str = ""


class AnalyzedContradiction(Record):
    """Findings that cannot all be true as they stand: ``of`` what they speak, ``by`` whom it was seen."""

    stances: tuple[AnalyzedStance, ...]
    differs: Difference = Difference.NUMBER
    of: str = ""
    by: str = ""


class AnalyzerOutput(Proposal):
    """``has_quotes`` says that every finding rests on quotes: one of which none is found in its source is left out.
    ``irrelevant_ids`` are sources of another matter. ``unknown`` counts ids that were named and never given. ``notes``
    are what a reader of the report should know; ``context_usage`` is what a model was given of the sources."""

    findings: tuple[AnalyzedFinding, ...] = ()
    gaps: tuple[AnalyzedGap, ...] = ()
    quality_updates: tuple[QualityUpdate, ...] = ()
    irrelevant_ids: tuple[str, ...] = ()
    addressed_gap_ids: tuple[str, ...] = ()
    contradictions: tuple[AnalyzedContradiction, ...] = ()
    has_quotes: bool = False
    unknown: int = 0
    context_usage: ContextUsage = ContextUsage()

    def with_queries(self, change: Change) -> Self:
        return self.model_copy(update={"gaps": _asking(self.gaps, change)})


class SurveyInput(Handoff):
    """All sources of the run once every batch of an iteration was read; ``content`` is what the searches matched of
    each. ``findings`` and ``gaps`` are those that stand, drawn in ``readings`` batches; ``follow_ups`` is how many more
    queries may be proposed; ``read_by_model``: a model read sources, and gaps may be in its words. ``whole`` are the same
    sources with their whole texts, for an agent that ``reads_again``; ``words`` is the wanted length of the report.
    ``fillings`` are the findings, by the id of a gap, that code takes to fill it; ``contradictions`` are those that are
    known, ``references`` where the sources point to for more."""

    sub_queries: tuple[SubQuery, ...] = ()
    sources: tuple[SourceText, ...] = ()
    findings: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()
    first_look: FirstLook | None = None
    follow_ups: int = 0
    readings: int = 1
    read_by_model: bool = False
    whole: tuple[SourceText, ...] = ()
    words: int = 800
    research_brief: str | None = None
    fillings: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    contradictions: tuple[Contradiction, ...] = ()
    references: tuple[Reference, ...] = ()


class SurveyOutput(Proposal):
    """What all sources together say. ``scores`` (0 to 1) order the sources, by id; ``gaps`` are new ones, and
    ``addressed_gap_ids`` old ones that are none any more; ``follow_ups`` are queries that
    may fill the open gaps, best first; ``completeness`` (0 to 1) is the share of the question that is answered.
    ``findings`` are what only shows when sources are read together, ``dropped`` the ids of those that no longer
    stand. ``verdicts`` are those on the parts of the question, where the agent gives them; else code does. ``unfollowed``
    are steers of which no source says anything. ``own_searches`` says that gaps keep those that they were named with, and
    the ``follow_ups`` stand after them. ``unknown`` counts ids that were named and never given; ``notes`` and ``notices``
    are what a reader should know."""

    findings: tuple[AnalyzedFinding, ...] = ()
    dropped: tuple[str, ...] = ()
    scores: dict[str, float] = Field(default_factory=dict)
    gaps: tuple[AnalyzedGap, ...] = ()
    addressed_gap_ids: tuple[str, ...] = ()
    follow_ups: tuple[str, ...] = ()
    completeness: float = Field(default=0.0, ge=0, le=1)
    verdicts: tuple[PartVerdict, ...] = ()
    unfollowed: tuple[str, ...] = ()
    contradictions: tuple[AnalyzedContradiction, ...] = ()
    own_searches: bool = False
    unknown: int = 0
    notices: tuple[Notice | Limit, ...] = ()

    def with_queries(self, change: Change) -> Self:
        follow_ups = tuple(filter(None, map(change, self.follow_ups)))
        return self.model_copy(update={"follow_ups": follow_ups, "gaps": _asking(self.gaps, change)})


class SourceRoom(Record):
    """The room for sources in one call to a model: ``tokens`` in all, of which at most ``call`` are taken, with
    ``around`` of them beside each source. ``beside`` are those of what is sent beside the sources, ``answer`` those that
    the answer may have; ``rules`` say what may be done to sources that do not fit."""

    tokens: int
    call: int
    around: int = 0
    beside: int = 0
    answer: int = 0
    rules: ContentRules = DEFAULTS


class Doubtful(Record):
    """What is shown of a source: the title, the first headings, and its best passage."""

    id: str
    title: str = ""
    url: str | None = None
    headings: tuple[str, ...] = ()
    passage: str = ""


class DoubtInput(Handoff):
    """The sources of a round that code is not sure of, those that come nearest first."""

    sub_queries: tuple[SubQuery, ...] = ()
    sources: tuple[Doubtful, ...] = ()


class DoubtOutput(Record):
    """How much is read of each source that the model named, by id, and the model's name."""

    extents: dict[str, ReadDepth] = Field(default_factory=dict)
    by: str = ""


class DoubtfulFinding(Record):
    """A finding that its quotes do not carry, with the ``passages`` that come nearest: ``lost_quotes`` are quotes that
    are in no source, ``lacking`` the words that neither its ``quotes`` nor their sources have."""

    content: str
    quotes: tuple[str, ...] = ()
    lost_quotes: tuple[str, ...] = ()
    lacking: tuple[str, ...] = ()
    passages: tuple[str, ...] = ()


class RequoteInput(Handoff):
    """The findings of one reading that are to be quoted otherwise, or said in other words."""

    findings: tuple[DoubtfulFinding, ...] = ()


class Restatement(Record):
    """What is to stand in place of a finding's words and quotes; empty for nothing."""

    content: str = ""
    quotes: tuple[str, ...] = ()


class RequoteOutput(Record):
    """For each finding, in order, up to the last that was asked about; None for one of which nothing was said."""

    findings: tuple[Restatement | None, ...] = ()


ANALYZE = Operation("analyze", AnalyzerInput, AnalyzerOutput)
ROOM_FOR_SOURCES = Operation("room_for_sources", AnalyzerInput, SourceRoom)
DECIDE = Operation("decide", DoubtInput, DoubtOutput)
REQUOTE = Operation("requote", RequoteInput, RequoteOutput)
SURVEY = Operation("survey", SurveyInput, SurveyOutput)


def _asking(gaps: tuple[AnalyzedGap, ...], change: Change) -> tuple[AnalyzedGap, ...]:
    return tuple(
        gap.model_copy(update={"suggested_queries": tuple(filter(None, map(change, gap.suggested_queries)))})
        for gap in gaps
    )
