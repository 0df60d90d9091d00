"""What settings change in the process, the store and the log, whoever works on a run."""

import asyncio
import logging
import time
from datetime import UTC, datetime, timedelta

import pytest
from setting_runs import QUESTION, hanging, run

from deep_research import DeepResearch, SearchProvider, SearchResult, SupervisorHooks
from deep_research.budget.archive import Archive
from deep_research.errors import (
    ConfigurationError,
    InvalidQuestionError,
    RightError,
    RunNotFoundError,
    SettingsError,
)
from deep_research.memory import SQLiteMemory, VolatileMemory
from deep_research.store import MemoryStore, SQLiteStore
from deep_research.testing import ScriptedSearch, scripted_agents


def cap_on_seconds(tmp_path, stretch):
    class Slow(SearchProvider):
        async def search(self, request):
            if request.query.endswith("part 1"):
                return [SearchResult(address="a.md", title="t", text="A text about it.")]
            await asyncio.Event().wait()
            return None

    def capped(seconds):
        result = run(tmp_path, search=[Slow()], max_seconds=seconds)
        assert result.status == "completed"
        assert "max_seconds" in [limit.name for limit in result.limits]

    stretch(1.0, capped)


def longest_question(tmp_path):
    with pytest.raises(InvalidQuestionError, match="10 are allowed"):
        run(tmp_path, max_question_chars=10)


def nothing_beyond_this_machine(tmp_path):
    with pytest.raises(ConfigurationError, match="local_only is set"):
        run(tmp_path, local_only=True)


def where_runs_are_kept(tmp_path):
    for name, kind in (("memory", MemoryStore), ("sqlite", SQLiteStore)):
        with DeepResearch(store=name, data_dir=tmp_path) as research:
            assert isinstance(research._parts.store, kind)


def where_it_is_kept_what_is_remembered(tmp_path):
    for name, kind in (("volatile", VolatileMemory), ("sqlite", SQLiteMemory)):
        with DeepResearch(memory=name, data_dir=tmp_path) as research:
            assert isinstance(research._memory, kind)


def folder_of_the_database(tmp_path):
    run(tmp_path / "here")
    assert (tmp_path / "here" / "runs.db").exists()


def values_to_start_from(tmp_path):
    with DeepResearch(preset="fast", data_dir=tmp_path) as fast, DeepResearch(data_dir=tmp_path) as plain:
        assert fast.settings.settings.max_iterations < plain.settings.settings.max_iterations


def lines_that_are_printed(tmp_path):
    from deep_research.logs import configure

    def broken(event):
        raise ZeroDivisionError

    try:
        run(tmp_path, hooks=SupervisorHooks(event=broken), log_level="warning")
        assert logging.getLogger("deep_research").isEnabledFor(logging.WARNING)
        assert not logging.getLogger("deep_research").isEnabledFor(logging.INFO)
    finally:
        configure(None)


def form_of_the_lines(tmp_path, capsys):
    import json

    from deep_research.logs import configure

    def broken(event):
        raise ZeroDivisionError

    try:
        run(tmp_path, hooks=SupervisorHooks(event=broken), log_level="warning", log_format="json")
        line = capsys.readouterr().err.splitlines()[0]
        assert json.loads(line)["event"] == "observer_failed"
    finally:
        configure(None)


def time_after_which_a_silent_owner_is_replaced(tmp_path):
    cast = scripted_agents(without=["gatherer", "planner"])
    cast["planner"] = hanging
    with DeepResearch(agents=cast, search=[ScriptedSearch()], data_dir=tmp_path, lease_ttl=77) as research:
        handle = research.start(QUESTION)
        assert 60 < research._parts.store.run(handle.research_id).lease_until - time.time() <= 77


def archived(folder):
    """A text that an earlier run left out, ten hours ago."""
    then = datetime.now(UTC) - timedelta(hours=10)
    archive = Archive(folder, 168, lambda: then)
    archive.save("A text.", item_id="s", item_type="source", reason="dropped", original_tokens=2)
    return archive


def age_at_which_archived_texts_go(tmp_path):
    archive = archived(tmp_path / "archive")
    for hours, left in ((11.0, 1), (9.0, 0)):
        run(tmp_path, content_archive={"enabled": True, "ttl_hours": hours})
        assert len(archive.list()) == left


def folder_of_archived_texts(tmp_path):
    for place in ("kept", None):
        archive = archived(tmp_path / (place or "archive"))
        given = tmp_path / place if place else None
        run(tmp_path, content_archive={"enabled": True, "ttl_hours": 1.0, "dir": given})
        assert archive.list() == []


def runs_at_a_time(tmp_path):
    active, most = 0, 0

    async def count(handoff):
        nonlocal active, most
        active += 1
        most = max(most, active)
        await asyncio.sleep(0)
        active -= 1
        return await scripted_agents()["planner"](handoff)

    async def journey(allowed):
        nonlocal most
        most = 0
        cast = {**scripted_agents(without=["gatherer"]), "planner": count}
        async with DeepResearch(
            agents=cast, search=[ScriptedSearch()], data_dir=tmp_path, max_active_runs=allowed
        ) as research:
            await asyncio.gather(*(research.arun(f"What of tower {n}?") for n in range(6)))
        return most

    assert asyncio.run(journey(1)) == 1
    assert asyncio.run(journey(6)) > 1


def users_that_a_run_may_name(tmp_path):
    (tmp_path / "users.toml").write_text('[users.ann]\nlanguage = "German"\n')
    with DeepResearch(
        agents=scripted_agents(), data_dir=tmp_path, users_file=tmp_path / "users.toml"
    ) as research:
        assert research.run(QUESTION, user_id="ann").state.options.language == "German"
        with pytest.raises(RightError):
            research.run(QUESTION, user_id="bob")


def how_thoroughly(tmp_path):
    made = {"search": [ScriptedSearch()], "agents": scripted_agents(without=["gatherer"]), "store": "memory"}
    for depth, searches in (("quick", 1), ("standard", 2)):
        with DeepResearch(depth=depth, **made) as research:
            assert (research.run(QUESTION).usage.searches > 1) is (searches > 1)


def the_run_that_another_follows(tmp_path):
    with DeepResearch(search=[ScriptedSearch()], data_dir=tmp_path) as research:
        first = research.run("How tall is Bell Rock?")
        asked = "How old is it?"
        assert research.run(asked, previous_run_id=first.research_id).query == "How old is Bell Rock?"
        assert research.run(asked).query == asked
        for other in ({"previous_run_id": "deepres-0123456789ab"}, {"user_id": "bob"}):
            with pytest.raises(RunNotFoundError):
                research.run(asked, **{"previous_run_id": first.research_id} | other)


def what_runs_leave_in_memory(tmp_path):
    for remember in (False, True):
        memory = VolatileMemory()
        with DeepResearch(
            search=[ScriptedSearch()], data_dir=tmp_path, memory=memory, remember=remember
        ) as research:
            research.run(QUESTION)
        assert bool(memory.list(None)) is remember


def what_the_caller_keeps_with_a_run(tmp_path):
    with DeepResearch(agents=scripted_agents(), data_dir=tmp_path) as research:
        result = research.run(QUESTION, metadata={"order": "1874"})
        assert research.result(result.research_id).state.options.metadata == {"order": "1874"}
        with pytest.raises(SettingsError):
            research.run(QUESTION, metadata={"order": "x" * 513})


def who_asked_and_in_which_session(tmp_path):
    with DeepResearch(agents=scripted_agents(), data_dir=tmp_path) as research:
        result = research.run(QUESTION, user_id="ann", session_id="one")
        row = research._parts.store.run(result.research_id)
    assert (row.user_id, row.session_id) == ("ann", "one")


class Looking(DeepResearch):
    """Counts its looks for due runs."""

    looks = 0

    async def awake(self):
        self.looks += 1
        return await super().awake()


def whether_due_runs_are_woken(tmp_path, monkeypatch):
    monkeypatch.setattr("deep_research.research.engine.WAKE_INTERVAL_SECONDS", 0.001)
    for wakes in (False, True):
        with Looking(data_dir=tmp_path, search=[ScriptedSearch()], auto_resume=wakes) as engine:
            engine._background.call(_looked(engine, 2) if wakes else asyncio.sleep(0.02))
            assert (engine.looks > 0) is wakes
    run(tmp_path)


async def _looked(engine, times):
    async with asyncio.timeout(60):
        while engine.looks < times:
            await asyncio.sleep(0.001)
