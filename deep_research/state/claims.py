"""The claims of a report: what each says, what carries it, and what was made of those that nothing carries."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from pydantic import Field

from deep_research.state.records import Quote, Record, Span


class ClaimVerdict(StrEnum):
    """What texts say of a claim. ``UNCHECKED``: code cannot decide it, and the judge could not be asked."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    CONTRADICTED = "contradicted"
    UNSUPPORTED = "unsupported"
    UNCHECKED = "unchecked"


class Aspect(StrEnum):
    """In what a claim and a text differ. ``SCOPE``: of how many it holds ("only"); ``FRAME``: whose view it is, or that
    it is not so; ``ORDER``: the text has its words, and says them in another order; ``LANGUAGE``: the text is in another
    one, where words cannot be compared."""

    NUMBER = "number"
    UNIT = "unit"
    DATE = "date"
    ENTITY = "entity"
    POLARITY = "polarity"
    MODALITY = "modality"
    COMPARISON = "comparison"
    SCOPE = "scope"
    CAUSE = "cause"
    FRAME = "frame"
    WORDS = "words"
    ORDER = "order"
    LANGUAGE = "language"


class Discrepancy(Record):
    """What the claim has, and what the text has in its place; empty where it has nothing."""

    aspect: Aspect
    claimed: str = ""
    in_source: str = ""


class ClaimKind(StrEnum):
    SENTENCE = "sentence"
    ITEM = "item"
    CELL = "cell"


class ClaimBasis(StrEnum):
    """What a claim is checked against: saved texts; or the log of the run, where it tells of the research itself (what
    was not found, left out, or not read)."""

    SOURCES = "sources"
    RUN = "run"


class Judgement(Record):
    """What the judge's model says of a claim. ``quotes`` are the passages of the cited sources that decide it, of those
    that it named the ones that stand there; ``missing`` says what no passage has. ``verdict`` None: it could not be asked
    or gave no usable answer, and ``reason`` says why. ``key`` names the claim and what it cites."""

    key: str
    verdict: ClaimVerdict | None = None
    quotes: tuple[Quote, ...] = ()
    missing: str = ""
    reason: str = ""
    model: str = ""


class PartJudgement(Record):
    """What the judge's model says of a part of the question: the ``claims`` that answer it (their keys), those that are
    ``near`` it only, and what is still ``open``."""

    part_id: str
    claims: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    open: str = ""


def merge_parts(parts: Iterable[PartJudgement]) -> dict[str, PartJudgement]:
    """One judgement for each part, of what several requests said, of which each saw some of the claims. The last one says
    what is open, and counts for the claims that it names."""
    every: dict[str, PartJudgement] = {}
    for part in parts:
        earlier = every.get(part.part_id)
        if earlier is not None:
            again = {*part.claims, *part.near}
            part = part.model_copy(
                update={
                    "claims": (*(key for key in earlier.claims if key not in again), *part.claims),
                    "near": (*(key for key in earlier.near if key not in again), *part.near),
                }
            )
        every[part.part_id] = part
    return every


class Claim(Record):
    """One thing that a report says: a sentence, an item, or a cell of a table.

    ``text`` are its words without references, ``heading`` what it stands under (section; of a cell also its row and
    column), ``place`` where in the draft it stands, in code points, ``block`` the number of the block of the report in
    which it stands, None where that cannot be told. ``finding_ids`` are the findings that it cites, or where
    ``inherited`` those that carry it and are cited near it or not at all; ``numbers`` are its references in the report.
    ``code_verdict`` is the verdict of ``checker`` (name and version), by code alone, ``score`` and ``share`` (0 to 1)
    are its figures; ``verdict`` is what counts, see `deep_research.report.judging`. ``evidence`` are the passages that
    decide it: those that the judge named, else those that hold most of it, the best first; ``reasons`` say what code
    finds that no source has. ``is_marked``: the report says there that nothing carries it. ``was`` are the words that
    stood there before the repair.
    """

    id: str
    text: str
    kind: ClaimKind = ClaimKind.SENTENCE
    heading: str = ""
    place: Span
    block: int | None = None
    finding_ids: tuple[str, ...] = ()
    inherited: bool = False
    numbers: tuple[int, ...] = ()
    basis: ClaimBasis = ClaimBasis.SOURCES
    verdict: ClaimVerdict
    code_verdict: ClaimVerdict
    checker: str
    score: float = Field(default=0.0, ge=0, le=1)
    share: float = Field(default=0.0, ge=0, le=1)
    reasons: tuple[Discrepancy, ...] = ()
    evidence: tuple[Quote, ...] = ()
    judgement: Judgement | None = None
    is_marked: bool = False
    was: str = ""


class RepairKind(StrEnum):
    """How a claim that nothing carries was repaired: by another reference, by other words, or by its removal."""

    CITED = "cited"
    REWORDED = "reworded"
    REMOVED = "removed"


class Repair(Record):
    """``before`` and ``after`` are the claim's words; ``by`` is the model's name, or "code"."""

    kind: RepairKind
    before: str
    after: str = ""
    by: str = "code"
    reasons: tuple[Discrepancy, ...] = ()


class Draft(Record):
    """A report before its references are numbered: it refers to findings as ``[find-…]``. ``unknown`` counts references
    to what was never given; ``repairs`` is what became of claims that nothing carried, None before they were looked
    at; ``writer`` is the agent that wrote it. ``revised`` are the headings of the sections that are new in it, None
    of one that was written from the beginning."""

    text: str
    writer: str = ""
    unknown: int = 0
    repairs: tuple[Repair, ...] | None = None
    revised: tuple[str, ...] | None = None


class ClaimCounts(Record):
    """How many claims a report has, by verdict; how many of those that are supported tell ``of_run``, of the research
    itself, and are supported by its log; how many are ``marks``; how many were ``repairs`` and ``removals``; how
    many the judge judged, which models that were (``judges``), and about how many it could not be asked (``unasked``)."""

    supported: int = 0
    partial: int = 0
    contradicted: int = 0
    unsupported: int = 0
    unchecked: int = 0
    of_run: int = 0
    marks: int = 0
    repairs: int = 0
    removals: int = 0
    judged: int = 0
    judges: tuple[str, ...] = ()
    unasked: int = 0

    @property
    def total(self) -> int:
        return self.supported + self.partial + self.contradicted + self.unsupported + self.unchecked

    @property
    def share(self) -> float:
        """Of all claims on what sources say those that are supported, 0 to 1; 1 where there is none."""
        of_sources = self.total - self.of_run
        return (self.supported - self.of_run) / of_sources if of_sources else 1.0

    @classmethod
    def of(cls, claims: Iterable[Claim], repairs: Iterable[Repair] = ()) -> ClaimCounts:
        every, repair_list = list(claims), list(repairs)
        judgements = [claim.judgement for claim in every if claim.judgement is not None]
        judged = [each for each in judgements if each.verdict is not None]
        return cls(
            **{verdict.value: sum(c.verdict is verdict for c in every) for verdict in ClaimVerdict},
            of_run=sum(c.basis is ClaimBasis.RUN and c.verdict is ClaimVerdict.SUPPORTED for c in every),
            marks=sum(claim.is_marked for claim in every),
            repairs=sum(repair.kind is not RepairKind.REMOVED for repair in repair_list),
            removals=sum(repair.kind is RepairKind.REMOVED for repair in repair_list),
            judged=len(judged),
            judges=tuple(sorted({each.model for each in judged})),
            unasked=len(judgements) - len(judged),
        )
