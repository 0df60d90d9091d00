"""Notes of progress for a client: what happened last in a run, not too often and not too seldom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from deep_research.logs import describe_error, get_log
from deep_research.mcp_server.run_access import ReportProgress
from deep_research.presentation import phrases
from deep_research.presentation.event_text import in_words
from deep_research.state.events import Event, Missed, Progress, RunCreated, Written
from deep_research.state.reducer import Fold

MAX_MESSAGE_CHARACTERS = 300
NOTE_SECONDS = 0.25  # between two notes
SILENCE_SECONDS = 15.0  # after which the last note is repeated, so that a client sees that the run goes on
log = get_log("mcp")


class RunNews:
    """What happens in a run. ``message`` is what happened last, and ``arrival`` is set when it changes."""

    def __init__(self) -> None:
        self.message = "The run begins."
        self.arrival = asyncio.Event()
        self._fold = Fold()

    @property
    def last_event(self) -> int:
        """The number of the last event that was noted."""
        return self._fold.seq

    def recall(self, event: Event) -> None:
        """Take in what happened before."""
        self._fold.apply(event)

    def note(self, event: Event | Progress) -> None:
        """Take in what happens."""
        if isinstance(event, Progress):
            words = "" if isinstance(event, Missed | Written) else f"{event.phase}: {event.message}"
        else:
            self._fold.apply(event)
            # Of its beginning the first note tells.
            words = "" if isinstance(event, RunCreated) else in_words(event, self._fold)
        if words:
            self.message = phrases.line(words)[:MAX_MESSAGE_CHARACTERS]
            self.arrival.set()


async def send_notes(research_id: str, news: RunNews, report: ReportProgress) -> None:
    """Report the id of a run, and what happens in it, until the client is gone or this is cancelled."""
    async for number, message in _notes(research_id, news):
        try:
            await report(number, message)
        except Exception as error:
            log.debug("progress_failed", error=describe_error(error))  # the client is gone; the run is not
            return


async def _notes(research_id: str, news: RunNews) -> AsyncIterator[tuple[int, str]]:
    """Not more often than every `NOTE_SECONDS` and at least every `SILENCE_SECONDS`."""
    number = 1
    yield number, f"Run {research_id}"
    while True:
        with suppress(TimeoutError):
            await asyncio.wait_for(news.arrival.wait(), SILENCE_SECONDS)
        news.arrival.clear()
        number += 1
        yield number, news.message
        await asyncio.sleep(NOTE_SECONDS)
