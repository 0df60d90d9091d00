"""An interrupt or exit that somebody's code raises ends its call or the run, never the loop that all runs share."""

import asyncio
import threading

import pytest
from pydantic import BaseModel
from task_runs import FOUND, SEARCH, TaskModel, ran
from task_steps import using

from deep_research import RunStatus, SupervisorHooks
from deep_research.phases.gathering.tasks.tool import Tool
from deep_research.research.loops import BackgroundLoop
from deep_research.testing import ScriptedSearch

pytestmark = pytest.mark.timed

REACHED = []
RAISED = [KeyboardInterrupt, SystemExit]


class Word(BaseModel):
    word: str


def leaving(raised, *names, kind=object):
    """A class of the kind whose methods of these names raise."""

    async def leave(self, *args, **kwargs):
        REACHED.append(raised)
        raise raised

    return type("Leaving", (kind,), dict.fromkeys(names, leave))


def tool(raised):
    kind = leaving(raised, "__call__", kind=Tool)
    kind.name, kind.description, kind.arguments = "leaves", "Leaves.", Word
    return {"model": TaskModel((using("leaves", word="w"), SEARCH, FOUND)), "tools": [kind()]}


def provider(*names):
    def fields(raised):
        made = leaving(raised, *names, kind=TaskModel)((SEARCH, FOUND))
        made.tells_window, made.window = True, None
        return {"model": made}

    return fields


def hooks(*names):
    return lambda raised: {"hooks": leaving(raised, *names, kind=SupervisorHooks)()}


def search(is_plain):
    def fields(raised):
        def leave(request):
            REACHED.append(raised)
            raise raised

        found = ScriptedSearch()
        found.search = leave if is_plain else leaving(raised, "search")().search
        return {"search": [found]}

    return fields


def agent(raised):
    return {"agents": {"planner": leaving(raised, "__call__")()}}


PLACES = {
    "request to a model": provider("send"),
    "window of a model": provider("ask_window"),
    "end of a model": provider("aclose"),
    "tool": tool,
    "search": search(is_plain=False),
    "plain search": search(is_plain=True),
    "agent": agent,
    "hook that decides": hooks("think_pause"),
    "hook that observes": hooks("event"),
    "hook at an error": lambda raised: {**hooks("error")(raised), **agent(ValueError)},
}


def outcome(work):
    """What came of the work, in a thread that does not keep the tests when it never ends."""
    seen = []

    def run():
        try:
            seen.append(work())
        except BaseException as error:
            seen.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(120)
    assert not thread.is_alive(), "it waits for ever"
    return seen[0]


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("place", PLACES)
def test_a_run_comes_to_its_end_whoever_leaves(place, raised):
    def work():
        return ran(**{"model": TaskModel((SEARCH, FOUND)), **PLACES[place](raised)})

    REACHED.clear()
    result = outcome(work)
    assert not isinstance(result, BaseException), repr(result)
    assert result.status in (RunStatus.COMPLETED, RunStatus.ABORTED)
    assert raised in REACHED


@pytest.mark.parametrize("raised", RAISED)
def test_a_loop_goes_on_for_others_when_a_task_leaves(raised):
    async def leave_at_once():
        raise raised

    async def leave():
        await asyncio.create_task(leave_at_once())

    async def other():
        begun.set()
        await go_on.wait()
        return 7

    async def let_go():
        go_on.set()

    loop, begun, go_on = BackgroundLoop(), threading.Event(), asyncio.Event()
    waiting = loop.submit(other())
    assert begun.wait(60)
    assert isinstance(outcome(lambda: loop.call(leave())), raised)
    loop.submit(let_go()).result(60)
    assert waiting.result(60) == 7
    thread = loop._thread
    loop.close()
    assert not thread.is_alive()
