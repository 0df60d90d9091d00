from __future__ import annotations

import json
import pickle
import runpy
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import ValidationError

from deep_research.errors import DeepResearchError, SettingsError, UnknownNameError
from deep_research.setting_fields import bounds, fields_by_path, nest, value_at
from deep_research.settings import ResolvedSettings, Settings, env_variable, load_settings
from deep_research.settings.groups import FetchSettings
from deep_research.state import Budget, RunOptions

# name, default, lowest, highest, just below, just above; None where there is no such bound
NUMBERS: list[tuple[str, Any, Any, Any, Any, Any]] = [
    ("max_iterations", 3, 1, 10, 0, 11),
    ("max_sub_queries", 5, 2, 20, 1, 21),
    ("max_sources_per_query", 5, 1, 50, 0, 51),
    ("max_concurrent", 5, 1, 32, 0, 33),
    ("gate_retries", 1, 0, 3, -1, 4),
    ("max_supervisor_retries", 2, 0, 10, -1, 11),
    ("tasks.max_waves", 3, 1, 10, 0, 11),
    ("tasks.max_steps", 8, 0, 100, -1, 101),
    ("tasks.max_retries", None, 0, 10, -1, 11),
    ("tasks.max_tokens", None, 0, None, -1, None),
    ("tasks.max_usd", None, 0.0, None, -0.5, None),
    ("tasks.max_seconds", 600.0, 0.0, 86_400, -1, 86_400.5),
    ("report_words", 800, 100, 20_000, 99, 20_001),
    ("min_supported", None, 0.01, 1.0, 0, 1.01),
    ("session_tokens", 2_000, 200, 50_000, 199, 50_001),
    ("max_searches", None, 0, None, -1, None),
    ("max_fetches", None, 0, None, -1, None),
    ("max_seconds", None, 0.001, None, 0, None),
    ("max_usd", None, 0.0, None, -0.5, None),
    ("max_tokens", None, 0, None, -1, None),
    ("max_model_calls", None, 0, None, -1, None),
    ("rate_limits.model_concurrency", 16, 1, 1_000, 0, 1_001),
    ("rate_limits.model_requests_per_minute", None, 0.001, None, 0, None),
    ("window.safety_margin", 0.15, 0.0, 0.9, -0.1, 1.0),
    ("window.runtime_overhead", None, 0, 10_000_000, -1, 10_000_001),
    ("reading.tokens", 100_000, 1_000, 100_000_000, 999, 100_000_001),
    ("summarization.timeout", 60, 0.001, 3_600, 0, 3_600.5),
    ("content_archive.ttl_hours", 168, 0.001, 87_600, 0, 87_600.5),
    ("rate_limits.search_requests_per_minute", None, 0.001, None, 0, None),
    ("max_rewordings", 1, 0, 3, -1, 4),
    ("fetch.timeout", 30, 0.001, 600, 0, 600.5),
    ("fetch.concurrency", 32, 1, 256, 0, 257),
    ("fetch.per_host", 4, 1, 64, 0, 65),
    ("fetch.max_bytes", 10_000_000, 10_000, 50_000_000, 9_999, 50_000_001),
    ("fetch.workers", 2, 1, 64, 0, 65),
    ("fetch.cpu_seconds", 10, 0.001, 600, 0, 600.5),
    ("max_question_chars", 20_000, 1, 200_000, 0, 200_001),
    ("max_file_bytes", 10_000_000, 10_000, 50_000_000, 9_999, 50_000_001),
    ("operation_timeout", 120, 0.001, 3_600, 0, 3_600.5),
    ("unit_timeout", None, 120.0, 36_000, 0, 36_000.5),
    ("task_timeout", 1_800, 0.001, 86_400, 0, 86_400.5),
    ("hook_timeout", 60, 0.001, 3_600, 0, 3_600.5),
    ("lease_ttl", 15, 10.0, 3_600, 0, 3_600.5),
    ("max_active_runs", 200, 1, 10_000, 0, 10_001),
]
OTHERS: dict[str, Any] = {
    "fetch.proxy": "off",
    "gathering": "search",
    "tasks.sources": (),
    "tasks.tools": (),
    "tasks.public_after_private": False,
    "approve_plan": False,
    "clarify": "never",
    "window.model_tokens": {},
    "window.enabled": True,
    "protected_sources": (),
    "reading.sections": True,
    "reading.triage": False,
    "summarization.model": (),
    "summarization.cache": True,
    "window.allow_dropping": False,
    "content_archive.enabled": False,
    "content_archive.dir": None,
    "system_prompt": None,
    "source_types": (),
    "since": None,
    "until": None,
    "as_of": None,
    "domains": (),
    "not_domains": (),
    "source_language": None,
    "local_only": False,
    "search_urls": {},
    "mcp_servers": {},
    "fetch.enabled": True,
    "fetch.respect_robots": True,
    "fetch.contact": None,
    "quality.high": (),
    "quality.medium": (),
    "quality.low": (),
    "corpus": (),
    "named_corpora": {},
    "users_file": None,
    "depth": "standard",
    "remember": False,
    "search": (),
    "language": None,
    "audience": None,
    "reflection": "on_failure",
    "on_outage": "park",
    "on_budget_exhausted": "report",
    "auto_resume": False,
    "strict_hooks": False,
    "judge": "all",
    "revise_with_critic": True,
    "cheap_model": False,
    "model": (),
    "models": {},
    "effort": {},
    "thinking_tokens": {},
    "model_file": None,
    "record_models": None,
    "window.runtime": "direct-api",
    "store": "sqlite",
    "memory": "sqlite",
    "preset": "default",
    "log_level": None,
    "log_format": "text",
}
FIELDS = fields_by_path(Settings)
WHOLE = [row[0] for row in NUMBERS if isinstance(row[2], int)]


@pytest.fixture(autouse=True)
def user_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the folders of whoever runs it."""
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: tmp_path / "user-config")
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_, **__: tmp_path / "user-data")
    return tmp_path


@pytest.fixture
def here(tmp_path: Path) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


def load(cwd: Path | None = None, environ: dict[str, str] | None = None, **options: Any) -> ResolvedSettings:
    config, preset = options.pop("config", None), options.pop("preset", None)
    return load_settings(overrides=options, config=config, preset=preset, environ=environ or {}, cwd=cwd)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def problem(**call: Any) -> str:
    """The one line that a refused call gives."""
    with pytest.raises(SettingsError) as caught:
        load(**call)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def outcome(call: Callable[[], object]) -> str:
    """The error line of a call, "" when it succeeds; any other exception goes through."""
    try:
        call()
    except DeepResearchError as error:
        return str(error)
    return ""


# --- defaults and bounds -----------------------------------------------------------------------------------


def test_every_setting_is_covered_by_these_tests() -> None:
    assert {row[0] for row in NUMBERS} | OTHERS.keys() | {"data_dir"} == FIELDS.keys()


@pytest.mark.parametrize(("name", "default"), [(row[0], row[1]) for row in NUMBERS] + list(OTHERS.items()))
def test_a_setting_that_nobody_gave_has_its_default(name: str, default: Any) -> None:
    found = load()
    assert value_at(found.settings, name) == default
    assert found.origins[name] == "default"


def test_data_goes_to_the_users_data_folder_by_default(user_folders: Path) -> None:
    assert load().settings.data_dir == user_folders / "user-data"


@pytest.mark.parametrize(("name", "lowest", "highest"), [(row[0], row[2], row[3]) for row in NUMBERS])
def test_the_bounds_themselves_are_allowed(name: str, lowest: Any, highest: Any) -> None:
    for value in (lowest, highest):
        if value is not None:
            assert value_at(load(**nest({name: value})).settings, name) == value


@pytest.mark.parametrize(
    ("name", "value"), [(row[0], value) for row in NUMBERS for value in row[4:] if value is not None]
)
def test_a_value_out_of_bounds_is_refused_with_name_bounds_value_and_origin(name: str, value: Any) -> None:
    assert (
        problem(**nest({name: value}))
        == f"{name} must be {bounds(FIELDS[name])}, got {value} (from argument)."
    )


@pytest.mark.parametrize("name", [row[0] for row in NUMBERS])
@pytest.mark.parametrize("value", ["many", True, [3], float("nan"), float("inf"), b"3"])
def test_a_value_of_the_wrong_type_is_refused_with_what_is_wanted(name: str, value: Any) -> None:
    sort = "a whole number" if name in WHOLE else "a number"
    line = f"{name} must be {sort} {bounds(FIELDS[name])}, got {value!r} (from argument)."
    assert problem(**nest({name: value})) == line


@pytest.mark.parametrize("name", WHOLE)
def test_a_count_takes_no_fraction_and_no_text(name: str) -> None:
    assert "a whole number" in problem(**nest({name: 2.5}))
    assert "a whole number" in problem(**nest({name: "3"}))


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"store": "sqlit"}, "store must be one of 'sqlite', 'memory', got 'sqlit' (from argument)."),
        ({"log_format": "xml"}, "log_format must be one of 'text', 'json', got 'xml' (from argument)."),
        (
            {"log_level": "loud"},
            "log_level must be one of 'debug', 'info', 'warning', 'error', got 'loud' (from argument).",
        ),
        ({"system_prompt": 5}, "system_prompt must be a text, got 5 (from argument)."),
        ({"corpus": [5]}, "corpus must be a list of paths, got 5 (from argument)."),
        ({"corpus": [""]}, "corpus must be a list of paths, got '' (from argument)."),
        ({"named_corpora": 3}, "named_corpora must be a table of paths by name, got 3"),
        ({"named_corpora": {"a": 5}}, "named_corpora must be a table of paths by name, got 5"),
        ({"corpus": "a\0b"}, "corpus must be a list of paths, got "),
        ({"search": {"tavily": 1}}, "search must be a list of names, got {'tavily': 1} (from argument)."),
        ({"search": [""]}, "search must be a list of names, got '' (from argument)."),
        ({"source_types": 5}, "source_types must be a list of names, got 5 (from argument)."),
        ({"since": 5}, "since must be a day such as 2026-01-31, got 5 (from argument)."),
        (
            {"as_of": "2026-02-30"},
            "as_of must be a day such as 2026-01-31, got '2026-02-30' (from argument).",
        ),
        (
            {"fetch": {"proxy": "https://proxy.example:3128"}},
            "fetch.proxy must be off, environment or the address of an HTTP proxy, http://HOST:PORT, got "
            "'https://proxy.example:3128'",
        ),
        ({"search_urls": "searxng"}, "search_urls must be a table of addresses by service, got 'searxng'"),
        ({"mcp_servers": 3}, "mcp_servers must be a table of servers by name, each a table, got 3"),
        ({"local_only": "yes"}, "local_only must be true or false, got 'yes' (from argument)."),
        ({"data_dir": 5}, "data_dir must be a path, got 5 (from argument)."),
        ({"corpus": "~nobody-of-this-name/x"}, "corpus names the home folder of an unknown user"),
    ],
)
def test_names_lists_and_paths_are_checked_too(given: dict[str, Any], line: str) -> None:
    assert problem(**given).startswith(line)


@pytest.mark.timed
def test_all_requests_for_an_answer_have_at_least_the_time_of_one() -> None:
    wanted = "unit_timeout must be at least operation_timeout (120), got 119 (from argument)."
    assert problem(unit_timeout=119.0) == wanted
    assert load(unit_timeout=8.0, operation_timeout=8.0).settings.unit_timeout == 8


def test_settings_never_change_and_can_be_pickled_and_built_directly() -> None:
    settings = Settings(max_iterations=2)
    with pytest.raises(ValueError, match="frozen"):
        settings.max_iterations = 3
    assert pickle.loads(pickle.dumps(settings)) == settings
    with pytest.raises(SettingsError, match=r"max_iterations must be between 1 and 10, got 99\.$"):
        Settings(max_iterations=99)
    with pytest.raises(UnknownNameError, match="Did you mean 'max_iterations'"):
        Settings.model_validate({"max_iteration": 3})


# --- precedence --------------------------------------------------------------------------------------------


def test_each_place_wins_over_those_below_it(here: Path, user_folders: Path) -> None:
    def found(**call: Any) -> tuple[int, str]:
        result = load(here, **call)
        return result.settings.max_iterations, result.origins["max_iterations"]

    environ = {"DEEP_RESEARCH_MAX_ITERATIONS": "7"}
    assert found() == (3, "default")
    assert found(preset="deep") == (5, "preset deep")
    user = write(user_folders / "user-config/deep-research.toml", "[research]\nmax_iterations = 4")
    assert found(preset="deep") == (4, str(user))
    write(here / "deep-research.toml", "[research]\nmax_iterations = 6")
    assert found(preset="deep") == (6, "deep-research.toml")
    named = write(here / "sub/mine.toml", "[research]\nmax_iterations = 8")
    assert found(preset="deep", config=named) == (8, str(Path("sub/mine.toml")))
    assert found(preset="deep", config=named, environ=environ) == (7, "DEEP_RESEARCH_MAX_ITERATIONS")
    assert found(preset="deep", config=named, environ=environ, max_iterations=9) == (9, "argument")


def test_sources_are_merged_setting_by_setting(here: Path) -> None:
    write(here / "deep-research.toml", "[research]\nmax_sub_queries = 9\nreport_words = 100")
    found = load(here, {"DEEP_RESEARCH_REPORT_WORDS": "200"}, preset="fast", max_concurrent=2)
    assert {name: origin for name, origin in found.origins.items() if origin != "default"} == {
        "preset": "argument",
        "max_iterations": "preset fast",
        "max_sources_per_query": "preset fast",
        "cheap_model": "preset fast",
        "max_sub_queries": "deep-research.toml",
        "report_words": "DEEP_RESEARCH_REPORT_WORDS",
        "max_concurrent": "argument",
    }
    assert (found.settings.max_iterations, found.settings.max_sub_queries) == (1, 9)
    assert (found.settings.report_words, found.settings.max_concurrent) == (200, 2)


def test_the_preset_itself_follows_the_same_order(here: Path) -> None:
    write(here / "deep-research.toml", '[research]\npreset = "fast"')
    environ = {"DEEP_RESEARCH_PRESET": "deep"}
    assert load(here).settings.max_iterations == 1
    assert load(here, environ).settings.max_iterations == 5
    assert load(here, environ, preset="default").settings.max_iterations == 3
    by_name = load_settings(overrides={"preset": "fast"}, environ=environ, cwd=here)
    assert (by_name.settings.preset, by_name.origins["preset"]) == ("fast", "argument")


def test_the_config_argument_wins_over_the_variable_and_the_variable_over_the_folder(here: Path) -> None:
    write(here / "deep-research.toml", "[research]\nmax_iterations = 4")
    write(here / "a.toml", "[research]\nmax_iterations = 5")
    write(here / "b.toml", "[research]\nmax_iterations = 6")
    environ = {"DEEP_RESEARCH_CONFIG": "a.toml"}
    assert load(here, environ).settings.max_iterations == 5
    assert load(here, environ, config="b.toml").settings.max_iterations == 6


def test_home_sets_the_data_folder_and_the_argument_wins(here: Path) -> None:
    home = {"DEEP_RESEARCH_HOME": "kept"}
    assert load(here, home).settings.data_dir == here / "kept"
    assert load(here, home).origins["data_dir"] == "DEEP_RESEARCH_HOME"
    both = home | {"DEEP_RESEARCH_DATA_DIR": "exact"}
    assert load(here, both).origins["data_dir"] == "DEEP_RESEARCH_DATA_DIR"
    assert load(here, both, data_dir=Path("mine")).settings.data_dir == here / "mine"
    write(here / "deep-research.toml", '[research]\ndata_dir = "file"')
    assert load(here, home).settings.data_dir == here / "kept"


def test_an_argument_that_is_none_counts_as_not_given(here: Path) -> None:
    environ = {"DEEP_RESEARCH_MAX_SEARCHES": "4"}
    assert load(here, environ, max_searches=None, corpus=None).settings.max_searches == 4


# --- environment -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max_iterations", " 7 ", 7),
        ("max_file_bytes", "1_000_000", 1_000_000),
        ("operation_timeout", "0.5", 0.5),
        ("operation_timeout", "30", 30.0),
        ("max_searches", "none", None),
        ("max_seconds", "NULL", None),
        ("system_prompt", "Be brief, please.", "Be brief, please."),
        ("search", "tavily, corpus,", ("tavily", "corpus")),
        ("search", '["tavily", "a,b"]', ("tavily", "a,b")),
        ("source_types", "web", ("web",)),
        ("source_types", "[]", ()),
        ("until", "2024-05-01", date(2024, 5, 1)),
        ("search_urls", "searxng=http://127.0.0.1:8888", {"searxng": "http://127.0.0.1:8888"}),
        ("search_urls", '{"searxng": "http://a.org?x=1"}', {"searxng": "http://a.org?x=1"}),
        ("store", "memory", "memory"),
        ("log_level", "debug", "debug"),
    ],
)
def test_a_variable_is_read_as_its_setting_wants(name: str, text: str, value: Any) -> None:
    assert value_at(load(environ={env_variable(name): text}).settings, name) == value


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (
            "max_iterations",
            "99",
            "max_iterations must be between 1 and 10, got 99 (from DEEP_RESEARCH_MAX_ITERATIONS).",
        ),
        ("max_iterations", "3.5", "max_iterations must be a whole number between 1 and 10, got '3.5' (from "),
        ("hook_timeout", "soon", "hook_timeout must be a number above 0 and at most 3600, got 'soon' (from "),
        ("hook_timeout", "nan", "hook_timeout must be a number above 0 and at most 3600, got nan (from "),
        ("max_iterations", "9" * 5_000, "max_iterations must be a whole number between 1 and 10, got '9999"),
        ("search", "[1]", "search must be a list of names, got 1 (from DEEP_RESEARCH_SEARCH)."),
    ],
)
def test_a_variable_that_does_not_fit_is_refused_by_its_name(name: str, text: str, line: str) -> None:
    found = problem(environ={env_variable(name): text})
    assert found.startswith(line)
    assert len(found) < 250


@pytest.mark.parametrize(
    "given",
    [
        {"analyzer": "ollama:a", "planner": ["openai:b", "ollama:c"]},
        ["analyzer=ollama:a", "planner=openai:b", "planner = ollama:c"],
    ],
)
def test_models_by_role_are_a_table_or_pairs(given: Any, here: Path) -> None:
    wanted = {"analyzer": ("ollama:a",), "planner": ("openai:b", "ollama:c")}
    assert load(models=given).settings.models == wanted
    text = "analyzer=ollama:a, planner=openai:b, planner=ollama:c"
    assert load(environ={"DEEP_RESEARCH_MODELS": text}).settings.models == wanted
    assert load(environ={"DEEP_RESEARCH_MODELS": json.dumps(wanted)}).settings.models == wanted
    write(
        here / "deep-research.toml",
        '[research.models]\nanalyzer = "ollama:a"\nplanner = ["openai:b", "ollama:c"]',
    )
    assert load(here).settings.models == wanted


@pytest.mark.parametrize("given", [{"analyser": "ollama:a"}, "analyser=ollama:a"])
def test_a_model_role_that_does_not_exist_is_refused_with_the_nearest(given: Any) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown model role 'analyser'\. Did you mean 'analyzer'\?"):
        load(models=given)


@pytest.mark.parametrize("given", [3, "ollama:a", {"planner": 3}, {"planner": [""]}, ["planner"]])
def test_models_that_are_no_table_are_refused(given: Any) -> None:
    assert problem(models=given).startswith("models must be a table of model names by role, got ")


@pytest.mark.parametrize(
    ("given", "text", "wanted"),
    [
        ("high", "high", {"all": "high"}),
        ({"planner": "low", "all": "high"}, "planner=low, all=high", {"planner": "low", "all": "high"}),
        (["planner=low", "high"], "planner = low, high", {"planner": "low", "all": "high"}),
    ],
)
def test_an_effort_is_one_for_all_or_by_role(
    given: Any, text: str, wanted: dict[str, str], here: Path
) -> None:
    assert load(effort=given).settings.effort == wanted
    assert load(environ={"DEEP_RESEARCH_EFFORT": text}).settings.effort == wanted
    write(here / "deep-research.toml", f"[research]\neffort = {json.dumps(list(text.split(', ')))}")
    assert load(here).settings.effort == wanted


def test_tokens_for_thinking_are_one_number_for_all_or_by_role() -> None:
    assert load(thinking_tokens=4_000).settings.thinking_tokens == {"all": 4_000}
    assert load(thinking_tokens={"planner": 0}).settings.thinking_tokens == {"planner": 0}
    text = "planner=2000, 8000"
    wanted = {"planner": 2_000, "all": 8_000}
    assert load(environ={"DEEP_RESEARCH_THINKING_TOKENS": text}).settings.thinking_tokens == wanted


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"effort": "hard"}, "effort must be low, medium or high, or a table of these by role, got "),
        ({"effort": {"planner": 3}}, "effort must be low, medium or high, or a table of these by role, got "),
        ({"thinking_tokens": -1}, "thinking_tokens must be a whole number, 0 at least, or a table of these"),
        (
            {"thinking_tokens": {"judge": "many"}},
            "thinking_tokens must be a whole number, 0 at least, or a table",
        ),
    ],
)
def test_an_effort_or_thinking_that_does_not_fit_is_refused(given: Any, line: str) -> None:
    assert problem(**given).startswith(line)


def test_an_effort_of_a_role_that_does_not_exist_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown model role 'planer'\. Did you mean 'planner'\?"):
        load(effort={"planer": "low"})


def test_broken_json_in_a_list_variable_is_refused() -> None:
    assert "search must be a list of names" in problem(environ={"DEEP_RESEARCH_SEARCH": '[{"a": 1}]'})


def test_an_empty_variable_counts_as_not_set() -> None:
    assert load(environ={"DEEP_RESEARCH_MAX_ITERATIONS": "  "}).origins["max_iterations"] == "default"


def test_variables_of_others_are_left_alone() -> None:
    assert load(environ={"PATH": "x", "DEEPRESEARCH_X": "1", "deep_research_x": "1"}) == load()


@given(st.dictionaries(st.sampled_from(list(FIELDS)), st.text(max_size=30), max_size=3))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_text_in_the_environment_raises_anything_but_our_errors(texts: dict[str, str]) -> None:
    line = outcome(lambda: load(environ={env_variable(name): text for name, text in texts.items()}))
    assert line.isprintable()


@given(st.lists(st.text(min_size=1), max_size=4))
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_list_of_names_survives_as_json(names: list[str]) -> None:
    found = load(environ={"DEEP_RESEARCH_SEARCH": json.dumps(names)})
    assert found.settings.search == tuple(names)


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists, max_leaves=4), st.data())
@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_no_argument_raises_anything_but_our_errors(value: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([*FIELDS, *Settings.model_fields]))
    assert outcome(lambda: load_settings(overrides=nest({name: value}), environ={})).isprintable()


# --- unknown names -----------------------------------------------------------------------------------------


def test_an_unknown_argument_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        UnknownNameError, match=r"^Unknown setting 'max_iteration'. Did you mean 'max_iterations'\?$"
    ):
        load(max_iteration=3)
    with pytest.raises(UnknownNameError):
        load(max_iteration=None)


def test_an_unknown_variable_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError) as caught:
        load(environ={"DEEP_RESEARCH_MAX_ITERATION": "3"})
    assert str(caught.value) == (
        "Unknown setting 'max_iteration' in DEEP_RESEARCH_MAX_ITERATION. Did you mean 'max_iterations'?"
    )


def test_an_unknown_key_in_a_file_is_refused_with_the_nearest_name(here: Path) -> None:
    write(here / "deep-research.toml", "[research]\nmax_subqueries = 3")
    with pytest.raises(UnknownNameError) as caught:
        load(here)
    assert str(caught.value) == (
        "Unknown setting 'max_subqueries' in deep-research.toml. Did you mean 'max_sub_queries'?"
    )


def test_an_unknown_section_is_refused(here: Path) -> None:
    write(here / "deep-research.toml", "[reserch]\nmax_iterations = 3")
    with pytest.raises(UnknownNameError, match=r"Unknown section 'reserch' in .* Did you mean 'research'"):
        load(here)


def test_a_setting_outside_of_the_section_is_refused_with_where_it_belongs(here: Path) -> None:
    write(here / "deep-research.toml", "max_iterations = 3")
    assert problem(cwd=here) == (
        "max_iterations is outside of a section in deep-research.toml. Move it below [research]."
    )
    write(here / "deep-research.toml", "research = 3")
    assert problem(cwd=here).startswith("research must be a section in deep-research.toml.")


def test_an_unknown_name_keeps_to_one_line(here: Path) -> None:
    write(here / "deep-research.toml", f'[research]\n"a\\nb\\u001b{"x" * 500}" = 3')
    with pytest.raises(UnknownNameError) as caught:
        load(here)
    assert str(caught.value).isprintable()


# --- files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "raw",
    [
        b"\xef\xbb\xbf[research]\nmax_iterations = 4\n",
        b"[research]\r\nmax_iterations = 4\r\n",
        b"\xef\xbb\xbf[research]\r\nmax_iterations = 4",
    ],
    ids=["byte-order mark", "CRLF", "both"],
)
def test_a_file_may_come_from_any_editor(here: Path, raw: bytes) -> None:
    (here / "deep-research.toml").write_bytes(raw)
    assert load(here).settings.max_iterations == 4


@pytest.mark.parametrize("text", ["", "[research]", "# only a comment\n"])
def test_a_file_may_say_nothing(here: Path, text: str) -> None:
    write(here / "deep-research.toml", text)
    assert load(here) == load()


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        (b"[research]\nmax_iterations = \n", "is not valid TOML, line 2: "),
        (b"[research]\nx = 1\nx = 2\n", "is not valid TOML, line 3: "),
        (b"[research\n", "is not valid TOML, line 1: "),
        (b"[research]\nsearch = [\n", "is not valid TOML, line "),
        (b"[research]\nsystem_prompt = '\xff'\n", "is not UTF-8 text, line 2."),
        ("[research]".encode("utf-16"), "is not UTF-8 text, line 1."),
        (b"[research]\nsearch = " + b"[" * 100_000, "is nested too deeply."),
        (b"#" * 1_000_001, "cannot be read: it is larger than 1000000 bytes."),
    ],
)
def test_a_file_that_cannot_be_read_is_named_with_the_line(here: Path, raw: bytes, line: str) -> None:
    (here / "deep-research.toml").write_bytes(raw)
    assert problem(cwd=here).startswith(f"The config file deep-research.toml {line}")


def test_a_bad_value_in_a_file_is_refused_with_the_files_name(here: Path) -> None:
    write(here / "deep-research.toml", "[research]\nmax_iterations = 1979-05-27")
    assert problem(cwd=here).endswith("got datetime.date(1979, 5, 27) (from deep-research.toml).")


def test_a_config_that_was_named_must_exist(here: Path) -> None:
    assert problem(cwd=here, config="none.toml").startswith("There is no config file none.toml.")
    assert problem(cwd=here, environ={"DEEP_RESEARCH_CONFIG": "none.toml"}).startswith(
        "There is no config file"
    )


def test_a_folder_in_the_place_of_a_file_is_refused(here: Path) -> None:
    (here / "deep-research.toml").mkdir()
    assert problem(cwd=here).startswith("The config file deep-research.toml cannot be read: ")
    assert problem(cwd=here, config=here).startswith("The config file . cannot be read: ")


def test_a_file_that_may_not_be_read_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)  # a test that runs as root may read everything
    assert problem(cwd=here) == "The config file deep-research.toml cannot be read: Permission denied."


def test_a_path_that_no_file_system_takes_is_refused(here: Path) -> None:
    assert "cannot be read" in problem(cwd=here, config="a\0b")


def test_relative_paths_start_from_the_file_that_names_them(here: Path) -> None:
    write(here / "sub/mine.toml", '[research]\ncorpus = ["docs", "/abs"]\ndata_dir = "../data"')
    found = load(here, config="sub/mine.toml").settings
    assert found.corpus == (here / "sub/docs", Path("/abs"))
    assert found.data_dir == here / "sub/../data"


def test_other_relative_paths_start_from_the_current_folder(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load(here, {"DEEP_RESEARCH_CORPUS": "a, b"}).settings.corpus == (here / "a", here / "b")
    assert load(here, corpus="docs").settings.corpus == (here / "docs",)
    assert load(here, named_corpora={"a": "docs"}).settings.named_corpora == {"a": here / "docs"}
    table = {"DEEP_RESEARCH_NAMED_CORPORA": '{"a": "docs", "b": "/b"}'}
    assert load(here, table).settings.named_corpora == {"a": here / "docs", "b": Path("/b")}
    assert load(here, corpus=[Path("docs"), "x,y"]).settings.corpus == (here / "docs", here / "x,y")
    monkeypatch.chdir(here)
    assert load(corpus="docs").settings.corpus == (here / "docs",)


def test_a_home_sign_is_the_users_home(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(here))
    monkeypatch.setenv("USERPROFILE", str(here))
    assert load(corpus="~/docs").settings.corpus == (here / "docs",)


def test_an_error_never_shows_a_key() -> None:
    key = "sk-ant-canary-0123456789abcdef"
    assert key not in problem(environ={"DEEP_RESEARCH_STORE": key})
    assert key not in problem(store=[key])
    with pytest.raises(UnknownNameError) as caught:
        load(preset=key)
    assert key not in str(caught.value)


# --- options of one run ------------------------------------------------------------------------------------


def test_a_run_takes_its_options_from_the_settings() -> None:
    settings = load(
        max_iterations=2,
        gate_retries=3,
        report_words=500,
        system_prompt="Short.",
        search="corpus",
        max_searches=7,
    ).settings
    assert settings.run_options() == RunOptions(
        max_iterations=2,
        gate_retries=3,
        report_words=500,
        system_prompt="Short.",
        budget=Budget(max_searches=7),
    )


def test_a_run_may_have_its_own_options_and_none_means_not_given() -> None:
    options = load(max_iterations=2).settings.run_options(
        max_iterations=None,
        max_sub_queries=4,
        max_sources_per_query=6,
        report_words=300,
        source_types="web",
        user_id="u",
        session_id="s",
    )
    assert options == RunOptions(
        max_iterations=2,
        max_sub_queries=4,
        max_sources_per_query=6,
        report_words=300,
        source_types=("web",),
        user_id="u",
        session_id="s",
    )


@pytest.mark.timed
def test_a_runs_budget_goes_over_the_settings_cap_by_cap() -> None:
    settings = load(max_searches=7, max_seconds=60.0).settings
    assert settings.run_options(budget=Budget(max_searches=2, max_iterations=1)).budget == Budget(
        max_searches=2, max_seconds=60, max_iterations=1
    )
    assert settings.run_options(budget={"max_seconds": 5}).budget == Budget(max_searches=7, max_seconds=5)
    assert settings.run_options(budget=Budget(max_searches=0)).budget.max_searches == 0


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"max_iterations": 11}, "max_iterations must be between 1 and 10, got 11 (from argument)."),
        (
            {"max_sub_queries": True},
            "max_sub_queries must be a whole number between 2 and 20 or 'auto', got True (from ",
        ),
        ({"user_id": 5}, "user_id must be a text, got 5 (from argument)."),
        ({"budget": 5}, "budget must be a Budget, got 5 (from argument)."),
        ({"budget": {"max_searches": -1}}, "max_searches must be at least 0, got -1 (from argument)."),
    ],
)
def test_a_runs_own_options_have_the_same_bounds(given: dict[str, Any], line: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load().settings.run_options(**given)
    assert str(caught.value).startswith(line)


def test_an_unknown_option_of_a_run_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(
        UnknownNameError, match=r"Unknown option 'sistem_prompt'. Did you mean 'system_prompt'"
    ):
        load().settings.run_options(sistem_prompt="x")
    with pytest.raises(UnknownNameError, match="Did you mean 'max_searches'"):
        load().settings.run_options(budget={"max_search": 3})


def test_run_options_and_settings_have_the_same_defaults_and_bounds() -> None:
    options = fields_by_path(RunOptions)
    for name in options.keys() & FIELDS.keys():
        assert options[name].default == FIELDS[name].default
        assert bounds(options[name]) == bounds(FIELDS[name])
    for name in Budget.model_fields.keys() & FIELDS.keys() - {"max_iterations"}:
        assert bounds(Budget.model_fields[name]) == bounds(FIELDS[name])


# --- cost and reference ------------------------------------------------------------------------------------


def test_importing_the_settings_reads_no_folders_and_loads_no_parser() -> None:
    costly = {"platformdirs", "tomllib", "structlog"}
    code = f"import sys, deep_research.settings; print({costly!r} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_reference_is_what_the_model_says() -> None:
    docs = Path(__file__).resolve().parents[1] / "docs"
    pages = runpy.run_path(str(docs / "generate.py"))["PAGES"]
    for page, written in pages.items():
        assert (docs / page).read_text("utf-8") == written(), "run `python docs/generate.py`"


@pytest.mark.parametrize(
    ("cap", "value"),
    [("max_usd", float("inf")), ("max_usd", float("nan")), ("max_tokens", True), ("max_tokens", "5")],
)
def test_a_cap_that_is_none_is_refused_as_the_setting_of_its_name_is(cap: str, value: Any) -> None:
    settings = load().settings
    with pytest.raises(SettingsError, match=f"{cap} must be a .*number at least 0, got"):
        settings.run_options(budget={cap: value})
    with pytest.raises(ValidationError):
        Budget(**{cap: value})


def test_the_password_of_a_proxy_is_in_no_repr() -> None:
    settings = Settings(fetch=FetchSettings(proxy="http://user:sesame@proxy.example:3128"))
    assert "sesame" not in repr(settings) + str(settings)
