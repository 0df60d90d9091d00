"""`show --budget`, and the line that tells of content that was not sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_double import QUESTION, Done
from prompt_reading import reading
from servers import ModelServer

from deep_research.budget.fidelity import RunFidelity
from deep_research.presentation.report_text import fidelity_line
from deep_research.state import ContextUsage, DeepResearchPhase, SentItem

Cli = Callable[..., Done]
ASKED = "When was the old tower of the town built?"


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for town in range(4):
        text = "\n\n".join(
            f"The old tower of town {town}-{n} was built of grey stone in the year {1200 + n}."
            for n in range(150)
        )
        (folder / f"t{town}.md").write_text(f"# Towers of region {town}\n\n{text}\n", encoding="utf-8")
    return str(folder)


@pytest.fixture
def model() -> Iterator[str]:
    with ModelServer(lambda served: reading(served.text, served.schema)) as server:
        yield f"openai-compatible:m@{server.base_url}/v1"


@pytest.fixture
def cramped(plain: Cli, corpus: str, model: str) -> Done:
    """A run with less to read than it found."""
    more = ("--set", "reading_tokens=2000", "--set", "content_archive_enabled=true", "--max-searches", "1")
    return plain("run", ASKED, "--corpus", corpus, "--model", model, *more)


def run_id(plain: Cli) -> str:
    return str(plain("list", "--json").json[0]["research_id"])


def test_it_shows_caps_spending_fidelity_and_advice_within_eighty_columns(plain: Cli, cramped: Done) -> None:
    assert cramped.code == 0
    done = plain("show", run_id(plain), "--budget")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    table = [line.split() for line in lines]
    assert ["max_searches", "1", "1"] in table
    assert ["max_usd", "-", "unknown"] in table
    heads = ["PHASE", "ROLE", "REQUESTS", "FAILED", "TOKENS", "IN", "CACHED", "OUT", "DOLLARS"]
    assert heads in table
    assert [row[:2] for row in table if row[-1:] == ["unknown"]][1:-1] == [
        ["planning", "planner"],
        ["analysis", "analyzer"],
        ["synthesis", "judge"],
        ["synthesis", "synthesizer"],
        ["refinement", "refiner"],
    ]
    assert any(line.startswith("Fidelity 0.") and "texts were shortened" in line for line in lines)
    assert any("Towers of region" in line for line in lines[lines.index("Advice:") - 20 :])
    assert "- Less than half of what was found reached the models: lower" in lines


def test_json_is_the_same_as_one_object(plain: Cli, cramped: Done) -> None:
    made = plain("show", run_id(plain), "--budget", "--json").json
    assert made.keys() == {
        *("research_id", "query", "caps", "usage", "fidelity", "least_kept", "notices", "advice")
    }
    assert made["usage"]["models"][0]["model"] == "openai-compatible:m"
    cached = [row["tokens"]["cache_read"] for row in made["usage"]["models"]]
    assert 0 < sum(cached) == made["usage"]["cached_tokens"]
    first = made["least_kept"][0]
    assert first["title"].startswith("Towers of region")
    restored = plain("archive", "restore", first["archived"]).out
    assert restored.startswith(f"# {first['title']}")


def test_run_and_show_say_in_a_line_that_not_all_was_sent(plain: Cli, cramped: Done) -> None:
    said = "(Minimal): "
    closing = cramped.err.splitlines()[-2:]
    assert closing[0].startswith("Fidelity 0.")
    assert said in closing[0]
    assert closing[1].startswith("Answered: ")
    assert said in plain("show", run_id(plain)).err
    assert plain("show", run_id(plain), "--quiet").err == ""
    assert plain("show", run_id(plain), "--json").err == ""


def test_of_a_run_whose_content_was_sent_whole_nothing_is_said(
    plain: Cli, tmp_path: Path, model: str
) -> None:
    (tmp_path / "one.md").write_text("# Towers\n\nThe old tower of the town was built of stone in 1312.\n")
    done = plain("run", ASKED, "--corpus", "one.md", "--model", model)
    assert done.code == 0
    assert "Fidelity" not in done.err
    assert plain("show", run_id(plain)).err == ""
    shown = plain("show", run_id(plain), "--budget").out
    assert "Fidelity 1.00 (Full): 3 texts were sent whole." in shown


def test_what_a_service_had_cached_is_shown_where_it_tells(plain: Cli, tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# Towers\n\nThe old tower of the town was built of stone in 1312.\n")
    with ModelServer(lambda served: reading(served.text, served.schema)) as server:
        model = f"ollama:m@{server.base_url}"  # tells of no cache
        assert plain("run", ASKED, "--corpus", "one.md", "--model", model).code == 0
    shown = plain("show", run_id(plain), "--budget").out
    assert "TOKENS IN" in shown
    assert "CACHED" not in shown


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        ((10, 5, 0), "Fidelity 0.50 (Compressed): 1 of 3 texts was shortened, 1 left out."),
        ((10, 5, 5), "Fidelity 0.66 (Condensed): 2 of 3 texts were shortened."),
        ((10, 0, 0), "Fidelity 0.33 (Compressed): 2 of 3 texts were left out."),
        ((10, 10, 9), ""),
        ((100, 79, 90), "Fidelity 0.89 (Condensed): 2 of 3 texts were shortened."),
    ],
)
def test_the_line_counts_what_was_shortened_and_what_was_left_out(sizes: tuple[int, ...], said: str) -> None:
    items = (
        SentItem(id=f"s{n}", original_tokens=max(sizes), current_tokens=size) for n, size in enumerate(sizes)
    )
    sent = ContextUsage(items=tuple(items), available=30)
    assert fidelity_line(RunFidelity.of({DeepResearchPhase.ANALYSIS: sent})) == said


def test_a_run_without_a_model_has_books_as_well(cli: Cli, plain: Cli) -> None:
    cli("run", QUESTION, "--max-usd", "0.5")
    out = plain("show", run_id(plain), "--budget").out
    assert "No language model was asked." in out
    assert "No content was sent to a model." in out
    assert ["max_usd", "$0.50", "$0.00"] in [line.split() for line in out.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("deepres-000000000000", "--budget"), "deepres-000000000000"),
        (("x", "--budget"), "'x' is not a run id."),
        (("deepres-000000000000", "--budget", "--out", "f"), "--budget writes no report. Remove --out."),
    ],
)
def test_wrong_use_is_one_line(plain: Cli, arguments: tuple[str, ...], said: Any) -> None:
    done = plain("show", *arguments)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
