"""A turn of a conversation: a run of a session, as the questions after it are read with it. Pure."""

from __future__ import annotations

from datetime import datetime

from deep_research.report.reference_marks import reference_marks
from deep_research.report.report_blocks import answer_of
from deep_research.state import DeepResearchState, Record

MAX_ANSWER_CHARS = 1_500


class Turn(Record):
    """A question with its answer. ``asked`` are the user's words, ``question`` what was researched: the same where it
    stood by itself. ``answer`` is plain text without reference marks, empty where nothing was found."""

    research_id: str = ""
    asked: str
    question: str
    answer: str = ""
    at: datetime | None = None


def turn_of(state: DeepResearchState) -> Turn:
    """The turn that a run is."""
    return Turn(
        research_id=state.research_id,
        asked=state.resolution.asked if state.resolution is not None else state.query,
        question=state.query,
        answer=_answer(state),
        at=state.created_at,
    )


def _answer(state: DeepResearchState) -> str:
    if not state.report or not state.claims:
        return ""
    answer = answer_of(state.report)
    for mark in reversed(list(reference_marks(answer, [citation.number for citation in state.citations]))):
        answer = answer[: mark.start].rstrip() + answer[mark.end :]
    text = " ".join(answer.split())
    return text if len(text) <= MAX_ANSWER_CHARS else f"{text[:MAX_ANSWER_CHARS].rsplit(' ', 1)[0]} …"
