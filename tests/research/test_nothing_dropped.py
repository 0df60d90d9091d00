"""Commands, answers, advice and options: each is acted on, recorded or refused."""

import asyncio
import threading

import pytest

from deep_research import DeepResearch, Park, StopResearch, SupervisorHooks
from deep_research.errors import ModelError, RunStateError, UnknownNameError
from deep_research.state import DeepResearchPhase, SupervisorAction
from deep_research.store import MemoryStore
from deep_research.supervisor.hooks import DECISION_HOOKS, Verdict
from deep_research.testing import ScriptedSearch, scripted_agents

QUESTION = "What is known of towers?"
BOUND = 30.0
PAUSES = [
    (hook, phase.value)
    for hook in DECISION_HOOKS
    for phase in DeepResearchPhase
    if hook not in ("admit", "review")
    and (hook != "decide_iteration" or phase in ("synthesis", "refinement"))
]


def engine(**fields):
    made = {"search": [ScriptedSearch()], "agents": cast(), "store": MemoryStore(), **fields}
    return DeepResearch(**made)


def cast(**fields):
    return scripted_agents(without=["gatherer"], iterations=2, **fields)


def parks(hook, phase):
    """A hook that waits for a word once, at its first call after or before the phase."""
    asked = []

    def ask(state, *rest):
        if state.phase == phase and not asked:
            asked.append(state.pause_id)
            return Park("the editor's word")
        return None

    return SupervisorHooks(**{hook: ask}), asked


# Commands


@pytest.mark.timed
@pytest.mark.parametrize("kind", ["answer", "sing"])
def test_a_command_that_nobody_can_act_on_is_used_up_and_told_in_the_notices(kind):
    store, reached, go_on = MemoryStore(), threading.Event(), threading.Event()

    async def wait(_):
        reached.set()
        await asyncio.to_thread(go_on.wait, BOUND)

    with engine(store=store, search=[ScriptedSearch(before=wait)]) as research:
        handle = research.start(QUESTION)
        assert reached.wait(BOUND)
        store.enqueue_command(handle.research_id, kind)
        told = None
        for event in handle.events():
            if event.type == "notice.added":
                told = event.notice
                go_on.set()
        result = handle.result(BOUND)
    assert told.message.endswith("was left: the run waited for none.")
    assert [notice.message for notice in result.notices if notice.name == "command"] == [told.message]
    assert not store._commands


# Answers


def out_of_service(handoff):
    raise ModelError("The service is down.", verdict="park", retry_after=3600.0)


def stopped(*_):
    raise StopResearch("enough")


def fail(handoff):
    raise ValueError("broken")


WAITING_FOR_NONE = {
    "completed": {},
    "aborted by a hook": {"hooks": SupervisorHooks(before_phase=stopped)},
    "aborted by an error": {"agents": cast() | {"planner": fail}},
    "aborted without evidence": {"search": [ScriptedSearch(lambda request: [])]},
    "parked for a service": {"agents": cast() | {"planner": out_of_service}},
}


@pytest.mark.parametrize("case", WAITING_FOR_NONE)
def test_an_answer_to_a_run_that_waits_for_none_is_refused_and_the_run_untouched(case):
    with engine(**WAITING_FOR_NONE[case]) as research:
        ended = research.run(QUESTION)
        assert case.startswith(ended.status.value)
        before, log = research.status(ended.research_id), research.events(ended.research_id)
        with pytest.raises(RunStateError, match="waits for no answer"):
            research.resume(ended.research_id, answer="Mind the keepers.")
        assert research.status(ended.research_id) == before
        assert research.events(ended.research_id) == log


@pytest.mark.timed
def test_an_answer_to_an_interrupted_run_is_refused_and_the_run_can_be_resumed():
    store, reached = MemoryStore(), threading.Event()

    async def hang(_):
        reached.set()
        await asyncio.Event().wait()

    with engine(store=store, search=[ScriptedSearch(before=hang)]) as research:
        handle = research.start(QUESTION)
        assert reached.wait(BOUND)
    with engine(store=store) as research:
        log = research.events(handle.research_id)
        with pytest.raises(RunStateError, match="waits for no answer"):
            research.resume(handle.research_id, answer="Mind the keepers.")
        assert research.events(handle.research_id) == log
        assert research.resume(handle.research_id).status == "completed"


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize(("hook", "phase"), PAUSES)
def test_a_pause_that_was_cancelled_keeps_its_question(hook, phase, answered):
    hooks, asked = parks(hook, phase)
    with engine(hooks=hooks) as research:
        run_id = research.run(QUESTION).research_id
        research.cancel(run_id)
        cancelled = research.result(run_id)
        assert cancelled.message == "The run was cancelled while it waited for the editor's word."
        assert cancelled.state.question.pause_id == f"{asked[0]}.{hook}"
        done = research.resume(run_id, answer="Mind the keepers." if answered else None)
    assert done.status == "completed"
    assert ("Mind the keepers." in [g.text for g in done.state.guidance]) is answered
    assert done.state.question is None


# Advice


def after_writing(answer):
    return lambda state, *rest: answer if state.phase == "synthesis" else None


LAST_WORDS = {
    "after_phase": "Mind the keepers.",
    "think_pause": "Mind the keepers.",
    "gate": Verdict(action=SupervisorAction.COMPLETE, guidance="Mind the keepers."),
    "decide_iteration": Verdict(action=SupervisorAction.COMPLETE, guidance="Mind the keepers."),
}


@pytest.mark.parametrize("hook", LAST_WORDS)
def test_what_is_said_after_the_last_phase_is_kept(hook):
    hooks = SupervisorHooks(**{hook: after_writing(LAST_WORDS[hook])})
    with engine(hooks=hooks, max_iterations=1) as research:
        result = research.run(QUESTION)
    assert (result.status, result.state.phase) == ("completed", "synthesis")
    last = result.state.guidance[-1]
    assert (last.text, last.origin, last.phase) == ("Mind the keepers.", "hook", "synthesis")


def test_what_is_said_before_a_gate_ends_the_run_is_kept():
    hooks = SupervisorHooks(after_phase=lambda state, phase: f"after {phase}")
    with engine(hooks=hooks, search=[ScriptedSearch(lambda request: [])]) as research:
        result = research.run(QUESTION)
    assert result.reason == "no_evidence"
    assert result.state.guidance[-1].text == "after gathering"


# Kinds of sources


class News(ScriptedSearch):
    types = frozenset({"web", "news"})


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (("news",), None),
        (("web", "news"), None),
        (("newz",), "Unknown source type 'newz' in what is searched. Did you mean 'news'?"),
        (("news", "academic"), "Unknown source type 'academic' in what is searched. Known: news, web."),
        (("document",), "Unknown source type 'document' in what is searched. Known: news, web."),
    ],
)
@pytest.mark.parametrize("verb", ["run", "estimate", "settings"])
def test_only_kinds_that_something_searched_declares_may_be_asked_for(kinds, said, verb):
    fields = {"search": [News()]} | ({"source_types": kinds} if verb == "settings" else {})
    options = {} if verb == "settings" else {"source_types": kinds}
    with engine(**fields) as research:
        ask = research.estimate if verb == "estimate" else research.run
        if said is None:
            ask(QUESTION, **options)
            return
        with pytest.raises(UnknownNameError) as refused:
            ask(QUESTION, **options)
        assert str(refused.value) == said
        assert research.list() == []


def test_documents_may_be_asked_for_where_there_is_a_corpus(tmp_path):
    (tmp_path / "towers.md").write_text("Known towers stand on reefs.")
    with DeepResearch(corpus=tmp_path, data_dir=tmp_path / "data", source_types=["document"]) as research:
        assert research.run(QUESTION).status == "completed"


def test_a_gatherer_of_ones_own_knows_its_kinds_itself():
    with engine(agents=scripted_agents()) as research:
        assert research.run(QUESTION, source_types=["patents"]).status == "completed"
