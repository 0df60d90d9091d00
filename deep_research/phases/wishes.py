"""What hooks, answers and the supervisor wish for while a run is going, for agents that have no model: what of it can be
searched, and what is told where it cannot be followed."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from typing import Protocol

from deep_research.evidence.inquiry import Inquiry, read_question
from deep_research.state import Limit
from deep_research.state.events import LimitReached

WISH = "wish"  # the name of the limits that tell of wishes


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
        fresh = new_words(wish, question)
        named = names_something(wish, question)
        known = named if knows is None else bool(fresh) and await knows(" ".join(fresh), named=named)
        (can if known else cannot).append(wish)
    return tuple(can), tuple(cannot)


def unfollowed(wishes: Sequence[str]) -> list[LimitReached]:
    """What is told of wishes that could not be followed; of each once, whoever meets it."""
    return [LimitReached(limit=Limit(name=WISH, message=not_followed(wish))) for wish in wishes]


def not_followed(wish: str) -> str:
    return f"What was wished for could not be followed: {_quoted(wish)}."


def too_many(wish: str) -> str:
    return f"Two wishes are searched in each iteration, and this one was left out: {_quoted(wish)}."


def _quoted(wish: str) -> str:
    return f"“{' '.join(wish.split()).rstrip('.')}”"


def _read(wish: str, question: str) -> Inquiry:
    return read_question(wish, read_question(question).language)
