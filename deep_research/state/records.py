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
    """One question to search for. ``index`` is its place among all sub-queries of the run; ``wordings`` are the other
    words in which it was asked as well, since it found nothing to the point. ``part_id`` is the part of the question that
    it serves, None for all of it; ``origin`` who asked for it, where that is not the plan: hook, answer, supervisor,
    lead.
    ``data_sources`` are the names of what a task may search for it, empty: all that the run may."""

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
    """A document or page that was found.

    ``url`` is a web address, or the corpus-relative path of a local document. The readable text is content, kept once
    in the store under ``content_hash`` (sha256 of its UTF-8 bytes); ``snapshot_hash`` is the sha256 of the raw bytes
    it was extracted from. ``passages`` are the spans of the text that the search matched; ``mentions`` are the most
    telling names in them, where the provider knows them. ``score`` (0 to 1) is how much the source contributes, by
    the last look at all of them together. ``fingerprint`` is what is kept of the text to tell its copies (see
    `deep_research.provenance.near_duplicates`); ``pages`` is where in the text each page begins, of a document that
    has pages."""

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
    """A statement drawn from sources, with the passages that carry it.

    One that was chosen by rank has its passage as its first quote: ``marked`` are the sentences in it that were chosen,
    in code points of the text, ``heading`` is the section that it stands in, ``rank`` its place among all that were
    chosen (0 is the best), ``probability`` (0 to 1) how likely it and those before it hold the answer. ``part_id`` is the
    part of the question that it serves.
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
    marked: tuple[Span, ...] = ()
    heading: str = ""
    rank: int | None = None
    probability: float | None = None
    part_id: str | None = None


class Gap(Record):
    """Something the question asks for and the evidence does not give; priority 1 is the most important. ``rank`` is
    its place among the gaps of its iteration, ``part_id`` the part of the question that lacks it."""

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
    """What one finding says in a contradiction: ``told`` in its own words (``57 metres``), ``quote`` where it stands in
    its source, where that is known. ``value`` is in ``unit``, both empty where it is no measured value; ``published`` is
    the date of the source; sides of one ``voice`` (counted from 0) are no independent witnesses."""

    finding_id: str
    source_id: str
    told: str
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
    """Findings that cannot all be true as they stand. ``about`` is what they differ in (``values in metres``) and ``of``
    of what; ``sides`` are two or more, and ``preferred`` is the place among them of what is better borne out, ``because``
    of that, None where it is not known. ``differs`` is the kind of the difference, where it is known; ``by`` is who saw
    it, a model's name or "code"."""

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
    """A gate's verdict on a phase. ``issues`` are all of them; ``blocking`` are those that must not pass.
    ``quality_score`` runs from 0 to 10 and informs only."""

    valid: bool
    issues: tuple[str, ...] = ()
    blocking: tuple[str, ...] = ()
    quality_score: float = 0.0

    @property
    def advisory(self) -> tuple[str, ...]:
        """The issues that do not stop the run."""
        return tuple(issue for issue in self.issues if issue not in self.blocking)


class AgentDecision(Record):
    """One decision, as the spec writes it; ``timestamp`` comes from the injected clock."""

    agent: str
    action: str
    rationale: str
    inputs: dict[str, Any] = Field(default_factory=dict)
    outputs: dict[str, Any] | None = None
    timestamp: datetime


GATE = "gate"  # the origin of advice that our own rules give
EVIDENCE = "evidence"  # asks for a phase again where what was read does not answer
ANSWERED = "answer"  # of what the owner answers to a question of the supervisor, or says of its plan
LEAD = "lead"  # the origin of tasks that the supervisor's model adds
STEERED = "steer"  # of what the owner of the run says while it goes


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


class Notice(Record):
    """Something that a reader should know of a run: what failed, was left out or is otherwise than was asked, and why.
    ``name`` is its kind, such as ``hook``, ``pages`` or ``guidance``; ``count`` is how often it came up;
    ``skipped`` is what was left out."""

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
    """A cap that was reached. Its name is that of the cap, ``max_tokens``; of a phase's share ``max_tokens:analysis``; of
    a shared budget ``shared:max_tokens``. ``cap`` and ``used`` are in the unit of the cap."""

    cap: float | None = None
    used: float | None = None

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
    except ValueError:  # whoever found it may have made it up
        return url
