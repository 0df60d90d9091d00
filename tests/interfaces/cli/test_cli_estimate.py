"""`run --estimate`: what a run may take, on one screen, and nothing started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_double import QUESTION, Done

Cli = Callable[..., Done]
SONNET = ("--model", "anthropic:claude-sonnet-5-5")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0")
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)


def test_it_is_a_table_of_phases_within_eighty_columns(plain: Cli, home: Path) -> None:
    done = plain("run", QUESTION, "--estimate", *SONNET, "--max-usd", "0.2")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0] == "The run may use: 1–3 iterations, 1–15 searches, 0 pages read."
    table = [line.split() for line in lines[2 : lines.index("", 2)]]
    assert table[0] == ["PHASE", "REQUESTS", "TOKENS", "IN", "TOKENS", "OUT", "DOLLARS"]
    phases = ["planning", "analysis", "synthesis", "refinement"]
    assert [row[0] for row in table[1:]] == [*phases, "in"]
    assert table[-1][-1].startswith("$0.01")
    assert "The cap max_usd of 0.2" in " ".join(lines)
    assert not home.exists()


def test_without_a_model_it_says_that_nothing_is_paid(plain: Cli) -> None:
    done = plain("run", QUESTION, "--estimate", "--search", "web")
    assert done.code == 0
    assert "pages read" in done.out
    assert "No language model is configured" in done.out
    assert "REQUESTS" not in done.out


def test_a_cap_below_the_low_end_and_a_price_that_nobody_knows_are_said(plain: Cli) -> None:
    unknown = ("--model", "anthropic:claude-unknown")
    said = " ".join(plain("run", QUESTION, "--estimate", *unknown, "--max-tokens", "100").out.split())
    assert "The price of anthropic:claude-unknown is not known" in said
    assert "The cap max_tokens of 100 is below the low end: the report will be written from less." in said


def test_json_is_one_object(plain: Cli) -> None:
    made = plain("run", QUESTION, "--estimate", "--json", "--max-model-calls", "1", *SONNET).json
    assert made["caps"] == [{"name": "max_model_calls", "cap": 1, "standing": "below", "request": None}]
    assert made["models"]["planner"] == "anthropic:claude-sonnet-5-5"
    assert made["cost_usd"]["low"] < made["cost_usd"]["high"]
    assert made["phases"][0]["phase"] == "planning"
    assert made["notes"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((QUESTION, "--out", "x.md"), "--estimate writes no report. Remove --out."),
        ((" ",), "The question is empty."),
        ((QUESTION, "--max-usd", "much"), "max_usd must be a number at least 0, got 'much'"),
        ((QUESTION, "--max-usd", "1", "--model", "anthropic:claude-unknown"), "max_usd needs the price"),
        ((QUESTION, "--max-model-calls", "-1"), "max_model_calls must be at least 0"),
    ],
)
def test_wrong_use_is_one_line(plain: Cli, home: Path, arguments: tuple[str, ...], said: str) -> None:
    done = plain("run", *arguments, "--estimate")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert not home.exists()
