"""The books of requests to models as figures, and the caps over them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from deep_research.budget.phase_allocation import Allowance
from deep_research.errors import BudgetError, ConfigurationError, WorkError
from deep_research.state import Budget, DeepResearchPhase, DeepResearchState, Limit, Reservation, Spent
from deep_research.state.records import SHARED
from deep_research.state.spending import BESIDE_AGENTS, ON_MODELS, by_cap, plus


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
