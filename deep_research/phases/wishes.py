"""What hooks, answers and the supervisor wish for while a run is going, for agents that have no model: what of it can be
searched, and what is told where it cannot be followed."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol

from deep_research.errors import SearchError
from deep_research.evidence.disclosure import askable
from deep_research.evidence.inquiry import Inquiry, read_question
from deep_research.logs import get_log, told
from deep_research.state import (
    DeepResearchPhase,
    DeepResearchState,
    Gap,
    Guidance,
    Limit,
    SubQuery,
    SubQueryStatus,
)
from deep_research.state.events import Event, LimitReached, SubQueriesAdded
from deep_research.state.identity import sub_query_id
from deep_research.state.records import GATE

WISH = "wish"  # the name of the limits that tell of wishes
MOST = 2  # further searches of an iteration
READ, TOLD = 1_000, 200  # characters of a wish that are read without a model, and that a line tells
TOO_LATE = "Arrived after the last phase; not applied"
_GAP = "Wished for: "  # opens the gap that a refiner makes of one

log = get_log("wishes")


class Knows(Protocol):
    """Whether a search for some words, one of them ``named`` by how it is written, can find something."""

    def __call__(self, words: str, *, named: bool) -> Awaitable[bool]: ...


def new_words(wish: str, question: str) -> tuple[str, ...]:
    """The words of a wish that tell something and that the question lacks, as the wish writes them; of one that names
    something the names alone: who wishes for Ann Mole does not wish for any Ann."""
    read = _read(wish, question)
    asked = set(read_question(question).terms)
    fresh = [word for word in _told(read) if asked.isdisjoint(read.words.terms(word))]
    named = [word for word in fresh if not read.names.isdisjoint(read.words.terms(word))]
    return tuple(dict.fromkeys(named or fresh))


def query_of(wish: str, question: str, instructions: str | None) -> str:
    """The wish as it may be searched: what it tells, of one without a name together with the names of the question;
    without addresses and what is confidential of the owner's ``instructions``. Empty where nothing is left."""
    read, of = _read(wish, question), read_question(question)
    told = _told(read)
    if not read.names:
        told += [word for word in of.telling(of.text) if not of.names.isdisjoint(of.words.terms(word))]
    return askable(" ".join(dict.fromkeys(told)), question, instructions)


def names_something(wish: str, question: str) -> bool:
    """Whether one of its new words is written as a name."""
    read = _read(wish, question)
    return any(not read.names.isdisjoint(read.words.terms(word)) for word in new_words(wish, question))


async def parted(
    wishes: Iterable[str], state: DeepResearchState, knows: Knows | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The wishes that can be searched, and those that cannot: of these no new word occurs where is searched, or nothing
    may be asked."""
    can: list[str] = []
    cannot: list[str] = []
    for wish in wishes:
        query = query_of(wish, state.query, state.options.system_prompt)
        (can if query and await _is_known(wish, state.query, knows) else cannot).append(wish)
    return tuple(can), tuple(cannot)


async def _is_known(wish: str, question: str, knows: Knows | None) -> bool:
    fresh, named = new_words(wish, question), names_something(wish, question)
    if knows is None or not fresh:
        return named
    try:
        return await knows(" ".join(fresh), named=named)
    except SearchError as error:  # the searches fail for the same reason, and say so
        log.warning("wish_not_looked_up", error=told(error))
        return named


def unsearched(state: DeepResearchState, phase: DeepResearchPhase) -> tuple[Guidance, ...]:
    """What was wished for a phase and is neither searched nor told to be left out. A new plan took the place of the one
    before with all that had been wished for."""
    anew = phase is DeepResearchPhase.PLANNING
    done = {
        s.rationale
        for s in state.sub_queries
        if s.origin and not (anew and s.status is SubQueryStatus.SUPERSEDED)
    }
    told = {limit.message for limit in state.limits if limit.name == WISH}
    wishes = {w.text: w for w in state.guidance if w.origin != GATE}
    here = (wishes[text] for text in state.wishes_for(phase))
    return tuple(
        w for w in here if w.text not in done and told.isdisjoint((not_followed(w.text), too_many(w.text)))
    )


async def as_searches(state: DeepResearchState, phase: DeepResearchPhase, knows: Knows | None) -> list[Event]:
    """What was wished for a phase as further searches, and what is told of wishes that are none."""
    fresh = unsearched(state, phase)
    if not fresh:
        return []
    can, cannot = await parted((wish.text for wish in fresh), state, knows)
    # What lasts is told by who works later and cannot follow it either.
    lasting = {wish.text for wish in fresh if wish.lasting}
    searched_now = with_wishes([wish for wish in fresh if wish.text in can], state)
    return [*searched_now, *unfollowed([text for text in cannot if text not in lasting])]


def with_wishes(wishes: Sequence[Guidance], state: DeepResearchState) -> list[Event]:
    """At most two further sub-queries an iteration, the latest wishes first. Where the plan has no room, they take the
    places of what is least important and not searched yet, but of one; what finds no room is told."""
    plan = [s for s in state.current_sub_queries() if s.iteration == state.iteration]
    pending = sorted(
        (s for s in plan if s.status is SubQueryStatus.PENDING), key=lambda s: (s.priority, s.index)
    )
    free = state.max_sub_queries - len(plan)
    room = min(MOST - sum(bool(s.origin) for s in plan), free + max(0, len(pending) - 1))
    known = {s.id for s in state.current_sub_queries()}
    fresh: dict[str, SubQuery] = {}
    beyond: list[str] = []
    for wish in reversed(wishes):
        text = query_of(wish.text, state.query, state.options.system_prompt)
        key = sub_query_id(text)
        if key in known or key in fresh:
            continue
        if len(fresh) >= room:
            beyond.append(wish.text)
            continue
        fresh[key] = SubQuery(
            id=key,
            query=text,
            rationale=wish.text,
            index=state.next_index + len(fresh),
            iteration=state.iteration,
            part_id=state.parts[0].id if len(state.parts) == 1 else None,
            origin=wish.origin,
        )
    over = max(0, len(fresh) - free)
    replaced = tuple(s.id for s in pending[len(pending) - over :])
    notes = [LimitReached(limit=Limit(name=WISH, message=too_many(wish))) for wish in beyond]
    return [
        *([SubQueriesAdded(sub_queries=tuple(fresh.values()), replaced=replaced)] if fresh else []),
        *notes,
    ]


def unfollowed(wishes: Sequence[str]) -> list[LimitReached]:
    """What is told of wishes that could not be followed; of each once, whoever meets it."""
    return [LimitReached(limit=Limit(name=WISH, message=not_followed(wish))) for wish in wishes]


def gap_of(wish: str) -> str:
    """The description of the gap that a wish is for a refiner."""
    return f"{_GAP}{_short(wish)}"


def searched(sub_queries: Iterable[SubQuery], gaps: Iterable[Gap]) -> tuple[str, ...]:
    """The wishes for which searches were made, in their order."""
    of_wishes = {gap.id for gap in gaps if gap.description.startswith(_GAP)}
    return tuple(dict.fromkeys(s.rationale for s in sub_queries if s.origin or s.gap_id in of_wishes))


def not_followed(wish: str) -> str:
    return f"What was wished for was not found, or cannot be followed: {_quoted(wish)}."


def too_many(wish: str) -> str:
    return f"There was no room to search for what was wished for: {_quoted(wish)}."


def too_late(wish: str) -> str:
    return f"{TOO_LATE}: {_quoted(wish)}."


def _quoted(wish: str) -> str:
    return f"“{_short(wish).rstrip('.')}”"


def _short(wish: str) -> str:
    line = " ".join(wish.split())
    return line if len(line) <= TOLD else f"{line[:TOLD].rsplit(' ', 1)[0]} …"


def _read(wish: str, question: str) -> Inquiry:
    return read_question(wish[:READ], read_question(question).language)


def _told(read: Inquiry) -> list[str]:
    """The words that tell what is wished for, without those that only wish."""
    idle = read.forms.bidding | read.forms.wishing
    return [word for word in read.telling(read.text) if word.casefold() not in idle]
