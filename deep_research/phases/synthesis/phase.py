"""SYNTHESIS: one call to the synthesizer, then numbers and references by code."""

from __future__ import annotations

from functools import partial

from deep_research.budget.fidelity import RunFidelity
from deep_research.budget.metered import RunModels
from deep_research.budget.report import INPUT
from deep_research.evidence.disclosure import Confidential
from deep_research.phases.base import Phase, noted, shared
from deep_research.phases.keeping import Original, sent
from deep_research.phases.synthesis.extractive import ExtractiveSynthesizer, has_word_of
from deep_research.phases.synthesis.handoff import SynthesizerInput, SynthesizerOutput
from deep_research.phases.synthesis.sections import longest_output
from deep_research.phases.wishes import unfollowed
from deep_research.report.render import finished
from deep_research.state import DeepResearchPhase, DeepResearchState, ModelRole
from deep_research.state.events import ReportWritten
from deep_research.state.journal import Journal
from deep_research.state.limitations import limitations
from deep_research.state.records import OF_REPORT

MARK = "[withheld]"
WITHHELD = f"Where the report says {MARK}, it had told a part of the instructions of its owner."


class SynthesisPhase(Phase[SynthesizerInput, SynthesizerOutput]):
    phase = DeepResearchPhase.SYNTHESIS
    answer_type = SynthesizerOutput

    async def run(self, state: DeepResearchState, journal: Journal, models: RunModels | None = None) -> None:
        self.check_place(state)
        if state.phase_done:
            return
        handoff = self.handoff(state)
        if models and getattr(self.agent, "uses_model", False):
            output = longest_output(handoff.words)
            requests = models.affordable(ModelRole.SYNTHESIZER, self.phase, INPUT, output, now=True)
            handoff = handoff.model_copy(update={"requests": requests})
        answer = await self.ask(handoff, models)
        report = written(state, answer, writer=writer_name(self.agent))
        cut = MARK in report.report and MARK not in answer.report
        await journal.record(
            report,
            *noted((*answer.notes, *([WITHHELD] if cut else [])), OF_REPORT),
            *unfollowed(answer.unfollowed),
            *await sent(self.phase, answer.sent, partial(_originals, handoff), self.limits.archive),
        )

    async def can_follow(self, wish: str, state: DeepResearchState) -> bool:
        """Ours that has no model can put first what was found of it."""
        if not isinstance(self.agent, ExtractiveSynthesizer):
            return True
        return any(has_word_of(finding, wish, state.query) for finding in state.findings)

    def handoff(self, state: DeepResearchState) -> SynthesizerInput:
        return synthesizer_input(state)


def withheld(draft: str, state: DeepResearchState) -> str:
    """The draft without codes of the owner's instructions, which no question and no source has: a page may have ordered
    them to be told."""
    quotes = [quote.quote for finding in state.findings for quote in finding.quotes]
    titles = [f"{source.title} {source.url or ''}" for source in state.sources]
    known = "\n".join((state.query, *quotes, *titles))
    return Confidential(state.options.system_prompt or "", known).without(draft, MARK, rows=False)


def synthesizer_input(state: DeepResearchState) -> SynthesizerInput:
    """All that the run found out, in the order of rank."""
    cited = {source_id for f in state.findings for source_id in f.source_ids}
    return SynthesizerInput(
        **shared(state, DeepResearchPhase.SYNTHESIS),
        max_iterations=state.max_iterations,
        finding_count=len(state.findings),
        gap_count=len(state.unresolved_gaps()),
        has_research_brief=bool(state.research_brief),
        research_brief=state.research_brief,
        sub_queries=state.current_sub_queries(),
        findings=state.findings,
        gaps=state.gaps,
        contradictions=state.contradictions,
        verdicts=state.verdicts,
        sources=tuple(s for s in state.sources if s.id in cited),
        limits=tuple(limit for limit in limitations(state) if limit.name != OF_REPORT),
        improvements=state.report_improvements,
        words=state.options.report_words,
        read_by_model=state.own_words,
    )


def written(
    state: DeepResearchState, answer: SynthesizerOutput, *, writer: str, partial: bool = False
) -> ReportWritten:
    """The event of a finished report."""
    report, metadata, citations = finished(
        withheld(answer.report, state), state.findings, state.sources, writer=writer, partial=partial
    )
    removed = metadata.removed_references + answer.unknown
    given = RunFidelity.of(
        {k: v for k, v in state.sent.items() if k is not DeepResearchPhase.SYNTHESIS}
        | ({DeepResearchPhase.SYNTHESIS: answer.sent} if answer.sent.items else {})
    ).content_allocation_metadata
    metadata = metadata.model_copy(
        update={
            "removed_references": removed,
            "fidelity": given.fidelity,
            "fidelity_level": given.band.value,
            "items_summarized": given.items_summarized,
            "items_dropped": given.items_dropped,
        }
    )
    return ReportWritten(report=report, metadata=metadata, citations=citations)


def _originals(handoff: SynthesizerInput) -> dict[str, Original]:
    return {
        **{f.id: Original(f.content, "finding") for f in handoff.findings},
        **{g.id: Original(g.description, "gap") for g in handoff.gaps},
        **{c.id: Original(c.description, "contradiction") for c in handoff.contradictions},
    }


def writer_name(agent: object) -> str:
    """How the report's metadata names the agent that wrote it."""
    return str(getattr(agent, "name", type(agent).__name__))
