"""`show ID --budget`: what a run was allowed, what it spent and where, and what of its content was sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from deep_research.budget.accounting import Accounts, CapUse, KeptItem
from deep_research.errors import StoreError
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.fidelity_line import fidelity_in_words, share_in_words
from deep_research.interfaces.cli.session import Look
from deep_research.research import ResearchResult
from deep_research.state import DeepResearchPhase, ModelSpend
from deep_research.state.spending import plus

_SPENT = ("PHASE", "ROLE", "REQUESTS", "FAILED", "TOKENS IN", "TOKENS OUT", "DOLLARS")
_SENT = ("PHASE", "FIDELITY", "TEXTS", "SHORTENED", "LEFT OUT", "TOKENS", "ROOM")
_KEPT = ("KEPT", "LEVEL", "IN", "ARCHIVED", "TEXT")


def show_budget(session: Look, result: ResearchResult) -> None:
    accounts = Accounts.of(result.state, archive_bytes=_archive_bytes(session))
    console = session.console
    if session.args.json:
        console.print(accounts.model_dump_json())
    else:
        console.print("\n".join(_lines(accounts, min(text.COLUMNS, console.columns))))


def _archive_bytes(session: Look) -> int:
    """Nothing for the run of a pack: the archive of this machine is not its own."""
    from deep_research.assembly import make_archive

    if session.packed:
        return 0
    try:
        return sum(entry.size for entry in make_archive(session.settings).list())
    except StoreError:  # `doctor` tells of it
        return 0


def _lines(accounts: Accounts, columns: int) -> Iterator[str]:
    yield text.clip(f"{accounts.research_id}: {text.line(accounts.query)}", columns)
    yield ""
    yield from text.figures([("CAP", "ALLOWED", "USED"), *map(_cap, accounts.caps)], columns)
    yield ""
    yield from _spent(accounts.usage.models, columns)
    yield ""
    yield from _sent(accounts, columns)
    for head, said in (("Limits", [limit.line for limit in accounts.limits]), ("Advice", accounts.advice)):
        if said:
            yield ""
            yield f"{head}:"
            for line in said:
                yield from text.fold(f"- {text.line(line)}", columns, "  ")


def _cap(cap: CapUse) -> tuple[str, str, str]:
    def shown(amount: float | None, missing: str) -> str:
        if amount is None:
            return missing
        return text.dollars(amount) if cap.name == "max_usd" else f"{amount:,.10g}"

    return cap.name, shown(cap.cap, "-"), shown(cap.used, "unknown" if cap.name == "max_usd" else "-")


def _spent(spend: Sequence[ModelSpend], columns: int) -> Iterator[str]:
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
    head, *table = text.figures(rows, columns, names=2)
    place = 0
    for model in models:
        many = sum(row.model == model for row in spend)
        yield from ([""] if place else [])
        yield text.clip(text.line(model), columns)
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
        sum(row.tokens.output for row in spend),
    )
    return phase, role, *(f"{number:,}" for number in numbers), text.dollars(cost)


def _sent(accounts: Accounts, columns: int) -> Iterator[str]:
    fidelity = accounts.fidelity
    if not fidelity.phases:
        yield "No content was sent to a model."
        return
    yield from text.fold(fidelity_in_words(fidelity), columns)
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
    yield from text.figures(rows, columns)
    if accounts.least_kept:
        yield ""
        yield from text.table([_KEPT, *map(_kept, accounts.least_kept)], columns)


def _kept(item: KeptItem) -> tuple[str, ...]:
    return (
        f"{100 * item.compression_ratio:.0f} %",
        item.current_level.value,
        item.phase.value,
        text.short_hash(item.archived) if item.archived else "-",
        text.line(item.title),
    )
