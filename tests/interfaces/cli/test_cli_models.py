"""Language models at the prompt: what is said when they are there, and when they are not."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli_double import QUESTION, Done
from servers import Fault, ModelServer

Cli = Callable[..., Done]
DEAD = "http://127.0.0.1:9"  # the port of nobody
KEY = "sk-canary-0a1b2c3d4e5f6071"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for service in ("ANTHROPIC", "OPENAI"):
        for part in ("API_KEY", "BASE_URL"):
            monkeypatch.delenv(f"{service}_{part}", raising=False)


def models(done: Done) -> list[dict[str, str]]:
    return [check for check in done.json["checks"] if check["name"] == "model"]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("anthropic:claude-sonnet-5-5", "No API key for Anthropic: ANTHROPIC_API_KEY is not set."),
        ("openai:gpt-5", "No API key for OpenAI: OPENAI_API_KEY is not set."),
        ("antropic:x", "Unknown model service 'antropic' in 'antropic:x'. Did you mean 'anthropic'?"),
        ("openai-compatible:m@127.0.0.1:8000/v1", "Write 'openai-compatible:m@http://127.0.0.1:8000/v1'."),
        (
            "openai-compatible:m@http://me:pw@h/v1",
            "The base URL of openai-compatible contains more than an address.",
        ),
        ("ollama:a\x1b[31mb", "has invalid characters."),
    ],
)
def test_a_model_that_cannot_be_used_is_told_before_anything_is_started(
    plain: Cli, home: Path, model: str, said: str
) -> None:
    done = plain("run", QUESTION, "--sample", "--model", model)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1
    assert done.err.rstrip("\n").isprintable()
    assert not home.exists()


def test_a_server_that_does_not_run_parks_the_run_and_the_hint_can_be_typed(plain: Cli) -> None:
    done = plain("run", QUESTION, "--sample", "--model", f"ollama:m@{DEAD}")
    assert done.code == 4
    last = done.err.splitlines()[-1]
    assert (
        "Parked: the run waits for a language model: ollama:m: the service cannot be reached. Continue from "
        in last
    )
    assert "--answer" not in last
    assert " with: deep-research resume deepres-" in last


def test_a_wrong_address_is_a_matter_of_settings(plain: Cli, server: ModelServer) -> None:
    done = plain("run", QUESTION, "--sample", "--model", f"openai-compatible:m@{server.base_url}/wrong")
    assert done.code == 1
    assert "Check the model's name and the base URL." in done.err


def test_the_cap_that_was_reached_is_the_one_to_raise(plain: Cli, server: ModelServer) -> None:
    model = f"openai-compatible:m@{server.base_url}/v1"
    unanswered = "Which lighthouse won the Eurovision Song Contest?"
    done = plain("run", unanswered, "--sample", "--model", model, "--max-model-calls", "3")
    assert done.code == 3
    assert "Continue under a higher --max-model-calls with: deep-research resume deepres-" in done.err


def test_a_completed_run_says_what_its_models_took(
    plain: Cli, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deep_research.models.retry.FIRST_WAIT", 0.01)
    monkeypatch.setattr("deep_research.models.retry.JITTER", 0.01)
    server.faults = [Fault("500", times=None)]
    model = f"openai-compatible:m@{server.base_url}/v1"
    outage = ("--set", "on_outage=extractive", "--set", "reflection=never")
    done = plain("run", "Who built the Bell Rock?", "--sample", "--model", model, *outage)
    assert done.code == 0
    assert " requests to models, at most " in done.err.splitlines()[-1]
    assert ", price unknown. Show it again with:" in done.err.splitlines()[-1]


def test_doctor_asks_each_model_and_remembers_it_beside_the_others(
    plain: Cli, server: ModelServer, home: Path
) -> None:
    names = [f"openai-compatible:m@{server.base_url}/v1", f"ollama:m@{server.base_url}"]
    for name in names:
        done = plain("doctor", "--json", "--probe", "--model", name)
        known, found = models(done)
        assert (done.code, known["state"], found["state"]) == (0, "ok", "ok")
        assert ": answers by schema (asked " in found["detail"]
    assert json.loads((home / "models.json").read_text()).keys() == set(names)
    asked = len(server.log)
    done = plain("doctor", "--json", "--model", names[0])
    assert ": answers by schema (asked " in models(done)[1]["detail"]
    assert len(server.log) == asked


def test_doctor_says_of_a_model_that_was_not_asked_how_to_ask_it(plain: Cli, home: Path) -> None:
    done = plain("doctor", "--json", "--model", f"ollama:m@{DEAD}")
    assert [check["state"] for check in models(done)] == ["ok", "note"]
    assert models(done)[1]["detail"].endswith("not asked yet; doctor --probe does")
    assert not home.exists()


def test_doctor_tells_a_service_that_is_not_there_in_two_sentences(plain: Cli) -> None:
    done = plain("doctor", "--json", "--probe", "--model", f"ollama:m@{DEAD}")
    assert done.code == 1
    assert models(done)[1]["detail"] == "ollama:m: the service cannot be reached. Is it running?"


def test_doctor_shows_no_key_and_fits_eighty_columns(
    plain: Cli, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
    server.faults = [Fault("401", times=None, message=f"invalid x-api-key {KEY}")]
    done = plain("doctor", "--probe", "--model", "anthropic:claude-haiku-5-5")
    assert done.code == 1
    assert server.log
    assert KEY not in done.out + done.err
    told = [line for line in done.out.splitlines() if line[8:].startswith("model ")]
    assert told
    assert all(len(line) <= 80 for line in told)
