"""The sample corpus and its table of questions, through the command line: what it can answer, and what it cannot."""

import json
import re
import tomllib
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from deep_research.interfaces.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
TABLE = tomllib.loads((ROOT / "tests" / "data" / "corpus_questions.toml").read_text(encoding="utf-8"))
ANSWERABLE = next(rows for rows in TABLE.values() if "answer" in rows[0])
UNANSWERABLE = next(rows for rows in TABLE.values() if "answer" not in rows[0])
CORPUS = str(ROOT / "docs" / "examples" / "corpus")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return str(tmp_path_factory.mktemp("data"))


def asked(question, data_dir):
    return main(["run", question, "--corpus", CORPUS, "--data-dir", data_dir, "--json", "--quiet"])


def ask(question, data_dir, capsys):
    code = asked(question, data_dir)
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("row", UNANSWERABLE, ids=lambda row: row["question"][:40])
def test_a_question_without_evidence_aborts_and_names_its_gaps(row, data_dir, capsys):
    code, result = ask(row["question"], data_dir, capsys)
    if row["question"].startswith("How many copies"):  # of a book that is named, and nothing else of it is
        assert "*Doubtful: this is only what comes nearest.*" in result["report"]
        return
    assert (code, result["status"], result["reason"]) == (3, "aborted", "no_evidence")
    assert result["report"] is None
    assert result["gaps"]
    assert re.search(r"\d+ searches? found \d+ sources?, among them “", result["message"])


@pytest.fixture(scope="module")
def answered(data_dir):
    """The questions with evidence, each asked once: the exit code and what was printed."""
    runs = []
    for row in ANSWERABLE:
        with redirect_stdout(StringIO()) as out:
            code = asked(row["question"], data_dir)
        runs.append((code, json.loads(out.getvalue())))
    return runs


def test_most_questions_with_evidence_are_answered_with_it(answered):
    completed = found = 0
    for row, (code, result) in zip(ANSWERABLE, answered, strict=True):
        completed += code == 0
        quotes = [" ".join(c["quote"].split()) for c in result["citations"]]
        found += any(row["answer"] in quote for quote in quotes)
    assert len(ANSWERABLE) >= 12
    assert completed >= 11
    assert found >= 8


def test_every_quote_of_every_report_is_verbatim(answered, data_dir):
    from deep_research import DeepResearch

    with DeepResearch(corpus=CORPUS, data_dir=data_dir) as research:
        for _, printed in answered:
            result = research.result(printed["research_id"])
            for citation in result.citations:
                assert research.text(citation)[citation.start : citation.end] == citation.quote


def test_figures_that_differ_stand_side_by_side(data_dir, capsys):
    code, result = ask("How tall is the Cape Hatteras lighthouse?", data_dir, capsys)
    assert code == 0
    figures = [line for line in result["report"].splitlines() if re.match(r"\| .* \[\d\] \|", line)]
    assert len(figures) == 3
    for figure in ("198.49 feet", "64 m"):
        assert sum(figure in line for line in figures) == 1


KINDS = [
    ("When was the Bell Rock light first shown?", "## Answer", "1 February 1811"),
    ("Who invented the sun valve?", "## Answer", "1907 — The sun valve is invented in Sweden."),
    ("How much did the Fastnet lighthouse cost?", "## Answer", "£79,000"),
    ("How do you build a lighthouse on a rock that is under water?", "# How", "low tide"),
    ("lighthouse lamps and fuels", "# light", "Sperm whale oil"),
]


def test_reports_of_every_kind_of_question_say_first_what_was_asked_in_exact_quotes(data_dir):
    from deep_research import DeepResearch

    with DeepResearch(corpus=CORPUS, data_dir=data_dir) as research:
        for question, heading, answer in KINDS:
            result = research.run(question).raise_for_status()
            whole = (result.report or "").partition("\n## Gaps and limits")[0]
            section = (
                whole
                if heading.startswith("# ")
                else whole.partition(f"{heading}\n")[2].partition("\n## ")[0]
            )
            assert answer in section, question
            for citation in result.citations:
                assert research.text(citation)[citation.start : citation.end] == citation.quote
