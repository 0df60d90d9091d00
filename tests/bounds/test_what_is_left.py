"""Texts of 5,000,000 characters, from every kind of extension, through whole runs: what is left of them, in the result,
in events, in the log and on disk, is bounded; and no secret is cut in two."""

from __future__ import annotations

import io
import logging
from collections.abc import Iterator

import pytest
from held_loop import spent
from long_runs import LEFT, LongModel, Place, long_text, places, run

from deep_research import Budget
from deep_research.errors import DeepResearchError, StoreError, bounded_line
from deep_research.logs import configure, cut, describe_error, get_log, redact_value, register_secret
from deep_research.store import MemoryStore

pytestmark = pytest.mark.timed

SIZE = 5_000_000
MAX_CHARS = 2_500_000  # of a result, of the events of a run with several reports, and of its log
MAX_FILE_BYTES = 12_000_000  # with the texts of its sources, of which each may have 2,000,000
KINDS = ("letters", "sentences", "escapes")
# What an extension says itself, beside the texts of sources.
BY_EXTENSION = [
    place
    for place in places()
    if not place.name.startswith(("user", "document"))  # the user's own
]
STEP = 7  # of the places, of which the fast run takes one


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    configure("debug", "json", stream)
    LEFT.is_wanted = True
    yield stream
    LEFT.is_wanted = False
    configure(None)
    assert not logging.getLogger("deep_research").level


def check(place: Place, kind: str, log: io.StringIO) -> None:
    LEFT.events = LEFT.result = LEFT.files = 0
    log.seek(0)
    log.truncate()
    made, _ = spent(lambda: place.run(long_text(kind, SIZE)))
    sizes = {
        "result": max(LEFT.result, len(str(made)) if isinstance(made, DeepResearchError) else 0),
        "events": LEFT.events,
        "log": len(log.getvalue()),
        "data": len(repr(made.data)) if isinstance(made, DeepResearchError) else 0,
    }
    assert max(sizes.values()) < MAX_CHARS, (place.name, kind, sizes)
    assert LEFT.files < MAX_FILE_BYTES, (place.name, kind, LEFT.files)


@pytest.mark.parametrize("place", BY_EXTENSION[::STEP], ids=lambda place: place.name)
def test_little_is_left_of_what_an_extension_says(place: Place, log: io.StringIO) -> None:
    check(place, KINDS[BY_EXTENSION.index(place) // STEP % len(KINDS)], log)


@pytest.mark.sweep
@pytest.mark.parametrize("place", BY_EXTENSION, ids=lambda place: place.name)
def test_little_is_left_of_what_an_extension_says_in_any_characters(place: Place, log: io.StringIO) -> None:
    for kind in KINDS:
        check(place, kind, log)


def test_little_is_left_of_what_a_store_says(log: io.StringIO) -> None:
    class Failing(MemoryStore):
        def open(self) -> None:
            raise StoreError("x" * SIZE, hint="y" * SIZE, body="z" * SIZE)

    made, _ = spent(lambda: run(store=Failing()))
    assert isinstance(made, StoreError)
    assert len(str(made)) + len(repr(made.data)) + len(log.getvalue()) < 100_000


@pytest.mark.parametrize("counted", [ValueError("x" * SIZE), "x" * SIZE, SystemExit("x" * SIZE)], ids=type)
def test_little_is_left_of_what_counts_tokens(log: io.StringIO, counted: object) -> None:
    class Counting(LongModel):
        asked = 0

        async def count(self, call: object) -> object:  # type: ignore[override]
            self.asked += 1
            if isinstance(counted, BaseException):
                raise counted
            return counted

    model = Counting()
    made, _ = spent(lambda: run(model=model, budget=Budget(max_tokens=30_000)))
    assert model.asked
    assert len(made.model_dump_json()) + len(log.getvalue()) < MAX_CHARS


def test_a_traceback_in_the_log_is_bounded(log: io.StringIO) -> None:
    try:
        raise ValueError("x" * SIZE)
    except ValueError as error:
        get_log("bounds").error("it_failed", exc_info=error, more=["y" * SIZE] * 5_000)
    assert "Traceback" in log.getvalue()
    assert len(log.getvalue()) < 10_000_000


SECRET = "Zq7-secret-Xw9-of-the-house-4711"


@pytest.mark.parametrize("shown", [bounded_line, lambda text: describe_error(ValueError(text)),
                                   lambda text: cut(text, 8_000),
                                   lambda text: redact_value({"a": text[: 3 * 8_000]})["a"]])  # fmt: skip
@pytest.mark.parametrize("unit", ["x", "x ", '"', "塔"])
def test_no_half_of_a_secret_is_left_where_a_text_is_cut(shown, unit) -> None:
    register_secret(SECRET)
    for limit in (8_000, 16_000, 20_000):
        for start in range(limit - len(SECRET) - 20, limit + 4):
            text = (unit * limit)[:start] + SECRET + unit * SIZE_BEHIND
            left = shown(text)
            heads = [SECRET[:size] for size in range(8, len(SECRET))]
            whole = left.replace(SECRET, "")
            assert not any(head in whole for head in heads), (start, left[-60:])


SIZE_BEHIND = 20_000
