"""Every verb for every status of a run and every owner: what it does, or why it is refused."""

import asyncio
import itertools
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest

from deep_research import Budget, DeepResearch, Park, RunStatus, SupervisorHooks
from deep_research.errors import (
    DeepResearchError,
    RunBusyError,
    RunNotFoundError,
    RunStateError,
    UsageError,
)
from deep_research.research.operations import OPERATIONS, Right
from deep_research.state.events import RunSteered
from deep_research.store import MemoryStore, Owner
from deep_research.testing import ScriptedSearch, scripted_agents

pytestmark = pytest.mark.timed

QUESTION = "What is known of towers?"
BOUND = 30.0
NAMES = sorted(
    name
    for name, operation in OPERATIONS.items()
    if (operation.of_run and operation.right in (Right.CONTROL, Right.DELETE)) or name in ("waiting", "wake")
)
# What a verb does otherwise by one of its arguments, as a row of its own; None: what it is told, or with what.
ARGUMENTS = {
    "answer": {"value": None, "run": "answer later"},
    "steer": dict.fromkeys(("text", "drop_sub_query", "since", "stop_searching")),
    "resume": dict.fromkeys(("answer", "setup", "shared_budget"))
    | {"budget": "more money", "take_over": "take over"},
    "waiting": dict.fromkeys(("user", "limit", "after")),
}
VERBS = tuple(
    itertools.chain.from_iterable((verb, *filter(None, ARGUMENTS.get(verb, {}).values())) for verb in NAMES)
)
OWNERS = ("me", "another process", "a dead process", "nobody")
# What a run of a status can be owned by: a last word lets go of it, and who is dead leaves it interrupted.
POSSIBLE = {
    RunStatus.QUEUED: ("nobody", "a dead process"),
    RunStatus.PENDING: ("me", "another process"),
    RunStatus.RUNNING: ("me", "another process"),
    RunStatus.PARKED: ("nobody",),
    RunStatus.COMPLETED: ("nobody",),
    RunStatus.ABORTED: ("nobody",),
    RunStatus.INTERRUPTED: ("a dead process", "nobody"),
}
LIVE, DEAD = ("me", "another process"), ("a dead process", "nobody")
NO_QUESTION, ENDED, BUSY, NOTHING_LEFT = (
    (RunStateError, "waits for no answer"),
    (RunStateError, "completed"),
    (RunBusyError, "worked on"),
    (UsageError, "left nothing out"),
)
# By verb and status: an error with words of it; or what comes of it.
EXPECTED = {
    **{("answer", status): NO_QUESTION for status in RunStatus},
    **{("answer later", status): NO_QUESTION for status in RunStatus},
    ("answer", RunStatus.PARKED): "completed",
    ("answer later", RunStatus.PARKED): "left",
    **{("steer", status): "left" for status in RunStatus},
    ("steer", RunStatus.COMPLETED): ENDED,
    ("pause", RunStatus.QUEUED): "left",
    ("pause", RunStatus.PENDING): "parked",
    ("pause", RunStatus.RUNNING): "parked",
    ("pause", RunStatus.PARKED): "as it was",
    ("pause", RunStatus.INTERRUPTED): "as it was",
    ("pause", RunStatus.COMPLETED): (RunStateError, "nothing to pause"),
    ("pause", RunStatus.ABORTED): (RunStateError, "nothing to pause"),
    **{("waiting", status): "not shown" for status in RunStatus},
    ("waiting", RunStatus.PARKED): "shown",
    **{("wake", status): "as it was" for status in RunStatus},  # none of these has a time
    **{("resume", status): "completed" for status in RunStatus},
    ("resume", RunStatus.PENDING): BUSY,
    ("resume", RunStatus.RUNNING): BUSY,
    ("resume", RunStatus.ABORTED): "aborted",  # its searches were made, and found nothing
    ("resume", RunStatus.PARKED): "parked",  # without an answer the hook asks again
    **{("cancel", status): "aborted" for status in RunStatus},
    ("cancel", RunStatus.COMPLETED): "as it was",
    ("cancel", RunStatus.ABORTED): "as it was",
    **{("take over", status): "completed" for status in RunStatus},
    ("take over", RunStatus.ABORTED): "aborted",
    ("take over", RunStatus.PARKED): "parked",
    **{("more money", status): "completed" for status in RunStatus},  # all were under a cap of one search
    ("more money", RunStatus.QUEUED): NOTHING_LEFT,  # it is not begun
    ("more money", RunStatus.PARKED): NOTHING_LEFT,  # it asks before it searches
    ("more money", RunStatus.PENDING): BUSY,
    ("more money", RunStatus.RUNNING): BUSY,
    **{("delete", status): "gone" for status in RunStatus},
    ("delete", RunStatus.PENDING): BUSY,
    ("delete", RunStatus.RUNNING): BUSY,
}


def test_every_cell_has_an_expectation():
    cells = [(v, s) for v, s in itertools.product(VERBS, RunStatus)]
    assert [cell for cell in cells if cell not in EXPECTED] == []
    assert [cell for cell in EXPECTED if cell not in cells] == []
    assert set(POSSIBLE) == set(RunStatus)
    assert {owner for owners in POSSIBLE.values() for owner in owners} == set(OWNERS)


@pytest.mark.parametrize("verb", NAMES)
def test_each_argument_of_a_verb_is_in_the_table(verb):
    assert [parameter.name for parameter in OPERATIONS[verb].parameters] == list(ARGUMENTS.get(verb, {}))


class Asks(SupervisorHooks):
    """Asks once who the tower is meant for; what is answered goes on."""

    def before_phase(self, state, phase):
        asked = phase == "gathering" and not state.answers
        return Park("which tower is meant") if asked and state.iteration == 1 else None


def engine(store, **more):
    made = {"search": [ScriptedSearch()], "agents": scripted_agents(without=["gatherer"]), "store": store}
    return DeepResearch(**{**made, **more})


@contextmanager
def a_run(status, owner, **options):
    """An engine, and a run of a status with an owner. Runs of another process are of another engine: to a store it is
    one by its token."""
    store = MemoryStore()
    go_on, reached = threading.Event(), threading.Event()

    async def hang(_):
        reached.set()
        while not go_on.is_set():
            await asyncio.sleep(0.01)

    hooks = {"hooks": Asks()} if status is RunStatus.PARKED else {}
    with engine(store, **hooks) as mine:
        if status in (RunStatus.COMPLETED, RunStatus.PARKED):
            yield mine, mine.run(QUESTION, **options).research_id, go_on, store
            return
        if status is RunStatus.QUEUED:
            run_id = mine.submit(QUESTION, **options)
            if owner == "a dead process":
                die_with(store, run_id)
            yield mine, run_id, go_on, store
            return
        if status is RunStatus.ABORTED:
            with engine(store, search=[ScriptedSearch(lambda request: [])]) as other:
                run_id = other.run(QUESTION, **options).research_id
            yield mine, run_id, go_on, store
            return
        slow = {"search": [ScriptedSearch(before=hang)], "max_active_runs": 1}
        other = engine(store, **slow)
        try:
            handle = other.start(QUESTION, **options)
            assert reached.wait(BOUND)
            if status is RunStatus.PENDING:
                handle = other.start("What else is known of towers?", **options)
            if status is RunStatus.INTERRUPTED:
                other.close()
                if owner == "a dead process":
                    die_with(store, handle.research_id)
            used = other if owner == "me" else mine
            yield used, handle.research_id, go_on, store
        finally:
            go_on.set()
            with suppress(DeepResearchError):
                other.close()


def die_with(store, run_id):
    """Its owner was a process that is gone."""
    held = store._runs[run_id]
    gone = Owner(host=Owner.here("x").host, pid=2**31 - 2, started="1", token="x")
    held.row = replace(held.row, owner=gone, lease_until=float("inf"))


def done(research, run_id, verb, go_on, store):
    match verb:
        case "answer":
            return research.answer(run_id, "The northern one.").status
        case "answer later":
            research.answer(run_id, "The northern one.", run=False)
        case "steer":
            research.steer(run_id, "Mind the keepers.")
        case "pause":
            research.pause(run_id)
        case "waiting":
            return [waiting.research_id for waiting in research.waiting()]
        case "wake":
            return research.wake()
        case "resume":
            return research.resume(run_id).status
        case "take over":
            with let_go_when_asked(research, run_id, go_on, store):
                return research.resume(run_id, take_over=True).status
        case "more money":
            return research.resume(run_id, budget=Budget(max_searches=50)).status
        case "cancel":
            research.cancel(run_id)
        case "delete":
            research.delete(run_id)
        case _:
            raise AssertionError(f"{verb} is not done here")
    return None


@contextmanager
def let_go_when_asked(research, run_id, go_on, store):
    """A search that hangs goes on once its owner was asked to let go of the run; one of our own at once."""
    over = threading.Event()

    def wait():
        until = time.monotonic() + BOUND
        ours = run_id in research._runner._active
        while not (ours or store._commands or over.wait(0.005)) and time.monotonic() < until:
            pass
        go_on.set()

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(
    ("status", "owner"),
    [(s, o) for s, owners in POSSIBLE.items() for o in owners],
    ids=lambda value: str(value),
)
def test_a_verb_does_what_it_says_or_is_refused_in_one_line(verb, status, owner):
    expected = EXPECTED[verb, status]
    options = {"budget": Budget(max_searches=1)} if verb == "more money" else {}
    with a_run(status, owner, **options) as (research, run_id, go_on, store):
        before = research.status(run_id)
        assert before.status == status
        if isinstance(expected, tuple):
            error, words = expected
            with pytest.raises(error, match=words) as refused:
                done(research, run_id, verb, go_on, store)
            assert "\n" not in str(refused.value)
            assert research.status(run_id).status == before.status
            assert not store._commands
            return
        before_it = research.events(run_id)
        came = done(research, run_id, verb, go_on, store)
        if expected == "left":
            assert status in (RunStatus.PENDING, RunStatus.RUNNING) or store._commands
        elif expected == "parked" and verb == "pause":
            go_on.set()
            assert _until(research, run_id, "parked") == "pause"
            assert not store._commands
        elif expected == "as it was":
            assert research.status(run_id).status == status
        elif expected in ("shown", "not shown"):
            assert (run_id in came) is (expected == "shown")
        elif expected == "gone":
            with pytest.raises(RunNotFoundError):
                research.status(run_id)
        elif verb == "cancel":
            go_on.set()
            assert _until(research, run_id, "aborted") is None
        else:
            assert came == expected
        if expected in ("as it was", "shown", "not shown"):
            assert research.events(run_id) == before_it
        if verb == "more money":
            assert "budget.raised" in [event.name for event in research.events(run_id)]
        if verb == "take over":
            assert not store._commands


def _until(research, run_id, status):
    """The kind of the parking, once the run has that status."""

    async def wait():
        async with asyncio.timeout(BOUND):
            async for _ in research.follow(run_id):
                pass
            while (now := await research.astatus(run_id)).status != status:
                await asyncio.sleep(0.01)
            return now.parked_kind

    return asyncio.run(wait())


def test_an_answer_that_does_not_fit_is_refused_and_the_run_stays_parked():
    class Year(SupervisorHooks):
        def before_phase(self, state, phase):
            return (
                Park("the year", answer_schema={"type": "integer"})
                if phase == "gathering" and not state.answers
                else None
            )

    with engine(MemoryStore(), hooks=Year()) as research:
        parked = research.run(QUESTION)
        log = research.events(parked.research_id)
        for wrong in ("1874", {"year": 1874}, None, [1874], float("nan"), "x" * 200_000):
            with pytest.raises(UsageError, match="answer is invalid"):
                research.answer(parked.research_id, wrong)
        assert research.events(parked.research_id) == log
        (waiting,) = research.waiting()
        assert waiting.answer_schema == {"type": "integer"}
        result = research.answer(parked.research_id, 1874)
    assert result.status == "completed"
    assert "1874" in [guidance.text for guidance in result.state.guidance]


def test_an_answer_that_was_left_is_used_by_whoever_resumes_or_wakes():
    store = MemoryStore()
    with engine(store, hooks=Asks()) as research:
        parked = research.run(QUESTION)
        assert research.wake() == []
        research.answer(parked.research_id, "The northern one.", run=False)
        (waiting,) = research.waiting()
        assert waiting.has_answer
        (result,) = research.wake()
    assert (result.status, result.research_id) == ("completed", parked.research_id)
    assert "The northern one." in [guidance.text for guidance in result.state.guidance]
    assert not store._commands


@pytest.mark.parametrize(
    ("guidance", "said"),
    [
        ({"text": "x" * 1_000_000}, "1,000,000 characters"),
        ({"text": "a\0b"}, "not text"),
        ({"text": "   "}, "guidance is empty"),
        ({"text": 7}, "not a str"),
        ({"since": "tomorrow"}, "not a day"),
        ({"drop_sub_query": "subq-nobody"}, "no sub-query"),
    ],
    ids=["1 MB", "NUL", "nothing", "no text", "no day", "unknown"],
)
def test_guidance_that_cannot_be_given_is_refused_in_one_line_and_nothing_is_queued(guidance, said):
    with a_run(RunStatus.RUNNING, "another process") as (research, run_id, _, store):
        with pytest.raises(UsageError, match=said) as refused:
            research.steer(run_id, **guidance)
        assert "\n" not in str(refused.value)
        assert not store._commands


def test_a_handle_steers_pauses_and_answers_its_run():
    inside, go_on = threading.Event(), threading.Event()

    async def hang(_):
        inside.set()
        while not go_on.is_set():
            await asyncio.sleep(0.01)

    store = MemoryStore()
    with engine(store, hooks=Asks(), search=[ScriptedSearch(before=hang)]) as research:
        handle = research.start(QUESTION)
        assert handle.result(BOUND).status == "parked"
        handle.steer("Mind the keepers.")
        with pytest.raises(UsageError, match="answer is invalid"):
            handle.answer(7)
        assert handle.answer("The northern one.", run=False) is None
        again = threading.Thread(target=research.wake)
        again.start()
        assert inside.wait(BOUND)
        handle.pause()
        go_on.set()
        again.join()
        assert (handle.status().status, handle.status().parked_kind) == ("parked", "pause")
        done = research.resume(handle.research_id)
    assert done.status == "completed"
    assert {"Mind the keepers.", "The northern one."} <= {g.text for g in done.state.guidance}
    assert not store._commands


def test_what_is_said_to_a_parked_run_is_heard_when_it_goes_on():
    store = MemoryStore()
    with engine(store, hooks=Asks()) as research:
        parked = research.run(QUESTION)
        research.steer(parked.research_id, "Mind the keepers.")
        result = research.answer(parked.research_id, "The northern one.")
        log = research.events(parked.research_id)
    assert [event.text for event in log if isinstance(event, RunSteered)] == ["Mind the keepers."]
    assert result.status == "completed"
    assert not store._commands
