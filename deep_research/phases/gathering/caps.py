"""The searches and pages that a run, and each of its searches, may still ask for, and what is told of those that it may
not, or could not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from deep_research.budget.shared_budget import BudgetScope
from deep_research.errors import BudgetError
from deep_research.phases.agent_contract import Allowance
from deep_research.phases.gathering.handoff import Unread
from deep_research.state import DeepResearchState, Limit, Notice, SubQuery
from deep_research.state.events import LimitReached, NoticeAdded, notice_event
from deep_research.state.records import FETCHES, PAGES, SHARED

OVER_CAP = "max_fetches leaves no more pages to this search"
OVER_SHARED_CAP = "a budget that is shared with other runs leaves no more pages"

Tell = Callable[[int, int, str], None]
# A gatherer is told of its handoff alone; who listens to its progress stands around the call.
_LISTENER: ContextVar[Tell] = ContextVar("page_listener", default=lambda _read, _wanted, _address: None)


@contextmanager
def pages_told(tell: Tell) -> Iterator[None]:
    """Within it ``tell`` is called, for each search, with how many pages were read of how many that are wanted, and with
    the address of one whose reading begins, else an empty text."""
    token = _LISTENER.set(tell)
    try:
        yield
    finally:
        _LISTENER.reset(token)


@dataclass(slots=True)
class Fetching:
    """``left`` is the search's part of the run's own cap, None: it has none. ``attempts`` counts the pages asked for,
    ``read`` those of ``requests`` that were read, or could not be."""

    left: int | None = None
    purse: Allowance = field(default_factory=BudgetScope)
    attempts: int = 0
    requests: int = 0
    read: int = 0

    @property
    def rest(self) -> int | None:
        """How many pages may still be asked for; None: as many as it takes."""
        return None if self.left is None else max(0, self.left - self.attempts)

    def want(self, pages: int) -> None:
        """So many pages more are waited for."""
        self.requests += pages
        self._tell()

    def begin(self, address: str) -> None:
        """The reading of a page begins."""
        self._tell(address)

    def is_done(self) -> None:
        """One of them is waited for no more."""
        self.read += 1
        self._tell()

    def _tell(self, address: str = "") -> None:
        _LISTENER.get()(self.read, self.requests, address)

    def refusal(self) -> str | None:
        """Why no further page may be asked for; None takes it."""
        if self.left is not None and self.attempts >= self.left:
            return OVER_CAP
        if self.purse.take("max_fetches") is not None:
            return OVER_SHARED_CAP
        self.attempts += 1
        return None

    def give_back(self) -> None:
        """A page that was taken did not have to be asked for."""
        self.attempts -= 1
        self.purse.charge("max_fetches", -1)


@dataclass(slots=True)
class OneUse(Fetching):
    """The pages of one use out of what several share side by side, which ``of_all`` counts."""

    of_all: Fetching = field(default_factory=Fetching)

    @classmethod
    def of(cls, shared: Fetching) -> OneUse:
        return cls(of_all=shared)

    def refusal(self) -> str | None:
        why = self.of_all.refusal()
        self.attempts += why is None
        return why

    def give_back(self) -> None:
        self.attempts -= 1
        self.of_all.give_back()


def affordable(state: DeepResearchState, wanted: int) -> int:
    """How many of the wanted searches the cap on them leaves room for."""
    cap = state.options.budget.max_searches
    return wanted if cap is None else max(0, min(wanted, cap - state.usage.searches))


def spare(state: DeepResearchState) -> int | None:
    """How many more searches each pending sub-query can have, when all of them have had one. Follow-ups have none: they
    come from who has read pages, and a page could ask for much that is not there."""
    if state.iteration > 1:
        return 0
    cap, pending = state.options.budget.max_searches, len(state.pending_sub_queries())
    if cap is None or not pending:
        return None
    return max(0, cap - state.usage.searches - pending) // pending


def fetches(sub_query: SubQuery, state: DeepResearchState) -> int | None:
    """How many pages a pending sub-query may ask for: an even part of what the cap leaves. It is settled before any of
    them starts, so that who comes first does not show."""
    cap, pending = state.options.budget.max_fetches, state.pending_sub_queries()
    if cap is None:
        return None
    searched = [each.id for each in pending[: affordable(state, len(pending))]]
    each, over = divmod(max(0, cap - state.usage.fetches), max(1, len(searched)))
    return each + (sub_query.id in searched[:over])


def capped_for_all(unmade: Sequence[tuple[SubQuery, BudgetError]]) -> LimitReached:
    """The searches that a shared budget did not allow."""
    refusal = unmade[0][1]
    return LimitReached(
        limit=Limit(
            name=f"{SHARED}max_searches",
            message=f"{refusal.problem} {len(unmade)} searches were not made.",
            cap=refusal.data["limit"],
            usage=refusal.data["used"],
            skipped=tuple(s.query for s, _ in sorted(unmade, key=lambda each: each[0].index)),
        )
    )


def capped(state: DeepResearchState, skipped: tuple[SubQuery, ...]) -> LimitReached:
    """The searches that the cap of the run did not allow."""
    cap = state.options.budget.max_searches
    return LimitReached(
        limit=Limit(
            name="max_searches",
            message=f"The cap of {cap} search{'es' * (cap != 1)} was reached; {len(skipped)} "
            f"{'was' if len(skipped) == 1 else 'were'} not made.",
            cap=cap,
            usage=state.usage.searches,
            skipped=tuple(s.query for s in skipped),
        )
    )


def _inner(sentence: str) -> str:
    """A sentence as it stands within another: names of formats keep their capitals."""
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]


def unread_notices(unread: Iterable[Unread], most_fetches: int | None) -> list[LimitReached | NoticeAdded]:
    """A notice or limit for each reason, with the pages it kept from us."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for page in unread:
        why = page.why.strip().rstrip(".")
        reading = "used" if page.unwanted else "read"
        message = f"Left unread: {why}." if page.capped else f"Found but not {reading}: {_inner(why)}."
        message += " The text that the search service gives of it is used instead." if page.extract else ""
        capped = SHARED + FETCHES if why == OVER_SHARED_CAP else FETCHES
        by_reason.setdefault((capped if page.capped else PAGES, message), []).append(page.url)
    return [
        notice_event(
            Notice(name=name, message=message, skipped=tuple(sorted(urls)))
            if name == PAGES
            else Limit(
                name=name,
                message=message,
                cap=most_fetches if name == FETCHES else None,
                skipped=tuple(sorted(urls)),
            )
        )
        for (name, message), urls in by_reason.items()
    ]
