"""`doctor` lists where requests go, and a run says it where that may surprise; no key is shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_double import QUESTION, Done
from servers import ModelServer

pytestmark = pytest.mark.timed

Cli = Callable[..., Done]
KEYS = {
    f"{name}_API_KEY": f"sk-{name.lower()}-0a1b2c3d4e5f6071"
    for name in ("ANTHROPIC", "OPENAI", "TAVILY", "SEMANTIC_SCHOLAR")
}
GATEWAY = "https://gateway.example:8443/v1"
SONNET = "anthropic:claude-sonnet-5-5"
SITES = ("ok", "sites that are found for pages")


@pytest.fixture(autouse=True)
def with_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


@pytest.mark.parametrize(
    ("arguments", "environment", "wanted"),
    [
        (["--sample"], {}, []),
        (["--sample", "--local-only", "-m", "ollama:m"], {}, [("ok", "127.0.0.1:11434 for models")]),
        (["-m", "replay:none.jsonl", "--sample"], {}, []),
        (
            ["--sample", "-m", SONNET],
            {},
            [("ok", "api.anthropic.com for models, with ANTHROPIC_API_KEY")],
        ),
        (
            ["--sample", "-m", "openai:m"],
            {"OPENAI_BASE_URL": GATEWAY},
            [("note", "gateway.example:8443 for models, with OPENAI_API_KEY")],
        ),
        (
            ["--sample", "-m", f"openai-compatible:m@{GATEWAY}"],
            {},
            [("ok", "gateway.example:8443 for models")],
        ),
        (
            ["--sample", "-m", SONNET, "--set", f"models=planner=openai:m@{GATEWAY}"],
            {},
            [
                ("note", "gateway.example:8443 for planner, with OPENAI_API_KEY"),
                (
                    "ok",
                    "api.anthropic.com for supervisor, analyzer, synthesizer, refiner, task_agent, reviewer, judge,"
                    " with ANTHROPIC_API_KEY",
                ),
            ],
        ),
        (
            ["--search", "tavily", "--search", "semantic_scholar", "--search", "wikipedia"],
            {},
            [
                ("ok", "api.tavily.com for tavily, with TAVILY_API_KEY"),
                ("ok", "api.semanticscholar.org for semantic_scholar, with SEMANTIC_SCHOLAR_API_KEY"),
                ("ok", "*.wikipedia.org for wikipedia"),
                SITES,
            ],
        ),
        (
            ["--search", "tavily", "--set", "search_urls=tavily=http://10.0.0.7/t"],
            {"DEEP_RESEARCH_FETCH_PROXY": "http://me:secret-word@proxy.example:3128"},
            [
                ("note", "10.0.0.7 for tavily, with TAVILY_API_KEY"),
                ("ok", "sites that are found, by proxy.example:3128 for pages"),
            ],
        ),
        (
            ["--search", "searxng", "--set", "fetch.enabled=false"],
            {"SEARXNG_URL": "http://[::1]:8888"},
            [("ok", "[::1]:8888 for searxng")],
        ),
    ],
)
def test_doctor_lists_each_server_that_a_run_asks_and_the_variable_of_its_key(
    arguments: list[str],
    environment: dict[str, str],
    wanted: list[tuple[str, str]],
    plain: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "none.jsonl").touch()
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = plain("doctor", "--json", *arguments)
    found = [(each["state"], each["detail"]) for each in done.json["checks"] if each["name"] == "requests"]
    assert sorted(found) == sorted(wanted)
    lines = plain("doctor", *arguments).out.splitlines()
    assert all(len(line) <= 80 for line in lines if " requests " in line)
    for secret in (*KEYS.values(), "secret-word"):
        assert secret not in done.out


def said(done: Done) -> list[str]:
    """What a run says before its number, but for its progress: a slow machine shows that documents are read."""
    before = re.split(r"(?:Run|Resumed run) deepres-", done.err)[0].splitlines()
    return [line for line in before if not line.startswith("Reading documents")]


@pytest.mark.parametrize(
    ("arguments", "variable", "file", "wanted"),
    [
        # What a service is asked at its own place, or this machine without a key, is not said.
        ([], "", "", []),
        (["-m", "ollama:m@{url}"], "", "", []),
        (["-m", "openai-compatible:m@{url}/v1"], "", "", []),
        # A key that goes elsewhere is.
        (["-m", "openai:m@{url}/v1"], "", "", ["Requests go to {server} with OPENAI_API_KEY."]),
        (["-m", "openai:m"], "OPENAI_BASE_URL", "", ["Requests go to {server} with OPENAI_API_KEY."]),
        # And all of it where a file of the folder had a part in it.
        ([], "", "max_iterations = 1", ["Settings from deep-research.toml of this folder: max_iterations."]),
        (
            [],
            "OPENAI_BASE_URL",
            'model = "openai:m"',
            [
                "Settings from deep-research.toml of this folder: model.",
                "Requests go to {server} with OPENAI_API_KEY.",
            ],
        ),
        (["--config", "deep-research.toml"], "", "max_iterations = 1", []),
    ],
)
def test_a_run_says_where_requests_go_where_that_may_surprise(
    arguments: list[str],
    variable: str,
    file: str,
    wanted: list[str],
    plain: Cli,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with ModelServer("An answer.") as server:
        names = {"{url}": server.base_url, "{server}": server.base_url.partition("//")[2]}

        def filled(text: str) -> str:
            for name, value in names.items():
                text = text.replace(name, value)
            return text

        if variable:
            monkeypatch.setenv(variable, f"{server.base_url}/v1")
        if file:
            (tmp_path / "deep-research.toml").write_text(f"[research]\n{file}\n")
        given = [filled(each) for each in arguments]
        done = plain("run", QUESTION, "--sample", *given, "--set", "revise_with_critic=false")
        assert said(done) == [filled(each) for each in wanted]
        assert "Run deepres-" in done.err
        for quiet in ("--quiet", "--json"):
            assert "Requests go" not in plain("run", QUESTION, "--sample", *given, quiet).err


def test_a_resumed_run_says_where_its_own_requests_go(plain: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer("An answer.", key="another") as server:
        first = plain("run", QUESTION, "--sample", "-m", f"openai:m@{server.base_url}/v1")
        run_id = first.err.partition("Run ")[2].split()[0]
        again = plain("resume", run_id)
    assert said(again) == said(first) != []


def test_a_run_that_is_over_asks_nothing_and_says_nothing(plain: Cli, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "rock.md").write_text("# Rock\n\nRobert Stevenson built the Bell Rock lighthouse.\n")
    first = plain("run", QUESTION, "--corpus", "docs")
    (tmp_path / "docs").rename(tmp_path / "gone")
    again = plain("resume", first.err.partition("Run ")[2].split()[0])
    assert (again.code, again.out) == (0, first.out)
