"""The sample corpus and its table of questions, through the command line: what it can answer, and what it cannot."""

import json
import re
import tomllib
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


def ask(question, data_dir, capsys):
    code = main(["run", question, "--corpus", CORPUS, "--data-dir", data_dir, "--json", "--quiet"])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("row", UNANSWERABLE, ids=lambda row: row["question"][:40])
def test_a_question_without_evidence_aborts_and_names_its_gaps(row, data_dir, capsys):
    code, result = ask(row["question"], data_dir, capsys)
    assert (code, result["status"], result["reason"]) == (3, "aborted", "no_evidence")
    assert result["report"] is None
    assert result["gaps"]
    assert re.search(r"\d+ searches? found \d+ sources?, among them “", result["message"])


def test_most_questions_with_evidence_are_answered_with_it(data_dir, capsys):
    completed = answered = 0
    for row in ANSWERABLE:
        code, result = ask(row["question"], data_dir, capsys)
        completed += code == 0
        quotes = [" ".join(c["quote"].split()) for c in result["citations"]]
        answered += any(row["answer"] in quote for quote in quotes)
    assert len(ANSWERABLE) >= 12
    assert completed >= 12
    assert answered >= 10


def test_every_quote_of_every_report_is_verbatim(data_dir, capsys):
    from deep_research import DeepResearch

    with DeepResearch(corpus=CORPUS, data_dir=data_dir) as research:
        for row in ANSWERABLE:
            result = research.run(row["question"])
            for citation in result.citations:
                assert research.text(citation)[citation.start : citation.end] == citation.quote
