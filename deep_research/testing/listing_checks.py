"""Checks of listing runs, for every store. The first line of each says the promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from deep_research.state import AbortReason, DeepResearchPhase, Parking, RunStatus
from deep_research.state.figures import Figures
from deep_research.state.phases import ParkedKind
from deep_research.state.projection import Projection
from deep_research.store import RunCursor, RunFilter
from deep_research.testing.store_bench import RUNNING, START_SECONDS, Bench

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
QUESTION_PAUSE = Parking(waiting_for="a word", pause_id="1.planning.0.gate")
COMPLETED = Projection(status=RunStatus.COMPLETED)


def the_row_keeps_why_a_run_stands_and_how_far_it_came(bench: Bench) -> None:
    lane = bench.create()
    zoned = NOON.astimezone(timezone(timedelta(hours=-7)))
    figures = Figures(searches_done=3, searches_planned=5, sources=12, findings=7, tokens=900, cost_usd=0.25)
    rows = (
        Projection(status=RunStatus.ABORTED, reason=AbortReason.ERROR, message="'; it -- broke\n", seconds=1.25),
        Projection(status=RunStatus.PARKED, parking=QUESTION_PAUSE, seconds=0.0, figures=figures),
        Projection(status=RunStatus.PARKED, parking=Parking(waiting_for="a model", until=zoned, kind=ParkedKind.OUTAGE)),
        Projection(status=RunStatus.RUNNING, figures=figures.model_copy(update={"cost_usd": None})),
        Projection(status=RunStatus.COMPLETED, phase=DeepResearchPhase.REFINEMENT, iteration=3),
    )  # fmt: skip
    for expected, projection in enumerate(rows, start=1):
        assert bench.append(lane, expected, projection=projection) is None
        assert bench.store.run("run-1").projection == projection
        assert [row.projection for row in bench.store.runs()] == [projection]


def letting_go_leaves_the_seconds_of_work_behind(bench: Bench) -> None:
    lane = bench.create(projection=replace(COMPLETED, seconds=1.0))
    lane.seconds = 12.5
    bench.store.release(lane)
    assert bench.store.run("run-1").projection.seconds == 12.5
    again = bench.take()
    bench.store.release(again)
    assert bench.store.run("run-1").projection.seconds == 12.5


def who_lost_a_run_leaves_no_seconds_behind(bench: Bench) -> None:
    lane = bench.create(owner=bench.dead_owner(), projection=replace(COMPLETED, seconds=1.0))
    bench.take()
    lane.seconds = 99.0
    bench.store.release(lane)
    assert bench.store.run("run-1").projection.seconds == 1.0


def runs_are_found_by_user_and_session(bench: Bench) -> None:
    bench.create("run-1", user_id="ada", session_id="s-1")
    bench.create("run-2", user_id="ada", session_id="s-2")
    bench.create("run-3", user_id="ADA")
    bench.create("run-4")
    assert _ids_of(bench, user="ada") == ["run-2", "run-1"]
    assert _ids_of(bench, user="ada", session="s-1") == ["run-1"]
    assert _ids_of(bench, session="s-3") == []
    assert _ids_of(bench) == ["run-4", "run-3", "run-2", "run-1"]


def runs_are_found_by_the_text_of_their_question_in_whatever_case(bench: Bench) -> None:
    questions = ("Who built BELL Rock?", "100% of what_ever \\ it's", "Élise in der STRASSE", "a\x00b")
    for number, query in enumerate(questions, start=1):
        bench.create(f"run-{number}", query=query)
    for text, run_ids in {
        "bell rock": ["run-1"],
        "Rock?": ["run-1"],
        "100%": ["run-2"],
        "0% OF": ["run-2"],
        "%": ["run-2"],
        "_": ["run-2"],
        "h_t": [],
        "it's": ["run-2"],
        "\\": ["run-2"],
        "élise": ["run-3"],
        "straße": ["run-3"],
        "A\x00B": ["run-4"],
        "' OR '1'='1": [],
        "": ["run-4", "run-3", "run-2", "run-1"],
    }.items():
        assert _ids_of(bench, text=text) == run_ids, text


def runs_are_found_by_the_status_that_is_shown(bench: Bench) -> None:
    for number, status in enumerate(RunStatus):
        bench.create(f"live-{number}", projection=Projection(status=status))
        bench.create(f"dead-{number}", projection=Projection(status=status), owner=bench.dead_owner())
        bench.store.release(bench.create(f"free-{number}", projection=Projection(status=status)))
    for status in RunStatus:
        run_ids = [row.run_id for row in bench.store.runs() if row.status(bench.now) is status]
        assert _ids_of(bench, status=status) == run_ids
    assert len(_ids_of(bench, status=RunStatus.INTERRUPTED)) == 2 * 2 + 3
    assert _ids_of(bench, status=RunStatus.RUNNING) == [f"live-{list(RunStatus).index(RunStatus.RUNNING)}"]


def a_run_whose_lease_ran_out_is_found_as_interrupted(bench: Bench) -> None:
    bench.create(owner=bench.stranger())
    assert _ids_of(bench, status=RunStatus.INTERRUPTED) == []
    bench.now += 3_600
    assert _ids_of(bench, status=RunStatus.INTERRUPTED) == ["run-1"]
    assert _ids_of(bench, status=RunStatus.RUNNING) == []


def parked_runs_are_found_by_what_they_wait_for_and_until_when(bench: Bench) -> None:
    day = timedelta(days=1)
    for run_id, parking in {
        "asks": QUESTION_PAUSE,
        "asks-until": _lasting(QUESTION_PAUSE, NOON),
        "down": Parking(
            waiting_for="a model",
            until=NOON.astimezone(timezone(timedelta(hours=9))),
            kind=ParkedKind.OUTAGE,
        ),
        "down-longer": Parking(waiting_for="a model", until=NOON + day, kind=ParkedKind.OUTAGE),
    }.items():
        bench.create(run_id, projection=Projection(status=RunStatus.PARKED, parking=parking))
    bench.create("goes-on", projection=COMPLETED)
    assert _ids_of(bench, parked_kind=ParkedKind.QUESTION) == ["asks-until", "asks"]
    assert _ids_of(bench, parked_kind=ParkedKind.OUTAGE) == ["down-longer", "down"]
    assert _ids_of(bench, due_before=NOON) == []
    assert _ids_of(bench, due_before=NOON + timedelta(microseconds=1)) == ["down", "asks-until"]
    assert _ids_of(bench, due_before=NOON + 2 * day, parked_kind=ParkedKind.OUTAGE) == ["down-longer", "down"]


def parked_runs_for_which_an_answer_was_left_are_found(bench: Bench) -> None:
    parked = Projection(status=RunStatus.PARKED, parking=QUESTION_PAUSE)
    for run_id, projection in {"told": parked, "steered": parked, "asks": parked, "runs": RUNNING}.items():
        bench.create(run_id, projection=projection)
    for run_id, kind in {"told": "answer", "steered": "steer", "runs": "answer"}.items():
        bench.store.enqueue_command(run_id, kind)
    bench.store.enqueue_command("told", "answer")
    assert bench.store.answered_runs() == ["told"]


def runs_of_several_time_zones_are_ordered_by_their_instants(bench: Bench) -> None:
    for number, hours in enumerate((0, 9, -9, 3)):
        at = (NOON + timedelta(seconds=number)).astimezone(timezone(timedelta(hours=hours)))
        bench.create(f"run-{number}", at=at)
    assert _ids_of(bench) == ["run-3", "run-2", "run-1", "run-0"]
    assert _pages(bench, 1) == [["run-3"], ["run-2"], ["run-1"], ["run-0"]]


def pages_are_full_and_together_the_list(bench: Bench) -> None:
    """Also of what SQL alone cannot tell: whether an owner lives."""
    for number in range(20):
        owner = bench.dead_owner() if number % 3 else None
        at = datetime.fromtimestamp(START_SECONDS + number // 4, UTC)
        bench.create(f"run-{number:02}", owner=owner, at=at, query="Why?" if number % 2 else "How?")
    for filters in ({}, {"status": RunStatus.INTERRUPTED}, {"status": RunStatus.INTERRUPTED, "text": "why"}):
        whole = _ids_of(bench, **filters)
        for size in (1, 3, 7):
            pages = _pages(bench, size, **filters)
            assert [run_id for page in pages for run_id in page] == whole
            assert all(len(page) == size for page in pages[:-1])
    assert len(whole) == 7


def a_page_begins_where_it_did_while_runs_come_and_go(bench: Bench) -> None:
    for number in range(6):
        bench.create(f"run-{number}", owner=bench.dead_owner())
    first = bench.store.runs(limit=2)
    assert [row.run_id for row in first] == ["run-5", "run-4"]
    bench.create("run-7", at=datetime.fromtimestamp(START_SECONDS + 60, UTC))
    bench.store.delete("run-4")
    bench.store.delete("run-3")
    assert [row.run_id for row in bench.store.runs(after=first[-1].cursor, limit=2)] == ["run-2", "run-1"]


def a_cursor_may_stand_anywhere(bench: Bench) -> None:
    bench.create()
    moment = datetime.fromtimestamp(START_SECONDS, UTC)
    for cursor, run_ids in {
        RunCursor(moment, "' OR 1 --"): [],
        RunCursor(moment, "zzz"): ["run-1"],
        RunCursor(moment - timedelta(days=1), "zzz"): [],
        RunCursor(moment + timedelta(days=1), ""): ["run-1"],
    }.items():
        assert [row.run_id for row in bench.store.runs(after=cursor)] == run_ids


def _lasting(parking: Parking, until: datetime) -> Parking:
    return parking.model_copy(update={"until": until})


def _ids_of(bench: Bench, **filters: Any) -> list[str]:
    return [row.run_id for row in bench.store.runs(filter=RunFilter(**filters))]


def _pages(bench: Bench, size: int, **filters: Any) -> Sequence[list[str]]:
    pages: list[list[str]] = []
    cursor = None
    while rows := bench.store.runs(filter=RunFilter(**filters), after=cursor, limit=size):
        pages.append([row.run_id for row in rows])
        cursor = rows[-1].cursor
    return pages
