"""What the synthesizer is given and what it answers."""

from __future__ import annotations

from enum import StrEnum

from deep_research.phases.agent_contract import Operation
from deep_research.phases.handoff import EvidenceInput, Handoff
from deep_research.state import (
    ContextUsage,
    Discrepancy,
    Finding,
    Gap,
    Record,
    Remark,
)


class SynthesizerInput(EvidenceInput):
    """A report is written from findings. ``improving`` says that nothing was found since the last one; ``improvements``
    and ``remarks`` are the refiner's on it. ``words`` is the wanted length; ``requests`` are those of a model that the
    budget has room for, None for any number. ``read_by_model``: a model read sources, so that findings may be in its
    words."""

    finding_count: int
    gap_count: int
    has_research_brief: bool
    gaps: tuple[Gap, ...] = ()
    improving: bool = False
    improvements: tuple[str, ...] = ()
    remarks: tuple[Remark, ...] = ()
    words: int = 800
    requests: int | None = None
    read_by_model: bool = False

    @property
    def items(self) -> int:
        """How many things there are to be told of."""
        return len(self.findings) + len(self.gaps) + len(self.contradictions)


class SynthesizerOutput(Record):
    """A report in Markdown that refers to findings as ``[find-…]`` and to sources as ``[src-…]``. Numbers and the list
    of references are put in by the phase. ``unknown`` counts references to what was never given; ``notes`` are what a
    reader should know, ``unfollowed`` steers that an agent without a model could do nothing for; ``context_usage`` is
    what a model was given of findings, contradictions and gaps. ``revised`` are the headings of the sections that are
    new in a revision of the last report, None where the report was written from the beginning."""

    report: str
    revised: tuple[str, ...] | None = None
    unknown: int = 0
    notes: tuple[str, ...] = ()
    unfollowed: tuple[str, ...] = ()
    context_usage: ContextUsage = ContextUsage()


class JudgeScope(StrEnum):
    """Which claims the judge sees: none, those of which code is not sure, or all."""

    OFF = "off"
    DOUBTFUL = "doubtful"
    ALL = "all"


class FailedClaim(Record):
    """A claim that nothing carries, with the findings that it cites and what keeps it from being supported."""

    claim_id: str
    text: str
    heading: str = ""
    finding_ids: tuple[str, ...] = ()
    reasons: tuple[Discrepancy, ...] = ()


class RepairInput(Handoff):
    """``findings`` are those that the failed claims cite or come near to."""

    claims: tuple[FailedClaim, ...]
    findings: tuple[Finding, ...] = ()


class RepairedClaim(Record):
    """New words for a claim, with references such as ``[find-…]``; none: it goes."""

    claim_id: str
    text: str = ""


class RepairOutput(Record):
    """``by`` names the model that worded it."""

    claims: tuple[RepairedClaim, ...] = ()
    by: str = ""


SYNTHESIZE = Operation("synthesize", SynthesizerInput, SynthesizerOutput)
REVISE = Operation("revise", SynthesizerInput, SynthesizerOutput)
REPAIR = Operation("repair", RepairInput, RepairOutput)
