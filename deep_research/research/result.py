"""Result of a run."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from pydantic import field_serializer

from deep_research.budget.fidelity import RunFidelity
from deep_research.errors import ResearchAbortedError
from deep_research.report.answers_so_far import answers_so_far
from deep_research.report.discoveries import Discovery, discoveries, in_one_paragraph
from deep_research.state import (
    AbortReason,
    AgentDecision,
    AnswerCoverage,
    Citation,
    Claim,
    ConfidenceSummary,
    Contradiction,
    DeepResearchState,
    Finding,
    Gap,
    GatherStats,
    Limit,
    Notice,
    PartVerdict,
    QuestionPart,
    Record,
    Repair,
    ReportMetadata,
    RunStatus,
    Source,
    Usage,
)
from deep_research.state.answers import QuestionAnswer
from deep_research.state.notices import reported_notices
from deep_research.state.question_parts import told_lacking

if TYPE_CHECKING:
    from deep_research.report.report_document import Block

MAX_SHOWN_CHARS = 80  # of the answer, in a repr


class ResearchResult(Record):
    """The result of a run.

    Attributes:
        report: Markdown; None without evidence, or before there is a report.
        answer_coverage: How far the parts of the question are answered: yes, partly, no; None before they were assessed.
        answers: The answer so far to each part and each sub-query, or why there is none.
        completeness: 0 to 1, how much of the question the findings cover.
        probability: 0 to 1, that the passages chosen without a model contain the answer; None for other runs.
        claims: Everything that the report states, each with its verdict and evidence.
        repairs: How claims without support were changed.
        discoveries: At most seven supported claims of a completed run, with source, day and confidence.
        reason, message: Why the run was aborted, what it waits for, or what it did not find.
        fidelity: How much of what was found the agents received, by item and phase.
        limits: Caps that the run reached.
        notices: What else a reader should know.
        gather_stats: Sums over all searches.

    Example:
        result = engine.run("Who built Bell Rock?")
        print(result.status, result.answer)
    """

    research_id: str
    query: str
    status: RunStatus
    reason: AbortReason | None = None
    message: str | None = None
    answer_coverage: AnswerCoverage | None = None
    parts: tuple[QuestionPart, ...] = ()
    verdicts: tuple[PartVerdict, ...] = ()
    answers: tuple[QuestionAnswer, ...] = ()
    report: str | None = None
    report_metadata: ReportMetadata | None = None
    sources: tuple[Source, ...] = ()
    findings: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()
    contradictions: tuple[Contradiction, ...] = ()
    completeness: float = 0.0
    probability: float | None = None
    discoveries: tuple[Discovery, ...] = ()
    citations: tuple[Citation, ...] = ()
    claims: tuple[Claim, ...] = ()
    repairs: tuple[Repair, ...] = ()
    usage: Usage = Usage()
    fidelity: RunFidelity = RunFidelity()
    decisions: tuple[AgentDecision, ...] = ()
    limits: tuple[Limit, ...] = ()
    notices: tuple[Notice, ...] = ()
    gather_stats: GatherStats = GatherStats()
    iterations: int = 1
    state: DeepResearchState

    @classmethod
    def of(cls, state: DeepResearchState, status: RunStatus | None = None) -> ResearchResult:
        abort, parking = state.abort, state.parking
        message = abort.message if abort else parking.waiting_for if parking else None
        if state.status is RunStatus.COMPLETED:
            message = told_lacking(state.not_found())
        notices = reported_notices(state)
        return cls(
            **{
                name: getattr(state, name)
                for name in _OF_STATE - {"status", "report_metadata", "limits", "notices"}
            },
            status=status or state.status,
            reason=abort.reason if abort else None,
            message=message,
            answer_coverage=state.answer_coverage,
            answers=answers_so_far(state),
            report_metadata=_as_it_stands(state),
            discoveries=discoveries(state.claims, state.findings, state.sources)
            if state.status is RunStatus.COMPLETED
            else (),
            probability=next((f.probability for f in state.findings if f.rank == 0), None),
            fidelity=RunFidelity.of(state.context_usage),
            limits=tuple(each for each in notices if isinstance(each, Limit)),
            notices=tuple(each for each in notices if not isinstance(each, Limit)),
            gather_stats=GatherStats(
                queries_executed=state.usage.searches,
                queries_failed=state.usage.failed_searches,
                sources_collected=len(state.sources),
                duplicates_skipped=state.duplicates_skipped,
            ),
            iterations=state.iteration,
            state=state,
        )

    @property
    def answer(self) -> str | None:
        """The answer of the report in Markdown, with the numbers of its ``citations``; None without a report."""
        from deep_research.report.report_blocks import answer_of  # importing the engine must stay cheap

        return answer_of(self.report) or None if self.report else None

    @property
    def discovery_summary(self) -> str:
        """The key discoveries as one paragraph, with the numbers of the ``citations``; empty without any."""
        return in_one_paragraph(self.discoveries)

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks of the report: headings, paragraphs, items, tables, code and notices. Each has the ids of the claims
        that stand in it. Joined they are the report.

        Example:
            [block.markdown for block in result.blocks if block.kind == "table"]
        """
        from deep_research.report.report_blocks import report_blocks

        return report_blocks(self.report or "", self.claims)

    def __repr_args__(self) -> Iterator[tuple[str, Any]]:
        """What tells runs apart, on one line: all of it is pages long."""
        yield "research_id", self.research_id
        yield "status", self.status.value
        if self.reason is not None:
            yield "reason", self.reason.value
        yield from ((name, len(getattr(self, name))) for name in ("sources", "findings", "citations"))
        name, text = ("answer", self.answer) if self.report else ("message", self.message)
        yield name, shorten(text or "", MAX_SHOWN_CHARS, placeholder=" …")

    def _repr_markdown_(self) -> str:
        """For notebooks: the report, or why there is none."""
        if self.report:
            return self.report
        from deep_research.report.markup import escaped

        why = f" ({self.reason.value})" if self.reason else ""
        return f"**{self.status.value}{why}** {escaped(self.message or '')}".rstrip()

    def raise_for_status(self) -> ResearchResult:
        """Return the result if the run completed. Raises `ResearchAbortedError` otherwise."""
        if self.status is RunStatus.COMPLETED:
            return self
        why = f" ({self.reason})" if self.reason else ""
        raise ResearchAbortedError(
            f"Run '{self.research_id}' is {self.status}{why}: {self.message or 'it has not finished'}",
            hint=f"Continue it with resume('{self.research_id}').",
            research_id=self.research_id,
            status=self.status.value,
            reason=self.reason.value if self.reason else None,
        )

    @field_serializer("state", when_used="json")
    def _state(self, state: DeepResearchState) -> dict[str, Any]:
        return state.model_dump(mode="json", exclude=_OF_STATE | {"context_usage", "reading"})


# The fields that the result has of its state. In JSON they are not repeated there, nor is what ``fidelity`` sums up.
# Its ``answers`` are not those of the state, which its owner gave.
_OF_STATE = (ResearchResult.model_fields.keys() & DeepResearchState.model_fields.keys()) - {"answers"}


def _as_it_stands(state: DeepResearchState) -> ReportMetadata | None:
    """What was found since the report was written counts for what is told of the evidence."""
    metadata = state.report_metadata
    return metadata and metadata.model_copy(
        update={"confidence_summary": ConfidenceSummary.of(state.findings)}
    )
