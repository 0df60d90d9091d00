"""A settings file that is found in the current folder sends no key and no document away, and opens no other folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from deep_research.errors import SettingsError
from deep_research.settings import load_settings

OUTSIDE = "https://evil.example/v1"
HERE = "http://127.0.0.1:11434"
REACHING: list[tuple[str, str]] = [
    *(
        (name, f'["{model}@{address}"]')
        for name in ("model", "summarization.model")
        for model in ("openai:m", "anthropic:m", "ollama:m", "openai-compatible:m")
        for address in (OUTSIDE, "http://127.0.0.1:1@evil.example")
    ),
    *(("model", f'"{service}:m@{HERE}"') for service in ("openai", "anthropic", "somebodys")),
    ("model", f'"ollama:m@{OUTSIDE}@{HERE}"'),
    ("models", f'{{ planner = "openai:m@{OUTSIDE}" }}'),
    ("models", f'["planner=openai:m@{OUTSIDE}?a=ollama:m@{HERE}"]'),
    ("model", '"replay:../answers.jsonl"'),
    ("models", '["planner=replay:/etc/passwd"]'),
    ("search_urls", f'{{ tavily = "{OUTSIDE}" }}'),
    ("search_urls", '{ tavily = "evil.example" }'),
    ("search_urls", '["searxng=http://127.0.0.1:8888"]'),
    ("fetch.proxy", '"http://evil.example:3128"'),
    ("mcp_servers", '{ notes = { command = "run-me" } }'),
    ("mcp_servers", '{ notes = { command = "sh", args = ["-c", "touch here"], tools = ["search"] } }'),
    ("mcp_servers", f'{{ notes = {{ url = "{OUTSIDE}", tools = ["search"] }} }}'),
    ("mcp_servers", f'{{ notes = {{ url = "{HERE}", token_variable = "OPENAI_API_KEY" }} }}'),
    *(
        (name, path)
        for name in ("corpus", "record_models", "model_file", "data_dir", "content_archive.dir")
        for path in ('"~/.ssh"', '"/etc"', '"docs/../.."', '"link"', '"~nobody-of-this-name"')
    ),
    ("corpus", '["docs", "link/more"]'),
]
STAYING: list[tuple[str, str]] = [
    ("model", '"openai:m"'),
    ("model", f'["ollama:m@{HERE}", "openai-compatible:m@http://localhost:8000/v1"]'),
    ("models", f'["planner=ollama:m@{HERE}"]'),
    ("model", '"replay:answers.jsonl"'),
    ("corpus", '["docs", "."]'),
    ("data_dir", '"kept/runs"'),
    ("domains", '"https://example.org"'),
    ("system_prompt", '"Cite https://example.org."'),
    ("fetch.proxy", '"environment"'),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "folder"
    (folder / "docs").mkdir(parents=True)
    (folder / "link").symlink_to(tmp_path)
    monkeypatch.chdir(folder)
    return folder


def load(folder: Path, **more: Any) -> object:
    return load_settings(overrides={}, environ={}, cwd=folder, **more)


@pytest.mark.parametrize(("name", "value"), REACHING)
def test_a_file_that_nobody_named_reaches_nothing_outside_of_its_folder(
    name: str, value: str, folder: Path
) -> None:
    (folder / "deep-research.toml").write_text(f"[research]\n{name} = {value}\n")
    with pytest.raises(SettingsError, match=rf"^{name} in deep-research\.toml names a.*--config") as refused:
        load(folder)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("name", "value"), STAYING)
def test_a_file_that_nobody_named_may_set_what_stays_in_its_folder(
    name: str, value: str, folder: Path
) -> None:
    (folder / "deep-research.toml").write_text(f"[research]\n{name} = {value}\n")
    load(folder)


@pytest.mark.parametrize(
    ("name", "value"), [each for each in REACHING if "~nobody" not in each[1] and "proxy" not in each[0]]
)
@pytest.mark.parametrize("origin", ["--config", "variable", "user"])
def test_a_file_that_its_user_named_may_set_all(
    name: str, value: str, origin: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "mine.toml").write_text(f"[research]\n{name} = {value}\n")
    if origin == "user":
        (folder / "mine.toml").rename(folder / "deep-research.toml")
        monkeypatch.setattr("deep_research.settings.sources._user_config_dir", lambda: folder)
        load(folder / "docs")
    elif origin == "variable":
        load_settings(overrides={}, environ={"DEEP_RESEARCH_CONFIG": "mine.toml"}, cwd=folder)
    else:
        load(folder, config="mine.toml")


def test_a_run_says_that_a_file_of_the_folder_is_in_force(folder: Path) -> None:
    (folder / "deep-research.toml").write_text("[research]\nmax_iterations = 1\n")
    command = [*(sys.executable, "-m", "deep_research", "run", "--sample", "--set", "store=memory")]
    run = subprocess.run([*command, "Who built the Bell Rock lighthouse?"], capture_output=True, text=True)
    assert run.stderr.count("Settings from deep-research.toml of this folder: max_iterations.") == 1
