"""`show ID --claims`: what a report says, claim by claim, and what of its sources carries each."""

from __future__ import annotations

import json
from collections.abc import Iterator

from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.session import Look
from deep_research.research.result import ResearchResult
from deep_research.state import Claim, ClaimBasis, ClaimCounts, Discrepancy, ModelRole, Repair, RepairKind
from deep_research.state.spending import Usage

_LEAD = " " * 4
_LONGEST = 300  # characters of a passage that is shown
_DONE = {
    RepairKind.CITED: "refers to another finding since",
    RepairKind.REWORDED: "reworded",
    RepairKind.REMOVED: "removed",
}


def show_claims(session: Look, result: ResearchResult) -> None:
    console = session.console
    if session.args.json:
        told = {
            "claims": [claim.model_dump(mode="json") for claim in result.claims],
            "repairs": [repair.model_dump(mode="json") for repair in result.repairs],
        }
        console.print(json.dumps(told, ensure_ascii=False))
        return
    console.print("\n".join(_lines(result, min(text.COLUMNS, console.columns))))


def claims_line(counts: ClaimCounts | None, *, verbatim: bool = False) -> str:
    """How many claims of a report are supported, in a few words; of a ``verbatim`` report that they are quotes."""
    if counts is None or not counts.total:
        return ""
    if verbatim and counts.supported == counts.total:
        return f"{text.count(counts.total - counts.of_run, 'sentence')}, all quoted from sources"
    said = f"{counts.supported} of {text.count(counts.total, 'claim')} supported"
    return f"{said}, {counts.marked} marked" if counts.marked else said


def coverage_line(result: ResearchResult) -> str:
    """How much of the question the report tells of, in a line; "" where that is all, or nobody knows."""
    metadata = result.report_metadata
    told = [bool(v.claim_ids) for v in result.verdicts if v.claim_ids is not None]
    if metadata is None or metadata.coverage is None or all(told):
        return ""
    if len(told) == 1:
        return "The report tells nothing of what was asked."
    return f"The report tells of {sum(told) or 'none'} of the {len(told)} parts of the question."


def _lines(result: ResearchResult, columns: int) -> Iterator[str]:
    yield text.clip(f"{result.research_id}: {text.line(result.query)}", columns)
    counts = result.report_metadata.claims if result.report_metadata else None
    if counts is None:
        why = "The report was written before claims were checked." if result.report else "There is no report."
        yield from ("", why)
        return
    yield from text.fold(f"{claims_line(counts) or 'No claims'}.{_more(counts, result.usage)}", columns)
    titles = {source.id: text.line(source.title) for source in result.sources}
    heading = None
    for claim in result.claims:
        if claim.heading != heading:
            heading = claim.heading
            yield from ("", *text.fold(text.line(heading) or "(no heading)", columns))
        yield from _claim(claim, titles, columns)
    if result.repairs:
        yield from ("", "Repaired:")
        for repair in result.repairs:
            yield from _repair(repair, columns)


def _more(counts: ClaimCounts, usage: Usage) -> str:
    judges = " and ".join(map(text.line, counts.judges)) or "a model"
    share = usage.share(ModelRole.JUDGE)
    judging = f"judged by {judges}" + (f" with {share:.0%} of the tokens" if share else "")
    told = [
        f"{number} {name}"
        for number, name in (
            (counts.partial, "in part"),
            (counts.unsupported, "unsupported"),
            (counts.contradicted, "contradicted"),
            (counts.repaired, "repaired"),
            (counts.removed, "removed"),
            (counts.unchecked, "unchecked"),
            (counts.judged, judging),
            (counts.unasked, "that the judge could not be asked about"),
        )
        if number
    ]
    return f" Of the others: {', '.join(told)}." if told else ""


def _claim(claim: Claim, titles: dict[str, str], columns: int) -> Iterator[str]:
    numbers = f" [{', '.join(map(str, claim.numbers))}]" if claim.numbers else ""
    mark = " (marked)" if claim.marked else ""
    yield from text.fold(f"- {claim.verdict.value}{mark}: {text.line(claim.text)}{numbers}", columns, "  ")
    if claim.basis is ClaimBasis.RUN:
        yield f"{_LEAD}by the log of the run"
    for reason in claim.reasons:
        yield from text.fold(f"{_LEAD}{_why(reason)}", columns, _LEAD)
    judged = claim.judgement
    if judged is not None:
        said = judged.verdict.value if judged.verdict else f"not asked. {text.line(judged.reason)}"
        missing = f"; no passage has “{text.line(judged.missing)}”" if judged.missing else ""
        yield from text.fold(f"{_LEAD}judge: {said}{missing}", columns, _LEAD)
    for quote in claim.evidence:
        where = f"{titles.get(quote.source_id, quote.source_id)}, {quote.start} to {quote.end}"
        told = text.line(quote.quote)
        told = told if len(told) <= _LONGEST else f"{told[:_LONGEST].rstrip()}…"
        yield from text.fold(f'{_LEAD}"{told}" ({where})', columns, _LEAD)


def _why(reason: Discrepancy) -> str:
    if reason.aspect == "language":
        return "its source is in another language"
    found = f", the source “{text.line(reason.found)}”" if reason.found else ""
    claimed = f": it says “{text.line(reason.claimed)}”" if reason.claimed else ""
    return f"{reason.aspect.value}{claimed}{found}"


def _repair(repair: Repair, columns: int) -> Iterator[str]:
    yield from text.fold(f"- {_DONE[repair.kind]}: {text.line(repair.before)}", columns, "  ")
    if repair.kind is RepairKind.REWORDED:
        yield from text.fold(f"{_LEAD}now: {text.line(repair.after)}", columns, _LEAD)
