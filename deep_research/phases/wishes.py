"""What hooks, answers and the supervisor wish for while a run is going, for agents that have no model: what of it can be
searched, and what is told where it cannot be followed."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol

from deep_research.errors import SearchError
from deep_research.evidence.inquiry import Inquiry, read_question
from deep_research.logs import get_log, told
from deep_research.state import Gap, Limit, SubQuery
from deep_research.state.events import LimitReached

WISH = "wish"  # the name of the limits that tell of wishes
_GAP = "Wished for: "  # opens the gap that a refiner makes of one

log = get_log("wishes")


class Knows(Protocol):
    """Whether a search for some words, one of them ``named`` by how it is written, can find something."""

    def __call__(self, words: str, *, named: bool) -> Awaitable[bool]: ...


def new_words(wish: str, question: str) -> tuple[str, ...]:
    """The words of a wish that tell something and that the question lacks, as the wish writes them."""
    read = _read(wish, question)
    asked = set(read_question(question).terms)
    idle = read.forms.bidding | read.forms.overview
    return tuple(
        dict.fromkeys(
            word
            for word in read.telling(read.text)
            if word.casefold() not in idle and asked.isdisjoint(read.words.terms(word))
        )
    )


def query_of(wish: str, question: str) -> str:
    """The wish as it is searched: what it tells, of one without a name together with the names of the question."""
    read, of = _read(wish, question), read_question(question)
    idle = read.forms.bidding
    told = [word for word in read.telling(read.text) if word.casefold() not in idle]
    if not read.names:
        told += [word for word in of.telling(of.text) if not of.names.isdisjoint(of.words.terms(word))]
    return " ".join(dict.fromkeys(told))


def names_something(wish: str, question: str) -> bool:
    """Whether one of its new words is written as a name."""
    read = _read(wish, question)
    return any(not read.names.isdisjoint(read.words.terms(word)) for word in new_words(wish, question))


async def parted(
    wishes: Iterable[str], question: str, knows: Knows | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The wishes that can be searched, and those that cannot: of these no new word occurs where is searched."""
    can: list[str] = []
    cannot: list[str] = []
    for wish in wishes:
        (can if await _is_known(wish, question, knows) else cannot).append(wish)
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


def unfollowed(wishes: Sequence[str]) -> list[LimitReached]:
    """What is told of wishes that could not be followed; of each once, whoever meets it."""
    return [LimitReached(limit=Limit(name=WISH, message=not_followed(wish))) for wish in wishes]


def gap_of(wish: str) -> str:
    """The description of the gap that a wish is for a refiner."""
    return f"{_GAP}{' '.join(wish.split())}"


def searched(sub_queries: Iterable[SubQuery], gaps: Iterable[Gap]) -> tuple[str, ...]:
    """The wishes for which searches were made, in their order."""
    of_wishes = {gap.id for gap in gaps if gap.description.startswith(_GAP)}
    return tuple(dict.fromkeys(s.rationale for s in sub_queries if s.origin or s.gap_id in of_wishes))


def not_followed(wish: str) -> str:
    return f"What was wished for could not be followed: {_quoted(wish)}."


def too_many(wish: str) -> str:
    return f"Two wishes are searched in each iteration, and this one was left out: {_quoted(wish)}."


def _quoted(wish: str) -> str:
    return f"“{' '.join(wish.split()).rstrip('.')}”"


def _read(wish: str, question: str) -> Inquiry:
    return read_question(wish, read_question(question).language)
