"""Language models at the prompt: a run with one, what it took, how it waits, and what `doctor` says of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from prompt_reading import reading
from servers import Fault, ModelServer

Cli = Callable[..., Any]
QUESTION = "When was the old tower of the town built?"


def answer(served: Any) -> str:
    return reading(served.text, served.schema)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "towers.md").write_text(
        "# Towers\n\nThe old tower of the town was built of grey stone in the year 1312.\n"
    )
    return str(folder)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(answer) as server:
        yield server


def name_of(server: ModelServer) -> str:
    return f"openai-compatible:m@{server.base_url}/v1"


def test_a_run_with_a_model_says_what_it_took(plain: Cli, corpus: str, server: ModelServer) -> None:
    done = plain("run", QUESTION, "--corpus", corpus, "--model", name_of(server))
    assert done.code == 0
    assert "1312 [1]" in done.out
    assert "without a language model" not in done.out
    last = done.err.splitlines()[-1]
    asked = len(server.log)
    assert re.search(rf"{asked} requests to models, [\d,]+ tokens, price unknown\.", last)


def test_its_events_say_what_was_asked_of_whom(plain: Cli, corpus: str, server: ModelServer) -> None:
    run = plain("run", QUESTION, "--corpus", corpus, "--model", name_of(server), "--json")
    assert run.json["usage"]["model_calls"] == len(server.log)
    told = plain("events", run.json["research_id"]).out
    assert "call-000001 planner: openai-compatible:m" in told
    assert re.search(r"model\.settled +call-000001 end: [\d,]+ tokens in", told)


def test_an_outage_parks_the_run_and_resume_finishes_it(plain: Cli, corpus: str) -> None:
    with ModelServer(answer, faults=[Fault("429-after-3600", times=None)]) as busy:
        done = plain("run", QUESTION, "--corpus", corpus, "--model", name_of(busy))
    assert done.code == 4
    last = done.err.splitlines()[-1]
    assert last.startswith("Parked: the run waits for a language model: openai-compatible:m: ")
    assert re.search(r"Continue from \d\d:\d\d on with: deep-research resume ", last)
    run_id = re.search(r"deepres-[0-9a-f]{12}", last)
    assert run_id is not None
    with ModelServer(answer) as well:
        done = plain("resume", run_id[0], "--corpus", corpus, "--model", name_of(well), "--json")
    assert (done.code, done.json["status"]) == (0, "completed")


def test_a_refused_key_aborts_with_what_to_do(plain: Cli, corpus: str) -> None:
    with ModelServer(answer, faults=[Fault("401", times=None)]) as strict:
        done = plain("run", QUESTION, "--corpus", corpus, "--model", name_of(strict))
    assert done.code == 1
    assert "Aborted (config): openai-compatible:m: " in done.err
    assert "Correct the setting, then: deep-research resume" in done.err


def test_the_second_model_is_asked_when_the_first_cannot(
    plain: Cli, corpus: str, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deep_research.models.retry.FIRST_WAIT", 0.01)
    monkeypatch.setattr("deep_research.models.retry.JITTER", 0.01)
    with ModelServer(answer, faults=[Fault("529", times=None)], models=["first"]) as busy:
        first = f"openai-compatible:first@{busy.base_url}/v1"
        done = plain(
            "run", QUESTION, "--corpus", corpus, "--model", first, "--model", name_of(server), "--json"
        )
    assert done.json["status"] == "completed"
    assert any("openai-compatible:m was asked" in notice["message"] for notice in done.json["notices"])


def test_doctor_asks_a_model_what_it_can_do_and_remembers_it(plain: Cli, server: ModelServer) -> None:
    def lines(*more: str) -> list[str]:
        checks = json.loads(plain("doctor", "--model", name_of(server), "--json", *more).out)["checks"]
        return [check["detail"] for check in checks if check["name"] == "model"]

    assert "not asked yet; doctor --probe does" in lines()[-1]
    assert "answers by schema" in lines("--probe")[-1]
    asked = len(server.log)
    assert "answers by schema" in lines()[-1]
    assert len(server.log) == asked


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gpt-5-mini", "Did you mean 'openai:gpt-5-mini'?"),
        ("openai:gpt-5", "No API key for OpenAI: OPENAI_API_KEY is not set."),
        ("anthropic:x", "No API key for Anthropic: ANTHROPIC_API_KEY is not set."),
        ("openai-compatible:m", "No base URL"),
        ("replay:absent.jsonl", "The record absent.jsonl cannot be read"),
    ],
)
def test_a_model_that_cannot_be_used_is_one_line_before_anything_starts(
    plain: Cli, corpus: str, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    done = plain("run", QUESTION, "--corpus", corpus, "--model", name)
    assert done.code in (1, 2)
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_a_report_says_whose_words_it_is_in_when_its_writer_had_no_model(plain: Cli, corpus: str) -> None:
    def run(*refused: str) -> str:
        faults = [Fault("refusal", match=part, times=None) for part in refused]
        with ModelServer(answer, faults=faults) as server:
            arguments = ("--corpus", corpus, "--model", name_of(server), "--set", "reflection=never")
            return str(plain("run", QUESTION, *arguments).out)

    assert "from statements that one drew from the sources." in run("You write the report")
    assert "every sentence is its source's own" in run("You write the report", "You read sources")
