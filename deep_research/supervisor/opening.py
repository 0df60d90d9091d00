"""The beginning of a run: its question, its id, the seconds of work on it, and a journal for one that no store keeps."""

from __future__ import annotations

from collections.abc import Callable

from deep_research.errors import InvalidQuestionError
from deep_research.state import DeepResearchState, RunOptions
from deep_research.state.events import RunCreated
from deep_research.state.identity import new_run_id
from deep_research.state.journal import Clock, Journal, MemoryJournal
from deep_research.text.plain import clean

MAX_QUESTION_CHARS = 20_000


def checked_question(query: object, max_chars: int = MAX_QUESTION_CHARS) -> str:
    """The question as it is researched. Raises `InvalidQuestionError`."""
    if not isinstance(query, str):
        raise InvalidQuestionError("The question is no text.", hint="Ask something, as a str.")
    if "\x00" in query or any(0xD800 <= ord(c) <= 0xDFFF for c in query):
        raise InvalidQuestionError(
            "The question holds characters that are not text.", hint="Remove them and ask again."
        )
    question = clean(query).strip()
    if not question:
        raise InvalidQuestionError("The question is empty.", hint="Ask something.")
    if len(question) > max_chars:
        raise InvalidQuestionError(
            f"The question has {len(question):,} characters; {max_chars:,} are allowed.",
            hint="Shorten it, or give its background as system_prompt.",
        )
    return question


async def journal_of(
    research: str | DeepResearchState | Journal, options: RunOptions | None, clock: Clock
) -> Journal:
    """Where a run is recorded: in memory for a question or a state. Raises `InvalidQuestionError`."""
    if isinstance(research, DeepResearchState):
        return MemoryJournal(research, clock=clock)
    if not isinstance(research, str) and hasattr(research, "record"):
        return research
    question = checked_question(research)
    journal = MemoryJournal(clock=clock)
    await journal.record(
        RunCreated(research_id=new_run_id(), query=question, options=options or RunOptions())
    )
    return journal


class Stopwatch:
    """The seconds of work on a run by all its owners together: those ``before``, and since `start` those of this one.
    ``clock`` gives seconds and never goes back."""

    def __init__(self, clock: Callable[[], float], before: float = 0.0) -> None:
        self._clock = clock
        self._before = before
        self._started: float | None = None

    def start(self) -> None:
        """Waiting for a turn is no work: the watch stands until this is called."""
        self._started = self._clock()

    def __call__(self) -> float:
        here = 0.0 if self._started is None else self._clock() - self._started
        return round(self._before + here, 3)
