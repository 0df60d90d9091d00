"""The reports of a log, rendered again from their drafts and compared with what stands there. Pure.

Everything but the words of repairs follows from the draft, the claims and the run as it was then: the numbered text,
its metadata and citations, the numbers of claims, and the verdicts on the parts of the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deep_research.packs.evidence import Failure
from deep_research.packs.members import CLAIMS, REPORT
from deep_research.state import AbortReason, Claim, DeepResearchState, Draft, ModelRole
from deep_research.state import events as ev
from deep_research.state.reducer import Fold

MAX_SHOWN = 60  # characters of a line
SYNTHESIZER = ModelRole.SYNTHESIZER.value
STOPPED = (AbortReason.CANCELLED, AbortReason.TIMEOUT)  # are the stops that leave a report


def rendering_failures(events: Sequence[ev.Event]) -> Iterator[Failure]:
    """What differs in each report of the log. The last one is named by its members, those before it by their events."""
    last = max((event.seq for event in events if isinstance(event, ev.ReportWritten)), default=0)
    fold = Fold()
    for number, event in enumerate(events):
        if isinstance(event, ev.ReportWritten):
            place = "" if event.seq == last else f"event {event.seq}"
            partial = _is_at_a_stop(events[number + 1 : number + 3], event)
            ours = _rendered(event, fold.snapshot(), events[number - 1], partial=partial)
            yield from _differences(event, ours, place)
        fold.apply(event)


def _is_at_a_stop(following: Sequence[ev.Event], report: ev.ReportWritten) -> bool:
    """Whether a stop had the report put together: then the decision to abort and the abort follow it."""
    if not following:
        return report.metadata.partial
    return isinstance(end := following[-1], ev.RunAborted) and end.reason in STOPPED


def _rendered(
    report: ev.ReportWritten, state: DeepResearchState, before: ev.Event, *, partial: bool
) -> ev.ReportWritten:
    """The event as the run recorded it after ``before``. ``state`` is the one that the report was written in."""
    from deep_research.phases.synthesis.phase import report_event  # brings the rules of all languages along
    from deep_research.supervisor.termination import made_partial

    if partial:
        whole = made_partial(state)
        if whole is not None and whole.draft == report.draft:
            return whole
    draft = _draft_of(report, state, before, partial=partial)
    return report_event(state, draft, report.claims, partial=partial)


def _draft_of(
    report: ev.ReportWritten, state: DeepResearchState, before: ev.Event, *, partial: bool
) -> Draft:
    """The draft of a report, with its writer, repairs and unknown references from where the log has them besides."""
    from deep_research.phases.synthesis.extractive_synthesizer import ExtractiveSynthesizer

    draft = Draft(text=report.draft, writer=report.metadata.writer, repairs=report.repairs)
    if partial:
        return draft.model_copy(update={"writer": ExtractiveSynthesizer.name})
    if isinstance(before, ev.ReportCompared) and not before.replaces_earlier:
        writer = state.report_metadata.writer if state.report_metadata else ""
        return draft.model_copy(update={"writer": writer, "repairs": state.repairs})
    if state.draft is None:  # code wrote it, and would write the same again
        is_ours = state.setup is not None and SYNTHESIZER not in state.setup.agents
        return draft.model_copy(update={"writer": ExtractiveSynthesizer.name}) if is_ours else draft
    fields: dict[str, object] = {"writer": state.draft.writer, "unknown": state.draft.unknown}
    if state.draft.repairs is not None:
        fields["repairs"] = state.draft.repairs
    return draft.model_copy(update=fields)


def _differences(report: ev.ReportWritten, ours: ev.ReportWritten, place: str) -> Iterator[Failure]:
    if report.report != ours.report:
        difference = _first_difference(report.report.splitlines(), ours.report.splitlines())
        yield Failure(place=place or REPORT, what=f"is not what its draft makes: {difference}")
    for name, value in report.metadata:
        if value != (own := getattr(ours.metadata, name)):
            yield Failure(place=place or REPORT, what=f"has {name} {_short(value)}, and makes {_short(own)}")
    if report.citations != ours.citations:
        yield Failure(place=place or REPORT, what="has other citations than its draft makes")
    if report.repairs != ours.repairs:
        yield Failure(place=place or CLAIMS, what="has other repairs than the log has")
    if report.verdicts != ours.verdicts:
        yield Failure(place=place or REPORT, what="has other verdicts on the parts of the question")
    for claim, own in zip(report.claims, ours.claims, strict=True):
        for what in _unfit(claim, own):
            yield Failure(place=f"{place} claim {claim.id}".lstrip(), what=what)


def _unfit(claim: Claim, own: Claim) -> Iterator[str]:
    """What of a claim goes against the rest of it, or against the references of the report."""
    from deep_research.report.judging import verdicts

    allowed = verdicts(claim.code_verdict, claim.judgement)
    if claim.verdict not in allowed:
        yield f"counts as {claim.verdict}, and was found {allowed[0]}"
    if claim.numbers != own.numbers:
        yield "has other references than the report"
    if claim.block != own.block:
        yield "stands in another block of the report"


def _first_difference(lines: Sequence[str], ours: Sequence[str]) -> str:
    number = next((n for n, (a, b) in enumerate(zip(lines, ours, strict=False)) if a != b), None)
    if number is None:
        number = min(len(lines), len(ours))
    theirs, own = (" ".join(each[number : number + 1]) for each in (lines, ours))
    start = max(0, next((n for n, (a, b) in enumerate(zip(theirs, own, strict=False)) if a != b), 0) - 20)
    return f"line {number + 1} has {_short(theirs[start:])}, and makes {_short(own[start:])}"


def _short(value: object) -> str:
    text = str(value)
    return repr(text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…")
