"""`run --estimate`: what a run may take, told and not started."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from deep_research.budget.estimate import Dollars, Estimate, PhaseEstimate, Range
from deep_research.interfaces.cli import text
from deep_research.interfaces.cli.console import Exit
from deep_research.interfaces.cli.session import Session
from deep_research.presentation import phrases
from deep_research.state import ModelRole

_HEAD = ("PHASE", "REQUESTS", "TOKENS IN", "TOKENS OUT", "DOLLARS")


async def estimate(session: Session) -> int:
    """Raises `UsageError`, `ConfigurationError`."""
    forecast = await session.engine.aestimate(session.args.question)
    console = session.console
    if session.args.json:
        console.print(forecast.model_dump_json())
    else:
        columns = min(text.COLUMNS, console.columns)
        console.print("\n".join(_lines(forecast, columns)))
    return Exit.COMPLETED


def _lines(forecast: Estimate, columns: int) -> Iterator[str]:
    scope = (
        f"{_count(forecast.iterations, 'iteration')}, {_count(forecast.searches, 'search', 'searches')},"
        f" {_count(forecast.fetches, 'page')} read."
    )
    yield from text.fold(f"The run may use: {scope}", columns)
    if forecast.phases:
        yield ""
        yield from text.figures([_HEAD, *map(_row, forecast.phases), _total(forecast)], columns)
        yield ""
        yield from text.fold(f"Asked: {_models(forecast.models)}.", columns)
    for note in forecast.notes:
        yield from text.fold(phrases.line(note), columns)


def _row(phase: PhaseEstimate) -> tuple[str, ...]:
    return _cells(phase.phase.value, phase)


def _total(forecast: Estimate) -> tuple[str, ...]:
    return _cells("in all", forecast)


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
