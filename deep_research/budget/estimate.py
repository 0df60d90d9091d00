"""What a run may take, told before anything is spent. Pure.

At the low end stand one iteration, one source and short answers. At the high end all iterations are made, as much is
read as may be, every answer is as long as it may be, and everything is asked twice. Neither is a bound: an outage can
take more, and a run that finds nothing takes less. What holds are the caps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import ceil

from pydantic import Field

from deep_research.models.base import TokenUsage
from deep_research.models.profiles import Price
from deep_research.state import Budget, DeepResearchPhase, ModelRole, Record

AGAIN = 2  # times that a thing is asked for, at the high end
LEAST_PROMPT, MOST_AROUND = (
    250,
    4_000,
)  # tokens of a prompt beside what it is about: instructions, form, context
LEAST_SOURCE, LEAST_ANSWER, LEAST_REPORT = 50, 30, 60  # tokens
AROUND_SOURCE = 100  # tokens
BESIDE = 8  # what is known already takes no more than this part of a prompt, when sources are read or gaps are judged
MOST_SHOWN = 3_000  # tokens of what a phase came to, that the supervisor is shown
FILLED = 0.75  # of a batch of sources, as a rule: the next one has to fit whole
PARTS = 4  # of a long text, as a rule, when a model chooses what is kept of it; then it chooses once more
SPARE = 2  # times as many pages are looked at as are wanted


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of request that a role's model is sent: ``room`` are the tokens that may be sent, ``output`` those that may
    come back."""

    role: ModelRole
    model: str
    room: int
    output: int
    price: Price | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kinds:
    """The kinds of requests there are; None for what is done without a model, or not at all. A report is written at
    once, or planned, in ``sections`` and framed; ``advise`` is the supervisor's model, ``advise_always`` whether it is
    asked after each phase and not only after one that failed; ``shorten`` chooses what is kept of a long text."""

    plan: Kind | None = None
    read: Kind | None = None
    merge: Kind | None = None
    write: Kind | None = None
    outline: Kind | None = None
    section: Kind | None = None
    frame: Kind | None = None
    judge: Kind | None = None
    advise: Kind | None = None
    advise_always: bool = False
    shorten: Kind | None = None
    sections: int = 0

    def every(self) -> Iterator[Kind]:
        for name in self.__dataclass_fields__:
            if isinstance(kind := getattr(self, name), Kind):
                yield kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    """How large a run may become. ``prompt`` are the tokens of the question and of what its owner adds; ``reading`` those
    of sources that are read in an iteration, and ``batch`` in one request; ``text`` those of the longest text that is
    kept, and ``part`` those of it from which is chosen at a time. ``searched_again`` is how often a search may be made in
    other words; ``pages`` whether pages of the web are read."""

    iterations: int
    sub_queries: int
    sources: int  # of a sub-query
    searched_again: int = 0
    pages: bool = False
    prompt: int = 0
    reading: int
    batch: int
    part: int = 16_000
    text: int
    budget: Budget = field(default_factory=Budget)


@dataclass(frozen=True, slots=True)
class _Asked:
    """So many requests of a kind in a phase, each of so many tokens."""

    phase: DeepResearchPhase
    kind: Kind
    calls: int
    input: int
    output: int

    @property
    def least_usd(self) -> float | None:
        usage = TokenUsage(input=self.input, output=self.output)
        return self.calls * self.kind.price.of(usage) if self.kind.price else None

    @property
    def request_usd(self) -> float | None:
        """What one of them can cost at most."""
        return self.kind.price.most(self.input, self.output) if self.kind.price else None

    @property
    def most_usd(self) -> float | None:
        return None if self.request_usd is None else self.calls * self.request_usd


def estimate(scale: Scale, kinds: Kinds) -> Estimate:
    rounds = _rounds(scale)
    high = list(_most(kinds, scale, rounds))
    at_work = {asked.phase for asked in high}
    low = [asked for asked in _least(kinds, scale) if asked.phase in at_work]
    phases = tuple(
        _of_phase(phase, [a for a in low if a.phase is phase], [a for a in high if a.phase is phase])
        for phase in DeepResearchPhase
        if phase in at_work
    )
    queries = sum(rounds)
    made = Estimate(
        iterations=Range(low=1, high=scale.iterations),
        searches=_made(1, _capped(_searches(rounds, scale), scale.budget.max_searches)),
        fetches=Range(
            high=_capped(queries * scale.sources * SPARE, scale.budget.max_fetches) if scale.pages else 0
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


def _rounds(scale: Scale) -> list[int]:
    """The sub-queries of each iteration, at most. One whose searches the cap forbids may be made all the same."""
    left = _capped(scale.iterations * scale.sub_queries, scale.budget.max_searches)
    rounds: list[int] = []
    for _ in range(scale.iterations):
        rounds.append(min(left, scale.sub_queries))
        left -= rounds[-1]
    return rounds


def _searches(rounds: list[int], scale: Scale) -> int:
    """Other words are looked for in the first iteration alone."""
    return AGAIN * (sum(rounds) + scale.searched_again * sum(rounds[:1]))


def _least(kinds: Kinds, scale: Scale) -> Iterator[_Asked]:
    prompt = LEAST_PROMPT + scale.prompt // 2  # what is counted with three bytes to a token may have six
    for phase, kind, more, output in (
        (DeepResearchPhase.PLANNING, kinds.plan, 0, LEAST_ANSWER),
        (DeepResearchPhase.ANALYSIS, kinds.read, LEAST_SOURCE, LEAST_ANSWER),
        (DeepResearchPhase.SYNTHESIS, kinds.write or kinds.section, 0, LEAST_REPORT),
        (DeepResearchPhase.SYNTHESIS, kinds.advise if kinds.advise_always else None, 0, LEAST_ANSWER),
    ):
        if kind is not None:
            yield _Asked(phase, kind, 1, min(prompt + more, kind.room), min(output, kind.output))


def _most(kinds: Kinds, scale: Scale, rounds: list[int]) -> Iterator[_Asked]:
    around = MOST_AROUND + scale.prompt
    yield from _most_of(DeepResearchPhase.PLANNING, kinds.plan, 1, around)
    yield from _advice(DeepResearchPhase.PLANNING, kinds, around)
    known = 0  # tokens of all that was found so far: no more than the models were allowed to write
    for number, queries in enumerate(rounds, 1):
        yield from _advice(DeepResearchPhase.GATHERING, kinds, around)
        sources = queries * scale.sources
        if kinds.read is not None and sources:
            calls, each = _readings(sources, scale)
            beside = min(known, kinds.read.room // BESIDE)
            yield from _most_of(DeepResearchPhase.ANALYSIS, kinds.read, calls, around + beside + each)
            known += calls * kinds.read.output
            if calls > 1 or number > 1:
                yield from _most_of(DeepResearchPhase.ANALYSIS, kinds.merge, 1, around + known)
            choices = sources * (1 + min(PARTS, ceil(scale.text / max(1, scale.part))))
            yield from _most_of(DeepResearchPhase.ANALYSIS, kinds.shorten, choices, around + scale.part)
        yield from _advice(DeepResearchPhase.ANALYSIS, kinds, around)
        yield from _report(kinds, around + known)
        yield from _advice(DeepResearchPhase.SYNTHESIS, kinds, around)
        if number < scale.iterations:
            gaps = min(known, kinds.judge.room // BESIDE) if kinds.judge else 0
            judged = around + _written(kinds) + gaps
            yield from _most_of(DeepResearchPhase.REFINEMENT, kinds.judge, 1, judged)
            yield from _advice(DeepResearchPhase.REFINEMENT, kinds, around)
    if scale.iterations > 1 and kinds.judge is not None:  # what was said of the report makes a better one
        yield from _report(kinds, around + known)


def _readings(sources: int, scale: Scale) -> tuple[int, int]:
    """How many requests read the sources of an iteration, and how much of them is in each."""
    material = min(scale.reading, sources * scale.text) + sources * AROUND_SOURCE
    calls = min(sources, ceil(material / max(1.0, FILLED * scale.batch)))
    return calls, ceil(material / calls)


def _report(kinds: Kinds, prompt: int) -> Iterator[_Asked]:
    phase = DeepResearchPhase.SYNTHESIS
    yield from _most_of(phase, kinds.write, 1, prompt)
    if kinds.section is not None:
        # Each finding belongs to one section.
        each = MOST_AROUND + ceil(prompt / max(1, kinds.sections))
        yield from _most_of(phase, kinds.outline, 1, prompt)
        yield from _most_of(phase, kinds.section, kinds.sections, each)
        yield from _most_of(phase, kinds.frame, 1, prompt + _written(kinds))


def _written(kinds: Kinds) -> int:
    """Tokens of a report."""
    if kinds.section is not None:
        return kinds.sections * kinds.section.output
    return kinds.write.output if kinds.write else 0


def _advice(phase: DeepResearchPhase, kinds: Kinds, around: int) -> Iterator[_Asked]:
    """A phase fails once, so there is one to advise on, or two."""
    if kinds.advise is not None:
        prompt = min(around + MOST_SHOWN, kinds.advise.room)
        yield _Asked(phase, kinds.advise, 1 + kinds.advise_always, prompt, kinds.advise.output)


def _most_of(phase: DeepResearchPhase, kind: Kind | None, calls: int, prompt: int) -> Iterator[_Asked]:
    if kind is not None:
        yield _Asked(phase, kind, AGAIN * calls, min(prompt, kind.room), kind.output)


def _of_phase(phase: DeepResearchPhase, low: list[_Asked], high: list[_Asked]) -> PhaseEstimate:
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


def _dollars(low: Iterable[_Asked], high: Iterable[_Asked]) -> Dollars | None:
    least, most = [asked.least_usd for asked in low], [asked.most_usd for asked in high]
    if None in least or None in most:
        return None
    return Dollars(low=sum(filter(None, least)), high=sum(filter(None, most)))


def _sum(ranges: Iterable[Range]) -> Range:
    return sum(ranges, Range())


def _made(low: int, high: int) -> Range:
    return Range(low=min(low, high), high=high)


def _capped(number: int, cap: int | None) -> int:
    return number if cap is None else min(number, cap)


def _caps(made: Estimate, budget: Budget, high: Sequence[_Asked]) -> Iterator[CapOutlook]:
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
            "." if _is_capped(budget) else ", and none is set: see max_usd, max_tokens and max_model_calls."
        )


def _is_capped(budget: Budget) -> bool:
    return any(cap is not None for cap in (budget.max_usd, budget.max_tokens, budget.max_model_calls))


def _figure(amount: float) -> str:
    """Tokens as they are, dollars to a cent."""
    return f"{amount:,}" if isinstance(amount, int) else f"{amount:,.2f}"
