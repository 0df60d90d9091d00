"""What a run may still search and read, and what is told of what it may not, or could not. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from deep_research.errors import BudgetError
from deep_research.phases.gathering.fetching import OVER_SHARED_CAP
from deep_research.phases.gathering.handoff import Unread
from deep_research.state import DeepResearchState, Limit, Notice, SubQuery
from deep_research.state.events import LimitReached, NoticeAdded, notice_event
from deep_research.state.records import FETCHES, PAGES, SHARED


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
            used=refusal.data["used"],
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
            used=state.usage.searches,
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
        done = "used" if page.unwanted else "read"
        message = f"Left unread: {why}." if page.capped else f"Found but not {done}: {_inner(why)}."
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
