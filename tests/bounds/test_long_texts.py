"""One long text, of any kind of character, at any place where text of others enters: a run takes computing in proportion
to it, its loop is held for no more than 50 ms, and it comes to its end."""

from __future__ import annotations

import pytest
from long_runs import RUNS, Place, long_text, measured, places

from deep_research import ResearchResult
from deep_research.errors import DeepResearchError

pytestmark = pytest.mark.timed

FEW, MANY = 16_000, 64_000  # characters
MAX_HELD_SECONDS = 0.05
MAX_RATIO = 6.0  # of the computing for four times as much
LEAST_SECONDS = 0.2  # of computing, below which a ratio says nothing
TRIES = 5  # a busy machine spoils some
STEP = 107  # of the cases, of which the fast run takes one: another place and kind each time

CASES = [(place, kind) for place in places() for kind in RUNS]
SAMPLE = CASES[::STEP]


def check(place: Place, kind: str) -> None:
    seen: list[str] = []
    for _ in range(TRIES):
        _, few = measured(place, kind, FEW)
        made, many = measured(place, kind, MANY)
        assert isinstance(made, ResearchResult | DeepResearchError)
        ratio = many.cpu / max(few.cpu, LEAST_SECONDS)
        longest = max(few, many, key=lambda spent: spent.held)
        if ratio < MAX_RATIO and longest.held < MAX_HELD_SECONDS:
            return
        seen.append(
            f"{ratio:.1f} times the computing, held for {longest.held * 1000:.0f} ms in {longest.step}"
        )
    raise AssertionError(f"{place.name}, {kind}: {seen}")


@pytest.mark.parametrize(
    ("place", "kind"), [pytest.param(*case, id=f"{case[0].name}, {case[1]}") for case in SAMPLE]
)
def test_a_long_text_takes_linear_computing_and_does_not_hold_the_loop(place: Place, kind: str) -> None:
    check(place, kind)


@pytest.mark.sweep
@pytest.mark.parametrize("place", places(), ids=lambda place: place.name)
def test_a_long_text_of_every_kind_takes_linear_computing_and_does_not_hold_the_loop(place: Place) -> None:
    failed = []
    for kind in RUNS:
        try:
            check(place, kind)
        except AssertionError as error:
            failed.append(str(error))
    assert not failed, "\n".join(failed)


def test_every_kind_of_text_has_the_length_that_is_asked_for() -> None:
    assert {len(long_text(kind, FEW)) for kind in RUNS} == {FEW}
