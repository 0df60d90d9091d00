"""Every setting and every option of a run changes what the engine does, without a model and with one, or is told to have
no effect: one table, of which no row may be missing."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path

import pytest
from servers import WebSite, web_reply

from deep_research.assembly.option_effects import OPTION
from deep_research.phases.analysis import ExtractiveAnalyzer
from deep_research.phases.planning import ExtractivePlanner
from deep_research.phases.refinement import ExtractiveRefiner
from deep_research.phases.synthesis import ExtractiveSynthesizer
from deep_research.setting_fields import fields_by_path
from deep_research.settings import Settings
from deep_research.state import Budget, RunOptions
from deep_research.supervisor.orchestrator import SupervisorOrchestrator

sys.path.insert(0, str(Path(__file__).parent / "settings"))
pytest.register_assert_rewrite(
    "effects_in_both_modes",
    "effects_of_tasks",
    "effects_on_searching",
    "effects_on_the_process",
    "effects_with_a_model",
)

import effects_in_both_modes as both  # noqa: E402 - once it can be found
import effects_of_tasks as tasks  # noqa: E402
import effects_on_searching as searching  # noqa: E402
import effects_on_the_process as process  # noqa: E402
import effects_with_a_model as thinking  # noqa: E402

pytestmark = [pytest.mark.timed, pytest.mark.usefixtures("kept_readers")]

Shown = Callable[..., None]
EXTRACTIVE = {
    each.name for each in (ExtractivePlanner, ExtractiveAnalyzer, ExtractiveSynthesizer, ExtractiveRefiner)
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """By what it is shown that a setting has an effect. ``anyway``: below the agents, in reading, searching, the store
    and the process, which know nothing of models. ``told``: that it has none is told; ``because`` says why that may be
    where another cell is filled."""

    extractive: Shown | None = None
    model: Shown | None = None
    anyway: Shown | None = None
    told: Shown | None = None
    because: str = ""

    def cells(self) -> Iterator[tuple[str, Shown]]:
        named = ((field.name, getattr(self, field.name)) for field in fields(self))
        return ((name, shown) for name, shown in named if callable(shown))


NO_AGENT = "the extractive agents follow no instructions"
NO_SERVICE = "not every service can be asked for a language"
NO_WINDOW = "without a model nothing is left out to fit"
NO_WRITER = "without a model the report is in the words of its sources"
NO_TASKS = "where sub-queries are searched there are no tasks"

TABLE = {
    # How far a run goes, and what may be done again
    "max_iterations": Row(extractive=both.how_far_a_run_goes, model=both.how_far_a_run_goes),
    "max_sub_queries": Row(extractive=both.how_far_a_run_goes, model=both.how_far_a_run_goes),
    "gate_retries": Row(extractive=both.attempts_at_a_blocked_gate, model=both.attempts_at_a_blocked_gate),
    "max_supervisor_retries": Row(
        extractive=both.retries_that_a_hook_may_ask_for, model=both.retries_that_a_hook_may_ask_for
    ),
    # Tasks
    "gathering": Row(
        extractive=tasks.how_sub_queries_are_worked_on, model=tasks.how_sub_queries_are_worked_on
    ),
    "tasks.max_waves": Row(
        model=tasks.waves_of_tasks, told=tasks.limits_of_tasks_without_any, because=NO_TASKS
    ),
    "tasks.max_steps": Row(
        model=tasks.steps_of_a_task, told=tasks.limits_of_tasks_without_any, because=NO_TASKS
    ),
    "tasks.max_retries": Row(
        model=tasks.times_that_a_task_is_done_again, told=tasks.limits_of_tasks_without_any, because=NO_TASKS
    ),
    "tasks.max_tokens": Row(
        model=tasks.tokens_of_a_task, told=tasks.limits_of_tasks_without_any, because=NO_TASKS
    ),
    "tasks.max_usd": Row(
        model=tasks.dollars_of_a_task, told=tasks.limits_of_tasks_without_any, because=NO_TASKS
    ),
    "tasks.sources": Row(
        model=tasks.what_tasks_may_search, told=tasks.limits_of_tasks_without_any, because=NO_TASKS
    ),
    "tasks.tools": Row(
        model=tasks.tools_that_tasks_may_use, told=tasks.limits_of_tasks_without_any, because=NO_TASKS
    ),
    "tasks.public_after_private": Row(
        model=tasks.whether_tasks_search_others_after_private_sources,
        told=tasks.limits_of_tasks_without_any,
        because=NO_TASKS,
    ),
    "tasks.max_seconds": Row(model=tasks.seconds_of_a_task),
    # What its owner is asked before it searches
    "approve_plan": Row(
        extractive=both.whether_the_plan_waits_for_its_owner, model=both.whether_the_plan_waits_for_its_owner
    ),
    "clarify": Row(
        extractive=both.whether_an_unclear_question_is_asked_back,
        model=both.whether_an_unclear_question_is_asked_back,
    ),
    # What is written, and for whom
    "report_words": Row(extractive=both.length_of_the_report, model=thinking.what_agents_are_told),
    "min_supported": Row(model=thinking.the_least_share_of_claims_that_are_supported),
    "revise_with_critic": Row(model=thinking.whether_a_report_is_looked_at),
    "judge": Row(model=thinking.which_claims_the_judge_sees),
    "system_prompt": Row(
        model=thinking.what_agents_are_told,
        told=both.options_without_effect,
        because=NO_AGENT,
    ),
    "language": Row(model=thinking.what_agents_are_told, told=both.options_without_effect, because=NO_WRITER),
    "audience": Row(model=thinking.what_agents_are_told, told=both.options_without_effect, because=NO_WRITER),
    # Models
    "model": Row(model=thinking.models_that_are_asked_in_turn),
    "models": Row(model=thinking.models_by_role),
    "provider_id": Row(model=thinking.model_of_one_run),
    "effort": Row(model=thinking.how_hard_models_think),
    "thinking_tokens": Row(model=thinking.tokens_for_thinking),
    "model_file": Row(model=thinking.what_is_known_of_models),
    "record_models": Row(model=thinking.a_record_of_answers),
    "reflection": Row(model=thinking.when_the_supervisor_thinks),
    "on_outage": Row(model=thinking.what_is_done_without_a_model),
    "cheap_model": Row(model=thinking.the_cheaper_model_where_it_is_enough),
    "rate_limits.model_concurrency": Row(model=thinking.requests_to_a_service_at_a_time),
    "rate_limits.model_requests_per_minute": Row(model=thinking.requests_to_a_service_in_a_minute),
    "unit_timeout": Row(model=thinking.seconds_of_all_requests_for_an_answer),
    # What fits into a window
    "window.safety_margin": Row(model=thinking.what_is_left_free_of_a_window),
    "window.runtime": Row(model=thinking.where_the_engine_runs),
    "window.runtime_overhead": Row(model=thinking.what_is_left_free_for_the_surroundings),
    "window.model_tokens": Row(model=thinking.windows_of_models),
    "window.enabled": Row(model=thinking.whether_content_is_made_to_fit),
    "reading.tokens": Row(model=thinking.how_much_a_model_reads),
    "reading.sections": Row(model=thinking.whether_it_reads_sections_alone),
    "reading.triage": Row(model=thinking.whether_a_model_is_asked_about_doubtful_sources),
    "window.allow_dropping": Row(model=thinking.whether_anything_is_left_out),
    "protected_sources": Row(
        model=thinking.what_is_never_left_out,
        told=both.options_without_effect,
        because=NO_WINDOW,
    ),
    "summarization.model": Row(model=thinking.who_chooses_what_is_kept),
    "summarization.timeout": Row(model=thinking.how_long_choosing_may_take),
    "summarization.cache": Row(model=thinking.whether_choices_are_remembered),
    "content_archive.enabled": Row(model=thinking.whether_originals_are_kept),
    "content_archive.ttl_hours": Row(anyway=process.age_at_which_archived_texts_go),
    "content_archive.dir": Row(anyway=process.folder_of_archived_texts),
    # Caps
    "budget": Row(extractive=both.caps_of_one_run, model=both.caps_of_one_run),
    "shared_budget": Row(extractive=both.caps_of_all_runs, model=both.caps_of_all_runs),
    "remember": Row(anyway=process.what_runs_leave_in_memory),
    "session_tokens": Row(
        extractive=both.length_of_the_summary_of_a_conversation,
        model=both.length_of_the_summary_of_a_conversation,
    ),
    "on_budget_exhausted": Row(extractive=both.what_is_done_at_a_cap, model=both.what_is_done_at_a_cap),
    "max_searches": Row(anyway=searching.cap_on_searches),
    "max_fetches": Row(anyway=searching.cap_on_pages),
    "max_seconds": Row(anyway=process.cap_on_seconds),
    "max_usd": Row(model=thinking.dollars_of_a_run),
    "max_tokens": Row(model=thinking.tokens_of_a_run),
    "max_model_calls": Row(model=thinking.requests_to_models),
    # Seconds and sizes
    "operation_timeout": Row(
        extractive=both.seconds_of_one_search, model=thinking.seconds_of_all_requests_for_an_answer
    ),
    "task_timeout": Row(extractive=both.seconds_of_a_run, model=both.seconds_of_a_run),
    "auto_resume": Row(anyway=process.whether_due_runs_are_woken),
    "hook_timeout": Row(extractive=both.seconds_of_a_hook, model=both.seconds_of_a_hook),
    "strict_hooks": Row(extractive=both.hooks_that_may_not_fail, model=both.hooks_that_may_not_fail),
    "max_question_chars": Row(anyway=process.longest_question),
    "max_file_bytes": Row(anyway=searching.the_largest_local_file),
    # What is searched
    "corpus": Row(anyway=searching.documents_to_search),
    "corpora": Row(anyway=searching.documents_by_name),
    "depth": Row(anyway=process.how_thoroughly),
    "memory": Row(anyway=process.where_it_is_kept_what_is_remembered),
    "users_file": Row(anyway=process.users_that_a_run_may_name),
    "named_corpora": Row(anyway=searching.documents_by_name),
    "search": Row(anyway=searching.providers_by_name),
    "search_urls": Row(anyway=searching.where_services_are),
    "mcp_servers": Row(anyway=searching.servers_to_search_with, model=tasks.servers_whose_tools_tasks_use),
    "rate_limits.search_requests_per_minute": Row(anyway=searching.requests_to_one_service_in_a_minute),
    "max_rewordings": Row(anyway=searching.other_wordings_of_a_search),
    "max_sources_per_query": Row(anyway=searching.sources_of_a_search),
    "max_concurrent": Row(anyway=searching.searches_at_a_time),
    "source_types": Row(anyway=searching.kinds_of_sources_asked_for),
    "since": Row(anyway=searching.first_day_of_publication),
    "until": Row(anyway=searching.last_day_of_publication),
    "as_of": Row(anyway=searching.day_whose_knowledge_counts),
    "domains": Row(anyway=searching.only_sites),
    "not_domains": Row(anyway=searching.unwanted_sites),
    "source_language": Row(
        anyway=searching.language_of_the_search,
        told=both.options_without_effect,
        because=NO_SERVICE,
    ),
    "local_only": Row(model=thinking.only_models_of_this_machine, anyway=process.nothing_beyond_this_machine),
    # What is read
    "fetch.enabled": Row(anyway=searching.pages_that_searches_find_are_read),
    "fetch.timeout": Row(anyway=searching.seconds_of_one_page),
    "fetch.concurrency": Row(anyway=searching.pages_read_at_a_time),
    "fetch.proxy": Row(anyway=searching.proxy_that_pages_are_read_through),
    "fetch.per_host": Row(anyway=searching.pages_read_from_one_site_at_a_time),
    "fetch.max_bytes": Row(anyway=searching.what_is_asked_of_a_site),
    "fetch.respect_robots": Row(anyway=searching.what_is_asked_of_a_site),
    "fetch.contact": Row(anyway=searching.what_is_asked_of_a_site),
    "fetch.workers": Row(anyway=searching.processes_that_read),
    "fetch.cpu_seconds": Row(anyway=searching.seconds_of_making_a_text),
    "quality.high": Row(anyway=searching.what_the_user_trusts),
    "quality.medium": Row(anyway=searching.what_the_user_trusts_somewhat),
    "quality.low": Row(anyway=searching.what_the_user_does_not_trust),
    # The store and the process
    "user_id": Row(anyway=process.who_asked_and_in_which_session),
    "session_id": Row(anyway=process.who_asked_and_in_which_session),
    "previous_run_id": Row(anyway=process.the_run_that_another_follows),
    "history": Row(
        extractive=both.length_of_the_summary_of_a_conversation,
        model=both.length_of_the_summary_of_a_conversation,
    ),
    "metadata": Row(anyway=process.what_the_caller_keeps_with_a_run),
    "store": Row(anyway=process.where_runs_are_kept),
    "data_dir": Row(anyway=process.folder_of_the_database),
    "preset": Row(anyway=process.values_to_start_from),
    "log_level": Row(anyway=process.lines_that_are_printed),
    "log_format": Row(anyway=process.form_of_the_lines),
    "lease_ttl": Row(anyway=process.time_after_which_a_silent_owner_is_replaced),
    "max_active_runs": Row(anyway=process.runs_at_a_time),
}
WANTED = {*fields_by_path(Settings), *fields_by_path(RunOptions), *Budget.model_fields, "shared_budget"}


def test_every_setting_and_every_option_of_a_run_has_a_row():
    assert TABLE.keys() == WANTED


@pytest.mark.parametrize("name", TABLE)
def test_a_row_says_by_what_it_is_shown(name):
    row = TABLE[name]
    cells = dict(row.cells())
    assert cells, "no cell is filled"
    assert bool(row.because) == ("told" in cells and len(cells) > 1), "why is it told, if it has an effect?"
    assert not ("anyway" in cells and "extractive" in cells), (
        "the agents have nothing to do with it, or they have"
    )


SHOWN: dict[Shown, set[str]] = {}
for each in TABLE.values():
    for cell, shown in each.cells():
        SHOWN.setdefault(shown, set()).add(cell)


@pytest.fixture
def modes(monkeypatch):
    """Which cells the runs of a test may fill."""
    seen = {"anyway"}
    walk = SupervisorOrchestrator.run

    async def noted(self, journal):
        agents = [phase.spec for phase in self._phases.values()]
        await walk(self, journal)
        if {agent.name for agent in agents} >= EXTRACTIVE:
            seen.add("extractive")
        if any(agent.uses_model for agent in agents):
            seen.add("model")
        if any(notice.name == OPTION for notice in journal.state.notices):
            seen.add("told")

    monkeypatch.setattr(SupervisorOrchestrator, "run", noted)
    return seen


@pytest.fixture
def site(monkeypatch):
    """A site on loopback that answers at any public address."""
    text = (
        b"<html><body><main><p>"
        + b"What is known of towers is that they stand on reefs. " * 20
        + b"</p></main>"
    )
    with WebSite({f"/{n}": web_reply(text.replace(b"reefs", b"reef %d" % n)) for n in range(9)}) as running:
        monkeypatch.setattr("deep_research.sources.fetch.client.Guard", running.guard)
        yield running


@pytest.mark.parametrize("shown", SHOWN, ids=lambda shown: shown.__name__)
def test_a_setting_changes_what_the_engine_does(shown, modes, tmp_path, request):
    wanted = shown.__code__.co_varnames[: shown.__code__.co_argcount]
    given = {"tmp_path": tmp_path}
    shown(**{name: given.get(name) or request.getfixturevalue(name) for name in wanted})
    assert SHOWN[shown] <= modes, "it does not run in the mode that it stands for"
