"""Settings that belong together: one object in Python, one table in a file, joined names elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from deep_research import (
    AgentDecision,
    DeepResearch,
    DeepResearchPhase,
    DeepResearchState,
    RunOptions,
    TaskSettings,
)
from deep_research.client.async_client import _plain
from deep_research.errors import ConfigurationError, SettingsError, UnknownNameError, UsageError
from deep_research.interfaces.cli.parsing import parse, setting_flags
from deep_research.interfaces.cli.session import setting_arguments
from deep_research.setting_fields import UNSET, SettingGroup, fields_by_path, group_of
from deep_research.settings import ResolvedSettings, Settings, join_path, load_settings
from deep_research.settings.groups import (
    ContentArchiveSettings,
    FetchSettings,
    QualitySettings,
    RateLimits,
    ReadingSettings,
    SummarizationSettings,
    WindowSettings,
)
from deep_research.state.journal import MemoryJournal
from deep_research.supervisor.decisions import OPTIONS, dispatch, with_options
from deep_research.supervisor.phase_work import PhaseJournal

MOST_SETTINGS = 80
GROUPS: dict[str, type[SettingGroup]] = {
    "tasks": TaskSettings,
    "fetch": FetchSettings,
    "reading": ReadingSettings,
    "window": WindowSettings,
    "summarization": SummarizationSettings,
    "content_archive": ContentArchiveSettings,
    "quality": QualitySettings,
    "rate_limits": RateLimits,
}
FILE = "deep-research.toml"


@pytest.fixture(autouse=True)
def no_user_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: tmp_path / "user-config")


def load(cwd: Path, environ: dict[str, str] | None = None, **overrides: Any) -> ResolvedSettings:
    return load_settings(overrides=overrides, environ=environ or {}, cwd=cwd)


def test_there_are_few_settings_and_these_groups() -> None:
    assert len(Settings.model_fields) <= MOST_SETTINGS
    groups = {name: group_of(field) for name, field in Settings.model_fields.items()}
    assert {name: group for name, group in groups.items() if group is not None} == GROUPS
    assert all(group.group_name == name for name, group in GROUPS.items())


def test_every_setting_has_one_joined_name() -> None:
    paths = fields_by_path(Settings)
    assert len({join_path(path) for path in paths}) == len(paths)


# --- spellings ---------------------------------------------------------------------------------------------


def by_object(_: Path) -> dict[str, Any]:
    return {"fetch": FetchSettings(timeout=10)}


def by_dict(_: Path) -> dict[str, Any]:
    return {"fetch": {"timeout": 10}}


def by_option(_: Path) -> dict[str, Any]:
    return setting_arguments(parse(["doctor", "--fetch-timeout", "10"]))


def by_option_with_equals(_: Path) -> dict[str, Any]:
    return setting_arguments(parse(["--fetch-timeout=10", "doctor"]))


def by_set(_: Path) -> dict[str, Any]:
    return setting_arguments(parse(["doctor", "--set", "fetch.timeout=10"]))


def by_set_with_hyphens(_: Path) -> dict[str, Any]:
    return setting_arguments(parse(["doctor", "--set", "fetch-timeout=10"]))


def by_variable(_: Path) -> dict[str, Any]:
    return {"environ": {"DEEP_RESEARCH_FETCH_TIMEOUT": "10"}}


def by_table(folder: Path) -> dict[str, Any]:
    (folder / FILE).write_text("[research.fetch]\ntimeout = 10\n")
    return {}


SPELLINGS = [
    *(by_object, by_dict, by_option, by_option_with_equals),
    *(by_set, by_set_with_hyphens, by_variable, by_table),
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_member_is_set_alone(spelling: Callable[[Path], dict[str, Any]], tmp_path: Path) -> None:
    loaded = load(tmp_path, **spelling(tmp_path))
    assert loaded.settings.fetch == FetchSettings(timeout=10)
    set_paths = {path for path, origin in loaded.origins.items() if origin != "default"}
    assert set_paths == {"fetch.timeout"}


def test_every_member_is_an_option_of_the_command_line() -> None:
    members = {join_path(path) for path in fields_by_path(Settings) if "." in path}
    assert members <= set(setting_flags().values())


def test_an_option_without_its_value_is_refused() -> None:
    with pytest.raises(UsageError, match="--fetch-timeout: expected one argument"):
        parse(["doctor", "--fetch-timeout"])


def test_a_word_behind_two_hyphens_is_no_setting() -> None:
    assert parse(["run", "--", "--fetch-timeout"]).question == "--fetch-timeout"


# --- layers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fetch", [FetchSettings(timeout=5), {"timeout": 5}, {"timeout": 5, "workers": None}])
def test_layers_are_merged_member_by_member(fetch: Any, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('[research.fetch]\ntimeout = 7\nper_host = 7\ncontact = "ann@example.org"\n')
    loaded = load(tmp_path, {"DEEP_RESEARCH_FETCH_PER_HOST": "6"}, fetch=fetch)
    assert loaded.settings.fetch == FetchSettings(timeout=5, per_host=6, contact="ann@example.org")
    origins = {path: origin for path, origin in loaded.origins.items() if path.startswith("fetch.")}
    assert origins == dict.fromkeys(origins, "default") | {
        "fetch.timeout": "argument",
        "fetch.per_host": "DEEP_RESEARCH_FETCH_PER_HOST",
        "fetch.contact": FILE,
    }


def test_a_preset_lies_below_a_file_member_by_member(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("[research.tasks]\nmax_steps = 3\n")
    assert load(tmp_path, preset="agents").settings.tasks == TaskSettings(max_steps=3, max_retries=1)


@pytest.mark.parametrize("fetch", [FetchSettings(contact=None), {"contact": UNSET}])
def test_a_member_that_is_none_is_taken_away(fetch: Any, tmp_path: Path) -> None:
    environ = {"DEEP_RESEARCH_FETCH_CONTACT": "ann@example.org"}
    assert load(tmp_path, environ, fetch=fetch).settings.fetch.contact is None


def test_paths_in_groups_start_from_their_layer(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "own.toml").write_text('[research.content_archive]\ndir = "kept"\n')
    loaded = load_settings(overrides={}, config="sub/own.toml", environ={}, cwd=tmp_path)
    assert loaded.settings.content_archive.dir == tmp_path / "sub" / "kept"


# --- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelling", "line"),
    [
        ({"fetch": {"timeot": 1}}, "Unknown setting 'fetch.timeot'. Did you mean 'fetch.timeout'?"),
        ({"fetch_timeout": 1}, "Unknown setting 'fetch_timeout'. Did you mean 'fetch.timeout'?"),
        (
            {"environ": {"DEEP_RESEARCH_FETCH_TIMEOT": "1"}},
            "Unknown setting 'fetch_timeot' in DEEP_RESEARCH_FETCH_TIMEOT. Did you mean 'fetch_timeout'?",
        ),
        (
            {"environ": {"DEEP_RESEARCH_FETCH": "1"}},
            "'fetch' is a group of settings in DEEP_RESEARCH_FETCH. Name a member of it, such as 'fetch_enabled'.",
        ),
    ],
)
def test_a_wrong_name_is_refused_with_the_nearest(
    spelling: dict[str, Any], line: str, tmp_path: Path
) -> None:
    with pytest.raises(UnknownNameError) as refusal:
        load(tmp_path, **spelling)
    assert str(refusal.value) == line


def test_a_wrong_name_in_a_table_is_refused_with_the_file(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("[research.fetch]\ntimeot = 1\n")
    with pytest.raises(UnknownNameError, match=rf"'fetch\.timeot' in {FILE}\. Did you mean 'fetch\.timeout'"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("spelling", "origin"),
    [
        ({"fetch": {"timeout": 0}}, "argument"),
        ({"environ": {"DEEP_RESEARCH_FETCH_TIMEOUT": "0"}}, "DEEP_RESEARCH_FETCH_TIMEOUT"),
    ],
)
def test_a_wrong_value_is_refused_with_path_and_origin(
    spelling: dict[str, Any], origin: str, tmp_path: Path
) -> None:
    with pytest.raises(SettingsError) as refusal:
        load(tmp_path, **spelling)
    assert str(refusal.value).startswith("fetch.timeout must be above 0 and at most 600, got 0")
    assert str(refusal.value).endswith(f"(from {origin}).")
    assert refusal.value.data["setting"] == "fetch.timeout"


def test_a_table_outside_of_the_section_is_refused_with_where_it_belongs(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("[fetch]\ntimeout = 1\n")
    with pytest.raises(
        SettingsError, match=r"fetch is outside of a section .* Write it as \[research\.fetch\]"
    ):
        load(tmp_path)


@pytest.mark.parametrize("value", [3, "quick", [1], TaskSettings()])
def test_what_is_no_group_is_refused(value: Any, tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"^fetch must be a table of settings, got .* \(from argument\)\.$"
    ):
        load(tmp_path, fetch=value)


@pytest.mark.parametrize(("name", "group"), GROUPS.items())
def test_an_object_that_does_not_fit_is_refused_where_it_is_made(
    name: str, group: type[SettingGroup]
) -> None:
    with pytest.raises(UnknownNameError, match=rf"Unknown setting '{name}\.nonsense_of_it'"):
        group(nonsense_of_it=1)
    member = next(iter(group.model_fields))
    with pytest.raises(SettingsError, match=rf"^{name}\.{member} must be .*, got {{}}\.$"):
        group(**{member: {}})
    with pytest.raises(ValueError, match="frozen"):
        setattr(group(), member, None)


# --- runs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tasks", [TaskSettings(max_steps=3), {"max_steps": 3}])
def test_a_run_sets_members_over_those_of_the_engine(tasks: Any, tmp_path: Path) -> None:
    settings = load(tmp_path, tasks={"max_retries": 2, "max_steps": 5}).settings
    options = settings.run_options(tasks=tasks)
    assert options.tasks == TaskSettings(max_retries=2, max_steps=3)
    assert RunOptions.model_validate_json(options.model_dump_json()) == options
    assert settings.run_options().tasks == settings.tasks


@pytest.mark.parametrize(
    ("tasks", "line"),
    [
        ({"max_step": 3}, "Unknown option 'tasks.max_step'. Did you mean 'tasks.max_steps'?"),
        ({"max_steps": -3}, "tasks.max_steps must be between 0 and 100, got -3 (from argument)."),
        (3, "tasks must be a table of settings, got 3 (from argument)."),
    ],
)
def test_a_wrong_member_of_a_run_is_refused(tasks: Any, line: str, tmp_path: Path) -> None:
    with (
        DeepResearch(corpus=tmp_path, data_dir=tmp_path) as engine,
        pytest.raises((UnknownNameError, SettingsError)) as refusal,
    ):
        engine.run("How tall is it?", tasks=tasks)
    assert str(refusal.value) == line


def test_a_deep_run_keeps_the_members_that_were_named(tmp_path: Path) -> None:
    with DeepResearch(corpus=tmp_path, data_dir=tmp_path, tasks={"max_retries": 2}) as engine:
        values = {"depth": "deep", "tasks": {"max_steps": 3}}
        options = asyncio.run(engine._requests.build("How tall is it?", values)).options
    assert options.tasks == TaskSettings(max_retries=2, max_steps=3)
    assert options.report_words > RunOptions().report_words


@pytest.mark.parametrize("tasks", [TaskSettings(max_steps=3), {"max_steps": 3}])
def test_a_supervisor_changes_members_for_one_phase(tasks: Any) -> None:
    phase = DeepResearchPhase.GATHERING
    state = DeepResearchState(query="How tall is it?", options=RunOptions(tasks=TaskSettings(max_retries=2)))
    default = dispatch(state, phase, datetime.now(UTC))
    decision = default.model_copy(update={"inputs": default.inputs | {"tasks": tasks}})
    recorded = with_options(decision, default, state.options).model_dump_json()
    resumed = state.model_copy(update={"decisions": (AgentDecision.model_validate_json(recorded),)})
    view = PhaseJournal(MemoryJournal(resumed), resumed.decisions[0].inputs[OPTIONS]).state
    assert view.options.tasks == TaskSettings(max_retries=2, max_steps=3)


@pytest.mark.parametrize("tasks", [{"max_step": 3}, {"max_steps": -3}, 3])
def test_a_supervisor_that_names_a_wrong_member_is_refused(tasks: Any) -> None:
    state = DeepResearchState(query="How tall is it?")
    default = dispatch(state, DeepResearchPhase.GATHERING, datetime.now(UTC))
    decision = default.model_copy(update={"inputs": default.inputs | {"tasks": tasks}})
    with pytest.raises(ConfigurationError, match="tasks"):
        with_options(decision, default, state.options)


def test_a_client_sends_the_members_that_were_named() -> None:
    assert _plain({"tasks": TaskSettings(max_steps=3, max_usd=None)}) == {
        "tasks": {"max_steps": 3, "max_usd": None}
    }
