"""Search queries from guidance, for agents that have no model: its words, what they name, and whether a search for
them can find anything."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from typing import Protocol

from deep_research.errors import SearchError
from deep_research.logs import describe_error, get_log
from deep_research.provenance.secret_filter import askable
from deep_research.retrieval.parsed_question import ParsedQuestion, parse_question
from deep_research.state import DeepResearchState

MAX_READ_CHARS = 1_000  # of a steer, read without a model

log = get_log("steering")


class Knows(Protocol):
    """Whether a search for some words, one of them ``named`` by how it is written, can find something."""

    def __call__(self, words: str, *, named: bool) -> Awaitable[bool]: ...


def new_words(steer: str, question: str) -> tuple[str, ...]:
    """The content words of a steer that the question lacks, as the steer writes them; of one that names something the
    names alone: who asks for Ann Mole does not ask for any Ann."""
    read = _read(steer, question)
    question_terms = set(parse_question(question).terms)
    fresh = [word for word in _content_words(read) if question_terms.isdisjoint(read.words.terms(word))]
    names = [word for word in fresh if not read.names.isdisjoint(read.words.terms(word))]
    return tuple(dict.fromkeys(names or fresh))


def steering_query(steer: str, question: str, instructions: str | None) -> str:
    """The steer as a query: its content words, of one without a name together with the names of the question; without
    addresses and what is confidential of the owner's ``instructions``. Empty where nothing is left."""
    read, of = _read(steer, question), parse_question(question)
    words = _content_words(read)
    if not read.names:
        words += [word for word in of.telling(of.text) if not of.names.isdisjoint(of.words.terms(word))]
    return askable(" ".join(dict.fromkeys(words)), question, instructions)


def names_something(steer: str, question: str) -> bool:
    """Whether one of its new words is written as a name."""
    read = _read(steer, question)
    return any(not read.names.isdisjoint(read.words.terms(word)) for word in new_words(steer, question))


async def split_searchable(
    steering: Iterable[str], state: DeepResearchState, knows: Knows | None
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The steers that can be searched, and those that cannot: of these no new word occurs where is searched, or nothing
    may be asked."""
    can: list[str] = []
    cannot: list[str] = []
    for steer in steering:
        query = steering_query(steer, state.query, state.options.system_prompt)
        (can if query and await _is_known(steer, state.query, knows) else cannot).append(steer)
    return tuple(can), tuple(cannot)


async def _is_known(steer: str, question: str, knows: Knows | None) -> bool:
    fresh, has_name = new_words(steer, question), names_something(steer, question)
    if knows is None or not fresh:
        return has_name
    try:
        return await knows(" ".join(fresh), named=has_name)
    except SearchError as error:  # the searches fail for the same reason, and say so
        log.warning("steer_not_looked_up", error=describe_error(error))
        return has_name


def _read(steer: str, question: str) -> ParsedQuestion:
    return parse_question(steer[:MAX_READ_CHARS], parse_question(question).language)


def _content_words(read: ParsedQuestion) -> list[str]:
    """The words that say what is asked for, without those that only ask."""
    idle = read.forms.bidding | read.forms.requesting
    return [word for word in read.telling(read.text) if word.casefold() not in idle]
