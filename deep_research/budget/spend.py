"""The money, tokens and requests of one run: what is spent, what is set aside for requests in flight, and the caps.

A request is set aside for at its most before it is sent. So a cap cannot be passed, whatever models answer.
"""

from __future__ import annotations

from collections.abc import Callable

from deep_research.budget.ledger import Ledger
from deep_research.budget.shares import Allowance
from deep_research.budget.sharing import Purse, desk
from deep_research.errors import BudgetError
from deep_research.limits import LOOK_AGAIN, Place
from deep_research.state import DeepResearchState, Reservation

Allowed = Callable[[], Allowance | None]


class Spend:
    """The books of a run that is under way, on its loop. ``purse`` has the budgets that it shares with others."""

    def __init__(self, state: DeepResearchState, purse: Purse | None = None) -> None:
        self.ledger = Ledger.of(state)
        self.purse = purse or Purse()
        self._count = state.usage.model_calls + len(state.reservations)
        self._waiting: set[Place] = set()

    async def hold(self, wanted: Reservation, allowed: Allowed = lambda: None) -> Reservation:
        """Sets aside, and gives it back with its id. What does not fit now waits for the requests in flight, which may
        take less than was set aside for them. ``allowed`` is the share of the phase. Raises `BudgetError` when it does
        not fit even then."""
        while True:
            allowance = allowed()
            with desk.lock:
                refusal, waits = self._refusal(wanted, allowance)
                if refusal is None:
                    return self._held(wanted)
                if not waits:
                    raise refusal
                place = self._wait()
            await self._change(place)

    def refusal(self, wanted: Reservation, allowance: Allowance | None = None) -> BudgetError | None:
        """Why a request could not be made at this moment."""
        with desk.lock:
            return self._refusal(wanted, allowance)[0]

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

    def _refusal(self, wanted: Reservation, allowance: Allowance | None) -> tuple[BudgetError | None, bool]:
        refusal = self.ledger.refusal(wanted, allowance)
        return self.purse.refusal(wanted) if refusal is None else (refusal, bool(self.ledger.held))

    def _held(self, wanted: Reservation) -> Reservation:
        # What was refused gets no number: a resumed run counts on from the requests that its log has.
        self._count += 1
        held = wanted.model_copy(update={"call_id": f"call-{self._count:06}"})
        self.ledger.held[held.call_id] = held
        self.purse.hold(held)
        return held

    # Waiting

    def _wait(self) -> Place:
        place = Place.here()
        for waiting in (self._waiting, *self.purse.waiting):
            waiting.add(place)
        return place

    async def _change(self, place: Place) -> None:
        timer = place.loop.call_later(LOOK_AGAIN, place.call)  # nobody tells of a loop that is gone
        try:
            await place.called
        finally:
            timer.cancel()
            with desk.lock:
                for waiting in (self._waiting, *self.purse.waiting):
                    waiting.discard(place)

    def _wake(self) -> None:
        for waiting in (self._waiting, *self.purse.waiting):
            for place in list(waiting):
                if not place.call():
                    waiting.discard(place)
