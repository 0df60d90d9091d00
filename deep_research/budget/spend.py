"""The money, tokens and requests of one run: what is spent, what is set aside for requests in flight, and the caps.

A request is set aside for at its most before it is sent. So a cap cannot be passed, whatever models answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from deep_research.errors import BudgetError, ConfigurationError
from deep_research.state import Budget, DeepResearchState, Reservation
from deep_research.state.spending import plus


@dataclass(slots=True)
class Ledger:
    """The books as figures. Pure but for itself."""

    budget: Budget
    calls: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    held: dict[str, Reservation] = field(default_factory=dict)

    @classmethod
    def of(cls, state: DeepResearchState) -> Ledger:
        """The books of a run as its log has them; what is still set aside there was lost, and stays charged."""
        usage = state.usage
        ledger = cls(
            state.options.budget,
            usage.model_calls,
            usage.input_tokens + usage.output_tokens,
            usage.cost_usd,
        )
        for lost in state.reservations:
            ledger.charge(lost.tokens.total, lost.cost_usd)
        return ledger

    def charge(self, tokens: int, cost_usd: float | None) -> None:
        self.calls += 1
        self.tokens += tokens
        self.cost_usd = plus(self.cost_usd, cost_usd)

    def refusal(self, wanted: Reservation) -> BudgetError | None:
        """Why a request may not be made beside what is set aside already; None when it may."""
        held = list(self.held.values())
        return (
            self._over("max_model_calls", self.budget.max_model_calls, self.calls, 1, [1 for _ in held])
            or self._over(
                "max_tokens",
                self.budget.max_tokens,
                self.tokens,
                wanted.tokens.total,
                [r.tokens.total for r in held],
            )
            or self._over_usd(wanted, held)
        )

    def _over_usd(self, wanted: Reservation, held: list[Reservation]) -> BudgetError | None:
        cap = self.budget.max_usd
        if cap is None:
            return None
        if self.cost_usd is None or wanted.cost_usd is None:
            raise unpriced(wanted.model)
        return self._over("max_usd", cap, self.cost_usd, wanted.cost_usd, [r.cost_usd or 0.0 for r in held])

    @staticmethod
    def _over(
        name: str, cap: float | None, used: float, wanted: float, held: Iterable[float]
    ) -> BudgetError | None:
        if cap is None or used + sum(held) + wanted <= cap:
            return None
        return BudgetError(
            f"The next request could pass the cap {name} of {cap:g}: {used:g} used, it may take {wanted:g}.",
            hint=f"Raise {name}, or choose a cheaper model.",
            cap=name,
            limit=cap,
            used=used,
            wanted=wanted,
        )


class Spend:
    """The books of a run that is under way, on its loop."""

    def __init__(self, state: DeepResearchState) -> None:
        self.ledger = Ledger.of(state)
        self._count = state.usage.model_calls + len(state.reservations)
        self._waiting: set[asyncio.Future[None]] = set()

    async def hold(self, wanted: Reservation) -> Reservation:
        """Sets aside, and gives it back with its id. What does not fit now waits for the requests in flight, which may
        take less than was set aside for them. Raises `BudgetError` when it does not fit even then."""
        while (refusal := self.ledger.refusal(wanted)) is not None:
            if not self.ledger.held:
                raise refusal
            await self._change()
        # What was refused gets no number: a resumed run counts on from the requests that its log has.
        self._count += 1
        held = wanted.model_copy(update={"call_id": f"call-{self._count:06}"})
        self.ledger.held[held.call_id] = held
        return held

    def settle(self, call_id: str, tokens: int, cost_usd: float | None) -> None:
        self.ledger.held.pop(call_id, None)
        self.ledger.charge(tokens, cost_usd)
        self._wake()

    def lose(self, call_id: str) -> None:
        """A request was given up and nobody knows what it took: it stays charged with all that was set aside."""
        request = self.ledger.held.pop(call_id, None)
        if request is not None:
            self.ledger.charge(request.tokens.total, request.cost_usd)
            self._wake()

    async def _change(self) -> None:
        change = asyncio.get_running_loop().create_future()
        self._waiting.add(change)
        try:
            await change
        finally:
            self._waiting.discard(change)

    def _wake(self) -> None:
        for change in self._waiting:
            if not change.done():
                change.set_result(None)


def unpriced(model: str) -> ConfigurationError:
    return ConfigurationError(
        f"max_usd cannot be kept: the price of '{model}' is not known.",
        hint="Give its price in a model file (setting model_file), or take max_usd away.",
        model=model,
    )
