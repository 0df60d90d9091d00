"""A turn of a conversation: a run of a session, as the questions after it are read with it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from deep_research.report.reference_marks import reference_marks
from deep_research.report.report_blocks import answer_of
from deep_research.state import DeepResearchState, Exchange, Record, RunStatus

MAX_ANSWER_CHARS = 1_500
MAX_REFERENCES = 200  # whose marks are taken out of an answer that is given


class Turn(Record):
    """A question with its answer. ``user_message`` are the user's words, ``question`` what was researched: the same
    where it stood by itself. ``answer`` is plain text without reference marks, empty where nothing was found;
    ``status`` is that of the run, None for a turn that is none."""

    research_id: str = ""
    user_message: str
    question: str
    answer: str = ""
    status: RunStatus | None = None
    at: datetime | None = None


def turn_of(state: DeepResearchState) -> Turn:
    """The turn that a run is."""
    return Turn(
        research_id=state.research_id,
        user_message=state.resolution.user_message if state.resolution is not None else state.query,
        question=state.query,
        answer=_answer(state),
        status=state.status,
        at=state.created_at,
    )


def given_turn(exchange: Exchange) -> Turn:
    """A turn that is no run of ours."""
    answer = _without_marks(exchange.answer, range(1, MAX_REFERENCES + 1))
    return Turn(user_message=exchange.question, question=exchange.question, answer=_cut(answer))


def _answer(state: DeepResearchState) -> str:
    if not state.report or not state.claims:
        return ""
    return _cut(_without_marks(answer_of(state.report), [citation.number for citation in state.citations]))


def _without_marks(answer: str, numbers: Collection[int]) -> str:
    for mark in reversed(list(reference_marks(answer, numbers))):
        answer = answer[: mark.start].rstrip() + answer[mark.end :]
    return answer


def _cut(answer: str) -> str:
    text = " ".join(answer.split())
    return text if len(text) <= MAX_ANSWER_CHARS else f"{text[:MAX_ANSWER_CHARS].rsplit(' ', 1)[0]} …"
