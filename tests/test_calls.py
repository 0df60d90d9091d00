"""What others wrote is called so that nothing of theirs can end or fool the loop."""

import asyncio
import sys
import threading

import pytest

from deep_research import StopResearch
from deep_research.calls import Calls


def raising(error):
    async def coroutine():
        raise error

    def plain():
        raise error

    return coroutine, plain


def call(function, **options):
    calls = Calls()
    try:
        return asyncio.run(calls(function, **options))
    finally:
        calls.close()


@pytest.mark.timed
@pytest.mark.parametrize("kind", [0, 1], ids=["coroutine", "plain"])
@pytest.mark.parametrize("error", [SystemExit(3), asyncio.CancelledError(), StopIteration()], ids=repr)
def test_what_would_end_the_loop_or_pass_for_a_cancellation_is_an_ordinary_error(kind, error):
    with pytest.raises(RuntimeError, match=type(error).__name__):
        call(raising(error)[kind], timeout=300)


def test_a_plain_callable_cannot_leave_by_a_keyboard_interrupt():
    with pytest.raises(RuntimeError, match="KeyboardInterrupt"):
        call(raising(KeyboardInterrupt())[1])


def test_a_cancellation_that_was_asked_for_stays_one():
    async def cancelled():
        task = asyncio.create_task(Calls()(asyncio.sleep, 60))
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())


@pytest.mark.timed
def test_a_deadline_that_passes_stays_one():
    with pytest.raises(TimeoutError):
        call(asyncio.Event().wait, timeout=0.01)


def test_stop_research_is_heard_through_a_task_group():
    async def group():
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(raising(StopResearch("enough"))[0]())

    with pytest.raises(StopResearch, match="enough"):
        call(group)


def test_exit_inside_an_agent_does_not_hang_the_engine(tmp_path):
    from deep_research import DeepResearch
    from deep_research.testing import ScriptedSearch

    async def leave(handoff):
        sys.exit(3)

    with DeepResearch(search=[ScriptedSearch()], agents={"planner": leave}, data_dir=tmp_path) as research:
        result = research.run("What is known of towers?")
    assert (result.status, result.reason) == ("aborted", "error")
    assert "SystemExit" in result.message


@pytest.mark.timed
def test_waiting_for_a_thread_is_not_counted_as_work(stretch) -> None:
    async def journey(seconds: float) -> bool:
        calls, gate = Calls(threads=1), threading.Event()
        busy = asyncio.ensure_future(calls(gate.wait, 600))
        # Either is well within the limit, both together are beyond it.
        asyncio.get_running_loop().call_later(0.6 * seconds, gate.set)
        second = asyncio.ensure_future(calls(threading.Event().wait, 0.6 * seconds, timeout=seconds))
        await busy
        return await second

    def waited(seconds: float) -> None:
        assert asyncio.run(journey(seconds)) is False  # all of its time

    stretch(1.0, waited)
