"""Whatever is said to a run as it ends is in its log, or named there as not applied: no accepted word vanishes."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from deep_research import DeepResearch, SearchResult
from deep_research.errors import RunStateError
from deep_research.research.steering import payload, steering
from deep_research.state import AbortReason, CommandKind, ParkedKind, RunStatus
from deep_research.state import events as ev
from deep_research.store import MemoryStore
from deep_research.store.base import Append
from deep_research.testing import ScriptedSearch

QUESTION = "Who built the Bell Rock lighthouse?"
TEXT = "Robert Stevenson built the Bell Rock lighthouse. Its tower is 35 metres tall."
UNITS = 9  # of the end of a run, before and after each of which something is said
NOT_APPLIED = "Arrived after the last phase; not applied"
MAX_ROUNDS = 4


@dataclass(frozen=True)
class Word:
    """Something that is said: its row, and the events that show that it was heard or named."""

    kind: CommandKind
    payload: str
    shows: Callable[[ev.Event], bool]


def steered(**steer: Any) -> Word:
    told = steering(**steer)

    def shows(event: ev.Event) -> bool:
        return isinstance(event, ev.RunSteered) and payload(event) == payload(told)

    return Word(CommandKind.STEER, payload(told), shows)


def names(event: ev.Event, what: str) -> bool:
    return isinstance(event, ev.NoticeAdded) and event.notice.message == f"{NOT_APPLIED}: {what}."


def is_pause(event: ev.Event) -> bool:
    paused = isinstance(event, ev.RunParked) and event.parking.kind is ParkedKind.PAUSE
    return paused or names(event, "a pause")


def is_cancelled(event: ev.Event) -> bool:
    cancelled = isinstance(event, ev.RunAborted) and event.reason is AbortReason.CANCELLED
    return cancelled or names(event, "to cancel it")


def is_answer(event: ev.Event) -> bool:
    left = isinstance(event, ev.NoticeAdded) and event.notice.message.startswith(
        "An answer came and was left"
    )
    return left or names(event, "an answer")


WORDS = {
    "steer": steered(text="Also consider the Zanzibar lens."),
    "steer since": steered(since="2020-01-01"),
    "steer stop": steered(stop_searching=True),
    "steer drop": steered(drop_sub_query="subq-0123456789ab"),
    "answer": Word(CommandKind.ANSWER, json.dumps("approve"), is_answer),
    "pause": Word(CommandKind.PAUSE, "", is_pause),
    "cancel": Word(CommandKind.CANCEL, "", is_cancelled),
}


@dataclass(frozen=True)
class Schedule:
    """What is said ``before`` or after which unit, counted back from the last; ``deaf``: no look falls between the word
    and the end of that owner's work."""

    words: tuple[str, ...]
    unit: int
    before: bool
    deaf: bool

    def __str__(self) -> str:
        side = "before" if self.before else "after"
        return f"{' and '.join(self.words)} {side} {self.unit} from the end{', unheard' * self.deaf}"


def schedules() -> Iterator[Schedule]:
    several = [
        ("steer", "pause"),
        ("steer", "answer"),
        ("steer", "cancel"),
        ("pause", "answer"),
        ("steer",) * 2,
    ]
    words = [
        *((name,) for name in WORDS),
        *several,
        ("steer", "steer stop", "pause"),
        ("answer", "steer since"),
    ]
    for said, unit, before, deaf in itertools.product(words, range(UNITS), (True, False), (True, False)):
        yield Schedule(said, unit, before, deaf)
    # The last unit again, with the words in the other order.
    for said, before, deaf in itertools.product(several, (True, False), (True, False)):
        yield Schedule(said[::-1], 0, before, deaf)


class Interleaving(MemoryStore):
    """A store in which somebody speaks right before or after a unit is stored; ``accepted`` are the words it took."""

    def __init__(self, schedule: Schedule | None = None, units: int = 0) -> None:
        super().__init__()
        self._schedule, self._at = schedule, units
        self.units = 0
        self.accepted: list[Word] = []

    def submit(self, appends: Sequence[Append]) -> None:
        for append in appends:
            self.units += 1
            told = self._schedule if self._schedule and self.units == self._at else None
            if told is not None and told.before:
                self._speak(told, append.lane.run_id)
            super().submit([append])
            if told is not None and not told.before:
                self._speak(told, append.lane.run_id)

    def _speak(self, told: Schedule, run_id: str) -> None:
        watched = self._watches.pop(run_id, None) if told.deaf else None
        for name in told.words:
            word = WORDS[name]
            try:
                self.enqueue_command(run_id, word.kind, word.payload)
            except RunStateError:
                continue  # it was told that nobody works on the run any more
            self.accepted.append(word)
        if watched is not None:
            self._watches[run_id] = watched


def engine(store: MemoryStore) -> DeepResearch:
    found = SearchResult(address="https://example.org/bell-rock", title="Bell Rock", text=TEXT, relevance=0.9)
    return DeepResearch(search=[ScriptedSearch(lambda _: [found])], store=store, reflection="never")


@pytest.fixture(scope="module")
def units() -> int:
    store = Interleaving()
    with engine(store) as research:
        assert research.run(QUESTION).status is RunStatus.COMPLETED
    assert store.units > UNITS
    return store.units


def vanished(schedule: Schedule, units: int) -> list[Word]:
    """The words that were accepted and are nowhere at the end of the run, which is gone on with until it completes."""
    store = Interleaving(schedule, units - schedule.unit)
    with engine(store) as research:
        run_id = research.run(QUESTION).research_id
        for _ in range(MAX_ROUNDS):
            status = research.status(run_id).status
            if status is RunStatus.COMPLETED:
                break
            assert store.accepted
            research.resume(run_id)
        assert status.is_final  # without evidence, where all searching was stopped before the first search
        events = list(research.events(run_id))
        assert store.pending_commands(run_id) == []
    return [word for word in store.accepted if sum(map(word.shows, events)) < store.accepted.count(word)]


ALL = list(schedules())


@pytest.mark.parametrize("schedule", ALL[::13], ids=str)
def test_a_word_at_the_end_of_a_run_is_in_its_log(schedule: Schedule, units: int) -> None:
    assert vanished(schedule, units) == []


def test_the_result_names_what_came_too_late(units: int) -> None:
    store = Interleaving(Schedule(("steer", "steer drop", "pause"), 0, before=True, deaf=True), units)
    with engine(store) as research:
        result = research.run(QUESTION)
    assert {notice.message for notice in result.notices if notice.message.startswith(NOT_APPLIED)} == {
        f"{NOT_APPLIED}: “Also consider the Zanzibar lens”.",
        f"{NOT_APPLIED}: “without the sub-query subq-0123456789ab”.",
        f"{NOT_APPLIED}: a pause.",
    }
    assert result.status is RunStatus.COMPLETED


@pytest.mark.sweep
def test_no_word_of_500_schedules_vanishes(units: int) -> None:
    assert len(ALL) >= 500
    assert [str(schedule) for schedule in ALL if vanished(schedule, units)] == []
