"""Records of a run's state and events, all frozen.

Records never change; a new version of one replaces the old under the same id. Ids are a function of what the
record is about (see `deep_research.state.identity`), so a resumed run issues the same ones.
"""

from __future__ import annotations

from datetime import date, datetime
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from deep_research.state.phases import (
    ConfidenceLevel,
    DeepResearchPhase,
    SourceKind,
    SourceQuality,
    SubQueryStatus,
)

GATE = "gate"  # the origin of advice that our own rules give
EVIDENCE = "evidence"  # asks for a phase again where what was read does not answer
ANSWERED = "answer"  # of what the owner answers to a question of the supervisor, or says of its plan
LEAD = "lead"  # the origin of tasks that the supervisor's model adds
STEERED = "steer"  # of what the owner of the run says while it goes
PAGES = "pages"  # the notice of pages that were found and have no text for us; one for each reason
OF_REPORT = (
    "report"  # the notice of a report that had to be shorter, or written from less: gone with the next report
)
OF_MODEL = "model"  # the notice that tells of the models themselves: nothing that a model could weigh
SHARED = "shared:"  # before the name of a cap: it is that of a budget which the run shares with others
FETCHES = "max_fetches"  # the limit of pages that were not asked for, to keep within a cap
NO_HIGH_QUALITY = "No source is of high quality."  # said of what was gathered, before anything of it was read
OF_PAGES = (
    PAGES,
    FETCHES,
    SHARED + FETCHES,
)  # ``skipped`` are their addresses; those of several searches join
_MAX_SITES = 5  # that a line names


class Record(BaseModel):
    """Base of everything that is stored: frozen, strict about its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Span(Record):
    """A piece of a text, in code points: ``text[start:end]``."""

    start: int = Field(ge=0)
    end: int = Field(ge=0)


class Mention(Record):
    """A name that a text or question uses, as its words in lower case. ``weight`` (0 to 1) is larger the fewer texts
    have it; ``bearers`` counts the documents that bear the name, 0 when none is known to."""

    name: str
    weight: float
    bearers: int = 0


class FirstLook(Record):
    """What is there of a question before anything is planned. Of a corpus: the names in it that documents bear, how
    telling (0 to 1) each of its words is, the titles that fit best, and in ``passages`` its size. Of the web: the titles
    that one search finds, and in ``snippets`` what is shown of them, in the same order."""

    names: tuple[Mention, ...] = ()
    words: dict[str, float] = Field(default_factory=dict)
    titles: tuple[str, ...] = ()
    passages: int = 0
    snippets: tuple[str, ...] = ()


class SubQuery(Record):
    """One search of the plan.

    Attributes:
        index: The place among all sub-queries of the run.
        wordings: Other words that the run searched, because the query found nothing useful.
        part_id: The part of the question that it serves; None: the whole question.
        origin: Who added it, if it is not from the plan: hook, answer, supervisor or lead.
        data_sources: Names of what a task may search for it; empty: everything that the run may search.

    Example:
        SubQuery(id="subq-1", query="keepers of the light")
    """

    id: str
    query: str
    rationale: str = ""
    priority: int = 1
    index: int = 0
    iteration: int = 1
    status: SubQueryStatus = SubQueryStatus.PENDING
    error: str | None = None
    gap_id: str | None = None
    source_ids: tuple[str, ...] = ()
    wordings: tuple[str, ...] = ()
    part_id: str | None = None
    origin: str = ""
    data_sources: tuple[str, ...] = ()


class Source(Record):
    """A document or page that a run found.

    Attributes:
        url: A web address, or the path of a local document within its corpus.
        content_hash: SHA-256 of the readable text (UTF-8), which the store keeps once.
        snapshot_hash: SHA-256 of the raw bytes.
        passages: Spans of the text that the search matched.
        mentions: The most telling names in the passages, if the provider knows them.
        score: 0 to 1, how much the source contributes.
        fingerprint: A digest of the text that finds its copies.
        pages: Where each page begins in the text, for documents with pages.

    Example:
        text = engine.text(result.sources[0])
    """

    id: str
    sub_query_id: str
    title: str
    url: str | None = None
    snippet: str = ""
    kind: SourceKind = SourceKind.WEB
    quality: SourceQuality = SourceQuality.UNKNOWN
    rank: int = 0
    relevance: float | None = None
    published: date | None = None
    content_hash: str | None = None
    snapshot_hash: str | None = None
    length: int = 0
    passages: tuple[Span, ...] = ()
    mentions: tuple[Mention, ...] = ()
    score: float | None = None
    fingerprint: str = ""
    pages: tuple[int, ...] = ()
    metadata: dict[str, str] = Field(default_factory=dict)


class Quote(Record):
    """An exact passage of a saved text: ``text(content_hash)[start:end] == quote``, in code points."""

    source_id: str
    quote: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    content_hash: str


class GatherStats(Record):
    """What searching came to. A source that several searches found is collected once, and skipped as a duplicate where
    it came again."""

    queries_executed: int = 0
    queries_failed: int = 0
    sources_collected: int = 0
    duplicates_skipped: int = 0


class Finding(Record):
    """A statement from sources, with the quotes that support it.

    Attributes:
        quotes: Exact spans of saved texts.
        part_id: The part of the question that it serves.
        rank: Its place among the passages that were chosen by rank (0 is the best); None for other findings.
        probability: 0 to 1, that this passage and those before it contain the answer.
        heading: The section of the passage.
        highlights: The sentences of the passage that led to its choice, in code points of the text.

    Example:
        for finding in result.findings:
            print(finding.confidence, finding.content, [quote.quote for quote in finding.quotes])
    """

    id: str
    content: str
    confidence: ConfidenceLevel
    source_ids: tuple[str, ...]
    category: str | None = None
    quotes: tuple[Quote, ...] = ()
    sub_query_id: str | None = None
    relevance: float = 0.0
    iteration: int = 1
    highlights: tuple[Span, ...] = ()
    heading: str = ""
    rank: int | None = None
    probability: float | None = None
    part_id: str | None = None


class Gap(Record):
    """Something that the question asks and the evidence does not answer.

    Attributes:
        priority: 1 is the most important.
        rank: The place among the gaps of its iteration.
        part_id: The part of the question that lacks it.

    Example:
        open_gaps = [gap.description for gap in result.state.unresolved_gaps]
    """

    id: str
    description: str
    suggested_queries: tuple[str, ...] = ()
    priority: int = 1
    addressed: bool = False
    resolution: str | None = None
    iteration: int = 1
    rank: int = 0
    part_id: str | None = None


class ContradictionSide(Record):
    """What one finding says in a contradiction: ``wording`` in its own words (``57 metres``), ``quote`` where it stands
    in its source, where that is known. ``value`` is in ``unit``, both empty where it is no measured value;
    ``published`` is the date of the source; sides of one ``voice`` (counted from 0) are no independent witnesses."""

    finding_id: str
    source_id: str
    wording: str
    quote: Quote | None = None
    value: float | None = None
    unit: str = ""
    published: date | None = None
    voice: int = 0


class Difference(StrEnum):
    """In what two statements differ: a figure; when; which way something goes, or whether at all; of whom or what, where
    or under which conditions they hold."""

    NUMBER = "number"
    DATE = "date"
    DIRECTION = "direction"
    SCOPE = "scope"


class Contradiction(Record):
    """Findings that cannot all be true.

    Attributes:
        about: What differs, such as ``values in metres``.
        of: The subject.
        sides: Two or more sides with their findings.
        preferred: The place of the better supported side in ``sides``; None if unknown.
        because: The reason for ``preferred``.
        differs: The kind of difference, if known.
        by: Who noticed it: the name of a model, or "code".

    Example:
        for contradiction in result.contradictions:
            print(contradiction.about, [side.told for side in contradiction.sides])
    """

    id: str
    description: str
    finding_ids: tuple[str, ...]
    source_ids: tuple[str, ...] = ()
    about: str = ""
    of: str = ""
    sides: tuple[ContradictionSide, ...] = ()
    preferred: int | None = None
    because: str = ""
    differs: Difference | None = None
    by: str = "code"


class Reference(Record):
    """Where a source points to for more: ``text`` are its words (``see Section 20.4.4``), ``target`` what they name: a
    section, a title, or the address of a link."""

    source_id: str
    text: str
    target: str


class RemarkKind(StrEnum):
    """What is wrong with a sentence of a report."""

    UNCLEAR = "unclear"
    REPEATED = "repeated"
    MISSING = "missing"
    TOO_STRONG = "too strong"


class Remark(Record):
    """What a critic says of one place in a report: the ``heading`` that it stands under, the ``sentence`` it is about (of
    what is missing none), and what is to be done."""

    kind: RemarkKind
    heading: str = ""
    sentence: str = ""
    advice: str = ""


class QualityUpdate(Record):
    source_id: str
    quality: SourceQuality


class FollowUpQuery(Record):
    query: str
    expected_contribution: str = ""


class GapAnalysis(Record):
    """The refiner's judgement of one gap; severity is critical, moderate or minor."""

    gap_id: str
    severity: str = "moderate"
    addressable: bool = True
    follow_up_queries: tuple[FollowUpQuery, ...] = ()


class IterationRecommendation(Record):
    should_iterate: bool
    rationale: str = ""
    priority_gaps: tuple[str, ...] = ()


class ValidationResult(Record):
    """The result of a gate for one phase.

    Attributes:
        issues: Everything that the gate found.
        blocking: The issues that stop the phase.
        quality_score: 0 to 10; it informs only.

    Example:
        def gate(state, phase, validation):
            print(phase, validation.quality_score, validation.blocking)
    """

    valid: bool
    issues: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    quality_score: float = 0.0

    @property
    def advisory(self) -> tuple[str, ...]:
        """The issues that do not stop the run."""
        return tuple(issue for issue in self.issues if issue not in self.blocking)


class AgentDecision(Record):
    """One decision of an agent or the supervisor. ``timestamp`` comes from the injected clock.

    Example:
        for decision in result.state.decisions:
            print(decision.timestamp, decision.rationale)
    """

    agent: str
    action: str
    rationale: str
    inputs: dict[str, Any] = Field(default_factory=dict)
    outputs: dict[str, Any] | None = None
    timestamp: datetime


class Guidance(Record):
    """Advice for the agent of ``phase`` in ``iteration``, and where ``lasting`` for those that work after it in that
    iteration; ``origin``: gate, hook, answer, steer, supervisor."""

    phase: DeepResearchPhase
    iteration: int
    text: str
    origin: str
    lasting: bool = False

    def reaches(self, phase: DeepResearchPhase) -> bool:
        """Whether it is for the agent of a phase."""
        order = list(DeepResearchPhase)
        return phase is self.phase or (self.lasting and order.index(phase) > order.index(self.phase))


class Notice(Record):
    """Something that a reader should know about a run: what failed, was left out, or differs from the request.

    Attributes:
        name: The kind, such as ``hook``, ``pages`` or ``guidance``.
        message: One line for people.
        count: How often it happened.
        skipped: What was left out.

    Example:
        for notice in result.notices:
            print(notice.line)
    """

    name: str
    message: str
    count: int = 1
    skipped: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The message; of pages with how many there are, and of which sites."""
        if self.name not in OF_PAGES:
            return self.message
        sites = list(dict.fromkeys(_site(url).removeprefix("www.") for url in self.skipped))
        site_names = sites[:_MAX_SITES] + (
            [f"{len(sites) - _MAX_SITES} other sites"] if len(sites) > _MAX_SITES else []
        )
        of = " and ".join(filter(None, (", ".join(site_names[:-1]), site_names[-1] if site_names else "")))
        many = "1 page" if len(self.skipped) == 1 else f"{len(self.skipped)} pages"
        were = "was" if len(self.skipped) == 1 else "were"
        return f"{many} of {of} {were} {self.message[:1].lower()}{self.message[1:]}"


class Limit(Notice):
    """A cap that a run reached.

    Attributes:
        name: The cap, such as ``max_tokens``; ``max_tokens:analysis`` for the share of a phase; ``shared:max_tokens``
            for a shared budget.
        cap, usage: The cap, and what the run used, in the unit of the cap.

    Example:
        reached = [limit.of_cap for limit in result.limits]
    """

    cap: float | None = None
    usage: float | None = None

    @property
    def of_cap(self) -> str:
        """The name of the cap, of whatever budget or share."""
        return self.name.removeprefix(SHARED).partition(":")[0]

    @property
    def is_shared(self) -> bool:
        """Whether it is a cap of a budget that the run shares with others."""
        return self.name.startswith(SHARED)


def _site(url: str) -> str:
    try:
        return urlsplit(url).hostname or url
    except ValueError:  # the provider may have invented it
        return url
