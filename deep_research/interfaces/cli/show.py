"""`show`: the report of a run or of a pack again; or with `--claims` its claims, with `--budget` what it spent."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from deep_research.errors import StoreError
from deep_research.interfaces.cli.session import Look
from deep_research.presentation import phrases
from deep_research.presentation.report_text import (
    REPAIRS,
    claims_line,
    fidelity_in_words,
    other_claims,
    reason_in_words,
    share_in_words,
)
from deep_research.research.result import ResearchResult
from deep_research.state import (
    Claim,
    ClaimBasis,
    DeepResearchPhase,
    ModelRole,
    ModelSpend,
    Repair,
    RepairKind,
)
from deep_research.state.identity import RUN_ID
from deep_research.state.spending import plus

if TYPE_CHECKING:
    from deep_research.budget.accounting import Accounts, CapUse, KeptItem
    from deep_research.budget.estimate import Dollars, Estimate, PhaseEstimate, Range

_LEAD = " " * 4
_MAX_PASSAGE_CHARS = 300
_SPENT = ("PHASE", "ROLE", "REQUESTS", "FAILED", "TOKENS IN", "CACHED", "OUT", "DOLLARS")
_WITHOUT_CACHE = ("PHASE", "ROLE", "REQUESTS", "FAILED", "TOKENS IN", "TOKENS OUT", "DOLLARS")
_CACHED = _SPENT.index("CACHED")
_SENT = ("PHASE", "FIDELITY", "TEXTS", "SHORTENED", "LEFT OUT", "TOKENS", "ROOM")
_KEPT = ("KEPT", "LEVEL", "IN", "ARCHIVED", "TEXT")
_ESTIMATED = ("PHASE", "REQUESTS", "TOKENS IN", "TOKENS OUT", "DOLLARS")


async def show(session: Look) -> None:
    """A run of the data directory; or that of a pack, of which no more is believed than what is read."""
    given = session.args.id
    if not _is_file(given):
        _print_result(session, await session.runs.aresult(given))
        return
    from deep_research.interfaces.cli.verb_commands import result_in

    session.console.cleans = True
    _print_result(replace(session, packed=True), await asyncio.to_thread(result_in, given))


def _is_file(given: str) -> bool:
    """Whether a pack is meant, and not a run: a file that there is, or the name of one."""
    if not given or RUN_ID.match(given):
        return False
    return os.path.exists(given) or Path(given).suffix.casefold() == ".zip"


def _print_result(session: Look, result: ResearchResult) -> None:
    from deep_research.interfaces.cli.summary import conclude, deliver, report_notes

    if session.args.budget:
        show_budget(session, result)
    elif session.args.claims:
        show_claims(session, result)
    else:
        deliver(session, result)
        if result.status != "completed":
            conclude(session, result)
        elif session.talks:
            session.console.note(*report_notes(result))


# Claims


def show_claims(session: Look, result: ResearchResult) -> None:
    def record() -> str:
        claims = [claim.model_dump(mode="json") for claim in result.claims]
        repairs = [repair.model_dump(mode="json") for repair in result.repairs]
        return json.dumps({"claims": claims, "repairs": repairs}, ensure_ascii=False)

    session.show(record, _claim_lines(result, min(phrases.COLUMNS, session.console.columns)))


def _claim_lines(result: ResearchResult, columns: int) -> Iterator[str]:
    yield phrases.clip(f"{result.research_id}: {phrases.line(result.query)}", columns)
    counts = result.report_metadata.claims if result.report_metadata else None
    if counts is None:
        why = (
            "This report is from a version without claim checks." if result.report else "There is no report."
        )
        yield from ("", why)
        return
    yield from phrases.fold(
        f"{claims_line(counts) or 'No claims'}.{other_claims(counts, result.usage.share(ModelRole.JUDGE))}",
        columns,
    )
    titles = {source.id: phrases.line(source.title) for source in result.sources}
    heading = None
    for claim in result.claims:
        if claim.heading != heading:
            heading = claim.heading
            yield from ("", *phrases.fold(phrases.line(heading) or "(no heading)", columns))
        yield from _claim(claim, titles, columns)
    if result.repairs:
        yield from ("", "Repaired:")
        for repair in result.repairs:
            yield from _repair(repair, columns)


def _claim(claim: Claim, titles: dict[str, str], columns: int) -> Iterator[str]:
    numbers = f" [{', '.join(map(str, claim.numbers))}]" if claim.numbers else ""
    mark = " (marked)" if claim.is_marked else ""
    yield from phrases.fold(
        f"- {claim.verdict.value}{mark}: {phrases.line(claim.text)}{numbers}", columns, "  "
    )
    if claim.basis is ClaimBasis.RUN:
        yield f"{_LEAD}supported by the log of the run"
    for reason in claim.reasons:
        yield from phrases.fold(f"{_LEAD}{reason_in_words(reason)}", columns, _LEAD)
    judged = claim.judgement
    if judged is not None:
        said = judged.verdict.value if judged.verdict else f"not asked. {phrases.line(judged.reason)}"
        missing = f"; no passage has “{phrases.line(judged.missing)}”" if judged.missing else ""
        yield from phrases.fold(f"{_LEAD}judge: {said}{missing}", columns, _LEAD)
    for quote in claim.evidence:
        where = f"{titles.get(quote.source_id, quote.source_id)}, {quote.start} to {quote.end}"
        told = phrases.line(quote.quote)
        told = told if len(told) <= _MAX_PASSAGE_CHARS else f"{told[:_MAX_PASSAGE_CHARS].rstrip()}…"
        yield from phrases.fold(f'{_LEAD}"{told}" ({where})', columns, _LEAD)


def _repair(repair: Repair, columns: int) -> Iterator[str]:
    yield from phrases.fold(f"- {REPAIRS[repair.kind]}: {phrases.line(repair.before)}", columns, "  ")
    if repair.kind is RepairKind.REWORDED:
        yield from phrases.fold(f"{_LEAD}now: {phrases.line(repair.after)}", columns, _LEAD)


# Budget


def show_budget(session: Look, result: ResearchResult) -> None:
    from deep_research.budget.accounting import Accounts

    accounts = Accounts.of(result.state, archive_bytes=_archive_bytes(session))
    lines = _budget_lines(accounts, min(phrases.COLUMNS, session.console.columns))
    session.show(accounts.model_dump_json, lines)


def _archive_bytes(session: Look) -> int:
    """Nothing for the run of a pack: the archive of this machine is not its own."""
    from deep_research.assembly import make_archive

    if session.packed:
        return 0
    try:
        return sum(entry.size for entry in make_archive(session.settings).list())
    except StoreError:  # `doctor` tells of it
        return 0


def _budget_lines(accounts: Accounts, columns: int) -> Iterator[str]:
    yield phrases.clip(f"{accounts.research_id}: {phrases.line(accounts.query)}", columns)
    yield ""
    yield from phrases.figures([("CAP", "ALLOWED", "USED"), *map(_cap, accounts.caps)], columns)
    yield ""
    yield from _spend_table(accounts.usage.models, columns)
    yield ""
    yield from _fidelity_table(accounts, columns)
    for head, said in (("Limits", [notice.line for notice in accounts.notices]), ("Advice", accounts.advice)):
        if said:
            yield ""
            yield f"{head}:"
            for line in said:
                yield from phrases.fold(f"- {phrases.line(line)}", columns, "  ")


def _cap(cap: CapUse) -> tuple[str, str, str]:
    def amount_or(amount: float | None, missing: str) -> str:
        if amount is None:
            return missing
        return phrases.dollars(amount) if cap.name == "max_usd" else f"{amount:,.10g}"

    return (
        cap.name,
        amount_or(cap.cap, "-"),
        amount_or(cap.usage, "unknown" if cap.name == "max_usd" else "-"),
    )


def _spend_table(spend: Sequence[ModelSpend], columns: int) -> Iterator[str]:
    if not spend:
        yield "No language model was asked."
        return
    phases = tuple(DeepResearchPhase)
    spend = sorted(spend, key=lambda row: (phases.index(row.phase), row.role))
    models = list(dict.fromkeys(row.model for row in spend))
    rows: list[tuple[str, ...]] = [_SPENT]
    for model in models:
        rows += [_row(row.phase.value, row.role, [row]) for row in spend if row.model == model]
    rows.append(_row("in all", "", spend))
    if not any(row.tokens.cache_read for row in spend):
        rows = [_WITHOUT_CACHE, *(row[:_CACHED] + row[_CACHED + 1 :] for row in rows[1:])]
    head, *table = phrases.figures(rows, columns, names=2)
    place = 0
    for model in models:
        many = sum(row.model == model for row in spend)
        yield from ([""] if place else [])
        yield phrases.clip(phrases.line(model), columns)
        yield from (head, *table[place : place + many])
        place += many
    yield from ["", head] if len(models) > 1 else []
    yield table[-1]


def _row(phase: str, role: str, spend: Sequence[ModelSpend]) -> tuple[str, ...]:
    cost: float | None = 0.0
    for row in spend:
        cost = plus(cost, row.cost_usd)
    numbers = (
        sum(row.calls for row in spend),
        sum(row.failed for row in spend),
        sum(row.tokens.input for row in spend),
        sum(row.tokens.cache_read for row in spend),
        sum(row.tokens.output for row in spend),
    )
    return phase, role, *(f"{number:,}" for number in numbers), phrases.dollars(cost)


def _fidelity_table(accounts: Accounts, columns: int) -> Iterator[str]:
    fidelity = accounts.fidelity
    if not fidelity.phases:
        yield "No content was sent to a model."
        return
    yield from phrases.fold(fidelity_in_words(fidelity), columns)
    rows: list[tuple[str, ...]] = [_SENT]
    for phase, sent in fidelity.phases.items():
        totals = sent.content_allocation_metadata
        numbers = (
            len(sent.content_fidelity),
            totals.items_summarized,
            totals.items_dropped,
            totals.tokens_used,
            totals.tokens_available,
        )
        rows.append((phase.value, share_in_words(totals.fidelity), *(f"{number:,}" for number in numbers)))
    yield from phrases.figures(rows, columns)
    if accounts.least_kept:
        yield ""
        yield from phrases.table([_KEPT, *map(_kept_row, accounts.least_kept)], columns)


def _kept_row(item: KeptItem) -> tuple[str, ...]:
    return (
        f"{100 * item.compression_ratio:.0f} %",
        item.current_level.value,
        item.phase.value,
        phrases.short_hash(item.archived) if item.archived else "-",
        phrases.line(item.title),
    )


# Estimates


def show_estimate(session: Look, forecast: Estimate) -> None:
    lines = _estimate_lines(forecast, min(phrases.COLUMNS, session.console.columns))
    session.show(forecast.model_dump_json, lines)


def _estimate_lines(forecast: Estimate, columns: int) -> Iterator[str]:
    scope = (
        f"{_count(forecast.iterations, 'iteration')}, {_count(forecast.searches, 'search', 'searches')},"
        f" {_count(forecast.fetches, 'page')} read."
    )
    yield from phrases.fold(f"The run may use: {scope}", columns)
    if forecast.phases:
        yield ""
        rows = [_cells(phase.phase.value, phase) for phase in forecast.phases]
        yield from phrases.figures([_ESTIMATED, *rows, _cells("in all", forecast)], columns)
        yield ""
        yield from phrases.fold(f"Asked: {_models(forecast.models)}.", columns)
    for note in forecast.notes:
        yield from phrases.fold(phrases.line(note), columns)


def _cells(name: str, forecast: PhaseEstimate | Estimate) -> tuple[str, ...]:
    numbers = (forecast.model_calls, forecast.input_tokens, forecast.output_tokens)
    return (name, *map(_span, numbers), _money(forecast.cost_usd))


def _models(models: Mapping[ModelRole, str]) -> str:
    """Each model with the roles it has."""
    roles: dict[str, list[str]] = {}
    for role, model in models.items():
        roles.setdefault(phrases.line(model), []).append(role.value)
    return "; ".join(f"{model} ({', '.join(of)})" for model, of in roles.items())


def _count(span: Range, one: str, many: str = "") -> str:
    if span.low == span.high:
        return phrases.count(span.high, one, many)
    return f"{_span(span)} {many or one + 's'}"


def _span(span: Range) -> str:
    return f"{span.low:,}" if span.low == span.high else f"{span.low:,}–{span.high:,}"


def _money(span: Dollars | None) -> str:
    if span is None:
        return "unknown"
    low, high = phrases.dollars(span.low), phrases.dollars(span.high)
    return low if low == high else f"{low}–{high}"
