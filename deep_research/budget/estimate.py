"""What a run may take, told before anything is spent. Pure.

At the low end stand one iteration, one source and short answers. At the high end all iterations are made, as much is
read as may be, every answer is as long as it may be, and everything is asked twice. Neither is a bound: an outage can
take more, and a run that finds nothing takes less. What holds are the caps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from pydantic import Field

from deep_research.budget.request_bounds import (
    SPARE,
    Asked,
    Kinds,
    Scale,
    at_least,
    at_most,
    capped,
    rounds_of,
    searches_of,
)
from deep_research.state import Budget, DeepResearchPhase, ModelRole, Record


class Range(Record):
    """Whole numbers, from the low to the high end."""

    low: int = 0
    high: int = 0

    def __add__(self, other: Range) -> Range:
        return Range(low=self.low + other.low, high=self.high + other.high)


class Dollars(Record):
    low: float = 0.0
    high: float = 0.0


class Standing(StrEnum):
    """How a cap stands to what is estimated: below the low end, between the ends, or above both."""

    BELOW = "below"
    WITHIN = "within"
    ABOVE = "above"


class CapOutlook(Record):
    """A cap of the run, by the name of its setting. ``request`` is what a single request may take of it at most: one that
    does not fit into what is left is not made."""

    name: str
    cap: int | float
    standing: Standing
    request: int | float | None = None


class PhaseEstimate(Record):
    """What the models of a phase may be asked for. ``cost_usd`` is None where a price is unknown."""

    phase: DeepResearchPhase
    model_calls: Range
    input_tokens: Range
    output_tokens: Range
    cost_usd: Dollars | None


class Estimate(Record):
    """What a run may take, from the low to the high end: sub-queries searched, pages fetched, requests to models with
    their tokens and dollars, in all and by phase. ``models`` are those that would be asked, by role; ``unpriced`` are
    those of them whose price is unknown, and ``cost_usd`` is None with any. ``caps`` are those of the run; ``notes``
    say all that in words."""

    iterations: Range
    searches: Range
    fetches: Range
    model_calls: Range
    input_tokens: Range
    output_tokens: Range
    cost_usd: Dollars | None
    phases: tuple[PhaseEstimate, ...] = ()
    models: dict[ModelRole, str] = Field(default_factory=dict)
    unpriced: tuple[str, ...] = ()
    caps: tuple[CapOutlook, ...] = ()
    notes: tuple[str, ...] = ()


def estimate(scale: Scale, kinds: Kinds) -> Estimate:
    rounds = rounds_of(scale)
    high = list(at_most(kinds, scale, rounds))
    at_work = {asked.phase for asked in high}
    low = [asked for asked in at_least(kinds, scale) if asked.phase in at_work]
    phases = tuple(
        _of_phase(phase, [a for a in low if a.phase is phase], [a for a in high if a.phase is phase])
        for phase in DeepResearchPhase
        if phase in at_work
    )
    queries = sum(rounds)
    made = Estimate(
        iterations=Range(low=1, high=scale.iterations),
        searches=_made(1, capped(searches_of(rounds, scale), scale.budget.max_searches)),
        fetches=Range(
            high=capped(queries * scale.sources * SPARE, scale.budget.max_fetches) if scale.pages else 0
        ),
        model_calls=_sum(phase.model_calls for phase in phases),
        input_tokens=_sum(phase.input_tokens for phase in phases),
        output_tokens=_sum(phase.output_tokens for phase in phases),
        cost_usd=_dollars(low, high),
        phases=phases,
        models={kind.role: kind.model for kind in kinds.every()},
        unpriced=tuple(sorted({kind.model for kind in kinds.every() if kind.price is None})),
    )
    made = made.model_copy(update={"caps": tuple(_caps(made, scale.budget, high))})
    return made.model_copy(update={"notes": tuple(_notes(made, scale.budget))})


def _of_phase(phase: DeepResearchPhase, low: list[Asked], high: list[Asked]) -> PhaseEstimate:
    return PhaseEstimate(
        phase=phase,
        model_calls=Range(low=sum(a.calls for a in low), high=sum(a.calls for a in high)),
        input_tokens=Range(
            low=sum(a.calls * a.input for a in low), high=sum(a.calls * a.input for a in high)
        ),
        output_tokens=Range(
            low=sum(a.calls * a.output for a in low), high=sum(a.calls * a.output for a in high)
        ),
        cost_usd=_dollars(low, high),
    )


def _dollars(low: Iterable[Asked], high: Iterable[Asked]) -> Dollars | None:
    least, most = [asked.least_usd for asked in low], [asked.most_usd for asked in high]
    if None in least or None in most:
        return None
    return Dollars(low=sum(filter(None, least)), high=sum(filter(None, most)))


def _sum(ranges: Iterable[Range]) -> Range:
    return sum(ranges, Range())


def _made(low: int, high: int) -> Range:
    return Range(low=min(low, high), high=high)


def _caps(made: Estimate, budget: Budget, high: Sequence[Asked]) -> Iterator[CapOutlook]:
    ends: dict[str, Range | Dollars | None] = {
        "max_usd": made.cost_usd,
        "max_tokens": made.input_tokens + made.output_tokens,
        "max_model_calls": made.model_calls,
        "max_searches": Range(low=1, high=made.searches.high),
        "max_fetches": made.fetches,
    }
    requests = {
        "max_usd": max((asked.request_usd or 0.0 for asked in high), default=0.0),
        "max_tokens": max((asked.input + asked.output for asked in high), default=0),
    }
    for name, both in ends.items():
        cap = getattr(budget, name)
        if cap is None or both is None:
            continue
        standing = (
            Standing.BELOW if cap < both.low else Standing.WITHIN if cap <= both.high else Standing.ABOVE
        )
        yield CapOutlook(name=name, cap=cap, standing=standing, request=requests.get(name))


def _notes(made: Estimate, budget: Budget) -> Iterator[str]:
    if not made.models:
        yield "No language model is configured: the extractive agents do the work, and cost nothing."
    for model in made.unpriced:
        yield f"The price of {model} is not known, so dollars cannot be told; model_file can give it."
    for cap in made.caps:
        named = f"The cap {cap.name} of {cap.cap:,.10g}"
        if cap.standing is Standing.BELOW:
            yield f"{named} is below the low end: the report will be written from less."
        elif cap.request is not None and cap.cap < cap.request:
            yield (
                f"{named} is less than a single request may take ({_figure(cap.request)}): what does not fit is done"
                " without a model."
            )
        elif cap.standing is Standing.WITHIN:
            yield f"{named} may be reached: the report is written from what there is by then."
    if budget.max_seconds is not None:
        yield f"How long it takes is not estimated; the cap max_seconds is {budget.max_seconds:g}."
    if made.models:
        yield (
            "Low end: one iteration, little found, short answers. High end: all iterations, as much read and written as"
            " may be, everything asked twice; few runs come near it."
        )
        yield "This is an estimate. The caps of a run hold whatever it says" + (
            "." if _iscapped(budget) else ", and none is set: see max_usd, max_tokens and max_model_calls."
        )


def _iscapped(budget: Budget) -> bool:
    return any(cap is not None for cap in (budget.max_usd, budget.max_tokens, budget.max_model_calls))


def _figure(amount: float) -> str:
    """Tokens as they are, dollars to a cent."""
    return f"{amount:,}" if isinstance(amount, int) else f"{amount:,.2f}"
