"""A question as a conversation makes it: the turns before it, and what it means after them."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from deep_research.state.records import Record

MAX_EXCHANGES, MAX_EXCHANGE_CHARS = 50, 20_000


class Exchange(Record):
    """An earlier turn that a caller gives with a question: what was asked and what was answered."""

    question: str = Field(min_length=1, max_length=MAX_EXCHANGE_CHARS)
    answer: str = Field(default="", max_length=MAX_EXCHANGE_CHARS)


class Resolution(Record):
    """How a question was read after the turns before it.

    ``user_message`` are the user's words and ``question`` what is researched. ``by`` says who made the one of the
    other, and ``why`` in a few words; where ``is_resolved`` is False, nothing before says what ``user_message`` points
    to. ``turns`` are the ids of the runs before it, the oldest first, ``summary`` is what the agents are told of them,
    and ``recalls``: the sources that these runs saved are read before anything is searched.
    """

    user_message: str
    question: str
    by: Literal["rule", "model"] = "rule"
    is_resolved: bool = True
    why: str = ""
    turns: tuple[str, ...] = ()
    summary: str = ""
    recalls: bool = False
