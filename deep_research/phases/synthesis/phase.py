"""SYNTHESIS: the synthesizer's draft, its claims checked and repaired, then numbers and references by code, and the rules
that a report is held to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from deep_research.budget.estimate import INPUT
from deep_research.budget.fidelity import RunFidelity
from deep_research.budget.metered import RunModels
from deep_research.calls import TEXT_UNIT_CHARS, off_loop
from deep_research.errors import WorkError
from deep_research.models.language_model import LanguageModel
from deep_research.phases.agent_contract import Agent
from deep_research.phases.base import Phase, WorkLimits, judged, noted
from deep_research.phases.content_archiving import Original, usage_events
from deep_research.phases.handoff import evidence_of, shared
from deep_research.phases.quote_passages import around_quotes
from deep_research.phases.steering_plan import unfollowed
from deep_research.phases.synthesis.extractive_synthesizer import has_word_of
from deep_research.phases.synthesis.handoff import (
    REPAIR,
    REVISE,
    SYNTHESIZE,
    FailedClaim,
    JudgeScope,
    RepairInput,
    RepairOutput,
    SynthesizerInput,
)
from deep_research.phases.synthesis.repair import ClaimWork, with_marks
from deep_research.phases.synthesis.revision import Version, better, carried_over, is_revisable, without_ours
from deep_research.phases.synthesis.sections import keeping, longest_output, pieces_of
from deep_research.provenance.secret_filter import PROMPT_UNIT_CHARS, SecretFilter
from deep_research.report.checking import Checker
from deep_research.report.markup import plain
from deep_research.report.part_answers import part_answers
from deep_research.report.references import unmarked
from deep_research.report.render import finished
from deep_research.report.report_blocks import blocks_of_claims
from deep_research.state import (
    Claim,
    ClaimCounts,
    DeepResearchPhase,
    DeepResearchState,
    Draft,
    Finding,
    ModelRole,
    ValidationResult,
)
from deep_research.state.events import Event, ReportCompared, ReportDrafted, ReportWritten
from deep_research.state.journal import Journal
from deep_research.state.notices import reported_notices
from deep_research.state.question_parts import coverage, untold
from deep_research.state.records import OF_REPORT

MIN_CHARS = 100

MARK = "[withheld]"
WITHHELD = f"Where the report says {MARK}, it had told a part of the instructions of its owner."


def validate_synthesis(state: DeepResearchState) -> ValidationResult:
    """Pure. What is shorter than the minimum, or has no section, is no report: it blocks."""
    report = state.report or ""
    if not report.strip():
        return judged(("There is no report.",), (), 0.0)
    blocking: list[str] = []
    if len(report) < MIN_CHARS:
        blocking.append(f"The report has {len(report)} characters; {MIN_CHARS} are the least.")
    if not any(line.startswith("##") for line in report.splitlines()):
        blocking.append("The report has no section.")
    blocking += too_few_supported(state)
    counts = _counts(state)
    doubts = []
    if counts is not None and counts.marks:
        claims = "claim of the report is" if counts.marks == 1 else "claims of the report are"
        doubts.append(f"{counts.marks} {claims} not supported by the cited sources.")
    return judged(blocking, doubts, min(10.0, len(report) / 500) * (counts.share if counts else 1.0))


def too_few_supported(state: DeepResearchState) -> tuple[str, ...]:
    """What is said of a report of whose claims fewer are supported than its owner asks for."""
    counts, least = _counts(state), state.options.min_supported
    if counts is None or least is None or counts.share >= least:
        return ()
    return (
        f"{counts.supported - counts.of_run} of the report's {counts.total - counts.of_run} claims are supported"
        f" ({counts.share:.0%});"
        f" {least:.0%} are asked for.",
    )


def _counts(state: DeepResearchState) -> ClaimCounts | None:
    return state.report_metadata.claims if state.report_metadata else None


class SynthesisPhase(Phase):
    """Each of its units is in the log before the next begins, where it would not come out the same: the pieces of a long
    draft, the draft, what the judge said of its claims, their repair, the report. ``judge`` says which claims the model
    of that role sees."""

    phase = DeepResearchPhase.SYNTHESIS
    operations = (SYNTHESIZE, REVISE, REPAIR)

    def __init__(
        self,
        agent: Agent | Callable[..., Any],
        *,
        limits: WorkLimits | None = None,
        judge: JudgeScope = JudgeScope.ALL,
    ) -> None:
        super().__init__(agent, limits=limits)
        self._judge = judge

    async def run(self, state: DeepResearchState, journal: Journal, models: RunModels | None = None) -> None:
        self.check_place(state)
        if state.phase_done:
            return
        draft = state.draft
        if draft is None:
            try:
                draft, notices = await self._drafted(state, journal, models)
            except WorkError as error:
                # There is a report of this iteration already, of this agent, that was to be made better.
                if not (state.refined == state.iteration and self._last_version(state)):
                    raise
                await self._left(state, journal, error)
                return
            if notices or not self.spec.deterministic:  # what is told with it bears out lines of it
                await journal.record(ReportDrafted(draft=draft), *notices)
        problems: list[str] = []
        repairs = partial(self._repairs, state, models, problems)
        secret = await off_loop(_size(state), confidential_of, state)
        hidden = partial(secret.without, mark=MARK, rows=False)
        work = ClaimWork(journal, repairs, problems, hidden, self._judging(models), self._judge)
        revised = draft.revised is not None
        draft, claims = await work.finished(draft)
        report = await _report_event_off_loop(journal.state, draft, claims)
        compared: list[Event] = []
        if revised and state.report_draft:
            size = (len(state.report_draft) + len(report.draft)) // TEXT_UNIT_CHARS
            better, because = await off_loop(size, compare, journal.state, report)
            compared.append(ReportCompared(replaces_earlier=better, because=because))
            if not better:
                draft, claims = await work.finished(earlier_draft(journal.state))
                report = await _report_event_off_loop(journal.state, draft, claims)
        untold_ = untold(journal.state.parts, report.verdicts)
        await journal.record(*compared, report, *noted(untold_, OF_REPORT))

    async def _drafted(
        self, state: DeepResearchState, journal: Journal, models: RunModels | None
    ) -> tuple[Draft, list[Event]]:
        """The agent's draft, and what is told with it."""
        handoff = self.handoff(state)
        if models and self.spec.uses_model:
            around = await around_quotes(state.findings, journal)
            handoff = handoff.model_copy(update={"passages": around, **self._last_version(state)})
            output = longest_output(handoff.words)
            requests = models.affordable(ModelRole.SYNTHESIZER, self.phase, INPUT, output, now=True)
            if requests is not None:  # what is written already is as it was planned when there were so many
                requests += len(state.pieces)
            handoff = handoff.model_copy(update={"requests": requests})
        with keeping(pieces_of(journal)):
            revises = bool(handoff.draft) and self.spec.can(REVISE)
            answer = await self.ask(REVISE if revises else SYNTHESIZE, handoff, models)
        size = len(answer.report) // TEXT_UNIT_CHARS + _size(state)
        # Without marks too: these are ours to put in.
        text = await off_loop(size, lambda: unmarked(withheld(plain(answer.report), state)))
        cut = MARK in text and MARK not in answer.report
        events: list[Event] = [
            *noted((*answer.notes, *([WITHHELD] if cut else [])), OF_REPORT),
            *unfollowed(answer.unfollowed),
            *await usage_events(
                self.phase, answer.context_usage, partial(_originals, handoff), self.limits.archive
            ),
        ]
        draft = Draft(text=text, writer=self.spec.name, unknown=answer.unknown, revised=answer.revised)
        return draft, events

    async def _left(self, state: DeepResearchState, journal: Journal, error: WorkError) -> None:
        """The report stays as it is, since it cannot be revised: nobody waits for that, and nothing less takes its
        place."""
        repairs = partial(self._repairs, state, None, [])
        work = ClaimWork(journal, repairs)
        draft, claims = await work.finished(earlier_draft(state))
        because = f"The report was not revised: {error.problem}"
        await journal.record(
            ReportCompared(replaces_earlier=False, because=(because,)),
            await _report_event_off_loop(journal.state, draft, claims),
            *noted((because,), OF_REPORT),
        )

    def _last_version(self, state: DeepResearchState) -> dict[str, Any]:
        """The last report, where this agent wrote it, and what is said of it: then it is revised."""
        metadata = state.report_metadata
        if metadata is None or metadata.partial or metadata.writer != self.spec.name:
            return {}
        last = without_ours(carried_over(state))
        if not is_revisable(last):
            return {}
        failing = tuple(claim for claim in state.claims if claim.is_marked)
        return {"draft": last, "failing": failing, "improving": state.refined == state.iteration}

    async def _repairs(
        self,
        state: DeepResearchState,
        models: RunModels | None,
        problems: list[str],
        claims: tuple[FailedClaim, ...],
        findings: tuple[Finding, ...],
    ) -> RepairOutput | None:
        """New words from an agent that has some. Without an answer that is of use code repairs: a report that is written
        waits for nobody."""
        if not self.spec.can(REPAIR):
            return None
        handoff = RepairInput(**shared(state, self.phase), claims=claims, findings=findings)
        try:
            return await self.ask(REPAIR, handoff, models)
        except WorkError as error:
            problems.append(f"Claims that nothing carried were repaired without a model: {error.problem}")
            return None

    def _judging(self, models: RunModels | None) -> LanguageModel | None:
        """The judge's model, where a model wrote the report and there is one to judge it."""
        if models is None or not self.spec.uses_model or self._judge is JudgeScope.OFF:
            return None
        if not models.roles.chain_of(ModelRole.JUDGE):
            return None
        return models.model(ModelRole.JUDGE, self.phase)

    async def can_follow(self, steer: str, state: DeepResearchState) -> bool:
        """An extractive agent can put first what was found of it."""
        if not self.spec.extractive:
            return True
        return any(has_word_of(finding, steer, state.query) for finding in state.findings)

    def handoff(self, state: DeepResearchState) -> SynthesizerInput:
        return synthesizer_input(state)


def withheld(draft: str, state: DeepResearchState) -> str:
    """The draft without codes of the owner's instructions, which no question and no source has: a page may have ordered
    them to be told."""
    return confidential_of(state).without(draft, MARK, rows=False)


def _size(state: DeepResearchState) -> int:
    """How much work it is to find what is confidential, in small items."""
    return len(state.options.system_prompt or "") // PROMPT_UNIT_CHARS


def confidential_of(state: DeepResearchState) -> SecretFilter:
    quotes = [quote.quote for finding in state.findings for quote in finding.quotes]
    titles = [f"{source.title} {source.url or ''}" for source in state.sources]
    public_text = "\n".join((state.query, *quotes, *titles))
    return SecretFilter(state.options.system_prompt or "", public_text)


async def _report_event_off_loop(
    state: DeepResearchState, draft: Draft, claims: Sequence[Claim]
) -> ReportWritten:
    return await off_loop(len(draft.text) // TEXT_UNIT_CHARS, report_event, state, draft, claims)


def synthesizer_input(state: DeepResearchState) -> SynthesizerInput:
    """All that the run found out, in the order of rank."""
    return SynthesizerInput(
        **shared(state, DeepResearchPhase.SYNTHESIS),
        **evidence_of(state),
        finding_count=len(state.findings),
        gap_count=len(state.unresolved_gaps()),
        has_research_brief=bool(state.research_brief),
        gaps=state.gaps,
        notices=tuple(each for each in reported_notices(state) if each.name != OF_REPORT),
        improvements=state.report_improvements,
        remarks=state.remarks,
        words=state.report_words,
        read_by_model=state.own_words,
    )


def compare(state: DeepResearchState, new: ReportWritten) -> tuple[bool, tuple[str, ...]]:
    """Whether the new version is better than the report that the state has, and why."""
    last = carried_over(state)
    answers = part_answers(state, state.claims)
    return better(
        Version.of(last, state.claims, answers, state.contradictions),
        Version.of(new.draft, new.claims, new.verdicts, state.contradictions),
        state.report_words,
        state.options.min_supported,
    )


def earlier_draft(state: DeepResearchState) -> Draft:
    """The draft of the report that the state has, to be checked again against what is known now."""
    text = unmarked(carried_over(state))
    writer = state.report_metadata.writer if state.report_metadata else ""
    return Draft(text=text, writer=writer, repairs=state.repairs)


def partial_report(state: DeepResearchState, text: str, writer: str) -> ReportWritten:
    """The event of a report that is put together because the run was stopped. What its quotes do not carry is marked."""
    checker = Checker(state, {}, partial=True)
    draft = Draft(text=withheld(plain(text), state), writer=writer, repairs=())
    failing = [claim for claim in checker.claims(draft.text, {}) if checker.fails(claim)]
    draft = draft.model_copy(update={"text": with_marks(draft.text, failing)})
    return report_event(state, draft, checker.claims(draft.text, {}), partial=True)


def report_event(
    state: DeepResearchState, draft: Draft, claims: Sequence[Claim], *, partial: bool = False
) -> ReportWritten:
    """The event of a finished report."""
    report, metadata, citations = finished(
        draft.text, state.findings, state.sources, writer=draft.writer, partial=partial, claims=claims
    )
    numbers = {citation.source_id: citation.number for citation in citations}
    sources = {finding.id: finding.source_ids for finding in state.findings}
    block_of = blocks_of_claims(draft.text, report)
    numbered = tuple(
        claim.model_copy(
            update={"numbers": _numbers(claim, sources, numbers), "block": block_of(claim.place)}
        )
        for claim in claims
    )
    verdicts = part_answers(state, numbered)
    given = RunFidelity.of(state.context_usage).content_allocation_metadata
    metadata = metadata.model_copy(
        update={
            "removed_references": metadata.removed_references + draft.unknown,
            "fidelity": given.fidelity,
            "fidelity_level": given.band.value,
            "items_summarized": given.items_summarized,
            "items_dropped": given.items_dropped,
            "claims": ClaimCounts.of(numbered, draft.repairs or ()),
            "coverage": coverage(verdicts),
        }
    )
    return ReportWritten(
        report=report,
        metadata=metadata,
        citations=citations,
        draft=draft.text,
        claims=numbered,
        repairs=draft.repairs or (),
        verdicts=verdicts,
    )


def _numbers(
    claim: Claim, sources: Mapping[str, tuple[str, ...]], numbers: Mapping[str, int]
) -> tuple[int, ...]:
    """The references of the report that a claim has, or that its findings have elsewhere in it."""
    ids = (source_id for finding_id in claim.finding_ids for source_id in sources.get(finding_id, ()))
    return tuple(sorted({numbers[each] for each in ids if each in numbers}))


def _originals(handoff: SynthesizerInput) -> dict[str, Original]:
    return {
        **{f.id: Original(f.content, "finding") for f in handoff.findings},
        **{g.id: Original(g.description, "gap") for g in handoff.gaps},
        **{c.id: Original(c.description, "contradiction") for c in handoff.contradictions},
    }
