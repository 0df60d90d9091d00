"""`python tests/evals`: wrong use, figures as a table and as JSON, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from deep_research.logs import configure
from evals import Figures
from evals.command_line import as_table, main
from evals.eval_data import write_data, write_lines

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Cli = Callable[..., Done]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current folder, a data directory below it, and nothing of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("DEEP_RESEARCH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("platformdirs.user_config_path", lambda *_, **__: tmp_path / "user-config")
    monkeypatch.setenv("DEEP_RESEARCH_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    yield tmp_path / "data"
    configure(None)


@pytest.fixture
def evaluate(capsys: pytest.CaptureFixture[str]) -> Cli:
    """``evaluate("scifact", "--data", data)``: the command in this process."""

    def call(*argv: str) -> Done:
        capsys.readouterr()
        code = main(argv)
        out, err = capsys.readouterr()
        return Done(int(code), out, err)

    return call


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(write_data(tmp_path / "sets"))


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("wiki-multihop",), "--data is missing. It names the folder that holds the data sets."),
        (
            ("wiki-multihops", "--data", "x"),
            "Unknown evaluation 'wiki-multihops'. Did you mean 'wiki-multihop'?",
        ),
        (("condense",), "--data is missing. It names the folder that holds the data sets."),
        (("condense", "--data", "sets", "--fresh"), "eval condense starts no runs."),
        (("citations", "--data", "sets", "--jobs", "2"), "eval citations starts no runs."),
        (("condense", "--data", "nowhere"), "There is no file nowhere/wice/dev.jsonl."),
        (("scifact", "--data", "nowhere"), "There is no folder nowhere/scifact. --data names"),
        (("scifact", "--data", "sets", "--limit", "0"), "--limit takes a number above 0, got '0'."),
        (("scifact", "--data", "sets", "--jobs", "many"), "--jobs takes a number above 0, got 'many'."),
        (("scifact", "--data", "sets", "--corpus", "docs"), "eval searches the corpus of its data set."),
        (("scifact", "--data", "sets", "--no-titles"), "scifact is not run without titles."),
        (("scifact", "--data", "sets", "--set", "max_iterations=99"), "max_iterations"),
        (
            ("scifact", "--data", "sets", "--no-title"),
            "Unknown option '--no-title'. Did you mean '--no-titles'?",
        ),
    ],
)
def test_wrong_use_is_one_line_and_starts_nothing(
    evaluate: Cli, data: str, home: Path, argv: tuple[str, ...], said: str
) -> None:
    done = evaluate(*argv)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert not (home / "evals").exists()


def test_a_damaged_line_is_named(evaluate: Cli, data: str) -> None:
    corpus = Path(data, "scifact", "corpus.jsonl")
    corpus.write_text(corpus.read_text("utf-8") + "{\n", encoding="utf-8")
    done = evaluate("scifact", "--data", data)
    assert done.code == 2
    assert "corpus.jsonl line 7 is damaged: no JSON" in done.err


def test_the_figures_are_a_table_on_stdout_and_progress_is_on_stderr(evaluate: Cli, data: str) -> None:
    done = evaluate("wiki-multihop", "--data", data, "--limit", "2")
    assert done.code == 0, done.err
    assert max(map(len, done.out.splitlines())) <= 80
    head, *lines = (line.split() for line in done.out.splitlines())
    assert head[:2] == ["wiki-multihop", "all"]
    rows = {name: cells for name, *cells in lines}
    assert rows["hits@10"][0] == "1.000"
    assert rows["questions"][0] == "2"
    assert done.err.splitlines() == ["0 runs of 2 done", "2 runs of 2 done"]
    again = evaluate("wiki-multihop", "--data", data, "--limit", "2")
    assert (again.out, again.err) == (done.out, "2 runs of 2 done, 2 of them earlier\n")


def test_json_is_one_object_with_the_usual_names(evaluate: Cli, data: str) -> None:
    done = evaluate("wiki-multihop", "--data", data, "--json", "--jobs", "1", "--no-titles")
    assert (done.code, done.err) == (0, "")
    assert {
        "hits@10",
        "mrr@10",
        "all@10",
        "searches_mean",
        "seconds_p95",
        "searching_ms_p95",
    } <= done.json.keys()
    assert (done.json["suite"], done.json["titles"], done.json["jobs"]) == ("wiki-multihop", False, 1)
    assert done.json["sets"].keys() == {"one", "two"}


def test_a_failed_run_is_told_and_the_exit_code_says_so(evaluate: Cli, data: str) -> None:
    write_lines(
        Path(data, "scifact", "claims-dev.jsonl"), [{"_id": "c9", "claim": " ", "cited_doc_ids": ["w1"]}]
    )
    done = evaluate("scifact", "--data", data, "--quiet")
    assert done.code == 1
    assert done.err.startswith("c9 failed: ")


def test_many_question_sets_make_several_tables() -> None:
    names = ["all", *(f"question set number {n}" for n in range(7))]
    figures = Figures(
        suite="scifact",
        titles=True,
        jobs=1,
        sets={n: {"ndcg@10": 0.5, "questions": 1234} for n in names},
        errors={},
    )
    lines = as_table(figures)
    assert max(map(len, lines)) <= 80
    assert sum(line.count("0.500") for line in lines) == 8
    assert " ".join(lines).count("1,234") == 8


def test_help_names_the_options_and_one_command_as_an_example(evaluate: Cli) -> None:
    done = evaluate("--help")
    assert done.code == 0
    assert done.out.startswith("usage: python tests/evals NAME [options]\n")
    assert "--without-column NAME" in done.out


@pytest.mark.timed
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_keeps_what_is_done(
    data: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, code: int
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    claims = [
        {"_id": f"c{n}", "claim": f"The Bell Rock lighthouse, {n} times.", "cited_doc_ids": ["w1"]}
        for n in range(2_000)
    ]
    write_lines(Path(data, "scifact", "claims-dev.jsonl"), claims)
    command = [sys.executable, str(ROOT / "tests" / "evals"), "scifact", "--data", data, "--jobs", "1"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stderr is not None
            assert process.stderr.readline() == "0 runs of 2,000 done\n"
            while not any(path.stat().st_size for path in (home / "evals").glob("scifact-*.jsonl")):
                assert process.poll() is None
            os.killpg(process.pid, number)  # as a terminal does: to the workers too
            out, err = process.communicate(timeout=300)
        finally:
            process.kill()
    assert (process.returncode, out) == (code, "")
    said = "deep-research: Interrupted; finished runs are kept. The same command goes on where it was."
    assert err.splitlines()[-1] == said
    assert "Traceback" not in err
    (path,) = (home / "evals").glob("scifact-*.jsonl")
    lines = path.read_text("utf-8").splitlines()
    assert 0 < len([json.loads(line) for line in lines]) < 2_000


def test_condensing_is_measured_on_claims_and_their_articles(evaluate: Cli, tmp_path: Path) -> None:
    record = {
        "claim": "Keepers wrote down the wind.",
        "evidence": [*["Tea is a drink of many kinds."] * 9, "Keepers wrote down wind."],
        "supporting_sentences": [[9]],
    }
    write_lines(tmp_path / "wice" / "dev.jsonl", [record])
    done = evaluate("condense", "--data", str(tmp_path), "--json")
    assert done.code == 0, done.err
    told = json.loads(done.out)
    assert (told["suite"], told["questions"], told["kept@20"]) == ("condense", 1, 1.0)
    assert told["sets"]["leading"]["kept@20"] == 0.0
