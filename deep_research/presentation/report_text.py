"""A report in words: how many claims are supported, how much of the question it covers, how much models were sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deep_research.budget.fidelity import FidelityBand
from deep_research.presentation import phrases
from deep_research.state import ClaimCounts, Discrepancy, RepairKind

if TYPE_CHECKING:
    from deep_research.budget.fidelity import RunFidelity
    from deep_research.research.result import ResearchResult

REPAIRS = {
    RepairKind.CITED: "refers to another finding since",
    RepairKind.REWORDED: "reworded",
    RepairKind.REMOVED: "removed",
}


def claims_line(counts: ClaimCounts | None, *, verbatim: bool = False) -> str:
    """How many claims of a report are supported, in a few words; of a ``verbatim`` report that they are quotes."""
    if counts is None or not counts.total:
        return ""
    if verbatim and counts.supported == counts.total:
        return f"{phrases.count(counts.total - counts.of_run, 'sentence')}, all quoted from sources"
    supported = f"{counts.supported} of {phrases.count(counts.total, 'claim')} supported"
    return f"{supported}, {counts.marks} marked" if counts.marks else supported


def coverage_line(result: ResearchResult) -> str:
    """How much of the question the report tells of, in a line; "" where that is all, or nobody knows."""
    metadata = result.report_metadata
    answered = [bool(v.claim_ids) for v in result.verdicts if v.claim_ids is not None]
    if metadata is None or metadata.coverage is None or all(answered):
        return ""
    if len(answered) == 1:
        return "The report answers no part of the question."
    return f"The report answers {sum(answered) or 'none'} of the {len(answered)} parts of the question."


def other_claims(counts: ClaimCounts, judge_share: float) -> str:
    """The claims that are not supported, by kind; ``judge_share`` is that of the judge's tokens in all, 0 to 1."""
    judges = " and ".join(map(phrases.line, counts.judges)) or "a model"
    judging = f"judged by {judges}" + (f" with {judge_share:.0%} of the tokens" if judge_share else "")
    named = [
        f"{number} {name}"
        for number, name in (
            (counts.partial, "in part"),
            (counts.unsupported, "unsupported"),
            (counts.contradicted, "contradicted"),
            (counts.repairs, "repaired"),
            (counts.removals, "removed"),
            (counts.unchecked, "unchecked"),
            (counts.judged, judging),
            (counts.unasked, "that the judge did not see"),
        )
        if number
    ]
    return f" Of the others: {', '.join(named)}." if named else ""


def reason_in_words(reason: Discrepancy) -> str:
    if reason.aspect == "language":
        return "its source is in another language"
    found = f", the source “{phrases.line(reason.in_source)}”" if reason.in_source else ""
    claimed = f": it says “{phrases.line(reason.claimed)}”" if reason.claimed else ""
    return f"{reason.aspect.value}{claimed}{found}"


def fidelity_line(fidelity: RunFidelity) -> str:
    """How much of what was found was sent, in a line; "" where it was all, or nearly."""
    totals = fidelity.content_allocation_metadata
    return "" if totals.band is FidelityBand.FULL else fidelity_in_words(fidelity)


def fidelity_in_words(fidelity: RunFidelity) -> str:
    totals = fidelity.content_allocation_metadata
    texts = {name for phase in fidelity.phases.values() for name in phase.content_fidelity}
    many = phrases.count(len(texts), "text")
    cut, dropped = totals.items_summarized, totals.items_dropped
    said = f"{cut or dropped:,} of {many} {'was' if (cut or dropped) == 1 else 'were'}"
    match bool(cut), bool(dropped):
        case True, True:
            said += f" shortened, {dropped:,} left out"
        case True, False:
            said += " shortened"
        case False, True:
            said += " left out"
        case _:
            said = f"{many} {'was' if len(texts) == 1 else 'were'} sent whole"
    return f"Fidelity {share_in_words(totals.fidelity)} ({totals.band}): {said}."


def share_in_words(fidelity: float) -> str:
    """Rounded down, as it is measured: what is Condensed never reads 0.90."""
    return f"{round(10_000 * fidelity) // 100 / 100:.2f}"
