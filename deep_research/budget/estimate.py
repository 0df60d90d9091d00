"""Estimate of the requests, tokens and dollars of a run and of its report. Pure.

The low end is one round with short answers and few findings, the high end a second round as well, a revision and full
answers. Neither is a bound: an outage can take more, and a run that finds nothing takes less. What holds are the caps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from deep_research.budget.tokens import answer_cap
from deep_research.models.base import TokenUsage
from deep_research.models.profiles import Price, Profile
from deep_research.state import Budget, DeepResearchPhase, ModelRole, Record, Spent

BYTES_A_TOKEN = 4  # of most texts
TOKENS_A_WORD = 3.3  # at most, of most languages, references included
AT_ONCE = 1_500  # words of a report that is written in one go
THOUGHTS = 2_000  # tokens that a model may think before it writes
PASSAGES = 4_000  # tokens of what stands around quotes, in one message
INPUT = 6_000  # tokens of the findings and instructions that a report is written from


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
    those of them whose price is unknown, and ``cost_usd`` is None with any. ``set_aside`` is what the requests of the
    high end take if each answer is as long as it may be: a cap below it may refuse one. ``caps`` are those of the run;
    ``notes`` say all that in words."""

    iterations: Range
    searches: Range
    fetches: Range
    model_calls: Range
    input_tokens: Range
    output_tokens: Range
    cost_usd: Dollars | None
    set_aside: Spent = Spent()
    phases: tuple[PhaseEstimate, ...] = ()
    models: dict[ModelRole, str] = Field(default_factory=dict)
    unpriced: tuple[str, ...] = ()
    caps: tuple[CapOutlook, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def tokens(self) -> Range:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleModel:
    """The model of a role: ``room`` are the tokens that may be sent, ``output`` those that may come back."""

    role: ModelRole
    model: str
    room: int
    output: int
    price: Price | None


@dataclass(frozen=True, slots=True)
class Requests:
    """So many requests of a phase to a model, which send and bring so many tokens each."""

    phase: DeepResearchPhase
    role_model: RoleModel
    calls: int
    input: int
    output: int

    @classmethod
    def of(
        cls, phase: DeepResearchPhase, role_model: RoleModel, calls: int, sent: float, answer: float
    ) -> Requests:
        return cls(
            phase, role_model, calls, min(round(sent), role_model.room), min(round(answer), role_model.output)
        )

    @property
    def cost_usd(self) -> float | None:
        usage = TokenUsage(input=self.input, output=self.output)
        return self.calls * self.role_model.price.of(usage) if self.role_model.price else None

    @property
    def set_aside(self) -> Spent:
        """What one of them has to be paid with before it is sent. The bytes of a text bound its tokens."""
        sent, answer = min(BYTES_A_TOKEN * self.input, self.role_model.room), self.role_model.output
        usd = self.role_model.price.most(sent, answer) if self.role_model.price else None
        return Spent(model_calls=1, tokens=sent + answer, cost_usd=usd)


def estimate(
    low: Sequence[Requests],
    high: Sequence[Requests],
    models: Sequence[RoleModel],
    *,
    iterations: int,
    searches: Range,
    fetches: Range,
    budget: Budget,
) -> Estimate:
    """The sums of both ends, and how the caps of a run stand to them."""
    phases = tuple(
        _of_phase(phase, [r for r in low if r.phase is phase], [r for r in high if r.phase is phase])
        for phase in DeepResearchPhase
        if any(r.phase is phase for r in high)
    )
    made = Estimate(
        iterations=Range(low=1, high=iterations),
        searches=searches,
        fetches=fetches,
        model_calls=sum((phase.model_calls for phase in phases), Range()),
        input_tokens=sum((phase.input_tokens for phase in phases), Range()),
        output_tokens=sum((phase.output_tokens for phase in phases), Range()),
        cost_usd=_dollars(low, high),
        set_aside=_set_aside(high),
        phases=phases,
        models={each.role: each.model for each in models},
        unpriced=tuple(sorted({each.model for each in models if each.price is None})),
    )
    made = made.model_copy(update={"caps": tuple(_caps(made, budget, high))})
    return made.model_copy(update={"notes": tuple(_notes(made, budget))})


def _of_phase(phase: DeepResearchPhase, low: list[Requests], high: list[Requests]) -> PhaseEstimate:
    def both(figure: str) -> Range:
        return Range(
            low=sum(r.calls * getattr(r, figure) for r in low),
            high=sum(r.calls * getattr(r, figure) for r in high),
        )

    return PhaseEstimate(
        phase=phase,
        model_calls=Range(low=sum(r.calls for r in low), high=sum(r.calls for r in high)),
        input_tokens=both("input"),
        output_tokens=both("output"),
        cost_usd=_dollars(low, high),
    )


def _set_aside(high: Iterable[Requests]) -> Spent:
    each = [(r.calls, r.set_aside) for r in high]
    prices = [spent.cost_usd for _, spent in each]
    return Spent(
        model_calls=sum(calls for calls, _ in each),
        tokens=sum(calls * spent.tokens for calls, spent in each),
        cost_usd=None if None in prices else sum(calls * (spent.cost_usd or 0.0) for calls, spent in each),
    )


def _dollars(low: Iterable[Requests], high: Iterable[Requests]) -> Dollars | None:
    least, most = [r.cost_usd for r in low], [r.cost_usd for r in high]
    if None in least or None in most:
        return None
    return Dollars(low=sum(filter(None, least)), high=sum(filter(None, most)))


def _caps(made: Estimate, budget: Budget, high: Sequence[Requests]) -> Iterator[CapOutlook]:
    ends: dict[str, Range | Dollars | None] = {
        "max_usd": made.cost_usd,
        "max_tokens": made.tokens,
        "max_model_calls": made.model_calls,
        "max_searches": Range(low=1, high=made.searches.high),
        "max_fetches": made.fetches,
    }
    requests = {
        "max_usd": max((r.set_aside.cost_usd or 0.0 for r in high), default=0.0),
        "max_tokens": max((r.set_aside.tokens for r in high), default=0),
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
            yield f"{named} may be reached; the report is then written from what the run has."
    if budget.max_seconds is not None:
        yield f"How long it takes is not estimated; the cap max_seconds is {budget.max_seconds:g}."
    if made.models:
        yield (
            "Low end: one round, little found, short answers. High end: a second round where one is allowed, or a"
            " revision, and full answers. Further rounds, and what has to be asked again, come on top."
        )
        yield "This is an estimate. The caps of a run hold whatever it says" + (
            "." if _iscapped(budget) else ", and none is set: see max_usd, max_tokens and max_model_calls."
        )


def _iscapped(budget: Budget) -> bool:
    return any(cap is not None for cap in (budget.max_usd, budget.max_tokens, budget.max_model_calls))


def _figure(amount: float) -> str:
    """Tokens as they are, dollars to a cent."""
    return f"{amount:,}" if isinstance(amount, int) else f"{amount:,.2f}"


def text_output(words: int) -> int:
    """Tokens that a text of so many words may have as output, thoughts included."""
    return int(words * TOKENS_A_WORD) + THOUGHTS


def report_output(words: int, profile: Profile) -> int:
    """Tokens that a report written in one go may have as output."""
    return answer_cap(text_output(words), profile)


def report_cost(words: int, profile: Profile) -> Spent:
    """What one request for a report takes at most, a long one made shorter; dollars are None where the price is
    unknown."""
    output = report_output(min(words, AT_ONCE), profile)
    return Spent(
        model_calls=1,
        tokens=INPUT + output,
        cost_usd=profile.price.most(INPUT, output) if profile.price else None,
    )
