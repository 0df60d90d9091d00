"""The surface an embedder holds: every verb plain and async, on whatever loop or thread."""

import asyncio
import json
import os
import signal
import sys
import threading
import time

import pytest

from deep_research import (
    Budget,
    DeepResearch,
    Park,
    ResearchAbortedError,
    RunStatus,
    SupervisorHooks,
)
from deep_research.errors import (
    ConfigurationError,
    CorpusError,
    InvalidQuestionError,
    NoSearchProviderError,
    ReentrantCallError,
    RunBusyError,
    RunNotFoundError,
    RunStateError,
    SearchError,
    SettingsError,
    UnknownNameError,
    UsageError,
)
from deep_research.state.events import Progress
from deep_research.testing import ScriptedAgent, ScriptedSearch, scripted_agents

ABSENT = "deepres-000000000000"


def cast():
    return scripted_agents(without=["gatherer"])


def engine(tmp_path, **fields):
    made = {"search": [ScriptedSearch()], "agents": cast(), "data_dir": tmp_path, **fields}
    return DeepResearch(**made)


class Hanging:
    """A synthesizer that never answers; ``reached`` is set when it is asked."""

    deterministic = True

    def __init__(self):
        self.reached = threading.Event()

    async def __call__(self, handoff):
        self.reached.set()
        await asyncio.Event().wait()


class Together:
    """A synthesizer that never answers any of so many; cancelled, none of them goes before all were told."""

    deterministic = True

    def __init__(self, many):
        self.many = many
        self.reached = threading.Event()
        self.here = self.told = self.left = 0
        self.all_told = asyncio.Event()

    async def __call__(self, handoff):
        self.here += 1
        if self.here == self.many:
            self.reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.told += 1
            if self.told == self.many:
                self.all_told.set()
            await self.all_told.wait()
            self.left += 1


def hanging(tmp_path, **fields):
    agent = Hanging()
    agents = {**cast(), "synthesizer": agent}
    return agent, engine(tmp_path, agents=agents, **fields)


# Running and looking


def test_a_question_gives_a_completed_result(tmp_path):
    with engine(tmp_path) as research:
        result = research.run("What is known of towers?")
    assert result.status is RunStatus.COMPLETED
    assert result.raise_for_status() is result
    assert result.report
    assert result.citations
    assert result.findings
    assert result.decisions
    assert result.usage.searches == len(result.state.completed_sub_queries())


def test_every_citation_points_into_the_saved_text(tmp_path):
    with engine(tmp_path) as research:
        result = research.run("What is known of towers?")
        assert result.citations
        for citation in result.citations:
            assert research.text(citation)[citation.start : citation.end] == citation.quote


@pytest.mark.timed
def test_the_async_verbs_do_what_the_plain_ones_do(tmp_path):
    async def journey():
        async with engine(tmp_path) as research:
            result = await research.arun("What is known of towers?")
            run_id = result.research_id
            assert (await research.astatus(run_id)).status == "completed"
            assert [r.research_id for r in await research.alist()] == [run_id]
            assert await research.areport(run_id) == result.report
            assert (await research.aevents(run_id))[0].name == "run.created"
            assert await research.atext(result.sources[0])
            assert (await research.aresume(run_id)).report == result.report
            assert (await research.acancel(run_id)).status == "completed"
            handle = await research.astart("Another question about towers?")
            assert (await handle.aresult(300)).status == "completed"
            assert (await handle.astatus()).status == "completed"
            await research.adelete(run_id)
            assert len(await research.alist()) == 1

    asyncio.run(journey())


def test_a_stream_gives_every_event_in_order_and_ends_with_the_run(tmp_path):
    async def journey():
        async with engine(tmp_path) as research:
            return [event async for event in research.stream("What is known of towers?")]

    events = [e for e in asyncio.run(journey()) if not isinstance(e, Progress)]
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert events[-1].name == "run.completed"


def test_leaving_a_stream_early_interrupts_the_run_which_can_be_resumed(tmp_path):
    async def leave():
        async with engine(tmp_path) as research:
            stream = research.stream("What is known of towers?")
            async for event in stream:
                run_id = event.research_id
                break
            await stream.aclose()
            return run_id, (await research.astatus(run_id)).status

    run_id, status = asyncio.run(leave())
    assert status == "interrupted"
    with engine(tmp_path) as research:
        assert research.resume(run_id).status == "completed"


@pytest.mark.parametrize("of_a_handle", [False, True])
def test_what_reads_the_events_of_a_run_is_closed_with_who_reads_them(tmp_path, of_a_handle):
    left = []

    async def leave():
        closes = sys.get_asyncgen_hooks().finalizer
        sys.set_asyncgen_hooks(finalizer=lambda found: (left.append(found.__qualname__), closes(found)))
        async with engine(tmp_path) as research:
            question = "What is known of towers?"
            events = (await research.astart(question)).aevents() if of_a_handle else research.stream(question)
            async for _ in events:
                break
            await events.aclose()

    asyncio.run(leave())
    assert left == []


@pytest.mark.timed
def test_a_handle_watches_and_waits(tmp_path):
    with engine(tmp_path) as research:
        handle = research.start("What is known of towers?")
        names = [event.type for event in handle.events()]
        assert names[0] == "run.created"
        assert names[-1] == "run.completed"
        assert handle.result(timeout=300).report == research.report(handle.research_id)
        assert handle.status().status == "completed"
        assert handle.done()
        assert next(e.seq for e in research.events(handle.research_id, after=3)) == 4


def test_the_json_report_has_the_fields_of_the_result(tmp_path):
    with engine(tmp_path) as research:
        result = research.run("What is known of towers?")
        written = json.loads(research.report(result.research_id, format="json"))
    assert set(written) == set(type(result).model_fields)
    assert written["status"] == "completed"
    assert {"number", "source_id", "quote", "start", "end", "content_hash"} <= set(written["citations"][0])
    assert {"id", "title", "url", "quality", "content_hash"} <= set(written["sources"][0])
    assert "sources" not in written["state"]


def test_runs_outlive_their_engine(tmp_path):
    with engine(tmp_path) as research:
        first = research.run("What is known of towers?")
    with engine(tmp_path) as research:
        assert research.result(first.research_id) == first
        assert research.list()[0].query == "What is known of towers?"


def test_an_aborted_run_says_why_when_asked_to_raise(tmp_path):
    with engine(tmp_path, search=[ScriptedSearch([[]])]) as research:
        result = research.run("What is known of towers?")
    assert (result.status, result.reason) == ("aborted", "no_evidence")
    assert result.gaps
    with pytest.raises(ResearchAbortedError, match="no_evidence"):
        result.raise_for_status()


# Options


def test_options_of_a_run_go_over_the_settings(tmp_path):
    with engine(tmp_path, max_sources_per_query=4) as research:
        result = research.run(
            "What is known of towers?",
            max_sources_per_query=1,
            system_prompt="Be brief.",
            user_id="u",
            session_id="s",
        )
    assert result.state.options.max_sources_per_query == 1
    assert result.state.options.system_prompt == "Be brief."
    assert all(len(s.source_ids) <= 1 for s in result.state.sub_queries)


def test_a_budget_of_the_engine_holds_for_every_run(tmp_path):
    with engine(tmp_path, budget=Budget(max_searches=1)) as research:
        result = research.run("What is known of towers?")
    assert result.usage.searches == 1
    assert "max_searches" in [limit.name for limit in result.limits]


@pytest.mark.parametrize(
    ("fields", "error", "words"),
    [
        ({"max_iteration": 2}, UnknownNameError, "Did you mean 'max_iterations'"),
        ({"max_iterations": 99}, SettingsError, "between 1 and 10"),
        ({"preset": "fats"}, UnknownNameError, "Did you mean 'fast'"),
        ({"search": ["tavly"]}, UnknownNameError, "search provider 'tavly'"),
        ({"search": [object()]}, ConfigurationError, "no search provider"),
        ({"agents": {"planer": print}}, UnknownNameError, "Did you mean 'planner'"),
        ({"agents": {"planner": 3}}, ConfigurationError, "not callable"),
        ({"gates": {"planning": "maybe"}}, UnknownNameError, "gate policy"),
        ({"hooks": print}, ConfigurationError, "SupervisorHooks"),
        ({"store": "sqlit"}, SettingsError, "'sqlite', 'memory'"),
        ({"config": "absent.toml"}, SettingsError, "absent.toml"),
        ({"model": "olama:any"}, UnknownNameError, "Did you mean 'ollama'"),
        ({"model": [3]}, ConfigurationError, "3 is no model"),
        ({"models": {"planer": "ollama:any"}}, UnknownNameError, "Did you mean 'planner'"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_cannot_be_used_is_refused_at_once_in_one_line(tmp_path, fields, error, words):
    with pytest.raises(error) as refused:
        engine(tmp_path, **fields)
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("question", ["", "  \n", "x" * 20_001, "nul \x00", "half \ud800", None])
def test_a_question_that_is_none_is_refused_before_anything_is_stored(tmp_path, question):
    with engine(tmp_path) as research:
        with pytest.raises(InvalidQuestionError):
            research.run(question)
        assert research.list() == []


@pytest.mark.parametrize("option", ["user_id", "session_id", "system_prompt"])
def test_an_option_that_is_no_text_is_refused_before_anything_is_stored(tmp_path, option):
    with engine(tmp_path) as research:
        with pytest.raises(SettingsError, match=r"not text|must be a text"):
            research.run("What is known of towers?", **{option: "\ud800"})
        assert research.list() == []


def test_without_anything_to_search_nothing_is_started(tmp_path):
    with DeepResearch(data_dir=tmp_path) as research:
        with pytest.raises(NoSearchProviderError, match="corpus"):
            research.run("What is known of towers?")
        assert research.list() == []


@pytest.mark.parametrize(
    "make", [lambda p: p / "absent", lambda p: p.joinpath("empty").mkdir() or p / "empty"]
)
def test_a_corpus_that_is_missing_or_empty_is_refused(tmp_path, make):
    with DeepResearch(corpus=make(tmp_path), data_dir=tmp_path / "data") as research:
        with pytest.raises(CorpusError):
            research.run("What is known of towers?")
        assert research.list() == []


@pytest.mark.parametrize("verb", ["status", "resume", "cancel", "result", "report", "events", "delete"])
@pytest.mark.parametrize(
    ("run_id", "error"),
    [
        (ABSENT, RunNotFoundError),
        ("../../etc/passwd", RunStateError),
        ("", RunStateError),
        (None, RunStateError),
    ],
)
def test_every_verb_refuses_a_run_that_is_not_there(tmp_path, verb, run_id, error):
    with engine(tmp_path) as research, pytest.raises(error):
        getattr(research, verb)(run_id)


def test_an_unknown_format_is_refused_with_the_nearest(tmp_path):
    with engine(tmp_path) as research, pytest.raises(UnknownNameError, match="Did you mean 'markdown'"):
        research.report(ABSENT, format="markdow")


# Cancelling, timing out, parking


@pytest.mark.timed
def test_cancelling_a_run_keeps_what_it_found_in_a_partial_report(tmp_path):
    agent, research = hanging(tmp_path)
    with research:
        handle = research.start("What is known of towers?")
        assert agent.reached.wait(300)
        summary = handle.cancel()
        assert (summary.status, summary.reason) == ("aborted", "cancelled")
        result = handle.result(300)
    assert result.report_metadata.partial
    assert result.findings
    assert result.state.metadata["cancelled"] is True


@pytest.mark.timed
def test_a_cancelled_run_can_be_resumed_and_pays_nothing_twice(tmp_path):
    agent, research = hanging(tmp_path)
    with research:
        handle = research.start("What is known of towers?")
        assert agent.reached.wait(300)
        handle.cancel()
    search = ScriptedSearch()
    with engine(tmp_path, search=[search]) as again:
        result = again.resume(handle.research_id, setup="new")
        assert result.status == "completed"
        assert not result.report_metadata.partial
        assert search.requests == []


@pytest.mark.timed
def test_a_run_that_takes_too_long_aborts_with_a_partial_report(tmp_path, stretch):
    def aborted(seconds):
        agent, research = hanging(tmp_path, task_timeout=seconds)
        with research:
            result = research.run("What is known of towers?")
        assert (result.status, result.reason) == ("aborted", "timeout")
        assert agent.reached.is_set()
        assert result.report_metadata.partial

    stretch(1.5, aborted)


@pytest.mark.timed
def test_cancelling_from_another_engine_goes_through_the_store(tmp_path):
    agent, research = hanging(tmp_path)
    with research, engine(tmp_path) as other:
        handle = research.start("What is known of towers?")
        assert agent.reached.wait(300)
        assert other.cancel(handle.research_id).reason == "cancelled"
        assert handle.result(300).reason == "cancelled"


@pytest.mark.timed
def test_a_run_that_is_worked_on_cannot_be_resumed_or_deleted(tmp_path):
    agent, research = hanging(tmp_path)
    with research, engine(tmp_path) as other:
        handle = research.start("What is known of towers?")
        assert agent.reached.wait(300)
        for verb in (other.resume, other.delete):
            with pytest.raises(RunBusyError, match=str(os.getpid())):
                verb(handle.research_id)
        handle.cancel()


@pytest.mark.timed
def test_closing_the_engine_leaves_runs_interrupted_and_resumable(tmp_path):
    agent, research = hanging(tmp_path)
    handle = research.start("What is known of towers?")
    assert agent.reached.wait(300)
    research.close()
    with engine(tmp_path) as again:
        assert again.status(handle.research_id).status == "interrupted"
        assert again.resume(handle.research_id, setup="new").status == "completed"


@pytest.mark.timed
def test_an_interrupted_run_is_cancelled_by_whoever_asks(tmp_path):
    agent, research = hanging(tmp_path)
    handle = research.start("What is known of towers?")
    assert agent.reached.wait(300)
    research.close()
    with engine(tmp_path) as again:
        assert again.cancel(handle.research_id).reason == "cancelled"
        assert again.result(handle.research_id).report_metadata.partial


def test_a_parked_run_waits_for_its_answer(tmp_path):
    asked = []

    def ask(state, prompt):
        if not asked:
            asked.append(state.pause_id)
            return Park("the editor")
        return None

    with engine(tmp_path, hooks=SupervisorHooks(think_pause=ask)) as research:
        parked = research.run("What is known of towers?")
        assert (parked.status, parked.message) == ("parked", "the editor")
        assert research.list()[0].status == "parked"
        done = research.resume(parked.research_id, answer="Mind the keepers.")
    assert done.status == "completed"
    assert "Mind the keepers." in [g.text for g in done.state.guidance]


# Hooks that observe


def test_an_observer_sees_every_event_and_can_neither_fail_nor_delay_the_run(tmp_path):
    seen = []

    def watch(event):
        seen.append(event.seq)
        raise ZeroDivisionError

    with engine(tmp_path, hooks=SupervisorHooks(event=watch)) as research:
        result = research.run("What is known of towers?")
    assert result.status == "completed"
    assert seen == list(range(1, result.state.seq + 1))


def test_the_error_observer_hears_of_a_failure(tmp_path):
    heard = []
    agents = {**cast(), "synthesizer": ScriptedAgent([ZeroDivisionError("by zero")])}
    with engine(tmp_path, agents=agents, hooks=SupervisorHooks(error=heard.append)) as research:
        result = research.run("What is known of towers?")
    assert result.reason == "error"
    assert "by zero" in str(heard[0])


# Loops, threads, processes


@pytest.mark.timed
def test_plain_verbs_work_inside_a_running_loop_and_from_many_threads(tmp_path):
    with engine(tmp_path) as research:

        async def notebook():
            return research.run("What is known of towers?")

        assert asyncio.run(notebook()).status == "completed"
        results = []
        threads = [
            threading.Thread(target=lambda n=n: results.append(research.run(f"What of tower {n}?")))
            for n in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(300)
        assert [r.status for r in results] == ["completed"] * 6


def test_one_engine_serves_several_loops(tmp_path):
    with engine(tmp_path) as research:
        for _ in range(3):
            assert asyncio.run(research.arun("What is known of towers?")).status == "completed"


def test_hooks_run_on_the_callers_loop(tmp_path):
    loops = []

    async def note(state, prompt):
        loops.append(asyncio.get_running_loop())

    async def journey():
        async with engine(tmp_path, hooks=SupervisorHooks(think_pause=note)) as research:
            await research.arun("What is known of towers?")
        return asyncio.get_running_loop()

    loop = asyncio.run(journey())
    assert loops
    assert all(one is loop for one in loops)


def test_a_plain_verb_inside_a_hook_of_the_own_loop_is_refused(tmp_path):
    caught = []

    async def reenter(state, prompt):
        try:
            research.list()
        except ReentrantCallError as error:
            caught.append(error)

    with engine(tmp_path, hooks=SupervisorHooks(think_pause=reenter)) as research:
        assert research.run("What is known of towers?").status == "completed"
    assert "async verbs" in str(caught[0])


def test_no_more_runs_are_active_than_allowed_and_all_complete(tmp_path):
    active, most = 0, 0

    async def count(handoff):
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0)
        active -= 1
        return await cast()["planner"](handoff)

    async def journey():
        agents = {**cast(), "planner": count}
        async with engine(tmp_path, agents=agents, max_active_runs=2) as research:
            return await asyncio.gather(*(research.arun(f"What of tower {n}?") for n in range(10)))

    results = asyncio.run(journey())
    assert [r.status for r in results] == ["completed"] * 10
    assert most <= 2


def test_an_engine_in_memory_keeps_nothing_on_disk(tmp_path):
    with engine(tmp_path, store="memory") as research:
        assert research.run("What is known of towers?").status == "completed"
        assert len(research.list()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_an_engine_works_on_in_a_forked_child(tmp_path):
    with engine(tmp_path) as research:
        research.run("What is known of towers?")
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if research.run("What of the child?").status == "completed" else 3)
            except BaseException:
                os._exit(4)
        assert os.waitpid(child, 0)[1] == 0
        assert research.run("What of the parent?").status == "completed"
        assert len(research.list()) == 3


# Many at once, and closing


@pytest.mark.timed
def test_closing_does_not_wait_for_one_run_after_the_other(tmp_path):
    """Each is told to go before any has gone."""
    together = Together(16)
    research = engine(tmp_path, agents={**cast(), "synthesizer": together})
    handles = [research.start(f"What is known of tower {n}?") for n in range(16)]
    assert together.reached.wait(300)
    research.close()
    assert together.left == 16
    assert all(handle.done() for handle in handles)
    assert {run.status for run in research.list()} == {RunStatus.INTERRUPTED}
    research.close()


@pytest.mark.timed
def test_a_run_that_waits_for_a_slot_is_interrupted_with_the_others_and_can_be_resumed(tmp_path):
    _, research = hanging(tmp_path, max_active_runs=1)
    handles = [research.start(f"What is known of tower {n}?") for n in range(3)]
    research.close()
    for handle in handles:
        with pytest.raises(RunStateError):
            handle.result(300)
    assert {run.status for run in research.list()} == {RunStatus.INTERRUPTED}
    research.close()
    with engine(tmp_path) as after:
        assert after.resume(handles[2].research_id, setup="new").status == "completed"


@pytest.mark.timed
def test_a_run_that_waits_for_a_slot_is_cancelled_at_once(tmp_path):
    _, research = hanging(tmp_path, max_active_runs=1)
    with research:
        research.start("What is known of towers?")
        waiting = research.start("What is known of bridges?")
        assert research.cancel(waiting.research_id).status == "aborted"
        assert waiting.result(300).reason == "cancelled"
    with engine(tmp_path) as after:
        assert after.resume(waiting.research_id, setup="new").status == "completed"


@pytest.mark.timed
def test_a_run_that_waits_for_a_slot_keeps_its_lease(tmp_path):
    agent, research = hanging(tmp_path, max_active_runs=1, lease_ttl=0.6)
    with research:
        research.start("What is known of towers?")
        waiting = research.start("What is known of bridges?")
        agent.reached.wait(300)
        first = research._parts.store.run(waiting.research_id).lease_until
        for _ in range(6_000):
            if research._parts.store.run(waiting.research_id).lease_until > first:
                break
            time.sleep(0.05)
        else:
            pytest.fail("the lease was never renewed")


def test_loops_that_are_closed_are_not_kept(tmp_path):
    with engine(tmp_path) as research:
        for n in range(5):
            asyncio.run(research.arun(f"What is known of tower {n}?"))
        assert len(research._runner._loops) <= 2


def test_an_engine_may_be_closed_on_somebody_elses_loop(tmp_path):
    """As the garbage collector does."""
    before = set(threading.enumerate())
    research = engine(tmp_path)
    research.run("What is known of towers?")

    async def let_go():
        research._finalizer()

    asyncio.run(let_go())
    assert [t for t in threading.enumerate() if t.name == "deep-research-loop" and t not in before] == []


@pytest.mark.timed
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_closes_at_once_and_leaves_its_parents_runs_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("deep_research.research.runner.RELEASE_WAIT_SECONDS", 3_600.0)
    monkeypatch.setattr("deep_research.research.loops._GRACE_SECONDS", 3_600.0)
    agent, research = hanging(tmp_path)
    with research:
        handle = research.start("What is known of towers?")
        agent.reached.wait(300)
        child = os.fork()
        if child == 0:
            signal.alarm(300)  # ends it where it waits for what is its parent's
            research.close()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert handle.status().status == "running"


# What a review found


def test_a_secret_in_what_others_raise_reaches_no_log_message_or_report(tmp_path):
    key = "sk-ant-REDACTED"

    def leak(*_):
        raise ValueError(f"401 for Authorization: Bearer {key}")

    with engine(tmp_path, hooks=SupervisorHooks(think_pause=leak)) as research:
        result = research.run("What is known of towers?")
    assert result.notices
    broken = {**cast(), "analyzer": leak}
    with engine(tmp_path, agents=broken, search=[ScriptedSearch(), ScriptedSearch()]) as research:
        failed = research.run("What is known of towers?")
    assert failed.reason == "error"
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    for told in (result.model_dump_json(), failed.model_dump_json()):
        assert key not in told
    assert key.encode() not in stored


def test_a_search_counts_once_whatever_number_of_providers_answers_it(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "towers.md").write_text("# Towers\n\nWhat is known of towers is written here.")
    made = {"corpus": tmp_path / "docs", "budget": Budget(max_searches=2)}
    search = ScriptedSearch()
    with engine(tmp_path / "data", search=[search], **made) as research:
        result = research.run("What is known of towers?")
    assert (result.usage.searches, len(search.requests)) == (2, 2)


def test_a_run_that_found_nothing_for_an_outage_searches_again_when_resumed(tmp_path):
    down = ScriptedSearch([SearchError("The service is down.")])
    with engine(tmp_path, search=[down]) as research:
        result = research.run("What is known of towers?")
    assert result.reason == "no_evidence"
    assert "searches failed: The service is down." in result.message
    with engine(tmp_path) as research:
        assert research.resume(result.research_id).status == "completed"


def test_documents_that_come_later_are_found_by_the_same_engine(tmp_path, monkeypatch):
    monkeypatch.setattr("deep_research.assembly.engine_parts.CORPUS_AGE_SECONDS", 0.0)
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "a.md").write_text("# Reefs\n\nThe reef of Mole lies under water.")
    with DeepResearch(corpus=docs, data_dir=tmp_path / "data") as research:
        assert research.run("Who built the tower of Hare?").reason == "no_evidence"
        (docs / "b.md").write_text("# The tower of Hare\n\nThe tower of Hare was built by Ann Hare in 1811.")
        assert research.run("Who built the tower of Hare?").status == "completed"


@pytest.mark.timed
def test_a_slow_observer_does_not_hold_up_the_result(tmp_path):
    let_go = threading.Event()
    with engine(tmp_path, hooks=SupervisorHooks(event=lambda event: let_go.wait(300))) as research:
        assert research.run("What is known of towers?").status == "completed"
        assert not let_go.is_set()
        let_go.set()


@pytest.mark.timed
def test_after_a_resume_an_observer_hears_only_of_what_is_new(tmp_path):
    agent, research = hanging(tmp_path)
    handle = research.start("What is known of towers?")
    assert agent.reached.wait(300)
    research.close()
    seen = []
    with engine(tmp_path, hooks=SupervisorHooks(event=lambda event: seen.append(event.name))) as again:
        again.resume(handle.research_id, setup="new")
    assert seen[0] == "run.resumed"
    assert "run.created" not in seen


def test_wrong_use_of_looking_verbs_is_said_in_our_words(tmp_path):
    with engine(tmp_path) as research:
        with pytest.raises(UsageError, match="limit"):
            research.list(limit="x")
        with pytest.raises(UsageError, match="no saved text"):
            research.text(12)
