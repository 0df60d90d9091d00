"""The money, tokens and requests of one run: what is spent, what is set aside for requests in flight, and the caps.

A request is set aside for at its most before it is sent. So a cap cannot be passed, whatever models answer.
"""

from __future__ import annotations

from collections.abc import Callable

from deep_research.budget.shared_budget import BudgetScope, Ticket, desk
from deep_research.budget.spend_ledger import Allowance, Ledger
from deep_research.errors import BudgetError
from deep_research.limits import LOOK_AGAIN_SECONDS
from deep_research.state import DeepResearchState, Reservation

Allowed = Callable[[], Allowance | None]


class Spend:
    """The books of a run that is under way, on its loop. ``purse`` has the budgets that it shares with others."""

    def __init__(self, state: DeepResearchState, purse: BudgetScope | None = None) -> None:
        self.ledger = Ledger.of(state)
        self.purse = purse or BudgetScope()
        self._count = state.usage.model_calls + len(state.reservations)
        self._waiting: set[Ticket] = set()  # for requests of this run

    async def hold(self, wanted: Reservation, allowed: Allowed = lambda: None) -> Reservation:
        """Sets aside, and gives it back with its id. What does not fit now waits for the requests in flight, which may
        take less than was set aside for them. ``allowed`` is the share of the phase. Raises `BudgetError` when it does
        not fit even then."""
        waiter: Ticket | None = None
        try:
            while True:
                allowance = allowed()
                with desk.lock:
                    waiter = waiter or Ticket()
                    if not self._waits(wanted, allowance, waiter):
                        return self._reserved(wanted)
                    place = waiter.wait()
                self._look_later(waiter)
                await place.called
        finally:
            if waiter is not None:
                with desk.lock:
                    self._waiting.discard(waiter)
                    waiter.leave()

    def refusal(self, wanted: Reservation, allowance: Allowance | None = None) -> BudgetError | None:
        """Why a request could not be made at this moment."""
        with desk.lock:
            return self.ledger.refusal(wanted, allowance) or self.purse.refusal(wanted)

    def settle(self, call_id: str, tokens: int, cost_usd: float | None, *, answered: bool = True) -> None:
        with desk.lock:
            self.ledger.settle(call_id, tokens, cost_usd, answered=answered)
            self.purse.settle(call_id, tokens, cost_usd)
            self._wake()

    def lose(self, call_id: str) -> None:
        """A request was given up and nobody knows what it took: it stays charged with all that was set aside."""
        with desk.lock:
            self.ledger.lose(call_id)
            self.purse.lose(call_id)
            self._wake()

    def _waits(self, wanted: Reservation, allowance: Allowance | None, waiter: Ticket) -> bool:
        """Whether a request has to wait: for this run, or in the line of a budget. Raises `BudgetError`."""
        self._waiting.discard(waiter)
        refusal = self.ledger.refusal(wanted, allowance)
        if refusal is None:
            return self.purse.waits(wanted, waiter)
        if not self.ledger.reservations:
            raise refusal
        waiter.join(None)  # who waits for his own run keeps no other one waiting
        self._waiting.add(waiter)
        return True

    def _reserved(self, wanted: Reservation) -> Reservation:
        # What was refused gets no number: a resumed run counts on from the requests that its log has.
        self._count += 1
        held = wanted.model_copy(update={"call_id": f"call-{self._count:06}"})
        self.ledger.hold(held.call_id, held)
        self.purse.hold(held)
        return held

    # Waiting

    def _wake(self) -> None:
        """Those who wait for this run: they are few, and it may be any of their shares that has room now."""
        for waiter in list(self._waiting):
            waiter.place.call()

    def _look_later(self, waiter: Ticket) -> None:
        if waiter.timer is not None:
            waiter.timer.cancel()
        waiter.timer = waiter.place.loop.call_later(LOOK_AGAIN_SECONDS, self._look, waiter)

    def _look(self, waiter: Ticket) -> None:
        """Now and then, as long as somebody waits, since nobody tells of a loop that is gone."""
        with desk.lock:
            self.purse.look()
            if waiter.line is None or waiter.line.is_first(waiter):
                waiter.place.call()
        self._look_later(waiter)
