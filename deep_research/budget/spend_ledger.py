"""The books of requests to models as figures, the caps over them, and the split of a cap over iterations and phases.

What is left of a cap when an iteration begins, less what the report needs, is divided by the iterations left; of that
part each phase has a ceiling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from deep_research.errors import BudgetError, ConfigurationError, WorkError
from deep_research.state import Budget, DeepResearchPhase, DeepResearchState, Limit, Reservation, Spent
from deep_research.state.records import SHARED
from deep_research.state.spending import BESIDE_AGENTS, ON_MODELS, by_cap, plus

# Of an iteration's part, what may be spent by the end of a phase. Who searches with a model spends of the analysis.
_BY_THEN: Mapping[DeepResearchPhase, float] = {
    DeepResearchPhase.PLANNING: 0.10,
    DeepResearchPhase.GATHERING: 0.50,
    DeepResearchPhase.ANALYSIS: 0.50,
    DeepResearchPhase.SYNTHESIS: 0.85,
    DeepResearchPhase.REFINEMENT: 1.0,
}
_WITH_THE_REPORT = (DeepResearchPhase.SYNTHESIS, DeepResearchPhase.REFINEMENT)


@dataclass(slots=True)
class Ledger:
    """What is spent, and what is ``reservations``: set aside for requests in flight, by `hold`. ``answers`` counts the
    requests of the agent of each phase that were answered, probes aside; ``shared`` says that the caps are those of
    many runs. Pure but for itself."""

    budget: Budget
    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    reservations: dict[Hashable, Reservation] = field(default_factory=dict)
    answers: Counter[DeepResearchPhase] = field(default_factory=Counter)
    shared: bool = False
    _aside: dict[str, float] = field(default_factory=lambda: dict.fromkeys(ON_MODELS, 0))
    _at_work: Counter[DeepResearchPhase] = field(default_factory=Counter)

    @classmethod
    def of(cls, state: DeepResearchState) -> Ledger:
        """The books of a run as its log has them; what is still set aside there was lost, and stays charged."""
        spent = Spent.of(state.usage, state.reservations)
        answers = Counter({phase: state.usage.answers(phase) for phase in DeepResearchPhase})
        return cls(state.options.budget, spent.model_calls, spent.tokens, spent.cost_usd, answers=answers)

    def charge(self, tokens: int, cost_usd: float | None) -> None:
        self.calls += 1
        self.tokens += tokens
        self.cost_usd = plus(self.cost_usd, cost_usd)

    def hold(self, key: Hashable, request: Reservation) -> None:
        """Sets aside. What is set aside is kept as sums: many requests may be in flight, and each new one asks."""
        self.reservations[key] = request
        self._at_work[request.phase] += _is_agents(request)
        self._put_aside(request, 1)

    def settle(self, key: Hashable, tokens: int, cost_usd: float | None, *, answered: bool = True) -> None:
        """What was set aside under ``key`` has taken this much. Nothing where it was given up before."""
        request = self._release(key)
        if request is not None:
            self.answers[request.phase] += answered and not request.probe and _is_agents(request)
            self.charge(tokens, cost_usd)

    def lose(self, key: Hashable) -> None:
        """Nobody knows what came of it: it stays charged with all that was set aside."""
        request = self._release(key)
        if request is not None:
            self.charge(request.tokens.total, request.cost_usd)

    def refusal(self, wanted: Reservation, allowance: Allowance | None = None) -> BudgetError | None:
        """Why a request may not be made beside what is set aside already; None when it may. The caps are looked at before
        the shares. Raises `ConfigurationError` for a cap on dollars and a price that is unknown."""
        lines = list(self._lines(wanted))
        for line in lines:
            if not line.fits(line.cap):
                return self._over_cap(line)
        if allowance is not None:
            first = self._is_first(allowance)
            for line in lines:
                share = allowance.shares.get(line.name)
                if share is None:
                    continue
                ceiling = share.first if first else share.ceiling
                if not line.fits(ceiling):
                    return _over_share(line, allowance.phase, ceiling)
        return None

    @property
    def usage(self) -> dict[str, float | None]:
        """What is spent and set aside, by the name of the cap on it."""
        return {
            name: None if used is None else used + self._aside[name] for name, used in self._spent.items()
        }

    def ever_fits(self, wanted: Reservation) -> bool:
        """Whether it would fit the caps if all that is in flight took nothing."""
        return all(line.usage + line.request <= line.cap for line in self._lines(wanted))

    def _is_first(self, allowance: Allowance) -> bool:
        return not self._at_work[allowance.phase] and self.answers[allowance.phase] == allowance.answers

    def _release(self, key: Hashable) -> Reservation | None:
        """Removes and returns the reservation under ``key``; None if there is none."""
        request = self.reservations.pop(key, None)
        if request is not None:
            self._at_work[request.phase] -= _is_agents(request)
            self._put_aside(request, -1)
        return request

    def _put_aside(self, request: Reservation, sign: int) -> None:
        for name, amount in request.by_cap.items():
            self._aside[name] += sign * (amount or 0)  # without a price there can be no cap on dollars
        if not self.reservations:  # sums of dollars that come and go would drift
            self._aside = dict.fromkeys(ON_MODELS, 0)

    def _lines(self, wanted: Reservation) -> Iterator[_Line]:
        spent, asked = self._spent, wanted.by_cap
        for name, cap in self.budget.on_models.items():
            used, more = spent[name], asked[name]
            if used is None or more is None:
                raise unpriced(wanted.model)
            yield _Line(name, cap, used, more, self._aside[name])

    @property
    def _spent(self) -> dict[str, float | None]:
        return by_cap(self.calls, self.tokens, self.cost_usd)

    def _over_cap(self, line: _Line) -> BudgetError:
        of_many = "shared " if self.shared else ""
        return BudgetError(
            f"The next request could exceed the {of_many}cap {line.name} of {line.cap:g}: {line.usage:g} used,"
            f" it may take {line.request:g}.",
            hint=f"Raise {line.name}{' of the shared budget' if self.shared else ''}, or choose a cheaper model.",
            cap=line.name,
            limit=line.cap,
            used=line.usage,
            wanted=line.request,
            shared=self.shared,
        )


@dataclass(frozen=True, slots=True)
class _Line:
    """One cap beside what is used, wanted, and set aside for others."""

    name: str
    cap: float
    usage: float
    request: float
    reserved: float

    def fits(self, ceiling: float) -> bool:
        return self.usage + self.reserved + self.request <= ceiling


def _is_agents(request: Reservation) -> bool:
    """Whether it is the agent of the phase who asks."""
    return request.role not in BESIDE_AGENTS


def _over_share(line: _Line, phase: DeepResearchPhase, ceiling: float) -> BudgetError:
    return BudgetError(
        f"The next request could exceed the share of {line.name} for the {phase.value}: {line.usage:g} of"
        f" {ceiling:.10g} used, it may take {line.request:g}.",
        hint=f"Raise {line.name}, or choose a cheaper model.",
        cap=line.name,
        share=phase.value,
        limit=ceiling,
        used=line.usage,
        wanted=line.request,
    )


def unpriced(model: str) -> ConfigurationError:
    return ConfigurationError(
        f"max_usd needs the price of '{model}', which is unknown.",
        hint="Add the price to a model file (setting model_file), or remove max_usd.",
        model=model,
    )


def limit_of(error: WorkError) -> Limit | None:
    """The cap that was reached, if it was one."""
    if not isinstance(error, BudgetError) or "share" in error.data:
        return None
    name = str(error.data.get("cap", "budget"))
    cap, used = error.data.get("limit"), error.data.get("used")
    of = f" of {cap:,.10g}" if isinstance(cap, int | float) else ""
    shared = bool(error.data.get("shared"))
    which = "shared cap" if shared else "cap"
    return Limit(
        name=SHARED + name if shared else name,
        message=f"The {which} {name}{of} was reached; the rest was done without a model.",
        cap=cap,
        usage=used,
    )


def share_of(error: WorkError) -> Limit | None:
    """The share of a cap that a phase used up, if it was that, named by both: the cap is not reached, and the run goes
    on."""
    if not isinstance(error, BudgetError) or "share" not in error.data:
        return None
    cap, phase = error.data.get("cap"), error.data["share"]
    return Limit(
        name=f"{cap}:{phase}",
        message=f"The {phase} used its share of {cap}; the rest of it was done without a model.",
        cap=error.data.get("limit"),
        usage=error.data.get("used"),
    )


@dataclass(frozen=True, slots=True)
class Share:
    """Of one cap, for the requests of one phase: what the run may have spent and set aside with the next one, in the unit
    of the cap. ``first`` is that for the first request of the phase: a share that is less than one request would leave
    the phase without any."""

    ceiling: float
    first: float

    def requests(self, spent: float, each: float) -> int | None:
        """How many requests that take at most ``each`` there is room for after ``spent``; None: any number."""
        if each <= 0:
            return None
        return max(int(max(0.0, self.ceiling - spent) / each), int(spent + each <= self.first))

    def half(self, spent: float) -> Share:
        """For who may have half of what there is after ``spent``, and is never the first."""
        ceiling = spent + (self.ceiling - spent) / 2
        return Share(ceiling=ceiling, first=ceiling)


def share(
    phase: DeepResearchPhase,
    *,
    cap: float,
    began: float,
    report: float,
    iterations: int,
    again: bool = False,
) -> Share:
    """``began`` is what was spent when the iteration began, ``report`` what one report can take at most, ``iterations``
    how many are left, this one included. ``again``: it is not the first."""
    kept = reserve(cap - began, report, again=again)
    part = max(0.0, cap - began - kept) / iterations
    may_report = phase in _WITH_THE_REPORT
    by_then = 1.0 if may_report and iterations == 1 else _BY_THEN[phase]
    ceiling = began + by_then * part + (kept if may_report else 0.0)
    first = cap if may_report else cap - kept
    return Share(ceiling=min(ceiling, first), first=first)


def reserve(left: float, report: float, *, again: bool = False) -> float:
    """What of ``left`` is kept for the report until it is written: never more than half, without which there is nothing
    to write of, unless something was read before and is to be read ``again``."""
    if again:
        return max(0, min(report, left))
    half = left // 2 if isinstance(left, int) else left / 2  # there is no half of a request
    return max(0, min(report, half))


@dataclass(frozen=True, slots=True)
class Allowance:
    """The shares of a phase by the name of the cap. ``answers`` is how many requests of the phase had been answered when
    this pass of it began; None: it is not the phase that is at work, and no request is its first."""

    phase: DeepResearchPhase
    shares: Mapping[str, Share]
    answers: int | None = None

    @classmethod
    def of(cls, state: DeepResearchState, phase: DeepResearchPhase, report: Spent) -> Allowance:
        """As the log has it, so that a resumed run has the same. A cap whose books are unknown has no share. Where a
        report is written and no gap is open, there is no further iteration to leave anything for."""
        began, needed = state.iteration_spent.by_cap, report.by_cap
        is_last = phase is DeepResearchPhase.SYNTHESIS and not state.should_continue()
        iterations = 1 if is_last else max(1, state.max_iterations - state.iteration + 1)
        shares = {}
        for name, cap in state.options.budget.on_models.items():
            spent, kept = began[name], needed[name]
            if spent is not None and kept is not None:
                shares[name] = share(
                    phase,
                    cap=cap,
                    began=spent,
                    report=kept,
                    iterations=iterations,
                    again=state.iteration > 1,
                )
        return cls(phase, shares, state.phase_answers if phase is state.phase else None)

    def beside_agent(self, state: DeepResearchState) -> Allowance:
        """For who shortens what the agent of the phase is to read: at most half of what each share had when this pass
        of the phase began, so that the other half is there for the reading. A request of it is never the first."""
        spent = state.phase_spent.by_cap
        halves = {name: share.half(spent[name] or 0) for name, share in self.shares.items()}
        return replace(self, shares=halves, answers=None)
