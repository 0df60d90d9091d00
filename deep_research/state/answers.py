"""The answer so far to a question of a run, as data: `deep_research.report.answers_so_far` makes it of the state."""

from __future__ import annotations

from enum import StrEnum

from deep_research.state.records import Record

_END_MARKS, _CLOSING = ".!?…:;。！？｡।؟۔።។။։", "\"”'’»)」』）*_"


class AnswerState(StrEnum):
    """How far a question is answered: ``OPEN``, not searched yet; ``SEARCHED``, with sources that are still to be read;
    ``FOUND``, with findings that nobody has weighed for it; ``ANSWERED``, ``PARTLY`` and ``NOT_FOUND``, as weighed, or
    read without a finding; ``FAILED``, its search failed."""

    OPEN = "open"
    SEARCHED = "searched"
    FOUND = "found"
    ANSWERED = "answered"
    PARTLY = "partly"
    NOT_FOUND = "not_found"
    FAILED = "failed"


class AnswerSentence(Record):
    """A sentence of an answer, and the sources that carry it."""

    text: str
    source_ids: tuple[str, ...]


class QuestionAnswer(Record):
    """The answer so far to a question: at most three sentences of its best supported findings. Where there is none, or
    not all was searched, ``reason`` says why. ``part_id`` is the part of the run's question that it is about, None where
    it is about all of it; ``sub_query_id`` the sub-query that asks it, None for a part that none asks in its own words.
    """

    question: str
    state: AnswerState
    sentences: tuple[AnswerSentence, ...] = ()
    reason: str = ""
    part_id: str | None = None
    sub_query_id: str | None = None

    @property
    def text(self) -> str:
        """Its sentences in one paragraph; empty without an answer."""
        return " ".join(_closed(sentence.text) for sentence in self.sentences)

    @property
    def source_ids(self) -> tuple[str, ...]:
        """The sources of all its sentences, each once."""
        return tuple(dict.fromkeys(each for sentence in self.sentences for each in sentence.source_ids))


def _closed(sentence: str) -> str:
    """With an end mark: rows of tables and items have none."""
    return sentence if sentence.rstrip(_CLOSING)[-1:] in _END_MARKS else f"{sentence}."
