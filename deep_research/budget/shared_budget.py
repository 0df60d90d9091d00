"""Budgets that many runs draw on: in this process, in memory, from any loop and thread.

A request is set aside for in all budgets of its run at once, or in none. What does not fit waits as long as something in
flight, of whatever run, may leave enough of it; a loop that is gone gives nothing back and keeps nobody waiting.

Who waits is served first come, first served. Only the first of a line may go on: it is called when something may fit it,
and when it leaves the line it calls the next. So a settled request wakes one and not all of them, and a large request
does not wait behind small ones that came later.
"""

from __future__ import annotations

import asyncio
import itertools
import threading
from bisect import insort
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Literal

from pydantic import ValidationError

from deep_research.budget.spend_ledger import Ledger
from deep_research.errors import BudgetError, ConfigurationError, SettingsError
from deep_research.forks import renew_in_children
from deep_research.limits import Place
from deep_research.state import Budget, Reservation, Spent

_numbers = itertools.count()
Counted = Literal["max_searches", "max_fetches"]


class Ticket:
    """One request that waits, in one line at a time: that of the budget that refused it last. It keeps its number, so
    that it comes to the front of whatever line it has to change to. Made and used while the lock of the budgets is
    held."""

    def __init__(self) -> None:
        self.number = next(_numbers)
        self.line: WaitQueue | None = None
        self.place = Place.here()
        self.timer: asyncio.TimerHandle | None = None  # until it looks for itself

    def wait(self) -> Place:
        """Where to wait until it is called again."""
        self.place = Place.here()
        return self.place

    def join(self, line: WaitQueue | None) -> None:
        """From now on in this line; None: in none."""
        if self.line is line:
            return
        left, self.line = self.line, line
        if line is not None:
            line.add(self)
        if left is not None:
            left.remove(self)

    def leave(self) -> None:
        """It waits no more."""
        self.join(None)
        if self.timer is not None:
            self.timer.cancel()


class WaitQueue:
    """Those who wait for one budget, by their numbers. The lock of the budgets is held; but the thread that has it may
    take it again while memory is cleaned, so each change is one step."""

    def __init__(self) -> None:
        self._waiters: list[tuple[int, Ticket]] = []

    def __len__(self) -> int:
        return len(self._waiters)

    def is_first(self, waiter: Ticket) -> bool:
        """Whether nobody came before it."""
        return not self._waiters or waiter.number <= self._waiters[0][0]

    def add(self, waiter: Ticket) -> None:
        insort(self._waiters, (waiter.number, waiter))

    def remove(self, waiter: Ticket) -> None:
        """It may have been the first: then it is the turn of the next."""
        self._drop(waiter)
        self.call()

    def call(self) -> None:
        """It is the turn of the first, unless its loop was closed: then of the next."""
        while self._waiters:
            first = self._waiters[0][1]
            if first.place.call():
                return
            self._drop(first)

    def look(self) -> None:
        """Those whose loop stands still do not keep others waiting. When it runs again they join anew."""
        gone = False
        while self._waiters:
            first = self._waiters[0][1]
            if first.place.loop.is_running():
                break
            self._drop(first)
            gone = True
        if gone:
            self.call()

    def _drop(self, waiter: Ticket) -> None:
        with suppress(ValueError):  # it is not there any more
            self._waiters.remove((waiter.number, waiter))
        if waiter.line is self:
            waiter.line = None


class _Desk:
    """One lock for all budgets, so that several of them are looked at in one moment. It may be taken again by the thread
    that has it: what is given up while memory is cleaned is given up in the middle of anything."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        renew_in_children(self)

    def renew(self) -> None:
        """In a child process the lock is free, even if a thread of the parent held it."""
        self.lock = threading.RLock()


desk = _Desk()


class SharedBudget:
    """Caps over all runs that use it. It is thread-safe, and works within one process.

    Args:
        within: A larger budget that must allow everything too.
        The other arguments are the caps of `Budget`.

    Raises `ConfigurationError` for an invalid cap.

    Example:
        team = SharedBudget(max_usd=5.0)
        engine = DeepResearch(model="anthropic:MODEL", shared_budget=team)
    """

    def __init__(
        self,
        *,
        max_usd: float | None = None,
        max_tokens: int | None = None,
        max_model_calls: int | None = None,
        max_searches: int | None = None,
        max_fetches: int | None = None,
        within: SharedBudget | None = None,
    ) -> None:
        try:
            self.budget = Budget(
                max_usd=max_usd,
                max_tokens=max_tokens,
                max_model_calls=max_model_calls,
                max_searches=max_searches,
                max_fetches=max_fetches,
            )
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise ConfigurationError(f"{first['loc'][0]} of a shared budget: {first['msg']}.") from None
        if within is not None and not isinstance(within, SharedBudget):
            raise ConfigurationError("within must be a SharedBudget.")
        self._within = within
        self._ledger = Ledger(self.budget, shared=True)
        self._counts: dict[Counted, int] = {"max_searches": 0, "max_fetches": 0}
        self._loops: dict[Hashable, asyncio.AbstractEventLoop] = {}  # of what is in flight
        self._requests: Counter[asyncio.AbstractEventLoop] = Counter()  # in flight, by loop
        self._line = WaitQueue()
        renew_in_children(self)

    def __repr__(self) -> str:
        caps = {name: cap for name, cap in self.budget if cap is not None}
        return f"SharedBudget({', '.join(f'{name}={cap:g}' for name, cap in caps.items())})"

    @property
    def spent(self) -> Spent:
        """What all runs took so far, without what is set aside for requests in flight."""
        with desk.lock:
            return Spent(
                model_calls=self._ledger.calls,
                tokens=self._ledger.tokens,
                cost_usd=self._ledger.cost_usd,
                searches=self._counts["max_searches"],
                fetches=self._counts["max_fetches"],
            )

    @property
    def left(self) -> Budget:
        """What there is left of each cap, beside what is spent and set aside; None: no cap. Of dollars that cannot be
        counted nothing is left."""
        with desk.lock:
            left: dict[str, float] = {}
            for name, cap in self.budget.on_models.items():
                used = self._ledger.usage[name]
                left[name] = 0 if used is None else max(0, cap - used)
            for counted, taken in self._counts.items():
                cap = getattr(self.budget, counted)
                if cap is not None:
                    left[counted] = max(0, cap - taken)
            return Budget.model_validate(left)

    def line(self) -> Iterator[SharedBudget]:
        """Itself, and the budgets that it is within."""
        budget: SharedBudget | None = self
        while budget is not None:
            yield budget
            budget = budget._within

    def renew(self) -> None:
        """In a child process nobody waits, and what the parent has in flight stays charged."""
        self._line = WaitQueue()
        for key in list(self._loops):
            self._lose(key)

    # For a purse, which holds the lock

    def _waits(self, wanted: Reservation, waiter: Ticket) -> bool:
        """Whether a request has to wait in this line. Raises `BudgetError` for what would not fit then either."""
        refusal = self._ledger.refusal(wanted)
        if refusal is not None and not (self._loops and self._ledger.ever_fits(wanted)):
            raise refusal
        if refusal is None and self._line.is_first(waiter):
            return False
        waiter.join(self._line)
        return True

    def _hold(self, key: Hashable, held: Reservation) -> None:
        loop = asyncio.get_running_loop()
        self._ledger.hold(key, held)
        self._loops[key] = loop
        self._requests[loop] += 1

    def _settle(self, key: Hashable, tokens: int, cost_usd: float | None) -> None:
        self._end(key)
        self._ledger.settle(key, tokens, cost_usd)
        self._line.call()

    def _lose(self, key: Hashable) -> None:
        self._end(key)
        self._ledger.lose(key)
        self._line.call()

    def _end(self, key: Hashable) -> None:
        loop = self._loops.pop(key, None)
        if loop is not None:
            self._requests[loop] -= 1
            if not self._requests[loop]:
                del self._requests[loop]

    def _look(self) -> None:
        """For loops that are gone, which nobody tells of."""
        gone = [loop for loop in list(self._requests) if not loop.is_running()]
        for key in [key for key, loop in list(self._loops.items()) if loop in gone] if gone else ():
            self._lose(key)
        self._line.look()

    def _full(self, name: Counted) -> BudgetError | None:
        cap, taken = getattr(self.budget, name), self._counts[name]
        if cap is None or taken < cap:
            return None
        what = name.removeprefix("max_")
        return BudgetError(
            f"The shared cap of {cap} {what} is reached.",
            hint=f"Raise {name} of the shared budget.",
            cap=name,
            limit=cap,
            used=taken,
            wanted=1,
            shared=True,
        )


def as_shared(budget: SharedBudget | None) -> tuple[SharedBudget, ...]:
    """None or one, in a tuple. Raises `SettingsError` for anything else."""
    if budget is not None and not isinstance(budget, SharedBudget):
        raise SettingsError(f"shared_budget must be a SharedBudget, got {type(budget).__name__}.")
    return () if budget is None else (budget,)


class BudgetScope:
    """All shared budgets of one run; without any it allows everything."""

    def __init__(self, budgets: Iterable[SharedBudget] = ()) -> None:
        self._budgets = tuple(dict.fromkeys(each for budget in budgets for each in budget.line()))

    @property
    def in_dollars(self) -> bool:
        """Whether there is a cap on dollars, so that prices have to be known."""
        return any(budget.budget.max_usd is not None for budget in self._budgets)

    def requests(self, each: Mapping[str, float | None]) -> list[int]:
        """How many requests that take so much each cap has room for at this moment. Others may be quicker."""
        return [
            int(left / most)
            for budget in self._budgets
            for name, left in budget.left.on_models.items()
            if (most := each[name])
        ]

    # Requests to models; the lock is held

    def refusal(self, wanted: Reservation) -> BudgetError | None:
        """Why a request does not fit, apart from requests that wait."""
        refusals = (budget._ledger.refusal(wanted) for budget in self._budgets)
        return next((refusal for refusal in refusals if refusal is not None), None)

    def waits(self, wanted: Reservation, waiter: Ticket) -> bool:
        """Whether a request has to wait, which is in the line of the first budget that has no room for it then. Raises
        `BudgetError` where no waiting would help."""
        return any(budget._waits(wanted, waiter) for budget in self._budgets)

    def look(self) -> None:
        """What is done now and then, for as long as somebody waits."""
        for budget in self._budgets:
            budget._look()

    def hold(self, held: Reservation) -> None:
        for budget in self._budgets:
            budget._hold((self, held.call_id), held)

    def settle(self, call_id: str, tokens: int, cost_usd: float | None) -> None:
        for budget in self._budgets:
            budget._settle((self, call_id), tokens, cost_usd)

    def lose(self, call_id: str) -> None:
        for budget in self._budgets:
            budget._lose((self, call_id))

    # Searches and fetches

    def take(self, name: Counted) -> BudgetError | None:
        """Takes one of all budgets; where one of them has none left, nothing of any, and the reason is given."""
        with desk.lock:
            for budget in self._budgets:
                full = budget._full(name)
                if full is not None:
                    return full
            self.charge(name, 1)
        return None

    def charge(self, name: Counted, many: int) -> None:
        """What was done without asking; below 0: what was taken and not done."""
        with desk.lock:
            for budget in self._budgets:
                budget._counts[name] += many
